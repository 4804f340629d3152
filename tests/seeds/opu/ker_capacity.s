; 10 slices of 64 x 64 are 40 of the 36 that there is room for.
.data weights.0[0:40960], 1
    @shape.ifm [1,1,64]
    @shape.ofm [1,1,64]
    @shape.ker 10
    @mem.ker 0
    ld.ker 0
    end
