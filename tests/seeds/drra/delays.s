# A word every 1 + 2 cycles: the second is read in the cycle in which the fourth would be without the delay.
.data rf.1.0.1[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
.data rf.1.0.2[0:8], 100, 200, 300, 400, 500, 600, 700, 800
cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=add)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=3, delay=2) # words 0, 1, 2 in cycles 0, 3, 6
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=8) # words 0, 1, ... in cycles 0, 1, ...
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=7)
act(ports=0b100010, param=1)
act(ports=0b1, param=3)
wait(cycle=10)
halt()
# Without an address a port reads as 0.
.expect rf.1.0.3[0:8], 101, 200, 300, 402, 500, 600, 703, 0
