# Mode 1: ports says which slots, counted from 0, param which port of each.
.data rf.1.0.1[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
.data rf.1.0.2[0:16], 100
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=add)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=4)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=4)
act(mode=port_index, ports=0b110, param=1)
act(mode=port_index, ports=0b1000, param=0)
wait(cycle=6)
halt()
.expect rf.1.0.3[0:4], 101, 102, 103, 104
