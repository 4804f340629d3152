# A wait of 5 takes 6 cycles: with the halt, 7.
cell (row=1, col=0)
wait(cycle=5)
halt()
