# npu run fir.s --target drra
# A filter of four taps: y[n] = 2x[n] - x[n+1] + 3x[n+2] + 5x[n+3], for n from 0 to 15.
#
# Rows of sixteen words go from the input through the memory of the top cell to the register files of the middle
# one; its dpu sums products one word a cycle; the row of results leaves through the bottom cell.
# Every cell starts in cycle 0 and takes an instruction a cycle, so a cell waits by counting cycles.
.data input[0], 3, -1, 4, 1, -5, 9, 2, -6, 5, 3, -5, 8, 9, -7, 9, 3
.data input[1], 2, 3, -8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data input[2], 2, -1, 3, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.expect output[0], 24, -28, 37, 44, -43, 23, 40, -33, 32, 80, -26, 31, 67, -4, 36, -27

# The top cell: rows 0 to 2 of the input into its memory, and from there south.
cell (row=0, col=0)
dsu(slot=1, port=input_buffer)
rep(slot=1, port=input_buffer, iter=3)
dsu(slot=1, port=sram_write)
rep(slot=1, port=sram_write, iter=3)
act(param=1, ports=0b0101) # cycle 4: both ports, rows in cycles 5 to 7
route(slot=0, sr=send, source=2, target=0b010000000) # direction 7 is south
dsu(slot=2, port=sram_read)
rep(slot=2, port=sram_read, iter=3)
act(param=2, ports=0b1000) # cycle 8: rows leave in cycles 9 to 11
wait(cycle=2)
halt()

# The middle cell: x in file 1, h in file 2, y in file 3, the dpu in slot 4.
cell (row=1, col=0)
route(slot=0, sr=receive, source=1, target=0b0110) # direction 1 is north; to files 1 and 2
route(slot=0, sr=send, source=3, target=0b010000000)
swb(slot=0, channel=4, source=1, target=4) # x to the first operand
swb(slot=0, channel=5, source=2, target=5) # h to the second
swb(slot=0, channel=3, source=4, target=3) # the sum to file 3
dpu(slot=4, mode=mac)
dsu(slot=1, port=bulk_write)
rep(slot=1, port=bulk_write, iter=2)
act(param=1, ports=0b0100) # cycle 8: two rows of x arrive in cycles 9 and 10
dsu(slot=2, port=bulk_write)
act(param=2, ports=0b0100) # cycle 10: the row of h arrives in cycle 11
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4) # x[n] to x[n+3],
rep(slot=1, port=word_read, iter=16) # sixteen times, from one further each time
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=4) # the four taps,
rep(slot=2, port=word_read, iter=16, step=0) # the same each time
evt(slot=4, port=rst)
rep(slot=4, port=rst, iter=16, step=0, delay=3) # a new sum in every fourth cycle
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=16, delay=3)
act(param=1, ports=0x2022) # cycle 21: operands in cycles 22 to 85
wait(cycle=2)
act(param=3, ports=0b0001) # cycle 25: the first sum is there in cycle 26
dsu(slot=3, port=bulk_read)
wait(cycle=58)
act(param=3, ports=0b1000) # cycle 86: the last sum came; the row leaves in cycle 87
wait()
halt()

# The bottom cell: the row into its memory, and from there to the output.
cell (row=2, col=0)
route(slot=0, sr=receive, source=1, target=0b0100)
dsu(slot=2, port=sram_write)
dsu(slot=1, port=sram_read)
dsu(slot=1, port=output_buffer)
wait(cycle=81)
act(param=2, ports=0b0100) # cycle 86
act(param=1, ports=0b1010) # cycle 87: to row 0 of the output in cycle 88
wait()
halt()
