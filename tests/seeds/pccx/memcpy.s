; Sixteen values, two words, from the host, within L2, and back to the host, at the second place of 16 bytes there.
.data host_to_l2.5[1:3], 1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
block: memset cache=fmap, idx=9, a=1, b=1, c=16
    memcpy host->l2, dst=0x40, src=5, aux=1, shape=block
    memcpy l2->l2, dst=0x42, src=0x40, shape=block
    memcpy l2->host, dst=6, src=0x42, aux=1, shape=block
.expect l2[0x40:0x42], 1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
.expect l2[0x42:0x44], 1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
.expect l2_to_host.6[1:3], 1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
