; npu run rope.s --target pccx:extended
; Rotates the pairs of a head of 16 values by position 5: y = x * cos + turned(x) * sin, angle i = 5 * 10000^(-2i/16).
; SCALE of the frequencies by the position gives the angles; a product with weights of -1, 0 and 1 turns the pairs, and
; MUL multiplies what the destination holds. In BF16 the angles are 2 to 3 digits: y is off by up to 0.011.
; Expected: each step rounded to BF16 as the specification says (4.4, 4.6), in Python.
.equ position, 0x100 ; the word before the frequencies
.equ frequencies, 0x101
.equ angles, 0x110
.equ cosines, 0x121 ; becomes x * cos; the word before it is 1, by which SCALE adds it
.equ x, 0x130
.equ y, 0x140
.input position, l2[position], 5.0
.input x, l2[x], 1.0, 2, -1, 0.5, 3, -2, 0.25, 4, -0.5, 1.5, 2.5, -3, 0.75, 1, -1.25, 0.125
.data l2[frequencies], 1.0, 1.0, 0.31623, 0.31623, 0.1, 0.1, 0.031623, 0.031623, 0.01, 0.01, 0.0031623, 0.0031623, 0.001, 0.001, 0.00031623, 0.00031623
.data l2[cosines - 1], 1.0
.data weights.0[0], 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.0[1], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.0[2], 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.0[3], 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.0[4], 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.0[5], 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.0[6], 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.0[7], 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data weights.0[8], 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0
.data weights.0[9], 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0
.data weights.0[10], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0
.data weights.0[11], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0
.data weights.0[12], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0
.data weights.0[13], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0
.data weights.0[14], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1
.data weights.0[15], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0

head: memset cache=fmap, idx=0, a=1, b=1, c=16
turn: memset cache=weight, idx=0, a=0, b=16, c=16
    gemv dst=y, src=x, size=turn, shape=head
    cvo scale, src=position, dst=angles, len=16
    cvo cos, src=angles, dst=cosines, len=16
    cvo sin, src=angles, dst=angles, len=16
    cvo mul, src=angles, dst=y, len=16
    cvo mul, src=x, dst=cosines, len=16
    cvo scale, src=cosines - 1, dst=y, len=16, flags=accm
.output y, l2[y:y+2]
.expect l2[y], 2.2, -0.39, -0.492, -1.0, 3.6, -0.32, -0.383, 4.0, -0.574, 1.48, 2.55, -2.95, 0.746, 1.0, -1.25, 0.123
