; As matmul.s: once more added, and with zeros instead of a vector, of which the bias is left.
.data dram1[0:5], 10.0, 20, 30, 40, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4
.data dram0[0:2], 1.0, 1, 1, 1, 1, 2, 3, 4
    datamove local[0] <- dram1[0], 5
    loadweights local[0], 5
    datamove local[8] <- dram0[0], 2
    matmul local[8], acc[0], 2
    matmul local[8], acc[4], 2
    matmul.acc local[8], acc[0], 2
    matmul.zeroes acc[8], 1
.expect acc[0], 22.0, 44, 66, 88
.expect acc[1], 22.0, 48, 78, 112
.expect acc[4], 11.0, 22, 33, 44
.expect acc[8], 10.0, 20, 30, 40
