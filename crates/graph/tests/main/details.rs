//! Operators with error-prone details: ties, borders, signed zeros, rare types.

use std::f64::consts::TAU;

use npukit_graph::op::{
    ArgMax, Binary, BinaryKind, Cast, Compare, CompareKind, Concat, ConvTranspose, Dft, GroupNormalization,
    LeakyRelu, MaxPool, MaxPoolIndices, PRelu, Pad, PadMode, Pow, QuantizeLinear, Reduce, ReduceKind,
    RotaryEmbedding, Slice, SliceRange, Trilu, UnaryKind, Window,
};
use npukit_graph::{Op, OpError, Operator};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::support::{f32s, floats, i64s, iota, noise, refuse, run};

fn i32s(data: &[i32]) -> Tensor {
    Tensor::new(vec![data.len()], TensorData::I32(data.to_vec())).unwrap()
}

fn bools(data: &[bool]) -> Tensor {
    Tensor::new(vec![data.len()], TensorData::Bool(data.to_vec())).unwrap()
}

fn integers(tensor: &Tensor) -> &[i64] {
    let TensorData::I64(values) = tensor.data() else { panic!("{tensor:?}") };
    values
}

#[test]
fn of_equal_elements_the_first_or_last_is_chosen() {
    let x = f32s(&[5], &[1.0, 3.0, 1.0, 3.0, 2.0]);
    for (smallest, select_last, expected) in
        [(false, false, 1), (false, true, 3), (true, false, 0), (true, true, 2)]
    {
        let op = ArgMax { smallest, axis: 0, keep_dims: true, select_last };
        assert_eq!(integers(&run(op, &[&x])), [expected]);
    }
}

/// Like NumPy's `mod`, whose results have the divisor's sign, and C's `fmod`, whose results have
/// the dividend's.
#[test]
fn remainders_of_either_sign() {
    let (left, right) = (f32s(&[5], &[5.0, -5.0, 5.0, -5.0, 6.0]), f32s(&[5], &[3.0, 3.0, -3.0, -3.0, -3.0]));
    let of = |kind| run(Binary { kind }, &[&left, &right]);
    assert_eq!(floats(&of(BinaryKind::Mod)), [2.0, 1.0, -1.0, -2.0, 0.0]);
    assert_eq!(floats(&of(BinaryKind::Fmod)), [2.0, -2.0, 2.0, -2.0, 0.0]);
}

#[test]
fn zero_is_on_the_positive_side_of_a_slope() {
    let zero = f32s(&[2], &[0.0, 1.0]);
    let slope = f32s(&[1], &[f32::INFINITY]);
    assert_eq!(floats(&run(LeakyRelu { alpha: f32::INFINITY }, &[&zero])), [0.0, 1.0]);
    assert_eq!(floats(&run(PRelu, &[&zero, &slope])), [0.0, 1.0]);
}

#[test]
fn integers_are_true_unless_they_are_zero() {
    let expected = bools(&[false, true, true]);
    for x in [i64s(&[3], &[0, 2, -1]), i32s(&[0, 2, -1])] {
        assert_eq!(run(Cast::new(ElementType::Bool), &[&x]), expected);
    }
    // `Not` of a float tests whether it is 0.
    assert_eq!([0.0, -0.0, 2.0, f32::NAN].map(|x| UnaryKind::Not.apply(x)), [1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn small_integers_and_truths_take_part() {
    let (left, right) = (i32s(&[1, 2, 3]), i32s(&[3, 2, 1]));
    let less = Compare { kind: CompareKind::Less };
    assert_eq!(run(less, &[&left, &right]), bools(&[true, false, false]));
    let joined = run(Concat { axis: 0 }, &[&bools(&[true]), &bools(&[false, true])]);
    assert_eq!(joined, bools(&[true, false, true]));
    for (fill, expected) in [(0.0, false), (1.0, true)] {
        let pad = Pad { pads: vec![[1, 0]], mode: PadMode::Constant(fill) };
        assert_eq!(run(pad, &[&bools(&[false, true])]), bools(&[expected, false, true]));
    }
}

#[test]
fn only_extremes_are_taken_of_truths_and_of_numbers_alone() {
    let reduce = |kind| Reduce { kind, axes: vec![0], keep_dims: false };
    let x = bools(&[false, true]);
    let truth = |tensor: Tensor| tensor.data() == &TensorData::Bool(vec![true]);
    assert!(truth(run(reduce(ReduceKind::Max), &[&x])) && !truth(run(reduce(ReduceKind::Min), &[&x])));
    assert!(matches!(refuse(reduce(ReduceKind::Sum), &[&x]), OpError::ElementType { .. }));
    let narrow = i32s(&[1, 2]).with_element(ElementType::I4).unwrap();
    assert!(matches!(refuse(reduce(ReduceKind::Max), &[&narrow]), OpError::ElementType { .. }));
}

/// Zero to the power of zero is one; an integer zero to a negative power is an error.
#[test]
fn powers_of_integers_that_are_zero() {
    for (base, one) in [(i64s(&[2], &[0, 3]), i64s(&[2], &[1, 1])), (i32s(&[0, 3]), i32s(&[1, 1]))] {
        let exponent = f32s(&[1], &[0.0]);
        assert_eq!(run(Pow, &[&base, &exponent]), one);
        let negative = f32s(&[2], &[1.0, -1.0]);
        assert!(run(Pow, &[&base, &negative]).data().len() == 2, "3 to the power -1");
        let negative = f32s(&[1], &[-1.0]);
        assert_eq!(refuse(Pow, &[&base, &negative]), OpError::DivisionByZero { op: "Pow", position: 0 });
    }
}

/// Narrow floats have zero points, too; values beyond their range saturate only on request.
#[test]
fn small_floats_are_quantized_with_their_zero_point() {
    let to = ElementType::F8E4M3FN;
    let quantize = |saturate| QuantizeLinear {
        to,
        axis: 0,
        block: 0,
        saturate,
        precision: ElementType::F32,
        away: false,
    };
    let (x, scale) = (f32s(&[3], &[6.0, -10.0, 5000.0]), f32s(&[], &[2.0]));
    let zero = f32s(&[], &[1.0]).with_element(to).unwrap();
    for zero in [None, Some(zero)] {
        let operands: Vec<&Tensor> = [Some(&x), Some(&scale), zero.as_ref()].into_iter().flatten().collect();
        let shift = if zero.is_some() { 1.0 } else { 0.0 };
        assert_eq!(floats(&run(quantize(true), &operands)), [3.0 + shift, -5.0 + shift, 448.0]);
        assert!(floats(&run(quantize(false), &operands))[2].is_nan());
    }
}

/// Rows of elements `0 1 2 3` with three more on either side, as NumPy's `pad` writes them.
#[test]
fn elements_are_repeated_and_mirrored() {
    let padded = |mode| {
        let y = run(Pad { pads: vec![[3, 3]], mode }, &[&iota(&[4])]);
        floats(&y).iter().map(|x| x.to_string()).collect::<String>()
    };
    assert_eq!(padded(PadMode::Constant(9.0)), "9990123999");
    assert_eq!(padded(PadMode::Edge), "0000123333");
    assert_eq!(padded(PadMode::Reflect), "3210123210");
    assert_eq!(padded(PadMode::Symmetric), "2100123321");
    assert_eq!(padded(PadMode::Wrap), "1230123012");
}

/// Index of each maximum in `[n, c, h, w]`, row-major or column-major.
#[test]
fn indices_point_at_the_maxima() {
    let [images, height, width, channels] = [2, 7, 5, 3];
    let x = noise(&[images, height, width, channels], 1);
    for (strides, dilations, pads) in [
        ([1, 1], [1, 1], [0; 4]),
        ([2, 1], [2, 1], [1, 0, 0, 1]),
        ([1, 2], [1, 2], [0, 1, 1, 0]),
        ([2, 2], [3, 2], [1; 4]),
    ] {
        let window = Window { dilations, pads, ..Window::plain([2, 3], strides) };
        let maxima = run(MaxPool { window: window.clone() }, &[&x]);
        for column_major in [false, true] {
            let indices = run(MaxPoolIndices { window: window.clone(), column_major }, &[&x]);
            assert_eq!(indices.shape(), maxima.shape());
            let element = |&index: &i64| {
                let (plane, place) = (index as usize / (height * width), index as usize % (height * width));
                let (row, column) = match column_major {
                    true => (place % height, place / height),
                    false => (place / width, place % width),
                };
                let (image, channel) = (plane / channels, plane % channels);
                floats(&x)[((image * height + row) * width + column) * channels + channel]
            };
            let found: Vec<f32> = integers(&indices).iter().map(element).collect();
            assert_eq!(found, floats(&maxima), "{window:?}");
            // The channel of an index is that of its maximum.
            let channels =
                integers(&indices).iter().map(|&index| index as usize / (height * width) % channels);
            assert!(channels.eq((0..found.len()).map(|place| place % 3)));
        }
    }
}

/// The sum that defines the transform, term by term.
#[test]
fn transforms_are_sums_of_turns() {
    let points = 5;
    let [real, complex] = [1, 2].map(|parts| noise(&[points, parts], 1));
    for (length, inverse, onesided) in [
        (5, false, false),
        (5, true, false),
        (4, false, true),
        (7, false, false),
        (8, true, false),
        (5, false, true),
    ] {
        // A real operand has half the number of parts.
        let (x, parts) = if onesided { (&real, 1) } else { (&complex, 2) };
        let y = run(Dft { axis: 0, length, inverse, onesided }, &[x]);
        let results = if onesided { length / 2 + 1 } else { length };
        assert_eq!(y.shape(), [results, 2]);
        for k in 0..results {
            let mut sum = [0.0; 2];
            for n in 0..length.min(points) {
                let point = &floats(x)[parts * n..][..parts];
                let [re, im] = [0, 1].map(|part| point.get(part).map_or(0.0, |&x| f64::from(x)));
                let angle = TAU * (k * n) as f64 / length as f64 * if inverse { 1.0 } else { -1.0 };
                sum[0] += re * angle.cos() - im * angle.sin();
                sum[1] += re * angle.sin() + im * angle.cos();
            }
            let factor = if inverse { 1.0 / length as f64 } else { 1.0 };
            for (found, sum) in floats(&y)[2 * k..].iter().zip(sum) {
                assert!((f64::from(*found) - sum * factor).abs() < 1e-5, "{length} {inverse} {k}");
            }
        }
    }
    // For any number of whole turns.
    let dft = Dft { axis: 0, length: 7, inverse: false, onesided: false };
    assert_eq!(dft.root(7 * (1 << 50) + 3), dft.root(3));
}

/// A tap with a target for an element is in the element's list of taps, and no other.
#[test]
fn taps_are_those_with_a_target() {
    for (stride, dilation, pad) in [(1, 1, 0), (2, 1, 1), (1, 2, 3), (3, 2, 2), (2, 3, 5), (3, 1, 4)] {
        let conv = ConvTranspose {
            strides: [7, stride],
            dilations: [5, dilation],
            pads: [9, pad, 9, 9],
            output_padding: [0; 2],
            group: 1,
        };
        for (index, kernel, size) in [(0, 3, 4), (1, 3, 4), (2, 4, 5), (3, 4, 2), (4, 5, 9), (9, 5, 3)] {
            let taps = conv.taps(1, index, kernel, size);
            let expected = (0..kernel).filter(|&tap| conv.target(1, index, tap, size).is_some());
            assert!(taps.clone().eq(expected), "{taps:?} of {conv:?} at {index}");
        }
    }
}

#[test]
fn no_filters_and_no_images_give_nothing() {
    let conv =
        ConvTranspose { strides: [1; 2], dilations: [1; 2], pads: [0; 4], output_padding: [0; 2], group: 1 };
    for (x, weights, shape) in
        [([1, 2, 2, 3], [2, 2, 3, 0], [1, 3, 3, 0]), ([0, 2, 2, 3], [2, 2, 3, 4], [0, 3, 3, 4])]
    {
        assert_eq!(run(conv.clone(), &[&iota(&x), &iota(&weights)]).shape(), shape);
        assert_eq!(conv.eval(&[&iota(&x), &iota(&weights)]).unwrap()[0].shape(), shape);
    }
    // Without channels, only the bias remains.
    let (x, weights) = (f32s(&[1, 2, 2, 0], &[]), f32s(&[2, 2, 0, 2], &[]));
    let y = run(conv, &[&x, &weights, &f32s(&[2], &[3.0, 4.0])]);
    assert_eq!((y.shape(), floats(&y)), (&[1, 3, 3, 2][..], &[3.0, 4.0].repeat(9)[..]));
}

#[test]
fn groups_of_no_channels_are_refused() {
    let (x, none) = (f32s(&[1, 2, 2, 0], &[]), f32s(&[0], &[]));
    for groups in [0, 2] {
        let refused = refuse(GroupNormalization { groups, epsilon: 0.0 }, &[&x, &none, &none]);
        assert!(matches!(refused, OpError::Multiple { found: 0, divisor, .. } if divisor == groups));
    }
    let (x, none) = (f32s(&[1, 2, 0], &[]), f32s(&[1, 2, 0], &[]));
    let rotary = |heads| RotaryEmbedding { heads, size: 0, interleaved: false };
    assert!(matches!(refuse(rotary(0), &[&x, &none, &none]), OpError::Multiple { divisor: 0, .. }));
    assert_eq!(run(rotary(2), &[&x, &none, &none]), x);
}

/// `[n, heads, positions, features]`, with the first four features rotated, by the formula.
#[test]
fn features_turn_by_the_angle_of_their_position() {
    let [images, heads, positions, features, size] = [2, 3, 5, 6, 4];
    let x = noise(&[images, heads, positions, features], 1);
    let [cos, sin] = [2, 3].map(|seed| noise(&[images, positions, size / 2], seed));
    for interleaved in [false, true] {
        let y = run(RotaryEmbedding { heads, size, interleaved }, &[&x, &cos, &sin]);
        for (index, y) in floats(&y).iter().enumerate() {
            let (row, feature) = (index / features, index % features);
            let (image, position) = (row / positions / heads, row % positions);
            let at = |feature: usize| floats(&x)[row * features + feature];
            let angle = |pair: usize| {
                let place = (image * positions + position) * (size / 2) + pair;
                (floats(&cos)[place], floats(&sin)[place])
            };
            let (pair, second) = match interleaved {
                true => (feature / 2, feature % 2 == 1),
                false => (feature % 2, feature / 2 == 1),
            };
            let other = if interleaved { feature ^ 1 } else { feature ^ 2 };
            let expected = if feature >= size {
                at(feature)
            } else {
                let (cos, sin) = angle(pair);
                at(feature) * cos + at(other) * if second { sin } else { -sin }
            };
            assert!((y - expected).abs() < 1e-6, "{index}");
        }
    }
}

#[test]
fn each_axis_is_sliced_once_and_within_it() {
    let range = |axis, start, length, step| SliceRange { axis, start, length, step };
    let x = iota(&[3, 4]);
    let both = run(Slice { ranges: vec![range(0, 2, 2, -1), range(1, 1, 2, 2)] }, &[&x]);
    assert_eq!((both.shape(), floats(&both)), (&[2, 2][..], &[9.0, 11.0, 5.0, 7.0][..]));
    let twice = Slice { ranges: vec![range(1, 0, 1, 1), range(1, 0, 1, 1)] };
    assert!(matches!(refuse(twice, &[&x]), OpError::Attribute { attribute: "axes", .. }));
    // No range may start after the last element.
    for (start, length, step, fits) in [
        (4, 0, 1, true),
        (5, 0, 1, false),
        (3, 1, 9, true),
        (4, 1, 1, false),
        (0, 2, -1, false),
        (0, 2, 4, false),
    ] {
        let slice = Slice { ranges: vec![range(1, start, length, step)] };
        assert_eq!(Op::from(slice).eval(&[&x]).is_ok(), fits, "{start} {length} {step}");
    }
}

/// Triangles of tall, wide and stacked matrices, element by element.
#[test]
fn triangles_of_any_matrix() {
    for shape in [&[4, 2][..], &[2, 4], &[3, 3], &[2, 4, 2], &[2, 2, 4, 2], &[2, 1, 2, 4, 2]] {
        let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
        for (upper, offset) in [(false, 0), (true, 0), (true, 1), (false, -1), (true, -2)] {
            let x = noise(shape, 1);
            let y = run(Trilu { upper, offset }, &[&x]);
            for (index, (&x, &y)) in floats(&x).iter().zip(floats(&y)).enumerate() {
                let (row, column) = ((index / columns % rows) as i64, (index % columns) as i64);
                let stays = if upper { column >= row + offset } else { column <= row + offset };
                assert_eq!(y, if stays { x } else { 0.0 }, "{shape:?} {upper} {offset} at {index}");
            }
        }
    }
    // For one matrix, both orders of axes are possible; for stacked ones, only orders that keep
    // matrices.
    for (perm, expected) in [
        (&[0, 1][..], Some((true, 1))),
        (&[1, 0], Some((false, -1))),
        (&[1, 0, 2, 3, 4], Some((true, 1))),
        (&[2, 1, 0, 4, 3], Some((false, -1))),
        (&[0, 1, 3, 2, 4], None),
    ] {
        let expected = expected.map(|(upper, offset)| Op::from(Trilu { upper, offset }));
        assert_eq!(Op::from(Trilu { upper: true, offset: 1 }).permuted(perm), expected, "{perm:?}");
    }
}

/// Truncated quotients and both remainders, for integers of either sign and both storage types.
#[test]
fn integers_are_divided_towards_zero() {
    let pairs: Vec<(i64, i64)> =
        (-9..=9).flat_map(|l| (-4..=4).filter(|&r| r != 0).map(move |r| (l, r))).collect();
    let sides = |element| {
        [0, 1].map(|side| {
            let values: Vec<i64> = pairs.iter().map(|&(l, r)| [l, r][side]).collect();
            run(Cast::new(element), &[&i64s(&[values.len()], &values)])
        })
    };
    type Function = fn(f64, f64) -> f64;
    let by_hand: [(BinaryKind, Function); 3] = [
        (BinaryKind::Div, |l, r| (l / r).trunc()),
        (BinaryKind::Mod, |l, r| l - r * (l / r).floor()),
        (BinaryKind::Fmod, |l, r| l - r * (l / r).trunc()),
    ];
    for element in [ElementType::I64, ElementType::I32] {
        let [left, right] = sides(element);
        for (kind, function) in by_hand {
            let found = run(Binary { kind }, &[&left, &right]);
            let expected: Vec<i64> =
                pairs.iter().map(|&(l, r)| function(l as f64, r as f64) as i64).collect();
            let expected = run(Cast::new(element), &[&i64s(&[expected.len()], &expected)]);
            assert_eq!(found, expected, "{kind:?}");
            let refused =
                refuse(Binary { kind }, &[&left, &run(Binary { kind: BinaryKind::Sub }, &[&right, &right])]);
            assert!(matches!(refused, OpError::DivisionByZero { position: 0, .. }));
        }
    }
    // The smallest number divided by -1 wraps to itself, as in NumPy, with remainder 0.
    for element in [ElementType::I64, ElementType::I32] {
        let least = if element == ElementType::I64 { i64::MIN } else { i32::MIN.into() };
        let [least, minus] = [least, -1].map(|x| run(Cast::new(element), &[&i64s(&[1], &[x])]));
        let none = run(Cast::new(element), &[&i64s(&[1], &[0])]);
        for (kind, expected) in
            [(BinaryKind::Div, &least), (BinaryKind::Mod, &none), (BinaryKind::Fmod, &none)]
        {
            assert_eq!(&run(Binary { kind }, &[&least, &minus]), expected);
        }
    }
}
