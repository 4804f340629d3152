; npu run post_act_res_pool.s --target opu
; The forms of `@post` of order 0: activation, residual, pooling. Pooling takes the larger of two neighbors in a row.
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
    form 0, "pool"
    form 2, "res, pool"
    form 4, "act.relu, pool"
    form 6, "act.relu, res, pool"
    form 8, "act.leaky, pool"
    form 10, "act.leaky, res, pool"
    end

.expect features.3[0], -14, 58 ; pool
.expect features.3[1], -11, 73
.expect features.3[2], 34, 48 ; res, pool
.expect features.3[3], -26, 47
.expect features.3[4], 0, 58 ; act.relu, pool
.expect features.3[5], 0, 73
.expect features.3[6], 48, 48 ; act.relu, res, pool
.expect features.3[7], 47, 47
.expect features.3[8], -2, 58 ; act.leaky, pool
.expect features.3[9], -1, 73
.expect features.3[10], 46, 48 ; act.leaky, res, pool
.expect features.3[11], 38, 47
