; Fields at their ends, flags one by one.
    memset cache=fmap, idx=0, a=0, b=0, c=0
    cvo exp, src=0, dst=0, len=0
    gemv dst=0, src=0, size=0, shape=0
    gemm dst=0, src=0, size=0, shape=0
    gemv dst=0x10203, src=0x4, size=5, shape=6, lanes=7, flags=accm
    gemm dst=0x10203, src=0x4, size=5, shape=6, lanes=7, flags=accm
    gemm dst=0x1ffff, src=0, size=0, shape=0
    gemm dst=0, src=0x1ffff, size=0, shape=0
    gemm dst=0, src=0, size=0, shape=0, flags=findemax|accm|w_scale
    gemm dst=0, src=0, size=63, shape=0
    gemm dst=0, src=0, size=0, shape=63
    gemm dst=0, src=0, size=0, shape=0, lanes=31
    gemv dst=0, src=0, size=0, shape=0, flags=findemax
    gemv dst=0, src=0, size=0, shape=0, flags=accm
    gemv dst=0, src=0, size=0, shape=0, flags=w_scale
    memcpy l2->l2, dst=0, src=0, shape=0
    memcpy host->l2, dst=0, src=0, shape=0
    memcpy l2->host, dst=0, src=0, shape=0
    memcpy l2->l2, dst=0x1ffff, src=0, shape=0
    memcpy l2->l2, dst=0, src=0x1ffff, shape=0
    memcpy host->l2, dst=0, src=0, aux=0x1ffff, shape=0
    memcpy l2->l2, dst=0, src=0, shape=63
    memcpy l2->l2, dst=0, src=0, shape=0, async
    memset cache=weight, idx=0, a=0, b=0, c=0
    memset cache=fmap, idx=63, a=0, b=0, c=0
    memset cache=fmap, idx=0, a=0xffff, b=0, c=0
    memset cache=fmap, idx=0, a=0, b=0xffff, c=0
    memset cache=fmap, idx=0, a=0, b=0, c=0xffff
    cvo recip, src=0, dst=0, len=0
    cvo exp, src=0x1ffff, dst=0, len=0
    cvo exp, src=0, dst=0x1ffff, len=0
    cvo exp, src=0, dst=0, len=0xffff
    cvo exp, src=0, dst=0, len=0, flags=sub_emax|recip_scale|accm
    cvo exp, src=0, dst=0, len=0, async
    cvo exp, src=1, dst=2, len=3
    cvo sqrt, src=1, dst=2, len=3
    cvo gelu, src=1, dst=2, len=3
    cvo sin, src=1, dst=2, len=3
    cvo cos, src=1, dst=2, len=3
    cvo reduce_sum, src=1, dst=2, len=3
    cvo scale, src=1, dst=2, len=3
    cvo recip, src=1, dst=2, len=3
    cvo exp, src=0, dst=0, len=0, flags=sub_emax
    cvo scale, src=0, dst=0, len=0, flags=recip_scale
    cvo exp, src=0, dst=0, len=0, flags=accm
