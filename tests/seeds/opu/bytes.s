; The word of `@shift 1, -1`, byte by byte, and a bias of two bytes, the low one first.
.data memory[0xd0000000:0xd0000004], 0x34, 0x12, 0, 0
    @shape.ofm [1,1,2]
    @mem.bias 13
    ld.bias 0
    end
.expect bias[0], 0x1234, 0
