; The word of `@shift 1, -1`, byte by byte, and a bias of two bytes, the low one first.
.data memory[0xd0000000:0xd0000002], 0x34, 0x12
    @shape.ofm [1,1,2]
    @mem.bias 13
    ld.bias 0
    end
.expect biases.13[0], 0x1234
