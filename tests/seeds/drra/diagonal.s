# As east.s, to the south-east: bit 8, and 0 (NW) where it arrives.
.data rf.1.0.1[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
cell (row=1, col=0)
route(slot=0, sr=send, source=1, target=0b100000000)
dsu(slot=1, port=bulk_read)
rep(slot=1, port=bulk_read, iter=1)
act(ports=0b1000, param=1)
wait(cycle=2)
halt()
cell (row=2, col=1)
route(slot=0, sr=receive, source=0, target=0b100)
dsu(slot=2, port=sram_write)
wait()
act(ports=0b100, param=2)
wait(cycle=2)
halt()
.expect sram.2.1.1[0], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
