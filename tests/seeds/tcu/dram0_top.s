; The last of 2^32 vectors of DRAM0.
.data local[5], 1, 2, 3, 4
    datamove dram0[0xffffffff] <- local[5], 1
.expect dram0[0xffffffff], 1, 2, 3, 4
