; Rows of weights from the highest address down: lane k times k + 1, and 10 20 30 40 as the bias on top. By hand.
.data dram1[0:5], 10.0, 20, 30, 40, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4
.data dram0[0:2], 1.0, 1, 1, 1, 1, 2, 3, 4
    datamove local[0] <- dram1[0], 5
    loadweights local[0], 5
    datamove local[8] <- dram0[0], 2
    matmul local[8], acc[0], 2
.expect acc[0], 11.0, 22, 33, 44
.expect acc[1], 11.0, 24, 39, 56
.expect weights[0], 10.0, 20, 30, 40
