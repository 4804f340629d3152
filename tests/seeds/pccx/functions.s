; Values of which the results are BF16 numbers but for e, sin 1, cos 1 and GELU 1, whose nearest BF16 numbers stand here.
.data l2[0x10], 0.0, 1
.data l2[0x11], 0.0, 4, 16, 0.25
.data l2[0x12], 1.0, 2, -4, 0.5
    cvo exp, src=0x10, dst=0x20, len=2
    cvo sqrt, src=0x11, dst=0x21, len=4
    cvo gelu, src=0x10, dst=0x22, len=2
    cvo sin, src=0x10, dst=0x23, len=2
    cvo cos, src=0x10, dst=0x24, len=2
    cvo reduce_sum, src=0x11, dst=0x25, len=4
    cvo recip, src=0x12, dst=0x26, len=4
.expect l2[0x20], 1.0, 2.71875
.expect l2[0x21], 0.0, 2, 4, 0.5
.expect l2[0x22], 0.0, 0.83984375
.expect l2[0x23], 0.0, 0.83984375
.expect l2[0x24], 1.0, 0.5390625
.expect l2[0x25], 20.25
.expect l2[0x26], 1.0, 0.5, -0.25, 2
