; npu run types_fp32.s --target opu:fp32
; fp32 throughout.
; 1 + 2^-24 and 2^24 + 1 are ties: they go to the greater number, as do their negatives, not to the even one.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft; nearest, of two the greater.

.data features.0[0], 1.0, 5.960464477539063e-08
.data features.0[1], 16777216.0, 1.0
.data features.0[2], -0.10000000149011612, 0.20000000298023224
.data weights.1[0:32], 0.0
.data weights.1[0], 1.0, 1.0
.data weights.1[16], -1.0, -1.0
.data biases.2[0], 0.0, 0.0

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

.expect ofm[0], 1.0000001192092896, -1.0
.expect ofm[1], 16777218.0, -16777216.0
.expect ofm[2], 0.10000000149011612, -0.10000000149011612
.expect features.3[0], 1.0000001192092896, -1.0
.expect features.3[1], 16777218.0, -16777216.0
.expect features.3[2], 0.10000000149011612, -0.10000000149011612
.expect features.3[256], 1.0000001192092896, -0.125
.expect features.3[257], 16777218.0, -2097152.0
.expect features.3[258], 0.10000000149011612, -0.012500000186264515
