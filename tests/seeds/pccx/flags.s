; As gemv.s: the largest result goes to e_max, results are added to the destination, rows are scaled by 1 and 2.
.data l2[0x10], 1.0, 2, 3, 4, 5, 6, 7, 8
.data l2[0x20], 100.0, 100
.data l2[0x30], 100.0, 100
.data l2[0x40], 100.0, 100
.data weights.0[0:1], 1
.data weights.0[1], 7, 0, 0, 0, 0, 0, 0, -8
.data weights.1[0:1], 1
.data weights.1[1], 7, 0, 0, 0, 0, 0, 0, -8
.data weights.2[0:1], 1
.data weights.2[1], 7, 0, 0, 0, 0, 0, 0, -8
.data scales.2, 1.0, 2.0
vector: memset cache=fmap, idx=3, a=1, b=1, c=8
matrix: memset cache=weight, idx=2, a=0, b=2, c=8
    gemv dst=0x20, src=0x10, size=matrix, shape=vector, flags=findemax
    gemv dst=0x30, src=0x10, size=matrix, shape=vector, flags=accm
    gemv dst=0x40, src=0x10, size=matrix, shape=vector, flags=w_scale
.expect e_max, 36.0
.expect l2[0x20], 36.0, -57
.expect l2[0x30], 136.0, 43
.expect l2[0x40], 36.0, -114
