; npu run leaky_relu.s --target tcu:cmoda7
; A function on the ALUs: leaky ReLU, max(x, x/8), of two vectors. There is one register and an instruction reads one
; accumulator, so the product goes back to the accumulators between.
; Expected by hand: positive values stay, negative ones are divided by 8.

.data dram0[0], -2.0, -0.5, 0.0, 0.75, 1.5, -8.0, 3.0, -1.0
.data dram1[0:1], 0.125

    datamove local[0] <- dram0[0], 2
    datamove local[2] <- dram1[0], 1
    datamove acc[0] <- local[0], 3 ; x, x, slope

.rept 2
        simd r1 = move(in), read acc[2] ; the slope
        simd out = multiply(in, r1), read acc[\+], write acc[4 + \+]
        simd r1 = move(in), read acc[\+]
        simd out = max(in, r1), read acc[4 + \+], write acc[\+]
.endr

    datamove local[0] <- acc[0], 2
    datamove dram0[2] <- local[0], 2

.expect dram0[2], -0.25, -0.0625, 0.0, 0.75
.expect dram0[3], 1.5, -1.0, 3.0, -0.125
.expect r1, 1.5, -8.0, 3.0, -1.0
