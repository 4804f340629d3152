# The arithmetic that the released sequencer has, too.
cell (row=1, col=0)
calc(mode=add, operand1=0, operand2=12, result=1)
calc(mode=sub, operand1=1, operand2=5, result=2)
calc(mode=bitand, operand1=1, operand2=10, result=8)
calc(mode=bitor, operand1=1, operand2=3, result=9)
calc(mode=bitinv, operand1=1, result=10)
calc(mode=bitxor, operand1=1, operand2=10, result=11)
calc(mode=add, operand1=1, operand2_sd=d, operand2=2, result=13)
halt()
.expect reg.1.0[1:3], 12, 7
.expect reg.1.0[8:12], 8, 15, -13, 6
.expect reg.1.0[13], 19
