; npu run types_int8.s --target opu:reference
; int8 features and weights, int16 biases and sums: `store` scales by 2^-8.
; 128 of 256 are a half, which goes up; so does -128, to 0.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft; nearest, of two the greater.

.data features.0[0], 127, -128
.data features.0[1], 1, 1
.data features.0[2], -1, 3
.data weights.1[0:32], 0
.data weights.1[0], 100, -20
.data weights.1[16], 1, 127
.data biases.2[0], 100, -28

    @shape.ifm [1,3,16]
    @shape.ofm [1,3,2]
    @shape.ker 1
    @mem.ifm 0, 3
    @mem.ker 1
    @mem.bias 2
    @mem.ofm 3, [1,3]
    @stride [1,1]
    @shift 0, 0
    @pool [1,1], [1,1]
    ld.ifm 0
    ld.ker 0
    ld.bias 0
    conv.bias ifm:[0,0], ker:0
    @post pool
    store 0
    @post act.leaky, pool
    store 0x400
    end

.expect ofm[0], 15360, -16157
.expect ofm[1], 180, 100
.expect ofm[2], -60, 352
.expect features.3[0], 60, -63
.expect features.3[1], 1, 0
.expect features.3[2], 0, 1
.expect features.3[1024], 60, -8
.expect features.3[1025], 1, 0
.expect features.3[1026], 0, 1
