; npu run types_fx12.s --target opu:fx12
; Fixed point: features of 12 bits, 8 of them fraction, in two bytes; weights fx8_7; biases and sums fx24_16.
; Full scale stays full scale: sums reach to 2^7, features to 2^3, so `store` scales by 2^-4.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft; nearest, of two the greater.

.data features.0[0], 1.5, -2.25
.data features.0[1], 7.99609375, 0.00390625
.data features.0[2], -8.0, 3.5
.data weights.1[0:32], 0.0
.data weights.1[0], 0.5, -0.25
.data weights.1[16], -1.0, 0.9921875
.data biases.2[0], 0.01953125, -3.0

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

.expect ofm[0], 1.33203125, -6.732421875
.expect ofm[1], 4.0166015625, -10.992218017578125
.expect ofm[2], -4.85546875, 8.47265625
.expect features.3[0], 0.08203125, -0.421875
.expect features.3[1], 0.25, -0.6875
.expect features.3[2], -0.3046875, 0.53125
.expect features.3[512], 0.08203125, -0.05078125
.expect features.3[513], 0.25, -0.0859375
.expect features.3[514], -0.0390625, 0.53125
