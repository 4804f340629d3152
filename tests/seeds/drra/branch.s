# Three rounds of adding 7: brn goes back three instructions from itself while flag 3 is up, else on by one.
cell (row=1, col=0)
calc(mode=add, operand2=3, result=1)
calc(mode=add, operand1=2, operand2=7, result=2)
calc(mode=sub, operand1=1, operand2=1, result=1)
calc(mode=ne, operand1=1, operand2=0, result=3)
brn(reg=3, target_true=-3, target_false=1)
halt()
.expect reg.1.0[2], 21
