# A word is read 20 times from slot 1, in cycles 3 to 22; the wait, issued in cycle 3, ends with that. The register is set in
# cycle 23, and halt is the 25th.
.data rf.1.0.1[0:4], 1, 2, 3, 4
cell (row=1, col=0)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=20, step=0)
act(ports=0b10, param=1)
wait(mode=events, cycle=0b10)
calc(mode=add, operand2=9, result=1)
halt()
.expect reg.1.0[1], 9
