; Instructions of the 8x8 Pynq Z1, of 8 bytes.
    noop
    matmul local[0], acc[0], 1
    matmul.acc local[0], acc[0], 1
    matmul.zeroes local[0], acc[0], 1
    matmul local[0x123 @2^1], acc[0x456 @2^2], 8
    datamove local[0] <- dram0[0], 1
    datamove local[0x123 @2^1] <- dram0[0x89abc @2^2], 256
    loadweights local[0], 1
    loadweights.zeroes local[0], 1
    loadweights local[0x123 @2^3], 9
    simd out = zero, write acc[0]
    simd r1 = move(in), read acc[0]
    simd out = zero, write.acc acc[0]
    simd out = max(in, r1), read acc[0x321], write acc[0x654]
    configure 0, 0
    configure timeout, 0x1234
    datamove local[1] <- dram0[1], 1
    datamove local[1] <- dram0[1], 2
    datamove local[1] <- dram0[1], 256
    datamove.acc acc[0] <- local[0], 1
    datamove local[1] <- dram0[2], 4
    datamove dram0[0] <- local[0 @2^7], 1
    datamove dram0[0xfffff @2^7] <- local[0], 1
    datamove local[0] <- acc[0x7ff @2^7], 1
    loadweights local[0 @2^1], 2
    loadweights local[0 @2^2], 2
    loadweights local[0 @2^3], 2
    loadweights local[0 @2^7], 2
    datamove dram0[2] <- local[1], 4
    datamove local[1] <- dram1[2], 4
    datamove dram1[2] <- local[1], 4
    datamove local[1] <- acc[2], 4
    datamove acc[2] <- local[1], 4
    datamove.acc acc[2] <- local[1], 4
    simd out = max(r1, r1), write acc[0]
    simd out = move(r1), write acc[0]
    simd out = noop
    simd out = not(r1), write acc[0]
    simd out = and(r1, r1), write acc[0]
    simd out = or(r1, r1), write acc[0]
    simd out = increment(r1), write acc[0]
    simd out = decrement(r1), write acc[0]
    simd out = add(r1, r1), write acc[0]
    simd out = subtract(r1, r1), write acc[0]
    simd out = multiply(r1, r1), write acc[0]
    simd out = abs(r1), write acc[0]
    simd out = greaterthan(r1, r1), write acc[0]
    simd out = greaterthanequal(r1, r1), write acc[0]
    simd out = min(r1, r1), write acc[0]
