; Keys -1 0 1 4 are table 0, values 10 20 30 40 table 1 and 5 6 7 8 table 2. Closest to 1.25 0.25 -3 3 are 1 0 -1 4.
.data dram0[0:4], -1.0, 0, 1, 4, 10, 20, 30, 40, 5, 6, 7, 8, 1.25, 0.25, -3, 3
    datamove local[0] <- dram0[0], 4
    loadlut local[0], table 0, 1
    loadlut local[1], table 1, 1
    loadlut local[2], table 2, 1
    datamove acc[0] <- local[3], 1
    simd r1 = lookup(in), read acc[0], write acc[1]
    simd out = move(r2), write acc[2]
    simd out = move(r3), write acc[3]
.expect acc[1], 0.25, 0.25, -2, -1 ; the difference, at the output and in register 1
.expect r1, 0.25, 0.25, -2, -1
.expect acc[2], 30.0, 20, 10, 40
.expect acc[3], 7.0, 6, 5, 8
