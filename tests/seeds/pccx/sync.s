; The same, waited for.
.data host_to_l2.0[0:1], 1.0, 2, 4, 8, 1, 1, 1, 1
block: memset cache=fmap, idx=0, a=1, b=1, c=8
    memcpy host->l2, dst=0x40, src=0, shape=block
    cvo recip, src=0x40, dst=0x41, len=8
.expect l2[0x41], 1.0, 0.5, 0.25, 0.125, 1, 1, 1, 1
