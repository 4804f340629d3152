; One MEMSET writes the three values of an entry.
    memset cache=fmap, idx=63, a=2, b=3, c=4
    memset cache=weight, idx=0, a=65535, b=7, c=8
.expect fmap_shape[63], 2, 3, 4
.expect weight_shape[0], 65535, 7, 8
