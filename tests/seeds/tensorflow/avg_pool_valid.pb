
:
xPlaceholder*
dtype0*
shape:
o
yAvgPoolx*
T0*
strides

*
ksize

*
paddingVALID*
data_formatNHWC