; npu run softmax.s --target pccx
; A softmax over ten scores, as after a query has met ten keys. GEMV keeps the largest score in e_max (`findemax`), EXP
; takes it off before it raises e (`sub_emax`), REDUCE_SUM puts the sum into the word before the vector, where SCALE
; looks for its scalar, and SCALE divides by it (`recip_scale`).
; Expected: each step rounded to BF16 as the specification says (4.5, 4.6), in Python. Each is within 1 % of the real one.
.equ query, 0x100
.equ scores, 0x201
.equ p, 0x300
.input query, l2[query], 1.0, 0.5, -1, 0.25, 2, -0.5, 1.5, 0.75
.data weights.0[0], 7, 0, 0, 0, 0, 0, 0, 0
.data weights.0[1], 0, 5, 0, 0, 0, 0, 0, 0
.data weights.0[2], 0, 0, -3, 0, 0, 0, 0, 0
.data weights.0[3], 1, 1, 1, 1, 1, 1, 1, 1
.data weights.0[4], 2, -1, 0, 3, 0, 0, 1, 0
.data weights.0[5], 0, 0, 0, 0, 7, 7, 0, 0
.data weights.0[6], -8, 0, 0, 0, 0, 0, 0, 0
.data weights.0[7], 0, 1, 0, 1, 0, 1, 0, 1
.data weights.0[8], 1, 2, 3, 4, -4, -3, -2, -1
.data weights.0[9], 0, 0, 0, 0, 0, 0, 0, 6
.data scales.0[0:10], 0.25

key: memset cache=fmap, idx=0, a=1, b=1, c=8
keys: memset cache=weight, idx=0, a=0, b=10, c=8
    gemv dst=scores, src=query, size=keys, shape=key, flags=findemax|w_scale
    cvo exp, src=scores, dst=scores, len=10, flags=sub_emax
    cvo reduce_sum, src=scores, dst=scores-1, len=10
    cvo scale, src=scores-1, dst=p, len=10, flags=recip_scale
.output p, l2[p:p+2]
.expect e_max, 2.62
.expect l2[scores - 1], 2.44
.expect l2[p], 0.171, 0.0557, 0.063, 0.0913, 0.0757, 0.41, 0.00403, 0.038, 0.00229, 0.0913
