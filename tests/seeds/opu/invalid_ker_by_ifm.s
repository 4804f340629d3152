; The same shape once more, and `ker` is no longer valid.
.data features.0[0], 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0
.data features.0[1], 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1
.data features.0[2], 2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2
.data features.0[3], 3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3
.data weights.2[0:32], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
    @shape.ifm [2,2,16]
    @shape.ofm [2,2,2]
    @shape.ker 1
    @mem.ifm 0, 2
    @mem.ker 2
    @mem.bias 4
    @mem.ofm 1, [2,2]
    @stride [1,1]
    @shift 8, 0
    @post pool
    @pool [1,1], [1,1]
    ld.ifm 0
    ld.ker 0
    conv ifm:[0,0], ker:0
    @shape.ifm [2,2,16]
    ld.ifm 0
    conv ifm:[0,0], ker:0
    end
