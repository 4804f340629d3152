; Reads row 5 of 4: no condition forbids it, and there is nothing to read.
    @shape.ifm [4,4,16]
    @shape.ofm [2,2,2]
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
    @stride [3,3]
    conv.acc ifm:[2,0], ker:0
    end
