; Nines, of which two rows and columns at each side of a plane of 5 x 6 are cleared.
.data features.1[10:40], 9
    @mem.ofm 1, [5,6]
    pad 10, 2
    end
.expect features.1[10], 0, 0
.expect features.1[11], 0, 0
.expect features.1[12], 0, 0
.expect features.1[13], 0, 0
.expect features.1[14], 0, 0
.expect features.1[15], 0, 0
.expect features.1[16], 0, 0
.expect features.1[17], 0, 0
.expect features.1[18], 0, 0
.expect features.1[19], 0, 0
.expect features.1[20], 0, 0
.expect features.1[21], 0, 0
.expect features.1[22], 0, 0
.expect features.1[23], 0, 0
.expect features.1[24], 9, 9
.expect features.1[25], 9, 9
.expect features.1[26], 0, 0
.expect features.1[27], 0, 0
.expect features.1[28], 0, 0
.expect features.1[29], 0, 0
.expect features.1[30], 0, 0
.expect features.1[31], 0, 0
.expect features.1[32], 0, 0
.expect features.1[33], 0, 0
.expect features.1[34], 0, 0
.expect features.1[35], 0, 0
.expect features.1[36], 0, 0
.expect features.1[37], 0, 0
.expect features.1[38], 0, 0
.expect features.1[39], 0, 0
