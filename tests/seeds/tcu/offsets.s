; An offset of 1 is 65,536 bytes: 4,096 vectors of 8 numbers of 2 bytes.
.data dram0[0], 1.0, 2, 3, 4, 5, 6, 7, 8
.data dram0[4096], 8.0, 7, 6, 5, 4, 3, 2, 1
    datamove local[0] <- dram0[0], 1
    configure dram0_offset, 1
    datamove local[1] <- dram0[0], 1
    configure dram0_offset, 0
.expect local[0], 1.0, 2, 3, 4, 5, 6, 7, 8
.expect local[1], 8.0, 7, 6, 5, 4, 3, 2, 1
