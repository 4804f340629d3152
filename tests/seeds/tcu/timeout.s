; The move waits for DRAM longer than 5 cycles.
    configure timeout, 5
    datamove local[0] <- dram0[0], 1
    noop
