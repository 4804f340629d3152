; An array of 2 x 2. The bias is 5 and 6, the weights of input 0 are 3 and 4, those of input 1 are 1 and 2.
.data local[0:3], 5.0, 6, 3, 4, 1, 2
.data local[3], 7.0, -1
    loadweights local[0], 3
    matmul local[3], acc[0], 1
.expect acc[0], 25.0, 32
