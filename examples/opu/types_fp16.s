; npu run types_fp16.s --target opu:fp16
; fp16 throughout.
; 1 + 2^-11 and 2048 + 1 are ties: they go to the greater number, as do their negatives, not to the even one.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft; nearest, of two the greater.

.data features.0[0], 1.0, 0.00048828125
.data features.0[1], 2048.0, 1.0
.data features.0[2], -60000.0, 3.0517578125e-05
.data weights.1[0:32], 0.0
.data weights.1[0], 1.0, 1.0
.data weights.1[16], -1.0, -1.0
.data biases.2[0], 0.0, -0.5

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

.expect ofm[0], 1.0009765625, -1.5
.expect ofm[1], 2050.0, -2050.0
.expect ofm[2], -60000.0, 60000.0
.expect features.3[0], 1.0009765625, -1.5
.expect features.3[1], 2050.0, -2050.0
.expect features.3[2], -60000.0, 60000.0
.expect features.3[512], 1.0009765625, -0.1875
.expect features.3[513], 2050.0, -256.25
.expect features.3[514], -7500.0, 60000.0
