# Comparisons write flags, and so does logic; 12 is compared with 12 and 11. What becomes 0 was 1 before.
cell (row=1, col=0)
calc(mode=add, operand2=12, result=1)
calc(mode=eq, operand1=1, operand2=12, result=3)
calc(mode=eq, operand1=1, operand2=12, result=6)
calc(mode=eq, operand1=1, operand2=12, result=8)
calc(mode=eq, operand1=1, operand2=12, result=2)
calc(mode=ne, operand1=1, operand2=12, result=3)
calc(mode=gt, operand1=1, operand2=11, result=4)
calc(mode=ge, operand1=1, operand2=12, result=5)
calc(mode=lt, operand1=1, operand2=12, result=6)
calc(mode=le, operand1=1, operand2=12, result=7)
calc(mode=and, operand1=2, operand2_sd=d, operand2=3, result=8)
calc(mode=or, operand1=2, operand2_sd=d, operand2=3, result=9)
calc(mode=not, operand1=3, result=10)
halt()
.expect reg.1.0[1:4], 12, 0, 0
.expect flag.1.0[2:11], 1, 0, 1, 1, 0, 1, 0, 1, 1
