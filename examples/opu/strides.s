; npu run strides.s --target opu
; Strided moves: a tile out of the middle of a plane, every second row and third column of it, into the middle of another.
; The plane has 5 x 6 pixels: pixel (r, c) holds 10 r + c and its negative.
; Expected: written down by hand: plane pixel (1 + 2 i, 1 + 1 + 3 j) for the result's pixel (i, j).

.macro pixel r, c
    .data features.0[6 * (\r) + \c], 10 * (\r) + \c, -(10 * (\r) + \c)
.endm
.rept 30
        pixel "\+ / 6", "\+ % 6"
.endr
.data weights.1[0:32], 0
.data weights.1[0], 1 ; the identity on two channels
.data weights.1[17], 1

.equ plane, 6           ; slots from row to row where tiles come from
.equ pitch, 5           ; and where results go to
    @shape.ifm [3,5,16] ; the tile
    @shape.ofm [2,2,2]
    @shape.ker 1
    @mem.ifm 0, plane
    @mem.ker 1
    @mem.ofm 3, [4,pitch]
    @stride [2,3]
    @shift 8, 0
    @post pool
    @pool [1,1], [1,1]
    ld.ifm 1 * plane + 1 ; its first pixel is row 1, column 1
    ld.ker 0
    conv ifm:[0,1], ker:0 ; from its column 1 on
    pad 0, 1              ; clears one slot on each side of the plane of 4 x 5
    store 1 * pitch + 1
    store 2 * pitch + 2 ; again, one row down and one column right: it lies over the first in one pixel
    end

.expect features.3[6], 12, -12
.expect features.3[7], 15, -15
.expect features.3[11], 32, -32
.expect features.3[12], 12, -12 ; the later store wins
.expect features.3[13], 15, -15
.expect features.3[17], 32, -32 ; over the border, which was cleared before
.expect features.3[18], 35, -35
.expect features.3[0:6], 0
.expect features.3[10:11], 0
