; What is read goes to the ALUs, whether a source takes it or not: by the page no form hangs.
.data dram0[0:2], 1.5, -2, 0, 3, 9, 9, 9, 9
    datamove local[0] <- dram0[0], 2
    datamove acc[0] <- local[0], 2
    simd r1 = move(in), read acc[1] ; nines
    simd out = move(r1), read acc[0], write acc[2]
    simd out = zero, read acc[0], write acc[3]
    simd r1 = increment(r1), read acc[0]
    simd out = move(in), read acc[0], write acc[4]
    simd out = max(r1, r1), read acc[0], write acc[5]
.expect acc[2], 9.0, 9, 9, 9
.expect acc[3], 0.0, 0, 0, 0
.expect acc[4], 1.5, -2, 0, 3
.expect acc[5], 10.0, 10, 10, 10
