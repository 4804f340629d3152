//! The compile-time formats against the reference arithmetic.

use npukit_numeric::{Fixed, Float, Number, NumberFormat, Saturations};
use proptest::prelude::*;

/// Compares every operation of `F` on three raw values with the reference, and `clipped` with the
/// statistics.
fn agrees<F: Number>(raw: [i32; 3]) {
    let [x, y, z] = raw.map(|v| F::widen(F::from_raw(v)));
    let [rx, ry, rz] = raw.map(|v| F::to_raw(F::from_raw(v)));
    let format = F::FORMAT;
    let check = |wide: &dyn Fn(&mut F::Wide) -> F::Wide, literal: &dyn Fn(&mut Saturations) -> i32| {
        let (mut clipped, mut counted) = (F::Wide::default(), Saturations::default());
        let fast = F::to_raw(F::narrow(wide(&mut clipped)));
        let slow = literal(&mut counted);
        // The payload of a NaN depends on the processor.
        let nan = format == NumberFormat::Float32 && f32::from_bits(slow as u32).is_nan();
        assert!(fast == slow || nan && f32::from_bits(fast as u32).is_nan(), "{raw:?}: {fast} {slow}");
        assert_eq!(clipped == F::Wide::default(), counted.is_empty(), "{raw:?}");
    };
    check(&|c| F::mac(x, y, z, c), &|s| format.mac(rx, ry, rz, s));
    check(&|c| F::mul(x, y, c), &|s| format.mul(rx, ry, s));
    check(&|c| F::add(x, y, c), &|s| format.add(rx, ry, s));
    check(&|c| F::sub(x, y, c), &|s| format.sub(rx, ry, s));
    check(&|_| F::abs(x), &|_| format.abs(rx));
    check(&|_| F::ONE, &|_| format.one());
}

/// Any value, the extremes of every width, and their neighbors.
fn raw() -> impl Strategy<Value = i32> {
    let edges = [0, 1, 8, 16, 127, 128, 255, 256, 512, 1024, 32767, 65536, 131071, i32::MAX];
    prop_oneof![
        any::<i32>(),
        any::<i16>().prop_map(i32::from),
        -1024..1024i32,
        (prop::sample::select(edges.to_vec()), -2..3i32, any::<bool>()).prop_map(|(v, d, n)| if n {
            v.wrapping_add(d).wrapping_neg()
        } else {
            v.wrapping_add(d)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn every_format_equals_the_literal_one(v in [raw(), raw(), raw()]) {
        agrees::<Fixed<i8, 8, 4>>(v);
        agrees::<Fixed<i16, 16, 8>>(v);
        agrees::<Fixed<i32, 18, 10>>(v);
        agrees::<Fixed<i32, 32, 16>>(v);
        agrees::<Float>(v);
    }
}
