; 9 slices of 64 x 64 are 36, and so are 18 of 32 x 64 and of 64 x 32, and 36 of 16 x 64, 32 x 32 and 16 x 2.
.data weights.0[0:36864], 1
    @mem.ker 0
    @shape.ifm [1,1,64]
    @shape.ofm [1,1,64]
    @shape.ker 9
    ld.ker 0
    @shape.ifm [1,1,32]
    @shape.ker 18
    ld.ker 0
    @shape.ifm [1,1,64]
    @shape.ofm [1,1,32]
    ld.ker 0
    @shape.ker 36
    @shape.ifm [1,1,32]
    ld.ker 0
    @shape.ifm [1,1,16]
    @shape.ofm [1,1,64]
    ld.ker 0
    @shape.ofm [1,1,2]
    ld.ker 0
    end
.expect ker_n, 36
