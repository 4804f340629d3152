; npu run rmsnorm_base.s --target pccx
; The same without extensions: the host gives one scalar, the sum of squares, and the machine does the rest; gains are
; folded into the columns of the weights that come next. The instruction behind the transfer reads what it brings, so that
; the transfer is one that is waited for (no `async`).
; Expected: each step rounded to BF16 as the specification says (4.6), in Python.
.equ root, 0x100 ; the word before x
.equ x, 0x101
.equ sixteenth, 0x120 ; 1/16, and behind it the sum
.equ one, 0x122       ; 1, and behind it eps
.equ mean, 0x124
.equ y, 0x140
.input x, l2[x], -3.0, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5
.input sum_of_squares, host_to_l2.0[0], 94.0
.data l2[sixteenth], 0.0625
.data l2[one], 1.0
.data l2[one + 1], 1e-6

scalar: memset cache=fmap, idx=0, a=1, b=1, c=1
    memcpy host->l2, dst=sixteenth + 1, src=0, aux=0, shape=scalar
    cvo scale, src=sixteenth, dst=mean, len=1
    cvo scale, src=one, dst=mean, len=1, flags=accm
    cvo sqrt, src=mean, dst=root, len=1
    cvo scale, src=root, dst=y, len=16, flags=recip_scale
.output y, l2[y:y+2]
.expect l2[root], 2.42
.expect l2[y], -1.24, -1.03, -0.824, -0.62, -0.412, -0.206, 0.0, 0.206, 0.412, 0.62, 0.824, 1.03, 1.24, 1.445, 1.65, 1.86
