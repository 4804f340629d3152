; What is there stays.
.data dram0[0], 1.5, -2, 0.25, 3
    datamove local[0] <- dram0[0], 1
    noop
    noop
    datamove dram0[1] <- local[0], 1
.expect dram0[1], 1.5, -2, 0.25, 3
.expect program_counter, 4
