; Operations of one argument take the left source; the right one is the input, which nobody reads, and does not count.
.data r1, 1.5, -2, 0, 3
    simd out = move(r1, in), write acc[4]
    simd out = not(r1, in), write acc[5]
    simd out = increment(r1, in), write acc[6]
    simd out = decrement(r1, in), write acc[7]
    simd out = abs(r1, in), write acc[8]
    simd r1 = abs(r1, in)
.expect acc[4], 1.5, -2, 0, 3
.expect acc[5], 0.0, 0, 1, 0
.expect acc[6], 2.5, -1, 1, 4
.expect acc[7], 0.5, -3, -1, 2
.expect acc[8], 1.5, 2, 0, 3
.expect r1, 1.5, 2, 0, 3
