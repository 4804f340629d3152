; The input to the output and register 1, that to register 2, and each to the accumulators.
.data dram0[0:2], 1.0, -2, 3, -4, 5, 6, 7, 8
    datamove local[0] <- dram0[0], 2
    datamove acc[0] <- local[0], 2
    simd r1 = move(in), read acc[0], write acc[4]
    simd r2 = move(r1)
    simd r1 = move(in), read acc[1]
    simd out = move(r1), write acc[5]
    simd out = move(r2), write acc[6]
.expect acc[4], 1.0, -2, 3, -4
.expect acc[5], 5.0, 6, 7, 8
.expect acc[6], 1.0, -2, 3, -4
.expect r2, 1.0, -2, 3, -4
