
:
xPlaceholder*
dtype0*
shape:
n
yMaxPoolx*
T0*
strides

*
ksize

*
paddingSAME*
data_formatNHWC