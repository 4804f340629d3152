# Configuration 0 adds, 2 multiplies; a pattern of port dpu chooses 0, then 2.
.data rf.1.0.1[0:4], 1, 2, 3, 4
.data rf.1.0.2[0:4], 5, 6, 7, 8
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, config=0, mode=add)
dpu(slot=4, config=2, mode=mult)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=4)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=4)
evt(slot=4, port=dpu)
rep(slot=4, port=dpu, iter=2, step=2, delay=1)
act(ports=0b1000000100010, param=1)
act(ports=0b1, param=3)
wait(cycle=6)
halt()
.expect rf.1.0.3[0:4], 6, 8, 21, 32
