# npu run matmul.s --target drra
# C = A B, each four by four and row after row in a row of sixteen words.
#
# Three levels of `rep` around one address are three loops: the terms of a sum, the columns, the rows.
.data input[0], 1, 2, 3, 4, -1, 0, 2, 5, 7, -3, 1, 1, 0, 6, -2, 8
.data input[1], 2, 0, -1, 3, 1, 4, 2, -2, 5, 1, 0, 6, -3, 2, 7, 1
.expect output[0], 7, 19, 31, 21, -7, 12, 36, 14, 13, -9, -6, 34, -28, 38, 68, -16

# The top cell: A and B into its memory, and from there south.
cell (row=0, col=0)
dsu(slot=1, port=input_buffer)
rep(slot=1, port=input_buffer, iter=2)
dsu(slot=1, port=sram_write)
rep(slot=1, port=sram_write, iter=2)
act(param=1, ports=0b0101) # cycle 4: rows in cycles 5 and 6
route(slot=0, sr=send, source=2, target=0b010000000)
dsu(slot=2, port=sram_read)
rep(slot=2, port=sram_read, iter=2)
act(param=2, ports=0b1000) # cycle 8: rows leave in cycles 9 and 10
wait(cycle=1)
halt()

# The middle cell: A in file 1, B in file 2, C in file 3.
cell (row=1, col=0)
route(slot=0, sr=receive, source=1, target=0b0110)
route(slot=0, sr=send, source=3, target=0b010000000)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=mac)
dsu(slot=1, port=bulk_write)
dsu(slot=2, port=bulk_write)
act(param=1, ports=0b0100) # cycle 8: A arrives in cycle 9
act(param=2, ports=0b0100) # cycle 9: B arrives in cycle 10
dsu(slot=1, port=word_read) # of A, word 4 i + k:
rep(slot=1, port=word_read, iter=4, step=1) # k, the terms
rep(slot=1, port=word_read, iter=4, step=0) # j, the columns
rep(slot=1, port=word_read, iter=4, step=4) # i, the rows
dsu(slot=2, port=word_read) # of B, word 4 k + j:
rep(slot=2, port=word_read, iter=4, step=4)
rep(slot=2, port=word_read, iter=4, step=1)
rep(slot=2, port=word_read, iter=4, step=0)
evt(slot=4, port=rst)
rep(slot=4, port=rst, iter=16, step=0, delay=3) # a new sum in every fourth cycle
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=16, delay=3)
act(param=1, ports=0x2022) # cycle 22: operands in cycles 23 to 86
wait(cycle=2)
act(param=3, ports=0b0001) # cycle 26: the first sum is there in cycle 27
dsu(slot=3, port=bulk_read)
wait(cycle=58)
act(param=3, ports=0b1000) # cycle 87: C leaves in cycle 88
wait()
halt()

# The bottom cell: C into its memory, and from there to the output.
cell (row=2, col=0)
route(slot=0, sr=receive, source=1, target=0b0100)
dsu(slot=2, port=sram_write)
dsu(slot=1, port=sram_read)
dsu(slot=1, port=output_buffer)
wait(cycle=82)
act(param=2, ports=0b0100) # cycle 87
act(param=1, ports=0b1010) # cycle 88: to row 0 of the output in cycle 89
wait()
halt()
