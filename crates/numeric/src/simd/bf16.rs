//! Operations on vectors of BF16 patterns: [`Bf16`].
//!
//! Subnormals are zeros of their sign, and there is one NaN. The loops are written without
//! branches, so that compilers vectorize them for each path.

use super::Path;
use super::block_row::{BLOCK, BlockRow, CHUNK, Chunk};

const SIGN: u16 = 0x8000;
const EXPONENT: u16 = 0x7F80;
const FRACTION: u16 = 0x7F;
/// The only NaN pattern of a result.
const NAN: u16 = 0x7FC0;

/// Operations on BF16 patterns, on one path.
#[derive(Clone, Copy, Debug)]
pub struct Bf16(Path);

/// Scaling of numbers that are stored.
#[derive(Clone, Copy, Debug)]
pub enum Scaling<'a> {
    /// No factor.
    None,
    /// One factor for all.
    All(f32),
    /// A factor for each.
    Each(&'a [f32]),
}

/// Defines functions that call a loop, compiled for the features of their path.
macro_rules! loops {
    ($($name:ident / $avx2:ident / $avx512:ident ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn $avx2($($argument: $type),*) $(-> $result)? {
                $name($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
            fn $avx512($($argument: $type),*) $(-> $result)? {
                $name($($argument),*)
            }
        )*

        impl Bf16 {
            $(
                #[inline]
                fn $name(self, $($argument: $type),*) $(-> $result)? {
                    match self.0 {
                        #[cfg(target_arch = "x86_64")]
                        Path::Avx2 => {
                            #[allow(unsafe_code, reason = "calls code compiled for processor features")]
                            // SAFETY: a path in `Bf16` is available: its features were detected.
                            unsafe {
                                $avx2($($argument),*)
                            }
                        }
                        #[cfg(target_arch = "x86_64")]
                        Path::Avx512 | Path::Vnni => {
                            #[allow(unsafe_code, reason = "calls code compiled for processor features")]
                            // SAFETY: a path in `Bf16` is available: its features were detected.
                            unsafe {
                                $avx512($($argument),*)
                            }
                        }
                        _ => $name($($argument),*),
                    }
                }
            )*
        }
    };
}

loops! {
    values_of / values_avx2 / values_avx512 (from: &[u16], less: f32, to: &mut [f32]);
    stored / stored_avx2 / stored_avx512 (numbers: &[f32], factors: Scaling<'_>, adds: bool, to: &mut [u16]);
    highest / highest_avx2 / highest_avx512 (patterns: &[u16]) -> i16;
    exponentials / exponentials_avx2 / exponentials_avx512 (numbers: &[f32], to: &mut [u16]);
    blocks / blocks_avx2 / blocks_avx512 (row: &[u16]) -> BlockRow;
}

impl Bf16 {
    /// Returns the operations on the fastest path of this processor.
    pub fn fastest() -> Self {
        Self(Path::fastest())
    }

    /// Returns the operations on a path; one that is not available becomes the portable one.
    pub fn on(path: Path) -> Self {
        Self(if path.is_available() { path } else { Path::Portable })
    }

    /// Reads patterns from bytes, lower byte first, until either ends.
    pub fn read(bytes: &[u8], to: &mut [u16]) {
        for (to, &pair) in to.iter_mut().zip(bytes.as_chunks().0) {
            *to = u16::from_le_bytes(pair);
        }
    }

    /// Writes patterns to bytes, lower byte first, until either ends.
    pub fn write(patterns: &[u16], to: &mut [u8]) {
        for (pair, bits) in to.as_chunks_mut().0.iter_mut().zip(patterns) {
            *pair = bits.to_le_bytes();
        }
    }

    /// Writes the value of each pattern, minus `less`.
    pub fn values(self, from: &[u16], less: f32, to: &mut [f32]) {
        self.values_of(from, less, to);
    }

    /// Multiplies each number by its factor, adds the old value of its place in `to` if `adds`, and
    /// writes the nearest pattern there. Products and sums are rounded to `f32`.
    pub fn store(self, numbers: &[f32], factors: Scaling<'_>, adds: bool, to: &mut [u16]) {
        self.stored(numbers, factors, adds, to);
    }

    /// Returns the pattern of the largest value, the first of several; NaNs are ignored. `None` if
    /// there are only NaNs.
    pub fn maximum(self, patterns: &[u16]) -> Option<u16> {
        let highest = self.highest(patterns);
        patterns.iter().copied().find(|&bits| highest != i16::MIN && rank(bits) == highest)
    }

    /// Returns the sum of the values minus `less` each, added in their order.
    pub fn sum(self, patterns: &[u16], less: f32) -> f32 {
        patterns.iter().fold(0.0, |sum, &bits| sum + (value(bits) - less))
    }

    /// Writes the pattern nearest to the exponential of each number. `literal` computes the numbers
    /// whose exponential is too close to the middle of two patterns, not normal, or NaN.
    pub fn exp(self, numbers: &[f32], to: &mut [u16], literal: impl Fn(f32) -> u16) {
        self.exponentials(numbers, to);
        for (&number, to) in numbers.iter().zip(to) {
            if *to == NAN {
                *to = literal(number);
            }
        }
    }

    /// Quantizes a row to blocks of 8 bits: a value is truncated to 7 bits below the largest
    /// exponent of its block, E, and the block's scale is 2^(E - 133). The scale of a block with
    /// infinities or NaNs is NaN, and so are all products of the row.
    pub fn quantize(self, row: &[u16]) -> BlockRow {
        self.blocks(row)
    }
}

/// Returns the value of a pattern; subnormals are read as zeros of their sign.
#[inline(always)]
fn value(bits: u16) -> f32 {
    let bits = if bits & EXPONENT == 0 { bits & SIGN } else { bits };
    f32::from_bits(u32::from(bits) << 16)
}

/// Returns the pattern nearest to a number, with ties to even; subnormals become zeros of their
/// sign.
#[inline(always)]
fn rounded(number: f32) -> u16 {
    let bits = number.to_bits();
    let nearest = (bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16) as u16;
    let nearest = if nearest & EXPONENT == 0 { nearest & SIGN } else { nearest };
    if number.is_nan() { NAN } else { nearest }
}

/// Returns a number that orders patterns like their values; the least is that of NaNs.
#[inline(always)]
const fn rank(bits: u16) -> i16 {
    let size = if bits & EXPONENT == 0 { 0 } else { (bits & !SIGN) as i16 };
    let signed = if bits & SIGN == 0 { size } else { -size };
    if bits & !SIGN > EXPONENT { i16::MIN } else { signed }
}

#[inline(always)]
fn values_of(from: &[u16], less: f32, to: &mut [f32]) {
    for (to, &bits) in to.iter_mut().zip(from) {
        *to = value(bits) - less;
    }
}

#[inline(always)]
fn stored(numbers: &[f32], factors: Scaling<'_>, adds: bool, to: &mut [u16]) {
    match factors {
        Scaling::None => sums(numbers.iter().copied(), adds, to),
        Scaling::All(factor) => sums(numbers.iter().map(|number| number * factor), adds, to),
        Scaling::Each(factors) => {
            sums(numbers.iter().zip(factors).map(|(number, factor)| number * factor), adds, to);
        }
    }
}

#[inline(always)]
fn sums(numbers: impl Iterator<Item = f32>, adds: bool, to: &mut [u16]) {
    if adds {
        to.iter_mut().zip(numbers).for_each(|(to, number)| *to = rounded(value(*to) + number));
    } else {
        to.iter_mut().zip(numbers).for_each(|(to, number)| *to = rounded(number));
    }
}

#[inline(always)]
fn highest(patterns: &[u16]) -> i16 {
    patterns.iter().fold(i16::MIN, |highest, &bits| highest.max(rank(bits)))
}

/// Writes patterns of exponentials; [`NAN`] for numbers that need the literal computation.
#[inline(always)]
fn exponentials(numbers: &[f32], to: &mut [u16]) {
    for (to, &number) in to.iter_mut().zip(numbers) {
        *to = exponential(number);
    }
}

/// Returns the pattern of an exponential, or [`NAN`].
///
/// The relative error of the power series is below 2^-36, and that of a literal computation is
/// some units of 2^-53: both round alike unless the result is within 2^-33 of a middle.
#[inline(always)]
fn exponential(number: f32) -> u16 {
    // Between these limits, results are normal.
    const LIMITS: [f32; 2] = [-87.0, 88.0];
    // Adding this rounds to an integer, which is then in the lowest bits.
    const TO_INTEGER: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    // ln(2) in two parts: products of the first with integers of 8 bits are exact.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    const SERIES: [f64; 9] = [
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ];
    // Fraction bits that BF16 drops, half a unit of the others, and at least 2^-33 of a number.
    const DROPPED: u32 = 52 - 7;
    const MIDDLE: u64 = 1 << (DROPPED - 1);
    const NEAR: u64 = 1 << (53 - 33);
    let x = f64::from(number);
    let shifted = x * std::f64::consts::LOG2_E + TO_INTEGER;
    let power = shifted - TO_INTEGER;
    let rest = x - power * LN_2[0] - power * LN_2[1];
    let series = SERIES.iter().fold(0.0, |sum, factor| sum * rest + factor) * rest + 1.0;
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    let bits = (series * scale).to_bits();
    let dropped = bits & (2 * MIDDLE - 1);
    let is_near = dropped.wrapping_sub(MIDDLE - NEAR) < 2 * NEAR;
    let nearest = (bits.wrapping_add(MIDDLE) >> DROPPED).wrapping_sub((1023 - 127) << 7) as u16;
    let is_normal = number > LIMITS[0] && number < LIMITS[1];
    if is_near || !is_normal { NAN } else { nearest }
}

#[inline(always)]
fn blocks(row: &[u16]) -> BlockRow {
    let (whole, rest) = row.as_chunks::<BLOCK>();
    let mut quantized = BlockRow::zeros(row.len().div_ceil(BLOCK));
    for (b, values) in whole.iter().enumerate() {
        quantize(values, &mut quantized.chunks[b / CHUNK], b % CHUNK);
    }
    if !rest.is_empty() {
        let mut values = [0; BLOCK];
        values[..rest.len()].copy_from_slice(rest);
        quantize(&values, &mut quantized.chunks[whole.len() / CHUNK], whole.len() % CHUNK);
    }
    quantized
}

#[inline(always)]
fn quantize(values: &[u16; BLOCK], to: &mut Chunk, block: usize) {
    let largest = values.iter().fold(0, |largest: u16, &bits| largest.max(bits & EXPONENT));
    let half = |odd: usize| std::array::from_fn(|i| aligned(values[2 * i + odd], largest));
    to.set(block, half(0), half(1), scale(largest >> 7));
}

/// Returns the quantized value in a block with this largest exponent.
#[inline(always)]
const fn aligned(bits: u16, largest: u16) -> i8 {
    let exponent = bits & EXPONENT;
    let shift = (largest - exponent) >> 7;
    let significand = if exponent == 0 || shift > 7 { 0 } else { 128 | bits & FRACTION };
    let size = (significand >> 1).wrapping_shr(shift as u32) as i8;
    if bits & SIGN == 0 { size } else { -size }
}

/// Returns the scale of a block with this largest exponent: 2^(exponent - 133), or NaN.
#[inline(always)]
const fn scale(exponent: u16) -> f32 {
    match exponent {
        255 => f32::NAN,
        7.. => f32::from_bits((exponent as u32 - 6) << 23),
        // A subnormal power is one bit of the fraction.
        _ => f32::from_bits(1 << (exponent + 16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SmallFloat;
    use proptest::prelude::*;

    /// Value by the shared literal conversion, with this module's rule for subnormals.
    fn value_slowly(bits: u16) -> f32 {
        let zero = if bits & SIGN == 0 { 0.0 } else { -0.0 };
        if bits & EXPONENT == 0 { zero } else { SmallFloat::BF16.decode(bits) }
    }

    /// Pattern by the shared literal conversion, with this module's rules for subnormals and NaNs.
    fn rounded_slowly(number: f32) -> u16 {
        match SmallFloat::BF16.encode(number, false) {
            _ if number.is_nan() => NAN,
            bits if bits & EXPONENT == 0 => bits & SIGN,
            bits => bits,
        }
    }

    fn all() -> Vec<u16> {
        (0..=u16::MAX).collect()
    }

    fn is_same(found: f32, expected: f32) -> bool {
        found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
    }

    #[test]
    fn every_pattern_has_its_value_and_every_value_its_pattern() {
        for path in Path::available() {
            let (mut values, mut back) = (vec![0.0; 1 << 16], all());
            Bf16::on(path).values(&all(), 0.0, &mut values);
            Bf16::on(path).store(&values, Scaling::None, false, &mut back);
            for bits in all() {
                let (found, expected) = (values[usize::from(bits)], value_slowly(bits));
                assert!(is_same(found, expected), "{path:?} {bits:x}");
                assert_eq!(back[usize::from(bits)], rounded_slowly(expected), "{path:?} {bits:x}");
            }
        }
    }

    /// Any bits, more often the middle between two patterns.
    fn number() -> impl Strategy<Value = f32> {
        let middle = |bits: u32| f32::from_bits(bits & 0xFFFF_0000 | 0x8000);
        prop_oneof![any::<u32>().prop_map(f32::from_bits), any::<u32>().prop_map(middle), -2.0..2.0_f32]
    }

    /// Any pattern, and special ones.
    fn pattern() -> impl Strategy<Value = u16> {
        let special = vec![0, SIGN, 1, 0x8001, FRACTION, EXPONENT, SIGN | EXPONENT, NAN, 0x7F81, 0x3F80];
        prop_oneof![
            8 => 0x3C00..0x4100_u16,
            8 => 0xBC00..0xC100_u16,
            4 => any::<u16>(),
            1 => prop::sample::select(special),
        ]
    }

    proptest! {
        #[test]
        fn results_are_scaled_added_and_rounded(
            all in prop::collection::vec((number(), number(), any::<u16>()), 0..70),
            factor in number(),
            adds: bool,
        ) {
            let (numbers, factors, old): (Vec<f32>, Vec<f32>, Vec<u16>) = all.into_iter().collect();
            let literal = |factor: &dyn Fn(usize) -> f32| -> Vec<u16> {
                let of = |(i, number): (usize, &f32)| {
                    let number = number * factor(i);
                    rounded_slowly(if adds { value_slowly(old[i]) + number } else { number })
                };
                numbers.iter().enumerate().map(of).collect()
            };
            for path in Path::available() {
                let stored = |factors: Scaling<'_>| {
                    let mut to = old.clone();
                    Bf16::on(path).store(&numbers, factors, adds, &mut to);
                    to
                };
                prop_assert_eq!(stored(Scaling::None), literal(&|_| 1.0), "{:?}", path);
                prop_assert_eq!(stored(Scaling::All(factor)), literal(&|_| factor), "{:?}", path);
                prop_assert_eq!(stored(Scaling::Each(&factors)), literal(&|i| factors[i]), "{:?}", path);
            }
        }

        #[test]
        fn the_maximum_is_the_first_of_the_largest(patterns in prop::collection::vec(pattern(), 0..70)) {
            let numbers = patterns.iter().copied().filter(|&bits| !value_slowly(bits).is_nan());
            let larger = |best, bits| if value_slowly(bits) > value_slowly(best) { bits } else { best };
            let expected = numbers.reduce(larger);
            for path in Path::available() {
                prop_assert_eq!(Bf16::on(path).maximum(&patterns), expected, "{:?}", path);
            }
        }

        #[test]
        fn sums_are_in_order(patterns in prop::collection::vec(pattern(), 0..70), less in number()) {
            let sum = patterns.iter().fold(0.0, |sum, &bits| sum + (value_slowly(bits) - less));
            prop_assert!(is_same(Bf16::fastest().sum(&patterns, less), sum));
        }

        /// The specification's formula, value by value.
        #[test]
        fn blocks_are_truncated_to_their_largest_exponent(row in prop::collection::vec(pattern(), 0..200)) {
            let exponent = |bits: u16| u32::from(bits >> 7 & 0xFF);
            let (mut values, mut scales) = (Vec::new(), Vec::new());
            for block in row.chunks(BLOCK) {
                let largest = block.iter().map(|&bits| exponent(bits)).max().unwrap_or(0);
                let scale = if largest == 255 { f64::NAN } else { 2.0_f64.powi(largest as i32 - 133) };
                scales.push(scale as f32);
                values.extend(block.iter().map(|&bits| {
                    let shift = largest - exponent(bits);
                    let is_zero = exponent(bits) == 0 || shift >= 27;
                    let significand = 128 + u32::from(bits & FRACTION);
                    let size = if is_zero { 0 } else { significand << 12 >> shift >> 13 };
                    let size = size.min(127) as i8;
                    if bits & SIGN == 0 { size } else { -size }
                }));
            }
            // As text, so that NaNs compare equal.
            let expected = format!("{:?}", BlockRow::new(&values, &scales));
            for path in Path::available() {
                prop_assert_eq!(format!("{:?}", Bf16::on(path).quantize(&row)), expected.clone(), "{:?}", path);
            }
        }

        /// No neighbor of a result is closer to the exponential.
        #[test]
        fn exponentials_are_the_nearest(numbers in prop::collection::vec(-86.9..87.9_f32, 0..70)) {
            for path in Path::available() {
                let mut to = vec![0; numbers.len()];
                Bf16::on(path).exp(&numbers, &mut to, |number| rounded_slowly(number.exp()));
                for (&number, bits) in numbers.iter().zip(to) {
                    let distance = |bits| (f64::from(value_slowly(bits)) - f64::from(number).exp()).abs();
                    let of_neighbors = distance(bits - 1).min(distance(bits + 1));
                    prop_assert!(distance(bits) <= of_neighbors, "{:?}: {} {:x}", path, number, bits);
                }
            }
        }
    }

    /// The first exponentials are not normal, and one is close to the middle of 1 and the pattern
    /// below it.
    #[test]
    fn the_rest_is_computed_literally() {
        let near = (1.0 - 1.0 / 512.0_f64).ln() as f32;
        let numbers = [f32::NAN, f32::NEG_INFINITY, f32::INFINITY, 88.5, -87.5, near, 0.0, 0.5];
        for path in Path::available() {
            let mut to = [0; 8];
            Bf16::on(path).exp(&numbers, &mut to, |_| 7);
            assert_eq!(to, [7, 7, 7, 7, 7, 7, 0x3F80, 0x3FD3], "{path:?}");
        }
    }
}
