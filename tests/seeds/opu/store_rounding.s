; Sums by 2^-8: 128 is a half and becomes 1, -128 is one, too, and becomes 0; 127 becomes 0, 129 becomes 1, -129 becomes -1.
.data features.0[0], 64
.data features.0[1], -64
.data features.0[2], 127
.data features.0[3], -128
.data features.0[4], 43
.data features.0[5], -43
.data weights.2[0:64], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    @shape.ifm [1,6,16]
    @shape.ofm [1,6,4]
    @shape.ker 1
    @mem.ifm 0, 6
    @mem.ker 2
    @mem.ofm 1, [1,6]
    @stride [1,1]
    @shift 0, 0
    @post pool
    @pool [1,1], [1,1]
    ld.ifm 0
    ld.ker 0
    conv ifm:[0,0], ker:0
    store 0
    end
.expect ofm[0], 64, 128, 192, -192
.expect ofm[1], -64, -128, -192, 192
.expect ofm[2], 127, 254, 381, -381
.expect ofm[3], -128, -256, -384, 384
.expect ofm[4], 43, 86, 129, -129
.expect ofm[5], -43, -86, -129, 129
.expect features.1[0], 0, 1, 1, -1
.expect features.1[1], 0, 0, -1, 1
.expect features.1[2], 0, 1, 1, -1
.expect features.1[3], 0, -1, -1, 2
.expect features.1[4], 0, 0, 1, -1
.expect features.1[5], 0, 0, -1, 1
