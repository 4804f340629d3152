; npu run gemm.s --target pccx
; Three rows of activations at once: C = X W' + bias. The destination begins as the bias, and `accm` adds to it.
; X lies row after row without gaps, and so does C, three rows of four values in a word and a half.
; Each row of X is a block of its own: beside 100 a half is less than a step, so that row 2 is as without it.
; Expected: row 0 by hand, all by the specification's formulas (4.4) in Python.
.equ x, 0x10
.equ c, 0x20
.input x, l2[x], 1.0, 2, 3, 4, 5, 6, 7, 8, 0.5, -0.5, 0.25, -0.25, 1, -1, 2, -2, 100, 1, -1, 0.5, -100, 3, 7, -9
.data l2[c], 0.5, -1, 2, 100, 0.5, -1, 2, 100, 0.5, -1, 2, 100
.data weights.0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 7, -7, 6, -6, 5, -5, 4, -4, -8, 7, -8, 7, -8, 7, -8, 7

rows: memset cache=fmap, idx=0, a=3, b=1, c=8
matrix: memset cache=weight, idx=0, a=0, b=4, c=8
    gemm dst=c, src=x, size=matrix, shape=rows, flags=accm
.output c, l2[c:c+2]
.expect l2[c], 1.5, 35.0, -20.0, 112.0, 1.0, -1.0, 38.0, 43.8, 100.5, 0.0, 238.0, 17.0
