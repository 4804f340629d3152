; Scores 1 2 3 4: GEMV keeps the largest in e_max, EXP takes it off. e^-3, e^-2, e^-1 and 1 as BF16, by hand.
.data l2[0x10], 1.0
.data weights.0[0:4], 1, 2, 3, 4
vector: memset cache=fmap, idx=0, a=1, b=1, c=1
matrix: memset cache=weight, idx=0, a=0, b=4, c=1
    gemv dst=0x21, src=0x10, size=matrix, shape=vector, flags=findemax
    cvo exp, src=0x21, dst=0x31, len=4, flags=sub_emax
    cvo reduce_sum, src=0x31, dst=0x30, len=4
    cvo scale, src=0x30, dst=0x40, len=4, flags=recip_scale
.expect e_max, 4.0
.expect l2[0x31], 0.0498046875, 0.1357421875, 0.3671875, 1
