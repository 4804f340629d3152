//! Every path of the array product against the literal one.

use npukit_numeric::{
    ArrayWeights, Fixed, Float, Number, Path, Rows, Saturations, array_product, array_product_on,
};
use proptest::prelude::*;

/// A product to compute: raw values are taken from `values` again and again.
#[derive(Debug, Clone)]
struct Case {
    inputs: usize,
    outputs: usize,
    rows: usize,
    /// Extra scalars between rows.
    gap: usize,
    values: Vec<i32>,
}

fn compute<F: Number>(case: &Case, path: Option<Path>) -> (Vec<i32>, Saturations) {
    let mut raw = case.values.iter().cycle().map(|&v| F::from_raw(v));
    let mut weights = ArrayWeights::<F::Raw>::new(case.inputs, case.outputs);
    for k in 0..=case.inputs {
        weights.row_mut(k).fill_with(|| raw.next().unwrap());
    }
    let pitch = case.inputs + case.gap;
    let x: Vec<F::Raw> = raw.take(pitch * case.rows).collect();
    let rows = Rows { values: &x, pitch, count: case.rows };
    let mut y = vec![F::Raw::default(); case.rows * case.outputs];
    let mut saturations = Saturations::default();
    match path {
        Some(path) => array_product_on::<F>(path, &weights, rows, &mut y, &mut saturations),
        None => array_product::<F>(&weights, rows, &mut y, &mut saturations),
    }
    (y.into_iter().map(F::to_raw).collect(), saturations)
}

fn agrees<F: Number>(case: &Case) {
    let literal = compute::<F>(case, Some(Path::Literal));
    for path in Path::available() {
        assert_eq!(compute::<F>(case, Some(path)), literal, "{path:?}");
    }
    assert_eq!(compute::<F>(case, None), literal);
}

fn case(value: impl Strategy<Value = i32>) -> impl Strategy<Value = Case> {
    (1..36usize, 1..36usize, 0..11usize, 0..3usize, prop::collection::vec(value, 1..400))
        .prop_map(|(inputs, outputs, rows, gap, values)| Case { inputs, outputs, rows, gap, values })
}

/// Mostly small, some extreme: some sums saturate and come back, most do not.
fn mixed() -> impl Strategy<Value = i32> {
    prop_oneof![
        6 => -300..300i32,
        1 => any::<i16>().prop_map(i32::from),
        1 => prop::sample::select(vec![-32768, 32767, -131072, 131071, i32::MIN, i32::MAX, 128, -128, 0]),
    ]
}

proptest! {
    #[test]
    fn fixed_paths_equal_the_literal_one(case in prop_oneof![case(mixed()), case(-256..=256i32), case(any::<i32>())]) {
        agrees::<Fixed<i8, 8, 4>>(&case);
        agrees::<Fixed<i16, 16, 8>>(&case);
        agrees::<Fixed<i32, 18, 10>>(&case);
        agrees::<Fixed<i32, 32, 16>>(&case);
    }

    #[test]
    fn float_paths_equal_the_literal_one(case in case((-1e3..1e3f32).prop_map(|f| f.to_bits() as i32))) {
        agrees::<Float>(&case);
    }
}

/// Every weight of the array against every kind of tie, at both ends of the range.
#[test]
fn all_16_bit_weights() {
    for x in [-32768, -32767, -129, -128, -1, 0, 1, 127, 128, 384, 32767] {
        let values: Vec<i32> = (-32768..32768).collect();
        let mut weights = ArrayWeights::<i16>::new(1, 1 << 16);
        for (j, &w) in values.iter().enumerate() {
            weights.row_mut(0)[j] = ((w * 7) as i16) >> 2;
            weights.row_mut(1)[j] = w as i16;
        }
        let input = [x as i16; 5];
        let rows = Rows { values: &input, pitch: 1, count: 5 };
        let run = |path| {
            let mut y = vec![0i16; 5 << 16];
            let mut saturations = Saturations::default();
            array_product_on::<Fixed<i16, 16, 8>>(path, &weights, rows, &mut y, &mut saturations);
            (y, saturations)
        };
        let literal = run(Path::Literal);
        for path in Path::available() {
            assert!(run(path) == literal, "{path:?}, x = {x}");
        }
    }
}

#[test]
fn shifting_keeps_what_fits() {
    let mut weights = ArrayWeights::<i16>::new(2, 2);
    for k in 0..3 {
        weights.row_mut(k).fill(k as i16 + 1);
    }
    weights.shift(1);
    weights.row_mut(0).fill(9);
    assert_eq!((0..3).map(|k| weights.row(k)[1]).collect::<Vec<_>>(), [9, 1, 2]);
    weights.shift(3);
    assert_eq!((0..3).map(|k| weights.row(k)[0]).collect::<Vec<_>>(), [9, 1, 2]);
}
