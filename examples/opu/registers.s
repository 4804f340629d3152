; npu run registers.s --target opu
; Every register, by the name that table 2.1 of the draft gives it, at an end of its range.
; Expected: read off the instructions: `@mem` shifts a bank by 28 bits, channels are powers of two.

    @shape.ifm [127,16,64] ; at most 2048 pixels: 127 * 16 = 2032
    @shape.ofm [16,127,2]
    @shape.ker 36
    @mem.ifm 15, 1023
    @mem.ker 1
    @mem.bias 8
    @mem.ofm 7, [1023,1]
    @stride [7,1]
    @shift -128, 127
    @post act.leaky, pool, res
    @pool [15,1], [1,7]
    end

.expect ifm_h, 127
.expect ifm_w, 16
.expect ifm_c, 64
.expect ofm_h, 16
.expect ofm_w, 127
.expect ofm_c, 2
.expect ker_n, 36
.expect ifm_addr, 0xf0000000
.expect ifm_mem_w, 1023
.expect ker_addr, 0x10000000
.expect bias_addr, 0x80000000
.expect ofm_addr, 0x70000000
.expect ofm_mem_h, 1023
.expect ofm_mem_w, 1
.expect stride_h, 7
.expect stride_w, 1
.expect ifm_shift, -128
.expect bias_shift, 127
.expect act, 2        ; leaky ReLU
.expect post_order, 2 ; activation, pooling, residual
.expect add_ifm, 1
.expect pool_h, 15
.expect pool_w, 1
.expect pool_h_stride, 1
.expect pool_w_stride, 7
