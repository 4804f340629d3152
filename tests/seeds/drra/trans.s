# Two patterns of one port, one after the other with an idle cycle between: words 0 1, nothing, then 8 10 12.
.data rf.1.0.1[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
.data rf.1.0.2[0:16], 100
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=add)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=2)
dsu(slot=1, port=word_read, init_addr=8)
rep(slot=1, port=word_read, iter=3, step=2)
trans(slot=1, port=word_read, delay=1)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=6)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=6)
act(ports=0b100010, param=1)
act(ports=0b1, param=3)
wait(cycle=8)
halt()
.expect rf.1.0.3[0:6], 101, 102, 100, 109, 111, 113
