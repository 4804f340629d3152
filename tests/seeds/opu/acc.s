; Two slices of the kernel, the second added to the first.
.data features.0[0], 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0
.data features.0[1], 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1
.data features.0[2], 2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2
.data features.0[3], 3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3
.data weights.2[0:64], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
    @shape.ifm [2,2,16]
    @shape.ofm [2,2,2]
    @shape.ker 2
    @mem.ifm 0, 2
    @mem.ker 2
    @mem.bias 4
    @mem.ofm 1, [2,2]
    @stride [1,1]
    @shift 7, 0
    @post pool
    @pool [1,1], [1,1]
    ld.ifm 0
    ld.ker 0
    conv ifm:[0,0], ker:0
    conv.acc ifm:[0,0], ker:1
    end
.expect ofm[0], 128, -3840
.expect ofm[1], 384, -7936
.expect ofm[2], 640, -12032
.expect ofm[3], 896, -16128
