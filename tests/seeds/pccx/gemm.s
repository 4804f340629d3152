; The same matrix times two vectors, the second the first backwards: rows of the result lie one after the other.
.data l2[0x10:0x12], 1.0, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1
.data weights.0[0:1], 1
.data weights.0[1], 7, 0, 0, 0, 0, 0, 0, -8
vector: memset cache=fmap, idx=3, a=2, b=1, c=8
matrix: memset cache=weight, idx=2, a=0, b=2, c=8
    gemm dst=0x20, src=0x10, size=matrix, shape=vector
.expect l2[0x20], 36.0, -57, 36, 48
