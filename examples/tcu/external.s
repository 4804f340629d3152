; npu run external.s --target tcu:cmoda7+seed
; What the page of the instruction set says of a SIMD NoOp: it triggers an external write, of the array's output into the
; accumulators, or an external read, of an accumulator into local memory. The released hardware hangs there: `+seed` is an
; instance that goes by the page.
; Expected by hand: with the bias 1 and a weight of 2 for lane 0, a row that begins with x gives 1 + 2 x.

.data dram0[0], 3.0, 0.0, 0.0, 0.0
.data dram0[1], 5.0, 0.0, 0.0, 0.0
.data dram1[0:1], 1.0
.data dram1[1:2], 2.0
.data dram1[2:5], 0.0

    datamove local[0] <- dram1[0], 5
    loadweights local[0], 5
    datamove local[8] <- dram0[0], 2
    matmul local[8], acc[0], 2
    simd out = noop, write acc[2]     ; the last row again
    simd out = noop, write.acc acc[0] ; and added to the first
    simd local[16] = noop, read acc[0]

.expect acc[0:1], 18.0
.expect acc[1:2], 11.0
.expect acc[2:3], 11.0
.expect local[16:17], 18.0
