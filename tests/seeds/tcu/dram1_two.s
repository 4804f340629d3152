; The second of two vectors of DRAM1.
.data local[5], 1, 2, 3, 4
    datamove dram1[1] <- local[5], 1
.expect dram1[1], 1, 2, 3, 4
