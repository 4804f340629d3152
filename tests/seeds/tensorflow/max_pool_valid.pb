
:
xPlaceholder*
dtype0*
shape:
o
yMaxPoolx*
T0*
strides

*
ksize

*
paddingVALID*
data_formatNHWC