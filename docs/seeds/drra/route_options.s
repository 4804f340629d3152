# Option 0 sends row 0 of slot 1 to slot 2, option 1 to slot 3, within the cell; port intercell chooses 0, then 1.
.data rf.1.0.1[0:32], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32
cell (row=1, col=0)
route(slot=0, option=0, sr=send, source=1, target=0b10000) # bit 4: C
route(slot=0, option=0, sr=receive, source=4, target=0b100)
route(slot=0, option=1, sr=send, source=1, target=0b10000)
route(slot=0, option=1, sr=receive, source=4, target=0b1000)
evt(slot=0, port=intercell)
rep(slot=0, port=intercell, iter=2, step=1, delay=3)
dsu(slot=1, port=bulk_read)
rep(slot=1, port=bulk_read, iter=2, delay=4)
dsu(slot=2, port=bulk_write)
rep(slot=2, port=bulk_write, iter=1)
dsu(slot=3, port=bulk_write)
rep(slot=3, port=bulk_write, iter=1)
act(ports=0b10, param=0)
act(ports=0b1001000, param=1)
wait(cycle=3)
act(ports=0b100, param=3)
wait(cycle=2)
halt()
.expect rf.1.0.2[0:16], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
.expect rf.1.0.3[0:16], 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32
