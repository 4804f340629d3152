; npu run scale_factor.s --target pccx:reference+seed
; The encoding page says that MEMSET injects scale factors: with `+seed` the slot `a` of a size entry is one, a BF16 number,
; and `w_scale` multiplies by it. Here a quarter, which is 0x3e80. Without `+seed` scales lie with the weights, `scales.0`.
; Expected: by hand, (1 + 2 + ... + 8) * 3 / 4 and (8 * 7 - 1 * 8) / 4.
.equ quarter, 0x3e80
.input x, l2[0x10], 1.0, 2, 3, 4, 5, 6, 7, 8
.data weights.0[0], 3, 3, 3, 3, 3, 3, 3, 3
.data weights.0[1], -8, 0, 0, 0, 0, 0, 0, 7

vector: memset cache=fmap, idx=0, a=1, b=1, c=8
matrix: memset cache=weight, idx=0, a=quarter, b=2, c=8
    gemv dst=0x20, src=0x10, size=matrix, shape=vector, flags=w_scale
.expect l2[0x20], 27.0, 12
