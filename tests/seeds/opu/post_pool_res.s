; Order 2, activation 0, residual 1; windows of 2 x 2, two columns apart.
.data features.0[0], -20, -60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[1], -24, -80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[2], -41, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[3], 9, -60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[4], -60, -90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[5], -90, -127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[6], 3, -9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data features.0[7], -5, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.2[0:32], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    @shape.ifm [2,4,16]
    @shape.ofm [2,4,2]
    @shape.ker 1
    @mem.ifm 0, 4
    @mem.ker 2
    @mem.bias 4
    @mem.ofm 1, [2,4]
    @stride [1,1]
    @shift 8, 0
    @post pool, res
    @pool [2,2], [1,2]
    ld.ifm 0
    ld.ker 0
    conv ifm:[0,0], ker:0
    store 0
    end
.expect features.1[0], -40, -90
.expect features.1[1], -15, 11
