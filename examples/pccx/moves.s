; npu run moves.s --target pccx
; MEMSET writes an entry of a constant bank, MEMCPY moves as many values as an entry says: here 2 * 3 * 2 = 12, which are
; two words. Whole words move, the tail of the last one too, and windows of the host count units of 16 bytes as L2 does.
; The two transfers to L2 are `async`: nothing may touch their words before the host has waited, or a transfer that is not.
.input x, host_to_l2.0[4:6], 1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -1, -2, -3, -4
.input z, host_to_l2.7[0:2], 0.5

block: memset cache=fmap, idx=63, a=2, b=3, c=2
    memset cache=weight, idx=0, a=0xffff, b=7, c=8
    memcpy host->l2, dst=0x100, src=0, aux=4, shape=block, async
    memcpy host->l2, dst=0x1bffe, src=7, shape=block, async ; the last two words of L2
.wait
    memcpy l2->l2, dst=0x101, src=0x100, shape=block ; they overlap: as if through a temporary
    memcpy l2->host, dst=2, src=0x100, aux=1, shape=block
.output y, l2_to_host.2[1:3]
.expect fmap_shape[63], 2, 3, 2
.expect weight_shape[0], 65535, 7, 8
.expect l2[0x100:0x103], 1.0, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -1, -2, -3, -4
.expect l2[0x1bffe:0x1c000], 0.5
.expect l2_to_host.2[1:3], 1.0, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8
