; npu run matmul.s --target opu
; A fully connected layer, Y = X W + b: three rows of X are three pixels, W a kernel of one slice.
; Products are scaled by 2^6 and the way from int16 to int8 by 2^-8: what is stored is Y / 4, halves rounded up.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft.

.data features.0[0], -4, -6, -3, -9, -7, 2, 0, -6, -5, -8, -4, -6, -2, 2, -3, 9
.data features.0[1], 4, -7, -4, -7, 5, -7, -8, 9, -5, -5, -4, -3, 4, -8, 2, -6
.data features.0[2], 3, 4, -1, -6, 3, -3, 2, 5, 2, 4, -9, 2, -3, -7, -3, 3
.data weights.1[0], 2, -4, -1, 2, 4, 1, -4, 4, 2, 1, -4, -2, 2, -1, 1, -2 ; column 0 of W
.data weights.1[16], 2, -4, 2, -4, 2, 3, -4, -2, -4, -2, -1, 0, 2, -4, -4, -3 ; column 1 of W
.data weights.1[32], 4, 4, -4, -2, 1, -3, 4, 0, 3, -2, 2, 0, 2, 4, -3, -2 ; column 2 of W
.data weights.1[48], -4, 0, 0, 0, 3, 1, -3, 0, 2, 0, 3, -4, -3, -3, 1, 2 ; column 3 of W
.data biases.2[0], 10, -20, 30, -40
.output y, features.3[0:3]

    @shape.ifm [3,1,16]
    @shape.ofm [3,1,4]
    @shape.ker 1
    @mem.ifm 0, 1
    @mem.ker 1
    @mem.bias 2
    @mem.ofm 3, [3,1]
    @stride [1,1]
    @shift 6, 6
    @post pool
    @pool [1,1], [1,1]
    ld.ifm 0
    ld.ker 0
    ld.bias 0
    conv.bias ifm:[0,0], ker:0
    store 0
    end

.expect features.3[0], -14, 11, -1, -6
.expect features.3[1], 39, 31, 3, -8
.expect features.3[2], 11, -3, 11, -12
