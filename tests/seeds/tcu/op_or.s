; Or of x = 1.5 -2 0 3 and y = 0.5 0 0 4; a truth is 1.
.data dram0[0:2], 1.5, -2, 0, 3, 0.5, 0, 0, 4
    datamove local[0] <- dram0[0], 2
    datamove acc[0] <- local[0], 2
    simd r1 = move(in), read acc[1]
    simd out = or(in, r1), read acc[0], write acc[4]
.expect acc[4], 1.0, 1.0, 0.0, 1.0
