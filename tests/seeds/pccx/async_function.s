; What a function has not finished may not be moved.
.data l2[0x10], 1.0
block: memset cache=fmap, idx=0, a=1, b=1, c=8
    cvo recip, src=0x10, dst=0x40, len=8, async
    memcpy l2->host, src=0x40, dst=0, shape=block
