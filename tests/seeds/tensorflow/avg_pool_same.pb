
:
xPlaceholder*
dtype0*
shape:
n
yAvgPoolx*
T0*
strides

*
ksize

*
paddingSAME*
data_formatNHWC