; npu run maxpool.s --target tcu:cmoda7
; Maximum over windows of 2x2 of 4x4 pixels with 4 channels: the ALUs keep the largest so far in register 1.
; Expected: the largest of each window and channel, found by Python's max.

.data dram0[0], 3.875, -3.5, -2.125, 5.0, -0.375, -3.125, 0.25, 3.0, 1.75, 3.0, -2.0, -0.25, -0.5, 4.375, 2.875, 3.0
.data dram0[4], 1.25, 4.375, -4.5, 2.625, -1.125, 1.375, 1.625, -2.25, 0.75, 3.75, 0.875, -3.625, 2.0, 3.125, -3.375, -2.5
.data dram0[8], 3.25, 1.25, 0.875, 2.75, -4.625, 2.5, -4.375, -0.125, 4.75, 4.375, 4.25, 1.25, -2.375, -2.375, 3.0, -1.375
.data dram0[12], -4.875, -1.875, 3.625, 3.75, -1.375, 1.375, 3.125, 0.5, 4.125, 0.625, 2.25, -0.75, 3.75, 4.625, -5.0, 1.125

.equ width, 4
.equ pooled, 16

.macro window first, to
        simd r1 = move(in), read acc[\first]
        simd r1 = max(in, r1), read acc[\first + 1]
        simd r1 = max(in, r1), read acc[\first + width]
        simd out = max(in, r1), read acc[\first + width + 1], write acc[\to]
.endm

    datamove local[0] <- dram0[0], 16
    datamove acc[0] <- local[0], 16 ; the ALUs see accumulators only
.rept 2
        window \+ * 2 * width, pooled + 2 * \+
        window \+ * 2 * width + 2, pooled + 2 * \+ + 1
.endr
    datamove local[16] <- acc[pooled], 4
    datamove dram0[16] <- local[16], 4

.expect dram0[16], 3.875, 4.375, 1.625, 5.0
.expect dram0[17], 2.0, 4.375, 2.875, 3.0
.expect dram0[18], 3.25, 2.5, 3.625, 3.75
.expect dram0[19], 4.75, 4.625, 4.25, 1.25
