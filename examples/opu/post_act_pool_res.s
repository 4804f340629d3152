; npu run post_act_pool_res.s --target opu
; The forms of `@post` of order 2: activation, pooling, residual. Pooling takes the larger of two neighbors in a row.
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
    form 0, "pool, res"
    form 2, "act.relu, pool, res"
    form 4, "act.leaky, pool, res"
    end

.expect features.3[0], -4, 10 ; pool, res
.expect features.3[1], 36, 47
.expect features.3[2], 10, 10 ; act.relu, pool, res
.expect features.3[3], 47, 47
.expect features.3[4], 8, 10 ; act.leaky, pool, res
.expect features.3[5], 46, 47
