# Four options within the cell (bit 4, number 4: C); port intercell chooses 0, 1, 2 and 3. 0 sends from slot 1 to slot 2,
# 1 from 1 to 3, 2 from 1 to both, 3 from slot 3 to slot 2. Rows of slot 1 begin with 100, 200 and 300.
.data rf.1.0.1[0:48], 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 310, 311, 312, 313, 314, 315
cell (row=1, col=0)
route(slot=0, option=0, sr=send, source=1, target=0b10000)
route(slot=0, option=0, sr=receive, source=4, target=0b100)
route(slot=0, option=1, sr=send, source=1, target=0b10000)
route(slot=0, option=1, sr=receive, source=4, target=0b1000)
route(slot=0, option=2, sr=send, source=1, target=0b10000)
route(slot=0, option=2, sr=receive, source=4, target=0b1100)
route(slot=0, option=3, sr=send, source=3, target=0b10000)
route(slot=0, option=3, sr=receive, source=4, target=0b100)
evt(slot=0, port=intercell)
rep(slot=0, port=intercell, iter=4, step=1, delay=4)
dsu(slot=1, port=bulk_read) # rows 0, 1 and 2, five cycles apart
rep(slot=1, port=bulk_read, iter=3, delay=4)
dsu(slot=2, port=bulk_write) # rows 0 to 3, so too
rep(slot=2, port=bulk_write, iter=4, delay=4)
dsu(slot=3, port=bulk_write) # rows 0 and 1, with options 1 and 2
rep(slot=3, port=bulk_write, iter=2, delay=4)
dsu(slot=3, port=bulk_read) # row 0, with option 3
rep(slot=3, port=bulk_read, iter=1)
act(ports=0b10, param=0)
act(ports=0b1001000, param=1)
wait(cycle=3)
act(ports=0b100, param=3)
wait(cycle=8)
act(ports=0b1000, param=3)
wait(cycle=2)
halt()
# Nothing is sent to slot 2 with option 1.
.expect rf.1.0.2[0:64], 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 310, 311, 312, 313, 314, 315, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215
.expect rf.1.0.3[0:32], 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 310, 311, 312, 313, 314, 315
