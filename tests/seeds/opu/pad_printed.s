; The strides as they are printed: rows of three slots of 64 begin 3 bytes apart, so that the last ends at byte 197.
.data memory[0:256], 7
    @mem.ofm 0, [3,3]
    pad 0, 1
    end
.expect memory[0:4], 0, 0, 0, 0
.expect memory[194:202], 0, 0, 0, 0, 7, 7, 7, 7
