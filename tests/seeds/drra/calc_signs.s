# Numbers below 0, and sums and shifts that leave 16 bits. lrs keeps the sign: -5 / 8 towards less; lls saturates.
cell (row=1, col=0)
calc(mode=sub, operand1=0, operand2=5, result=1)
calc(mode=lrs, operand1=1, operand2=3, result=2)
calc(mode=lls, operand1=1, operand2=3, result=3)
calc(mode=add, operand1=0, operand2=1, result=4)
calc(mode=lls, operand1=4, operand2=14, result=5)
calc(mode=lls, operand1=4, operand2=15, result=6)
calc(mode=lls, operand1=1, operand2=14, result=7)
calc(mode=mul, operand1=1, operand2=7, result=8)
calc(mode=bitand, operand1=1, operand2=12, result=9)
halt()
.expect reg.1.0[1:10], -5, -1, -40, 1, 16384, 32767, -32768, -35, 8
