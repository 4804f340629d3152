; Neither read nor write: nothing happens.
.data dram0[0], 1.0, -2, 3, -4
    datamove local[0] <- dram0[0], 1
    datamove acc[0] <- local[0], 1
    simd r1 = move(in), read acc[0]
    simd out = noop
.expect acc[0], 1.0, -2, 3, -4
.expect r1, 1.0, -2, 3, -4
