# Waits for event slot 0.
cell (row=1, col=0)
wait(mode=events, cycle=0b1)
halt()
