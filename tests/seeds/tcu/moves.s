; All ways of a vector, and twice the second one: DRAM0, local memory, DRAM1, local memory, accumulators, local memory.
.data dram0[0:2], 1.0, 2, 3, 4, 5, 6, 7, 8
    datamove local[0] <- dram0[1], 1
    datamove dram1[4] <- local[0], 1
    datamove local[1] <- dram1[4], 1
    datamove acc[2] <- local[1], 1
    datamove local[2] <- acc[2], 1
    datamove dram0[5] <- local[2], 1
    datamove acc[3] <- local[0], 1
    simd out = zero, write acc[9]
    datamove.acc acc[3] <- local[0], 1
.expect dram1[4], 5.0, 6, 7, 8
.expect acc[2], 5.0, 6, 7, 8
.expect dram0[5], 5.0, 6, 7, 8
.expect acc[3], 10.0, 12, 14, 16
