; Zero of x = 1.5 -2 0 3 and y = 0.5 0 0 4, where x was.
.data dram0[0:2], 1.5, -2, 0, 3, 0.5, 0, 0, 4
    datamove local[0] <- dram0[0], 2
    datamove acc[0] <- local[0], 2
    datamove acc[4] <- local[0], 1
    simd r1 = move(in), read acc[1]
    simd out = zero, write acc[4]
.expect acc[4], 0.0, 0.0, 0.0, 0.0
