//! `store` on numbers, which are raw values of ITYPE.

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::isa::op::Activation;
use crate::machine::array::Elements;
use crate::machine::exact_sum::ExactSum;

use crate::machine::values::{Arithmetic, Rules};

/// Returns the number of partial sums that are at a limit of OTYPE or, if both types are
/// fixed-point, exceed the range of ITYPE.
pub(super) fn saturated(types: &Types, ofm: &Elements) -> u64 {
    // The buffer sign-extends 16-bit floats like integers, so limits are stored in the same way.
    let end = |value: f64| {
        let mut end = Elements::zeros(types.otype, 1);
        end.set(0, types.otype.from_f64(value));
        end.get(0)
    };
    let ends = [f64::NEG_INFINITY, f64::INFINITY].map(end);
    let max = match (types.itype, types.otype) {
        (DataType::Fixed(itype), DataType::Fixed(otype)) => {
            // Both types have the same full scale after the cast. If the cast moves a value above
            // the upper limit, the value is within half a step of the limit.
            let steps = otype.width().saturating_sub(itype.width());
            i64::from(otype.max()) - ((1i64 << steps) >> 1)
        }
        _ => i64::MAX,
    };
    let is_saturated = |raw: i32| ends.contains(&raw) || i64::from(raw) > max;
    (0..ofm.len()).filter(|&index| is_saturated(ofm.get(index))).count() as u64
}

/// Converts raw values to the elements of a type.
pub(super) fn elements(data_type: DataType, raw: Vec<i32>) -> Elements {
    match data_type.size_bytes() {
        1 => Elements::I8(raw.into_iter().map(|raw| raw as i8).collect()),
        2 => Elements::I16(raw.into_iter().map(|raw| raw as i16).collect()),
        _ => Elements::I32(raw),
    }
}

/// Arithmetic of the steps of `store`.
pub enum NumberRules {
    /// Exact sums, for any types.
    Exact { itype: DataType, otype: DataType, shift: i32 },
    /// Integers: the cast shifts left by `shift`, and all steps clamp.
    Fixed { shift: i32, min: i32, max: i32 },
}

impl NumberRules {
    /// Chooses the arithmetic for the types.
    pub(super) const fn new(types: &Types, arithmetic: Arithmetic) -> Self {
        match (arithmetic, types.itype, types.otype) {
            (Arithmetic::Fast, DataType::Fixed(itype), DataType::Fixed(otype)) => {
                // Full scale is mapped to full scale, so fraction lengths do not matter.
                let shift = itype.width() as i32 - otype.width() as i32;
                Self::Fixed { shift, min: itype.min(), max: itype.max() }
            }
            _ => Self::Exact { itype: types.itype, otype: types.otype, shift: types.store_shift() },
        }
    }
}

impl Rules<Elements> for NumberRules {
    fn cast(&self, ofm: &Elements, _: usize, (): &mut ()) -> Vec<i32> {
        match *self {
            Self::Exact { itype, otype, shift } => {
                (0..ofm.len()).map(|index| itype.convert(otype, ofm.get(index), shift)).collect()
            }
            Self::Fixed { shift, max, .. } => match ofm {
                Elements::I8(values) => values.iter().map(|&v| scaled(v.into(), shift, max)).collect(),
                Elements::I16(values) => values.iter().map(|&v| scaled(v.into(), shift, max)).collect(),
                Elements::I32(values) => values.iter().map(|&v| scaled(v.into(), shift, max)).collect(),
            },
        }
    }

    fn activate(&self, act: Activation, raw: &mut [i32], _: usize, (): &mut ()) {
        match (act, self) {
            (Activation::None, _) => {}
            (Activation::Relu, Self::Fixed { .. }) => {
                raw.iter_mut().for_each(|value| *value = (*value).max(0))
            }
            (Activation::Leaky, Self::Fixed { .. }) => raw.iter_mut().for_each(|value| {
                // A 32-bit type needs an i64, because adding 4 to the largest value overflows an
                // i32.
                *value = (*value).max(((i64::from(*value) + 4) >> 3) as i32);
            }),
            (_, Self::Exact { itype, .. }) => {
                let scale = if act == Activation::Relu { None } else { Some(-3) };
                raw.iter_mut().for_each(|value| *value = negative_scaled(*itype, *value, scale));
            }
        }
    }

    fn sum(&self, &a: &i32, b: i32, _: usize, (): &mut ()) -> i32 {
        match *self {
            Self::Exact { itype, .. } => {
                let mut sum = ExactSum::ZERO;
                itype.add_to(&mut sum, a, 0);
                itype.add_to(&mut sum, b, 0);
                itype.kappa(sum)
            }
            Self::Fixed { min, max, .. } => {
                (i64::from(a) + i64::from(b)).clamp(min.into(), max.into()) as i32
            }
        }
    }

    fn greater(&self, &a: &i32, &b: &i32, (): &mut ()) -> i32 {
        match *self {
            Self::Exact { itype: DataType::Fixed(_), .. } | Self::Fixed { .. } => a.max(b),
            Self::Exact { itype, .. } if itype.to_f64(a) >= itype.to_f64(b) => a,
            Self::Exact { .. } => b,
        }
    }
}

/// Returns `value * 2^shift`, rounded half up. `shift` maps one full scale to another, so only
/// rounding at the upper limit can leave the range.
fn scaled(value: i64, shift: i32, max: i32) -> i32 {
    let scaled = if shift < 0 { (value + (1 << (-shift - 1))) >> -shift } else { value << shift };
    scaled.min(max.into()) as i32
}

/// Returns kappa of the value, or of the value times two to `exponent` (0 if `None`), whichever is
/// greater.
fn negative_scaled(data_type: DataType, raw: i32, exponent: Option<i32>) -> i32 {
    if data_type.real(raw).significand >= 0 {
        // This case includes -0, which becomes 0.
        return data_type.convert(data_type, raw, 0);
    }
    exponent.map_or(0, |exponent| data_type.convert(data_type, raw, exponent))
}
