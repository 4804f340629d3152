; npu run types_int16.s --target opu:int16
; int16 features and weights, int32 biases and sums: `store` scales by 2^-16.
; Slots of 64 elements have 128 bytes: `store` counts 64, so 0x400 is slot 0x200.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft; nearest, of two the greater.

.data features.0[0], 32767, -32768
.data features.0[1], 1000, -7
.data features.0[2], -3, 5
.data weights.1[0:32], 0
.data weights.1[0], 20000, -30000
.data weights.1[16], -1, 12345
.data biases.2[0], 32768, -98304

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

.expect ofm[0], 1638412768, -404652031
.expect ofm[1], 20242768, -185719
.expect ofm[2], -177232, -36576
.expect features.3[0], 25000, -6174
.expect features.3[1], 309, -3
.expect features.3[2], -3, -1
.expect features.3[512], 25000, -772
.expect features.3[513], 309, 0
.expect features.3[514], 0, 0
