; npu run rmsnorm.s --target pccx:extended
; y = x / sqrt(mean(x^2) + eps) * gain over 16 values. Only instances with extensions multiply vectors (MUL multiplies what
; the destination holds). A scalar has a word of its own before the vector that SCALE multiplies: so REDUCE_SUM puts the
; sum of squares behind 1/16, eps behind 1 and SQRT its root before x.
; Expected: each step rounded to BF16 as the specification says (4.6), in Python.
.equ root, 0x100 ; the word before x
.equ x, 0x101
.equ squares, 0x110
.equ sixteenth, 0x120 ; 1/16, and behind it the sum
.equ one, 0x122       ; 1, and behind it eps
.equ mean, 0x124
.equ gain, 0x130
.equ y, 0x140
.input x, l2[x], -3.0, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5
.input gain, l2[gain], 1.0, 0.5, 2, 1, 1, 1, 1.5, 1, 0.25, 1, 1, 3, 1, 1, 1, -1
.data l2[sixteenth], 0.0625
.data l2[one], 1.0
.data l2[one + 1], 1e-6

all: memset cache=fmap, idx=0, a=1, b=1, c=16
    memcpy l2->l2, dst=squares, src=x, shape=all
    cvo mul, src=x, dst=squares, len=16
    cvo reduce_sum, src=squares, dst=sixteenth + 1, len=16
    cvo scale, src=sixteenth, dst=mean, len=1
    cvo scale, src=one, dst=mean, len=1, flags=accm
    cvo sqrt, src=mean, dst=root, len=1
    cvo scale, src=root, dst=y, len=16, flags=recip_scale
    cvo mul, src=gain, dst=y, len=16
.output y, l2[y:y+2]
.expect l2[y], -1.24, -0.516, -1.65, -0.62, -0.412, -0.206, 0.0, 0.206, 0.103, 0.62, 0.824, 3.1, 1.24, 1.445, 1.65, -1.86
