; npu run maxpool.s --target opu
; Max pooling of 4 x 5 pixels: 2 x 2 windows in steps of 2, then overlapping 3 x 3 windows in steps of 1 row and 2 columns.
; What no whole window covers is left out: 5 columns make 2 windows of 2.
; Expected: the largest value of each window (Python, by the formula of `store` in 2.3.2).

.data features.0[0], -21, 25
.data features.0[1], -16, -35
.data features.0[2], -21, -87
.data features.0[3], 31, 89
.data features.0[4], -89, -40
.data features.0[5], -69, 17
.data features.0[6], -51, 61
.data features.0[7], -33, -4
.data features.0[8], 14, 56
.data features.0[9], -63, -22
.data features.0[10], -88, -9
.data features.0[11], -47, 5
.data features.0[12], 17, 60
.data features.0[13], -16, 3
.data features.0[14], -36, -50
.data features.0[15], 77, -39
.data features.0[16], 44, -80
.data features.0[17], 46, -69
.data features.0[18], -19, -90
.data features.0[19], 90, -85
.data weights.1[0:32], 0
.data weights.1[0], 1 ; the identity on two channels
.data weights.1[17], 1
.output pairs, features.3[0:4]
.output overlapping, features.3[16:20]

    @shape.ifm [4,5,16]
    @shape.ofm [4,5,2]
    @shape.ker 1
    @mem.ifm 0, 5
    @mem.ker 1
    @mem.ofm 3, [4,2] ; results lie 2 slots from row to row
    @stride [1,1]
    @shift 8, 0
    @post pool
    ld.ifm 0
    ld.ker 0
    conv ifm:[0,0], ker:0 ; pooling is part of `store`: the identity brings the pixels there
    @pool [2,2], [2,2]
    store 0
    @pool [3,3], [1,2]
    store 16
    end

.expect features.3[0], -16, 61
.expect features.3[1], 31, 89
.expect features.3[2], 77, 5
.expect features.3[3], 46, 60
.expect features.3[16], 17, 61
.expect features.3[17], 31, 89
.expect features.3[18], 77, 61
.expect features.3[19], 90, 60
