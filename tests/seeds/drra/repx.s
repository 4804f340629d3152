# iter=1 and 1 * 256 more times at the same word, each with 2 + 1 * 128 idle cycles behind: 131 cycles apart.
.data rf.1.0.1[0:16], 7
.data rf.1.0.2[0:16], 100
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=add)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=1, step=0)
repx(slot=1, port=word_read, iter=1, step=0) # 257 times word 0
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=1, step=0)
repx(slot=2, port=word_read, iter=1, step=0)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=2, step=1, delay=2)
repx(slot=3, port=word_write, iter=0, step=0, delay=1) # the second 131 cycles after the first
act(ports=0b100010, param=1)
act(ports=0b1, param=3)
wait(cycle=130)
halt()
.expect rf.1.0.3[0:3], 107, 107, 0
