; Every fourth vector to every second place.
.data dram0[0:9], 0.0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8
    datamove local[0 @2^1] <- dram0[0 @2^2], 3
.expect local[0], 0.0, 0, 0, 0
.expect local[2], 4.0, 4, 4, 4
.expect local[4], 8.0, 8, 8, 8
.expect local[1], 0.0, 0, 0, 0
