; An instruction reads one accumulator, computes, and writes or adds to another.
.data dram0[0:2], 1.0, -2, 3, -4, 10, 10, 10, 10
    datamove local[0] <- dram0[0], 2
    datamove acc[0] <- local[0], 2
    simd out = abs(in), read acc[0], write acc[4]
    simd out = abs(in), read acc[0], write.acc acc[1]
    simd r1 = abs(in), read acc[0], write acc[5]
    simd out = move(r1), write acc[6]
    simd r1 = zero
.expect acc[0], 1.0, -2, 3, -4
.expect acc[4], 1.0, 2, 3, 4
.expect acc[1], 11.0, 12, 13, 14
.expect acc[5], 1.0, 2, 3, 4
.expect acc[6], 1.0, 2, 3, 4
.expect r1, 0.0, 0, 0, 0
