; Halves: 1.5 is 2, -1.5 is -1, 0.5 is 1, -0.5 is 0.
.data features.0[0], 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[1], -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[2], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[3], -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[4], 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.2[0:32], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    @shape.ifm [1,5,16]
    @shape.ofm [1,5,2]
    @shape.ker 1
    @mem.ifm 0, 5
    @mem.ker 2
    @mem.bias 4
    @mem.ofm 1, [1,5]
    @stride [1,1]
    @shift -1, 0
    @post pool
    @pool [1,1], [1,1]
    ld.ifm 0
    ld.ker 0
    conv ifm:[0,0], ker:0
    end
.expect ofm[0], 2, -192
.expect ofm[1], -1, 192
.expect ofm[2], 1, -64
.expect ofm[3], 0, 64
.expect ofm[4], 64, -8128
