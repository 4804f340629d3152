# Option 0 links both operands, option 1 the first alone; port intracell chooses 0, then 1.
.data rf.1.0.1[0:4], 1, 2, 3, 4
.data rf.1.0.2[0:4], 10, 20, 30, 40
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
swb(slot=0, option=1, channel=4, source=1, target=4)
swb(slot=0, option=1, channel=3, source=4, target=3)
dpu(slot=4, mode=add)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=4)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=4)
evt(slot=0, port=intracell)
rep(slot=0, port=intracell, iter=2, step=1, delay=1)
act(ports=0b1, param=0)
act(ports=0b100010, param=1)
act(ports=0b1, param=3)
wait(cycle=6)
halt()
.expect rf.1.0.3[0:4], 11, 22, 3, 4
