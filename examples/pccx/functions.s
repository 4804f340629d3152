; npu run functions.s --target pccx
; Every function of the unit on the same eight values. Results are the real function's, rounded once to BF16; 1/0 is 0.
; GELU is the form by tanh. SCALE has its scalar in the word before, divides with `recip_scale` and adds with `accm`.
; Expected: Python's math in double precision, rounded to the nearest BF16 number, ties to even.
.equ half, 0x0f
.equ x, 0x10
.equ y, 0x20
.data l2[half], 0.5
.data l2[x], 0.0, 1, -1, 0.5, 2, 4, 10, -3
.data l2[0x30], 0.0, 1, 2, 0.25, 2, 4, 10, 10000
.data l2[y + 9], 0.0, 1, -1, 0.5, 2, 4, 10, -3

    cvo exp, src=x, dst=y, len=8
    cvo gelu, src=x, dst=y + 1, len=8
    cvo sin, src=x, dst=y + 2, len=8
    cvo cos, src=x, dst=y + 3, len=8
    cvo recip, src=x, dst=y + 4, len=8
    cvo sqrt, src=0x30, dst=y + 5, len=8
    cvo reduce_sum, src=x, dst=y + 6, len=8
    cvo scale, src=half, dst=y + 7, len=8
    cvo scale, src=half, dst=y + 8, len=8, flags=recip_scale
    cvo scale, src=half, dst=y + 9, len=8, flags=accm
.expect l2[y], 1.0, 2.72, 0.367, 1.65, 7.38, 54.5, 22000.0, 0.0498
.expect l2[y + 1], 0.0, 0.84, -0.159, 0.346, 1.95, 4.0, 10.0, -0.00363
.expect l2[y + 2], 0.0, 0.84, -0.84, 0.479, 0.91, -0.758, -0.543, -0.142
.expect l2[y + 3], 1.0, 0.54, 0.54, 0.88, -0.416, -0.652, -0.84, -0.99
.expect l2[y + 4], 0.0, 1.0, -1.0, 2.0, 0.5, 0.25, 0.1, -0.334
.expect l2[y + 5], 0.0, 1.0, 1.414, 0.5, 1.414, 2.0, 3.16, 100.0
.expect l2[y + 6], 13.5
.expect l2[y + 7], 0.0, 0.5, -0.5, 0.25, 1.0, 2.0, 5.0, -1.5
.expect l2[y + 8], 0.0, 2.0, -2.0, 1.0, 4.0, 8.0, 20.0, -6.0
.expect l2[y + 9], 0.0, 1.5, -1.5, 0.75, 3.0, 6.0, 15.0, -4.5
