//! Every path of the array product against the reference.

use npukit_numeric::{
    ArrayWeights, Fixed, Float, Number, Path, Rows, Saturations, array_product, array_product_on,
};
use proptest::prelude::*;

/// A product to compute: raw values are taken cyclically from `values`.
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
    let mut weights = ArrayWeights::<F>::new(case.inputs, case.outputs);
    for k in 0..=case.inputs {
        let row: Vec<F::Raw> = raw.by_ref().take(case.outputs).collect();
        weights.set_row(k, &row);
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

/// Mostly small, some extreme: some sums saturate and return to the range, most do not.
fn mixed() -> impl Strategy<Value = i32> {
    prop_oneof![
        6 => -300..300i32,
        1 => any::<i16>().prop_map(i32::from),
        1 => prop::sample::select(vec![-32768, 32767, -131072, 131071, i32::MIN, i32::MAX, 128, -128, 0]),
    ]
}

/// Special cases of rounding and range: limits, powers of two, ties, and their neighbors.
fn edges() -> impl Strategy<Value = i32> {
    let edges =
        vec![i32::MIN, -32768, -512, -256, -255, -128, -1, 0, 1, 127, 128, 255, 256, 384, 32767, i32::MAX];
    (prop::sample::select(edges), -1..=1i32).prop_map(|(v, d)| v.wrapping_add(d))
}

proptest! {
    #[test]
    fn fixed_paths_equal_the_literal_one(case in prop_oneof![case(mixed()), case(-256..=256i32), case(edges()), case(any::<i32>())]) {
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

/// Every weight of the array with every kind of tie, at both ends of the range.
#[test]
fn all_16_bit_weights() {
    for x in [-32768, -32767, -129, -128, -1, 0, 1, 127, 128, 384, 32767] {
        let values: Vec<i32> = (-32768..32768).collect();
        let mut weights = ArrayWeights::<Fixed<i16, 16, 8>>::new(1, 1 << 16);
        weights.set_row(0, &values.iter().map(|w| ((w * 7) as i16) >> 2).collect::<Vec<_>>());
        weights.set_row(1, &values.iter().map(|&w| w as i16).collect::<Vec<_>>());
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

/// Every input with every weight up to 1.0, on sums of either parity.
#[test]
fn all_small_weights() {
    type Fp16 = Fixed<i16, 16, 8>;
    let values: Vec<i16> = (-256..256).collect();
    let x: Vec<i16> = (-32768..=32767).collect();
    let mut exact: Vec<i32> = Vec::new();
    for bias in [0i16, 1, -1] {
        let mut weights = ArrayWeights::<Fp16>::new(1, values.len());
        weights.set_row(0, &vec![bias; values.len()]);
        weights.set_row(1, &values);
        // Independent of the reference: the sum in units of 2^-8 raw, rounded half to even by the
        // remainder.
        exact.clear();
        exact.extend(x.iter().flat_map(|&x| values.iter().map(move |&w| (x, w))).map(|(x, w)| {
            let sum = i32::from(x) * i32::from(w) + i32::from(bias) * 256;
            let (floor, rest) = (sum.div_euclid(256), sum.rem_euclid(256));
            let up = rest > 128 || rest == 128 && floor % 2 != 0;
            (floor + i32::from(up)).clamp(-32768, 32767)
        }));
        for path in Path::available().into_iter().filter(|&path| path != Path::Literal) {
            let mut y = vec![0i16; exact.len()];
            let rows = Rows { values: &x, pitch: 1, count: x.len() };
            array_product_on::<Fp16>(path, &weights, rows, &mut y, &mut Saturations::default());
            let wrong = y.iter().zip(&exact).position(|(&y, &exact)| i32::from(y) != exact);
            assert_eq!(wrong, None, "{path:?}, bias {bias}");
        }
    }
}

/// Arrays of the sizes that kernels specialize, and more inputs than they process at a time.
#[test]
fn sizes() {
    for (inputs, outputs) in
        [(8, 8), (16, 16), (32, 32), (4, 4), (5, 7), (8, 3), (12, 12), (64, 8), (65, 16), (200, 33)]
    {
        for (spread, gap) in [(50, 3), (3000, 3), (50, 0), (3000, 0)] {
            let values = (0..997).map(|i| (i * 7919 % 2003 - 1001) * spread / 1001).collect();
            let case = Case { inputs, outputs, rows: 21, gap, values };
            agrees::<Fixed<i8, 8, 4>>(&case);
            agrees::<Fixed<i16, 16, 8>>(&case);
            agrees::<Fixed<i32, 18, 10>>(&case);
            agrees::<Fixed<i32, 32, 16>>(&case);
        }
    }
}

#[test]
fn shifting_keeps_what_fits() {
    let mut weights = ArrayWeights::<Fixed<i16, 16, 8>>::new(2, 16);
    for k in 0..3 {
        weights.set_row(k, &[k as i16 + 1; 16]);
    }
    weights.shift(1);
    weights.set_row(0, &[9; 16]);
    assert_eq!((0..3).map(|k| weights.row(k)[15]).collect::<Vec<_>>(), [9, 1, 2]);
    weights.shift(3);
    assert_eq!((0..3).map(|k| weights.row(k)[0]).collect::<Vec<_>>(), [9, 1, 2]);
}

/// One output of two inputs, computed by hand. All paths share the code that reads floats from raw
/// values, so comparing them does not check it.
#[test]
fn floats_multiply_and_add() {
    let raw = [0.5f32, 3.0, -2.0, 1.5, 4.0].map(|value| value.to_bits() as i32);
    let case = Case { inputs: 2, outputs: 1, rows: 1, gap: 0, values: raw.to_vec() };
    for path in Path::available() {
        let (y, _) = compute::<Float>(&case, Some(path));
        assert_eq!(y, [(0.5f32 + 3.0 * 1.5 - 2.0 * 4.0).to_bits() as i32], "{path:?}");
    }
}

/// Otherwise, loops over the available paths would test nothing.
#[test]
fn every_processor_has_two_paths() {
    let paths = Path::available();
    assert_eq!(paths[..2], [Path::Literal, Path::Portable]);
    assert_eq!(paths.last(), Some(&Path::fastest()));
    #[cfg(target_arch = "x86_64")]
    {
        let has_avx2 = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
        let has_avx512 = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512vl");
        let has_vnni = std::is_x86_feature_detected!("avx512vnni");
        assert_eq!(paths.contains(&Path::Avx2), has_avx2);
        assert_eq!(paths.contains(&Path::Avx512), has_avx2 && has_avx512);
        assert_eq!(paths.contains(&Path::Vnni), has_avx2 && has_avx512 && has_vnni);
    }
}
