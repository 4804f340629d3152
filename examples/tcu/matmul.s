; npu run matmul.s --target tcu:cmoda7
; Y = X W + b on the 4x4 array: five rows of X stream through, a row of results comes out for each.
; Expected: b[j] + sum over k of x[k] w[k][j] in exact arithmetic (Python); nothing rounds, all values are multiples of 1/16.

.input x, dram0[0:5], -1.0, -1.5, 0.0, -1.25, 1.75, 1.5, 1.75, 1.0, -0.5, -1.25, 1.75, -2.0, 1.0, 1.25, -2.0, 1.5, 0.0, -0.25, -1.25, 0.5
.data dram1[0], 1.5, 0.25, -2.0, 1.25  ; the bias
.data dram1[1], -2.0, -2.0, -2.0, -2.0 ; what input lane 0 is multiplied by, for each output lane
.data dram1[2], 1.0, -0.5, 1.25, -2.0
.data dram1[3], 2.0, -0.25, 1.5, 1.75
.data dram1[4], -0.25, 0.75, -0.25, -0.25
.output y, dram0[16:21]

.equ weights, 0
.equ x, 8
.equ y, 16
    datamove local[weights] <- dram1[0], 5
    loadweights local[weights], 5 ; rows go in highest address first: the bias ends on top
    datamove local[x] <- dram0[0], 5
    matmul local[x], acc[0], 5
    datamove local[y] <- acc[0], 5
    datamove dram0[16] <- local[y], 5

.expect dram0[16], 2.3125, 2.0625, -1.5625, 6.5625
.expect dram0[17], 2.75, -3.6875, -1.25, -2.4375
.expect dram0[18], 5.25, -0.0625, 0.5625, 8.3125
.expect dram0[19], -3.625, -0.75, -5.8125, -7.125
.expect dram0[20], -1.375, 1.0625, -4.3125, -0.5625
.expect weights[0], 1.5, 0.25, -2.0, 1.25
.expect program_counter, 6
