; A move of three vectors; the fourth stays where it is.
.data dram0[0:4], 1.0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4
    datamove local[0] <- dram0[0], 3
.expect local[0:3], 1.0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3
.expect local[3], 0.0, 0, 0, 0
