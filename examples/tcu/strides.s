; npu run strides.s --target tcu:cmoda7
; Vectors 2^s apart: a 4x4 grid of vectors is turned about its diagonal by four moves, as columns are 4 apart; then every
; second vector is added to its neighbor. Stride and address belong to each side of a move.
; Expected by hand: vector (row, column) holds 10 row + column, so (i, j) of the result holds 10 j + i.

.rept 16
    .data dram0[\+:\+ + 1], 10 * (\+ / 4) + \+ % 4
.endr

    datamove local[0] <- dram0[0], 16
.rept 4
        datamove dram1[4 * \+] <- local[\+ @2^2], 4 ; column \+ becomes a row
.endr

    datamove local[16] <- dram1[0 @2^1], 8 ; vectors 0, 2, 4, ... of the turned grid
    datamove acc[0] <- local[16], 8
    datamove local[24] <- dram1[1 @2^1], 8 ; and 1, 3, 5, ...
    datamove.acc acc[0] <- local[24], 8
    datamove local[32 @2^1] <- acc[0], 8 ; with gaps, which stay as they are

.expect dram1[0:4], 0, 0, 0, 0, 10, 10, 10, 10, 20, 20, 20, 20, 30, 30, 30, 30
.expect dram1[13:14], 13
.expect acc[0:1], 10
.expect acc[1:2], 50
.expect acc[7:8], 56
.expect local[34:35], 50
.expect local[33:34], 0
