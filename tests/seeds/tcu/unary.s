; Operations of one argument take the left source; the right one is another and does not count.
.data dram0[0:2], 1.5, -2, 0, 3, 9, 9, 9, 9
    datamove local[0] <- dram0[0], 2
    datamove acc[0] <- local[0], 2
    simd r1 = move(in), read acc[1] ; nines
    simd out = move(in, r1), read acc[0], write acc[4]
    simd out = not(in, r1), read acc[0], write acc[5]
    simd out = increment(in, r1), read acc[0], write acc[6]
    simd out = decrement(in, r1), read acc[0], write acc[7]
    simd out = abs(in, r1), read acc[0], write acc[8]
.expect acc[4], 1.5, -2, 0, 3
.expect acc[5], 0.0, 0, 1, 0
.expect acc[6], 2.5, -1, 1, 4
.expect acc[7], 0.5, -3, -1, 2
.expect acc[8], 1.5, 2, 0, 3
