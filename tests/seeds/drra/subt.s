# A mode that no circuit's source defines: words less words.
.data rf.1.0.1[0:4], 1, 2, 3, 4
.data rf.1.0.2[0:4], 5, 8, 6, 1
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=subt)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=4)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=4)
act(ports=0b100010, param=1)
act(ports=0b1, param=3)
wait(cycle=6)
halt()
.expect rf.1.0.3[0:4], -4, -6, -3, 3
