# Words 3, 6, 9 and 12 of one file plus 100 of the other, written 2 apart from word 1 on.
.data rf.1.0.1[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
.data rf.1.0.2[0:16], 100
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=add)
dsu(slot=1, port=word_read, init_addr=2)
rep(slot=1, port=word_read, iter=4, step=3)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=4)
dsu(slot=3, port=word_write, init_addr=1)
rep(slot=3, port=word_write, iter=4, step=2)
act(mode=contiguous, ports=0b100010, param=1) # port 1 of slots 1 and 2, four bits for each slot
act(mode=contiguous, ports=0b1, param=3)
wait(cycle=6)
halt()
.expect rf.1.0.3[0:9], 0, 103, 0, 106, 0, 109, 0, 112, 0
