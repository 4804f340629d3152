; npu run weights.s --target pccx:reference+seed
; The encoding page says that MEMCPY loads weights: with `+seed` they may lie in L2. Slot `b` of the activations' entry says
; where, in pairs of words; it is 1 where weights stream. A row is whole words of 32 weights, the first in the low four bits;
; behind the rows `w_scale` takes a factor for each in f32. Without `+seed` weights stream past L2, `weights.0`.
; Expected: by hand, (1 + 4 + 9 + 16 + 25 + 36 + 49 - 64) / 2 and (1 + 2 + ... + 8) * 2.
.equ place, 0x80 ; a word
.equ pair, 0x40  ; the same in pairs
.input x, l2[0x10], 1.0, 2, 3, 4, 5, 6, 7, 8
.data host_to_l2.0[0], 0x4321, 0x8765, 0, 0, 0, 0, 0, 0 ; 1 to 7, and -8
.data host_to_l2.0[1], 0x1111, 0x1111, 0, 0, 0, 0, 0, 0
.data host_to_l2.0[2], 0, 0x3f00, 0, 0x4000, 0, 0, 0, 0 ; 0.5 and 2.0

load: memset cache=fmap, idx=0, a=1, b=3, c=8
    memcpy host->l2, dst=place, src=0, shape=load
vector: memset cache=fmap, idx=1, a=1, b=pair, c=8
matrix: memset cache=weight, idx=1, a=0, b=2, c=8
    gemv dst=0x20, src=0x10, size=matrix, shape=vector, flags=w_scale
.expect l2[0x20], 38.0, 72
