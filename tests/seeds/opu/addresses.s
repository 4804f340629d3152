; The kernel lies 3 * 64 bytes into its bank, the bias 5 * 64 bytes into its own; 1 * f0 + 2 * f1 + 40 and f0 - f1 - 300.
.data features.0[0], 5, 7
.data memory[0x200000c0:0x200000e0], 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data memory[0x40000140:0x40000144], 40, 0, 0xd4, 0xfe ; -1 is 255, -300 is 0xfed4
    @shape.ifm [1,1,16]
    @shape.ofm [1,1,2]
    @shape.ker 1
    @mem.ifm 0, 1
    @mem.ker 2
    @mem.bias 4
    @stride [1,1]
    @shift 0, 0
    ld.ifm 0
    ld.ker 3
    ld.bias 5
    conv.bias ifm:[0,0], ker:0
    end
.expect ofm[0], 59, -302
