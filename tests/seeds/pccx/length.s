; Of four values the first three become their reciprocals.
.data l2[0x10], 1.0, 2, 4, 8
.data l2[0x20], 9.0, 9, 9, 9
    cvo recip, src=0x10, dst=0x20, len=3
.expect l2[0x20], 1.0, 0.5, 0.25, 9
