//! Meaning of raw values, and rounding of results to raw values: rho and kappa of the
//! specification's section 5.
//!
//! [`DataType::real`] is rho, [`DataType::kappa`] is kappa. A raw value is the sign-extended
//! integer of a fixed-point type, or the bits of a float.

use npukit_numeric::{Quantized, Ties, quantized};

use crate::config::datatype::{DataType, Fixed};
use crate::machine::exact_sum::ExactSum;

/// Number `significand * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Real {
    /// Significand of at most 32 bits.
    pub significand: i64,
    /// Exponent of the significand's last bit.
    pub exponent: i32,
}

/// Field widths of a float format.
#[derive(Clone, Copy)]
struct FloatFormat {
    exponent_bits: u32,
    fraction_bits: u32,
}

impl FloatFormat {
    const FP16: Self = Self { exponent_bits: 5, fraction_bits: 10 };
    const BF16: Self = Self { exponent_bits: 8, fraction_bits: 7 };
    const FP32: Self = Self { exponent_bits: 8, fraction_bits: 23 };

    /// Returns the bias that is added to exponents; `1 - bias` is the smallest normal exponent.
    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    const fn sign(self) -> u32 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// Returns the exponent field of infinities and NaNs.
    const fn special(self) -> u32 {
        (1 << self.exponent_bits) - 1
    }

    const fn exponent_field(self, bits: u32) -> u32 {
        bits >> self.fraction_bits & self.special()
    }

    fn real(self, bits: u32) -> Real {
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        let field = self.exponent_field(bits);
        // A number with exponent field 0 has no hidden bit and uses the scale of field 1.
        let hidden = u32::from(field != 0) << self.fraction_bits;
        let significand = i64::from(fraction | hidden);
        let exponent = field.max(1) as i32 - self.bias() - self.fraction_bits as i32;
        Real { significand: if bits & self.sign() == 0 { significand } else { -significand }, exponent }
    }

    fn kappa(self, mut sum: ExactSum) -> u32 {
        let Some(exponent) = sum.exponent() else { return 0 };
        let quantum = exponent.max(1 - self.bias()) - self.fraction_bits as i32;
        sum.add(1, quantum - 1);
        let steps = sum.floor(quantum);
        let sign = if steps < 0 { self.sign() } else { 0 };
        match self.magnitude(steps.unsigned_abs(), quantum) {
            0 => 0,
            magnitude => sign | magnitude,
        }
    }

    /// Returns the bits of `steps * 2^quantum`, or of the largest number if that is too large.
    /// `steps` has at most one bit more than the fraction and the hidden bit; if it has, it is a
    /// power of two.
    fn magnitude(self, steps: u64, quantum: i32) -> u32 {
        let carry = steps >> (self.fraction_bits + 1);
        let (steps, quantum) = if carry == 0 { (steps, quantum) } else { (steps >> 1, quantum + 1) };
        let normal = steps >> self.fraction_bits != 0;
        let field = if normal { quantum + self.fraction_bits as i32 + self.bias() } else { 0 };
        let largest = (self.special() << self.fraction_bits) - 1;
        if field >= self.special() as i32 {
            return largest;
        }
        (field as u32) << self.fraction_bits | steps as u32 & ((1 << self.fraction_bits) - 1)
    }
}

impl Fixed {
    /// Returns kappa of a number, and whether the number is out of range; NaN stays NaN.
    pub(crate) fn quantized(self, value: f64) -> Quantized {
        quantized(value, self.fraction(), self.width(), Ties::HalfUp)
    }

    fn kappa(self, mut sum: ExactSum) -> i32 {
        let unit = -self.fraction();
        sum.add(1, unit - 1);
        sum.floor(unit).clamp(self.min().into(), self.max().into()) as i32
    }

    /// Returns the raw value of the low bits.
    pub(crate) const fn sign_extend(self, bits: u32) -> i32 {
        let above = 32 - self.width();
        (bits << above).cast_signed() >> above
    }
}

impl DataType {
    const fn float(self) -> Option<FloatFormat> {
        match self {
            Self::Fixed(_) => None,
            Self::Fp16 => Some(FloatFormat::FP16),
            Self::Bf16 => Some(FloatFormat::BF16),
            Self::Fp32 => Some(FloatFormat::FP32),
        }
    }

    /// Returns the raw value of bits in memory; `None` for an infinity or a NaN.
    ///
    /// For a fixed-point type, only the low bits are used; for a float, -0 becomes 0.
    pub fn raw(self, bits: u32) -> Option<i32> {
        match (self, self.float()) {
            (Self::Fixed(fixed), _) => Some(fixed.sign_extend(bits)),
            (_, Some(format)) if format.exponent_field(bits) == format.special() => None,
            (_, Some(format)) if bits & (format.sign() - 1) == 0 => Some(0),
            _ => Some(bits.cast_signed()),
        }
    }

    /// Returns rho: the number that a raw value represents.
    pub fn real(self, raw: i32) -> Real {
        match (self, self.float()) {
            (Self::Fixed(fixed), _) => Real { significand: raw.into(), exponent: -fixed.fraction() },
            (_, Some(format)) => format.real(raw.cast_unsigned()),
            (_, None) => Real { significand: 0, exponent: 0 },
        }
    }

    /// Returns kappa: the raw value nearest to `sum`. Ties go to the greater value, and numbers out
    /// of range to the first or last value.
    pub fn kappa(self, sum: ExactSum) -> i32 {
        match (self, self.float()) {
            (Self::Fixed(fixed), _) => fixed.kappa(sum),
            (_, Some(format)) => format.kappa(sum).cast_signed(),
            (_, None) => 0,
        }
    }

    /// Returns kappa of `raw * 2^shift`, where `raw` has type `from`.
    pub fn convert(self, from: Self, raw: i32, shift: i32) -> i32 {
        let mut sum = ExactSum::ZERO;
        from.add_to(&mut sum, raw, shift);
        self.kappa(sum)
    }

    /// Adds the number that `raw` represents, times `2^shift`.
    pub fn add_to(self, sum: &mut ExactSum, raw: i32, shift: i32) {
        let Real { significand, exponent } = self.real(raw);
        sum.add(significand, exponent + shift);
    }

    /// Returns the number that a raw value represents, exactly.
    pub fn to_f64(self, raw: i32) -> f64 {
        let Real { significand, exponent } = self.real(raw);
        // The factor is a power of two in the range of normal doubles, so the product is exact.
        significand as f64 * f64::from_bits(((exponent + 1023) as u64) << 52)
    }

    /// Returns kappa of a number; 0 for NaN.
    pub fn from_f64(self, value: f64) -> i32 {
        match self {
            Self::Fixed(fixed) => fixed.quantized(value).value as i32,
            _ => self.kappa(exact(value)),
        }
    }
}

/// Returns a number as an exact sum. Differences that no type can represent may be lost.
fn exact(value: f64) -> ExactSum {
    // The limit exceeds the numbers of all types but is within the range of sums.
    let bounded = value.clamp(-1e60, 1e60);
    let bits = bounded.to_bits();
    let field = (bits >> 52 & 0x7FF) as i32;
    let mut sum = ExactSum::ZERO;
    // Numbers with a smaller exponent are less than half of the smallest step of any type.
    if !bounded.is_nan() && field > 1023 - 256 {
        let significand = (bits & ((1 << 52) - 1) | 1 << 52).cast_signed();
        sum.add(if bounded < 0.0 { -significand } else { significand }, field - 1023 - 52);
    }
    sum
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use npukit_numeric::SmallFloat;
    use proptest::prelude::*;

    fn data_type(name: &str) -> DataType {
        name.parse().unwrap()
    }

    #[test]
    fn ties_go_to_the_greater_value_and_ends_saturate() {
        let int8 = DataType::INT8;
        for (value, raw) in
            [(-0.5, 0), (-1.5, -1), (0.5, 1), (127.5, 127), (1e30, 127), (-128.5, -128), (-1e9, -128)]
        {
            assert_eq!(int8.from_f64(value), raw, "{value}");
        }
        assert_eq!(data_type("fx8_5").from_f64(-1.5 / 32.0), -1);
        assert_eq!(data_type("fx8_m2").from_f64(6.0), 2);
        let fp16 = |value| data_type("fp16").from_f64(value) as u32;
        let step = 1.0 / 1024.0;
        assert_eq!([fp16(1.0 + step / 2.0), fp16(-1.0 - step / 2.0)], [0x3C01, 0xBC00]);
        assert_eq!([fp16(1e6), fp16(-1e6), fp16(-0.0), fp16(-(-25f64).exp2())], [0x7BFF, 0xFBFF, 0, 0]);
        assert_eq!([fp16((-25f64).exp2()), fp16(65519.0), fp16(2.0 - step / 4.0)], [1, 0x7BFF, 0x4000]);
    }

    #[test]
    fn floats_that_are_no_numbers_have_no_raw_value() {
        for (name, bits) in [("fp16", 0x7C00), ("fp16", 0xFC01), ("bf16", 0x7F80), ("fp32", 0xFFC0_0000)] {
            assert_eq!(data_type(name).raw(bits), None, "{name}");
        }
        assert_eq!(data_type("int12").raw(0xF_F800), Some(-2048));
    }

    #[test]
    fn every_small_float_is_itself() {
        for (name, format) in [("fp16", SmallFloat::F16), ("bf16", SmallFloat::BF16)] {
            for bits in 0..=u16::MAX {
                let Some(raw) = data_type(name).raw(bits.into()) else { continue };
                let value = data_type(name).to_f64(raw);
                assert_eq!(value as f32, format.decode(bits), "{name} {bits:#x}");
                let canonical = if value == 0.0 { 0 } else { raw };
                assert_eq!(data_type(name).from_f64(value), canonical, "{name} {bits:#x}");
            }
        }
    }

    proptest! {
        #[test]
        fn fast_rounding_is_kappa(value in -300.0..300.0f64, ties in any::<bool>(), bits in any::<u64>()) {
            let value = if ties { (value * 2.0).round() / 2.0 } else { value };
            for (name, value) in ["int8", "int16", "fx8_5", "fx12_m2", "int32"]
                .into_iter()
                .flat_map(|name| [value, f64::from_bits(bits)].map(|value| (name, value)))
            {
                let data_type = data_type(name);
                prop_assert_eq!(data_type.from_f64(value), data_type.kappa(exact(value)), "{} {}", name, value);
            }
        }

        #[test]
        fn single_precision_rounds_as_hardware_but_for_ties(bits in any::<u32>(), more in 0..1u64 << 29) {
            let value = f64::from_bits(f64::from(f32::from_bits(bits)).to_bits() | more);
            let nearest = value as f32;
            // The value is a tie if it is halfway between two adjacent numbers.
            let tie = nearest.is_finite() && f64::from(nearest) != value && {
                let other = if f64::from(nearest) < value { nearest.next_up() } else { nearest.next_down() };
                (f64::from(nearest) - value).abs() == (f64::from(other) - value).abs()
            };
            prop_assume!(value.is_finite() && nearest.is_finite() && !tie && nearest != 0.0);
            prop_assert_eq!(DataType::Fp32.from_f64(value) as u32, nearest.to_bits());
        }

        #[test]
        fn numbers_of_a_type_are_themselves(bits in any::<u32>(), at in 0..6usize) {
            let data_type = data_type(["int8", "fx12_8", "fx32_m64", "fx32_64", "fp32", "int2"][at]);
            let raw = data_type.raw(bits);
            prop_assume!(raw.is_some_and(|raw| data_type.real(raw).significand != 0));
            prop_assert_eq!(raw.map(|raw| data_type.from_f64(data_type.to_f64(raw))), raw);
        }
    }
}
