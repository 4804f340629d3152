# npu run prefix_sum.s --target drra
# y[n] = x[0] + ... + x[n] of 32 words: `mac` with a second operand that is always 1. Its sum so far leaves the
# dpu in every cycle, and each is written.
.data rf.1.0.1[0:16], 5, -3, 8, 0, 7, -2, 1, 1, -9, 4, 6, -6, 2, 10, -1, 3
.data rf.1.0.1[16:32], -8, 8, 2, 2, 5, -4, 0, 9, -7, 1, 3, -5, 6, 12, -2, 4
.data rf.1.0.2[0], 1
.expect rf.1.0.3[0:16], 5, 2, 10, 10, 17, 15, 16, 17, 8, 12, 18, 12, 14, 24, 23, 26
.expect rf.1.0.3[16:32], 18, 26, 28, 30, 35, 31, 31, 40, 33, 34, 37, 32, 38, 50, 48, 52

cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=mac)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=32)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=32, step=0) # the 1, again and again
evt(slot=4, port=rst) # a single reset, with the first word
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=32)
act(param=1, ports=0x2022) # four bits a slot from slot 1 on: port 1 of slots 1, 2 and 4
act(param=3, ports=0b0001) # results are a cycle behind
wait(cycle=31)
halt()
