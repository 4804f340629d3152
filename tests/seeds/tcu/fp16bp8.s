; 2^-8 is the least step: 1/16 * 1/16 is that, 1/16 * 1/64 is nothing. 127 + 255/256 is the largest number, -128 the least.
.data acc[0], 0.0625, 0.0625, 127, -128
.data acc[1], 0.0625, 0.015625, 1, -1
    simd r1 = move(in), read acc[0]
    simd out = multiply(in, r1), read acc[1], write acc[2]
    simd out = add(in, r1), read acc[1], write acc[3]
.expect acc[2], 0.00390625, 0, 127, 127.99609375
.expect acc[3], 0.125, 0.078125, 127.99609375, -128
