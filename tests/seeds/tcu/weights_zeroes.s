; The bias row is loaded as zeros, the weights from local memory.
.data dram1[0:5], 10.0, 20, 30, 40, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4
.data dram0[0], 1.0, 2, 3, 4
    datamove local[0] <- dram1[0], 5
    loadweights local[1], 4
    loadweights.zeroes 1
    datamove local[8] <- dram0[0], 1
    matmul local[8], acc[0], 1
.expect acc[0], 1.0, 4, 9, 16
