; npu run post_res_act_pool.s --target opu
; The forms of `@post` of order 1: residual, activation, pooling. Pooling takes the larger of two neighbors in a row.
; Expected: exact fractions (Python), by the formulas of chapters 2.3.2 and 3 of the draft.

.data features.0[0], 10, -48
.data features.0[1], 48, 34
.data features.0[2], 47, -26
.data features.0[3], -36, -47
.data weights.1[0:32], 0
.data weights.1[0], -1, 1 ; differences of the two channels
.data weights.1[16], 1, -1

.macro form at, steps
        @post \steps
        store \at ; npu: allow residual-shape-differs: the document has a residual of more channels, upstream refuses it
.endm

    @shape.ifm [2,2,16] ; also the residual: what `res` adds is the tile in ifm
    @shape.ofm [2,2,2]
    @shape.ker 1
    @mem.ifm 0, 2
    @mem.ker 1
    @mem.ofm 3, [2,1]
    @stride [1,1]
    @shift 8, 0
    @pool [1,2], [1,1]
    ld.ifm 0
    ld.ker 0
    conv ifm:[0,0], ker:0
    form 0, "res, act.relu, pool"
    form 2, "res, act.leaky, pool"
    end

.expect features.3[0], 34, 48 ; res, act.relu, pool
.expect features.3[1], 0, 47
.expect features.3[2], 34, 48 ; res, act.leaky, pool
.expect features.3[3], -3, 47
