; The last of 2^32 vectors of DRAM1.
.data local[5], 1, 2, 3, 4
    datamove dram1[0xffffffff] <- local[5], 1
.expect dram1[0xffffffff], 1, 2, 3, 4
