; GEMV of 64 rows of 256 weights on `lanes` lanes; the result does not depend on them.
.data l2[0x100:0x120], 1.0
.data weights.0[0:64], 1
vector: memset cache=fmap, idx=3, a=1, b=1, c=256
matrix: memset cache=weight, idx=2, a=0, b=64, c=256
    gemv dst=0x200, src=0x100, size=matrix, shape=vector, lanes=1
.expect l2[0x200:0x208], 256.0
