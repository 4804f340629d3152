; Every instruction of the listing, fields at their ends.
    @shift 1, -1
    @post act.relu, res, pool
    @post res, act.relu, pool
    @post act.relu, pool, res
    @post pool
    @post res, pool
    @post act.relu, pool
    @post act.leaky, pool
    @shape.ifm [16,127,64]
    @shape.ofm [127,16,2]
    @shape.ker 36
    @mem.ifm 15, 1023
    @mem.ker 15
    @mem.bias 15
    @mem.ofm 15, [1023,512]
    @stride [7,1]
    @shift -128, 127
    @post act.leaky, res, pool
    @post res, act.leaky, pool
    @post pool, res
    @post act.leaky, pool, res
    @pool [15,1], [7,2]
    ld.ifm 0x3fffff
    ld.ker 0x200001
    ld.bias 5
    conv ifm:[15,1], ker:35
    conv.bias ifm:[1,15], ker:35
    conv.acc ifm:[2,3], ker:4
    store 0x155555
    pad 0x2aaaaa, 15
    end
    ld.ifm 1
    ld.ker 1
    ld.bias 1
    conv ifm:[1,2], ker:3
    conv.bias ifm:[1,2], ker:3
    conv.acc ifm:[1,2], ker:3
    store 1
    pad 1, 2
    @shape.ifm [1,2,16]
    @shape.ofm [1,2,4]
    @shape.ker 1
    @mem.ifm 1, 2
    @mem.ker 1
    @mem.bias 1
    @mem.ofm 1, [2,3]
    @stride [1,2]
    @shift 1, 2
    @pool [1,2], [3,4]
