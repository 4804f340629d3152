; The scalar lies in the word before the vector: times 4, divided by 4, times 4 and added.
.data l2[0x10], 4.0
.data l2[0x11], 1.0, 2, 3, -8
.data l2[0x22], 100.0, 100, 100, 100
    cvo scale, src=0x10, dst=0x20, len=4
    cvo scale, src=0x10, dst=0x21, len=4, flags=recip_scale
    cvo scale, src=0x10, dst=0x22, len=4, flags=accm
.expect l2[0x20], 4.0, 8, 12, -32
.expect l2[0x21], 0.25, 0.5, 0.75, -2
.expect l2[0x22], 104.0, 108, 112, 68
