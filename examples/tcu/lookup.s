; npu run lookup.s --target tcu:cmoda7+lut
; A function by lookup: the square, as the tangent at the closest key. Table 0 has the keys, table 1 the values there and
; table 2 the slopes; a lookup gives the difference to the key in r1, the value in r2 and the slope in r3.
; No released hardware has lookup tables: `+lut` adds two to an instance, and registers for what they give.
; Expected by hand: of two keys equally close the first counts, so 1.5 is 1 + 2 (1.5 - 1).

.data dram1[0], 0.0, 1.0, 2.0, 3.0
.data dram1[1], 0.0, 1.0, 4.0, 9.0
.data dram1[2], 0.0, 2.0, 4.0, 6.0
.data dram0[0], 0.25, 1.5, 2.25, 4.0

    datamove local[0] <- dram1[0], 3
    loadlut local[0], table 0, 1 ; the size is ours: as on the page, it may be left out for one vector
    loadlut local[1], table 1
    loadlut local[2], table 2

    datamove local[3] <- dram0[0], 1
    datamove acc[0] <- local[3], 1
    simd r1 = lookup(in), read acc[0]
    simd r3 = multiply(r1, r3)
    simd out = add(r2, r3), write acc[1]
    datamove local[4] <- acc[1], 1
    datamove dram0[1] <- local[4], 1

.expect r1, 0.25, 0.5, 0.25, 1.0
.expect r2, 0.0, 1.0, 4.0, 9.0
.expect dram0[1], 0.0, 2.0, 5.0, 15.0
