# A row of words from the file of a cell to the cell in the east.
.data rf.1.0.1[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
cell (row=1, col=0)
route(slot=0, sr=send, source=1, target=0b000100000) # bit 5: E
dsu(slot=1, port=bulk_read)
rep(slot=1, port=bulk_read, iter=1)
act(ports=0b1000, param=1)
wait(cycle=2)
halt()
cell (row=1, col=1)
route(slot=0, sr=receive, source=3, target=0b110) # 3: W; to slots 1 and 2
dsu(slot=1, port=bulk_write)
dsu(slot=2, port=bulk_write)
act(ports=0b1000100, param=1)
wait(cycle=2)
halt()
.expect rf.1.1.1[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
.expect rf.1.1.2[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
