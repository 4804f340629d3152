; 9 slices of 64 x 64 are 36.
.data weights.0[0:36864], 1
    @shape.ifm [1,1,64]
    @shape.ofm [1,1,64]
    @shape.ker 9
    @mem.ker 0
    ld.ker 0
    end
.expect ker_n, 9
