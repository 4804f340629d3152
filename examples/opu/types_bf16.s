; npu run types_bf16.s --target opu:bf16
; bf16 features and weights, fp32 biases and sums. Sums are exact and rounded once.
; Real values are written with a point; the machine's own are the bits, as in `.data features.0[0], 0x3fc0`.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft; nearest, of two the greater.

.data features.0[0], 1.5, -0.0078125
.data features.0[1], 3.0, 100.0
.data features.0[2], -2.0, 0.25
.data weights.1[0:32], 0.0
.data weights.1[0], 1.0, 0.5
.data weights.1[16], -0.125, 3.0
.data biases.2[0], 0.00390625, -7.0

    @shape.ifm [1,3,16]
    @shape.ofm [1,3,2]
    @shape.ker 1
    @mem.ifm 0, 3
    @mem.ker 1
    @mem.bias 2
    @mem.ofm 3, [1,3]
    @stride [1,1]
    @shift 0, 1
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

.expect ofm[0], 1.50390625, -14.2109375
.expect ofm[1], 53.0078125, 285.625
.expect ofm[2], -1.8671875, -13.0
.expect features.3[0], 1.5078125, -14.1875
.expect features.3[1], 53.0, 286.0
.expect features.3[2], -1.8671875, -13.0
.expect features.3[512], 1.5078125, -1.7734375
.expect features.3[513], 53.0, 286.0
.expect features.3[514], -0.2333984375, -1.625
