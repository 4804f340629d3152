; Every register, by the instruction that sets it.
    @shape.ifm [7,9,32]
    @shape.ofm [5,11,2]
    @shape.ker 36
    @mem.ifm 15, 1023
    @mem.ker 14
    @mem.bias 13
    @mem.ofm 12, [1022,1021]
    @stride [3,7]
    @shift -128, 127
    @post res, act.leaky, pool
    @pool [15,2], [7,3]
    end
.expect ifm_h, 7
.expect ifm_w, 9
.expect ifm_c, 32
.expect ofm_h, 5
.expect ofm_w, 11
.expect ofm_c, 2
.expect ker_n, 36
.expect ifm_addr, 0xf0000000
.expect ifm_mem_w, 1023
.expect ker_addr, 0xe0000000
.expect bias_addr, 0xd0000000
.expect ofm_addr, 0xc0000000
.expect ofm_mem_h, 1022
.expect ofm_mem_w, 1021
.expect stride_h, 3
.expect stride_w, 7
.expect ifm_shift, -128
.expect bias_shift, 127
.expect act, 2
.expect post_order, 1
.expect add_ifm, 1
.expect pool_h, 15
.expect pool_w, 2
.expect pool_h_stride, 7
.expect pool_w_stride, 3
