; The last byte of the memory is at 2^32 - 1: a bias of two bytes at the end of bank 15.
.data memory[0xffffffc0:0x100000000], 1
    @shape.ofm [1,1,32]
    @mem.bias 15
    ld.bias 0x3fffff
    end
.expect bias[0], 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257, 257
