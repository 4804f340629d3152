; npu run conv.s --target tcu:cmoda7
; A convolution of 3x3 pixels of 4 channels with a kernel of 2x2: one product for each of its four taps, summed in the
; accumulators. No pixel is copied: a tap only begins at another address.
; The data are those of a published test of Tensil's compiler, image and kernel divided by 16 to fit FP16BP8: the image is
; 0, 1, 2, ..., the kernel goes on with 36, 37, ..., and the results are the published 11904 to 30024, over 256
; (first and last pixel; the two between by Python from the definition).

.rept 9
    .data dram0[\+], 64 * \+, 64 * \+ + 16, 64 * \+ + 32, 64 * \+ + 48
.endr
.rept 16
    .data dram1[\+], 64 * (9 + \+), 64 * (9 + \+) + 16, 64 * (9 + \+) + 32, 64 * (9 + \+) + 48
.endr

.equ image, 0
.equ kernel, 16
.equ result, 32

.macro tap row, column, accumulate=""
        loadweights local[kernel + 4 * (2 * \row + \column)], 4
        loadweights.zeroes 1 ; no bias
        matmul\accumulate local[image + 3 * \row + \column], acc[0], 2 ; both pixels of the first row of results
        matmul\accumulate local[image + 3 * (\row + 1) + \column], acc[2], 2 ; and of the second
.endm

    datamove local[image] <- dram0[0], 9
    datamove local[kernel] <- dram1[0], 16
    tap 0, 0
    tap 0, 1, .acc
    tap 1, 0, .acc
    tap 1, 1, .acc
    datamove local[result] <- acc[0], 4
    datamove dram0[16] <- local[result], 4

.expect dram0[16], 11904, 12056, 12208, 12360
.expect dram0[17], 16128, 16344, 16560, 16776
.expect dram0[18], 24576, 24920, 25264, 25608
.expect dram0[19], 28800, 29208, 29616, 30024
