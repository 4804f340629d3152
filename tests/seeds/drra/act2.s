# Mode 2: four scalar registers from param on are 64 bits, four for each slot.
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
calc(mode=addh, operand2=0b10, result=4)
calc(mode=add, operand1=4, operand2=0b100000, result=4) # slots 1 and 2, port 1 each
calc(mode=addh, operand2=0b10000, result=8) # slot 3, port 0
act(mode=map, param=4)
act(mode=map, param=8)
wait(cycle=6)
halt()
.expect rf.1.0.3[0:4], 101, 102, 103, 104
