; Eight values from the host, within L2, and back to the host, at the second place of 16 bytes there.
.data host_to_l2.5[1:2], 1.0, 2, 3, 4, 5, 6, 7, 8
block: memset cache=fmap, idx=9, a=1, b=1, c=8
    memcpy host->l2, dst=0x40, src=5, aux=1, shape=block
    memcpy l2->l2, dst=0x41, src=0x40, shape=block
    memcpy l2->host, dst=6, src=0x41, aux=1, shape=block
.expect l2[0x40:0x42], 1.0, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8
.expect l2_to_host.6[1:2], 1.0, 2, 3, 4, 5, 6, 7, 8
