; A matrix of two rows times a vector, its result by hand: 1 + 2 + ... + 8, and 7 * 1 - 8 * 8.
.data l2[0x10], 1.0, 2, 3, 4, 5, 6, 7, 8
.data weights.0[0:1], 1
.data weights.0[1], 7, 0, 0, 0, 0, 0, 0, -8
vector: memset cache=fmap, idx=3, a=1, b=1, c=8
matrix: memset cache=weight, idx=2, a=0, b=2, c=8
    gemv dst=0x20, src=0x10, size=matrix, shape=vector
.expect l2[0x20], 36.0, -57
