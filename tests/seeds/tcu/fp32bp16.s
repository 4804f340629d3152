; 2^-16 is the least step: 2^-8 * 2^-8 is that, 2^-8 * 2^-10 is nothing. 2^15 - 2^-16 is the largest number, -2^15 the least.
.data acc[0], 0.00390625, 0.00390625, 32767, -32768
.data acc[1], 0.00390625, 0.0009765625, 1, -1
    simd r1 = move(in), read acc[0]
    simd out = multiply(in, r1), read acc[1], write acc[2]
    simd out = add(in, r1), read acc[1], write acc[3]
.expect acc[2], 0.0000152587890625, 0, 32767, 32767.9999847412109375
.expect acc[3], 0.0078125, 0.0048828125, 32767.9999847412109375, -32768
