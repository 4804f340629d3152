; npu run conv.s --target opu
; A 2 x 2 convolution with a bias: a sum of four taps, each a 1 x 1 convolution of a shifted tile.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft.

; 3 x 3 pixels of 16 channels. features.0 is bank 0; an address is a slot: one pixel of up to 64 channels.
.data features.0[0], -1, 0, 0, -1, 0, -2, 0, -3, 0, 3, 2, 2, -1, -2, 2, -2
.data features.0[1], -3, -1, -1, 3, -1, 2, -2, 2, 1, -1, -3, 3, -2, 1, -1, -3
.data features.0[2], -2, 3, 1, 2, 2, -3, 0, 0, 1, 2, 2, -1, -2, 3, -1, -1
.data features.0[3], -1, 0, 3, -3, -1, 0, 0, 1, 2, -2, 1, -1, 1, -3, -1, -3
.data features.0[4], 3, 3, -3, 1, -1, -2, 0, -2, -1, -1, -1, 0, 0, -3, -2, 2
.data features.0[5], 0, 2, 3, -3, 0, 3, 3, 0, -3, 3, 0, 2, 3, -3, 0, 3
.data features.0[6], 1, -3, 0, 2, -3, -2, 2, -2, 0, -1, -3, 1, -3, 2, 2, 0
.data features.0[7], 1, -1, 0, 1, 2, 3, 3, 2, 2, 3, 3, -3, -2, -1, -3, 2
.data features.0[8], -3, 1, -3, -2, -3, 0, 2, -3, 3, -3, 2, 2, -3, 3, 3, 0
; A slice for each tap, of 2 output by 16 input channels. weights.1 is bank 1, an element an address.
.data weights.1[0], -1, 0, -1, -1, 2, -2, -1, 2, -1, -2, -2, -1, 0, 1, 1, -2
.data weights.1[16], 1, 1, 1, 1, 0, -2, -2, -2, -1, 1, 0, 2, 1, -2, -1, -2
.data weights.1[32], 1, -2, 0, -2, 1, 1, -1, 1, -1, -1, -1, 1, 1, 2, -1, 1
.data weights.1[48], -1, 0, 1, -1, 1, -1, 1, -2, 1, 0, 2, 0, -2, -2, 0, 1
.data weights.1[64], -1, 2, 1, -1, 2, 1, 2, -1, 1, 2, -2, -2, 0, -2, 1, -2
.data weights.1[80], 1, -2, 2, 0, 2, -1, -2, 0, 1, 0, 1, -2, -1, -1, 1, -1
.data weights.1[96], -2, -2, -1, 0, 1, 2, 2, -1, -2, 0, -2, 1, -2, -1, 2, -1
.data weights.1[112], -1, 2, 2, 0, 2, -2, 2, 2, 2, -1, 1, 2, 1, 0, -1, 1
.data biases.2[0], 5, -7
.output sums, ofm[0:4]

    @shape.ifm [3,3,16]
    @shape.ofm [2,2,2]
    @shape.ker 4
    @mem.ifm 0, 3 ; bank 0, rows are 3 slots apart
    @mem.ker 1
    @mem.bias 2
    @mem.ofm 3, [2,2]
    @stride [1,1]
    @shift 8, 8 ; times 2^8: `store` scales int16 sums by 2^-8 to int8
    @post pool
    @pool [1,1], [1,1] ; a window of one pixel: no pooling
    ld.ifm 0
    ld.ker 0
    ld.bias 0
    conv.bias ifm:[0,0], ker:0
    conv.acc ifm:[0,1], ker:1
    conv.acc ifm:[1,0], ker:2
    conv.acc ifm:[1,1], ker:3
    store 0
    end

.expect ofm[0], 256, 1536
.expect ofm[1], 1024, 256
.expect ofm[2], -3840, 1024
.expect ofm[3], 6144, 5632
.expect features.3[0], 1, 6
.expect features.3[1], 4, 1
.expect features.3[2], -15, 4
.expect features.3[3], 24, 22
