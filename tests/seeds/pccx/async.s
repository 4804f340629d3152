; What is not waited for may not be used.
.data host_to_l2.0[0:1], 1.0, 2, 4, 8, 1, 1, 1, 1
block: memset cache=fmap, idx=0, a=1, b=1, c=8
    memcpy host->l2, dst=0x40, src=0, shape=block, async
    cvo recip, src=0x40, dst=0x41, len=8
