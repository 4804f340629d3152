# 1 * 5 and + 2 * 6; then 3 * 7 and + 4 * 8, begun anew by the second of two resets, two cycles apart.
.data rf.1.0.1[0:4], 1, 2, 3, 4
.data rf.1.0.2[0:4], 5, 6, 7, 8
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=mac)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=4)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=4)
evt(slot=4, port=rst)
rep(slot=4, port=rst, iter=2, step=0, delay=1)
act(ports=0b10000000100010, param=1)
act(ports=0b1, param=3)
wait(cycle=6)
halt()
.expect rf.1.0.3[0:4], 5, 17, 21, 53
