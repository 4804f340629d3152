; npu run gemv.s --target pccx
; A matrix of 4 rows and 40 columns times a vector. Weights are 4-bit integers with a scale for each row. The engines take
; the vector as 8-bit integers in blocks of 32 (the second block here has 8), each with the power of two of its largest
; element, cut off towards zero: beside 10, whose steps are 1/8, the last elements 0.1, 0.25 and 1.5 become 0, 0.25 and 1.5.
; Row 0 so is 10.5 rather than 10.6. Expected: from the specification's formulas (4.4.1, 4.4.2) in Python.
.equ x, 0x100
.equ y, 0x200
.input x, l2[x], -2.0, -1.875, -1.75, -1.625, -1.5, -1.375, -1.25, -1.125, -1, -0.875, -0.75, -0.625, -0.5, -0.375, -0.25, -0.125, 0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875, 0.5, 1.5, -2, 3, 0.25, -0.75, 10, 0.1
.data weights.0[0:1], 1
.data weights.0[1], -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2
.data weights.0[2], -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7, -8, 7
.data weights.0[3], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, -8
.data scales.0, 1.0, 0.5, 0.125, 2.0

vector: memset cache=fmap, idx=3, a=1, b=1, c=40
matrix: memset cache=weight, idx=2, a=0, b=4, c=40
    gemv dst=y, src=x, size=matrix, shape=vector, flags=w_scale
.output y, l2[y]
.expect l2[y], 10.5, 23.9, -3.47, 152.0
