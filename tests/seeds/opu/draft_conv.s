; Reads row 3 of 4; h + ofm_h (stride_h - 1) is 5.
    @shape.ifm [4,4,16]
    @shape.ofm [1,1,2]
    @shape.ker 1
    @mem.ifm 0, 4
    @mem.ker 1
    @mem.bias 2
    @stride [1,1]
    @shift 0, 0
    ld.ifm 0
    ld.ker 0
    ld.bias 0
    conv ifm:[0,0], ker:0
    @stride [3,1]
    conv ifm:[3,0], ker:0
    end
