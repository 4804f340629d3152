; With write, NoOp lets what comes from outside into the accumulators.
    simd out = noop, write acc[0]
