# npu run butterfly.s --target drra
# The last stage of a Fourier transform of the eight words 12 -7 3 9 -4 6 0 5: four butterflies,
# X[k] = E[k] + w O[k] and X[k+4] = E[k] - w O[k], where w = exp(-j pi k / 4).
#
# Every part of a result is a sum of four products with constants, so a butterfly is four sums of `mac`.
# Each butterfly's E and O, real and imaginary.
.data rf.1.0.1[0:16], 11, 0, 13, 0, 16, -3, -13, -4, 5, 0, -15, 0, 16, 3, -13, 4
# A row for each butterfly: the factors of X[k] and X[k+4], real and imaginary, 32 times as large.
.data rf.1.0.2[0:16], 32, 0, 32, 0, 0, 32, 0, 32, 32, 0, -32, 0, 0, 32, 0, -32
.data rf.1.0.2[16:32], 32, 0, 23, 23, 0, 32, -23, 23, 32, 0, -23, -23, 0, 32, 23, -23
.data rf.1.0.2[32:48], 32, 0, 0, 32, 0, 32, -32, 0, 32, 0, 0, -32, 0, 32, 32, 0
.data rf.1.0.2[48:64], 32, 0, -23, 23, 0, 32, -23, -23, 32, 0, 23, -23, 0, 32, 23, 23
# X[k] and X[k+4] of k = 0 to 3, 32 times as large.
.expect rf.1.0.3[0:16], 768, 0, -64, 0, 121, 111, 903, -303, 160, 480, 160, -480, 903, 303, 121, -111

cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=mac)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4, step=1) # the four parts of E and O,
rep(slot=1, port=word_read, iter=4, step=0) # once for each part of the results,
rep(slot=1, port=word_read, iter=4, step=4) # for each butterfly
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=64) # the factors in their order
evt(slot=4, port=rst)
rep(slot=4, port=rst, iter=16, step=0, delay=3)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=16, delay=3)
act(param=1, ports=0x2022) # four bits a slot from slot 1 on: port 1 of slots 1, 2 and 4
wait(cycle=2)
act(param=3, ports=0b0001) # a sum is there four cycles after its first operands
wait(cycle=60)
halt()
