//! What components do in a cycle, a module each. [`crate::machine`] puts the parts of a cycle in order.

pub(crate) mod calc;
pub(crate) mod dpu;
pub(crate) mod extension;
pub(crate) mod field;
pub(crate) mod iosram;
pub(crate) mod nacu;
pub(crate) mod ports;
pub(crate) mod real;
pub(crate) mod rf;
pub(crate) mod sequencer;
pub(crate) mod swb;
pub(crate) mod traced;
pub(crate) mod word;

/// The nearest number of 16 bits.
pub(crate) fn saturate(value: i64) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// `value / 2^bits`, rounded to the nearest, halves away from zero.
pub(crate) const fn scale_down(value: i64, bits: u32) -> i64 {
    if bits == 0 {
        return value;
    }
    let magnitude = (value.unsigned_abs() + (1 << (bits - 1))) >> bits;
    if value < 0 { -(magnitude as i64) } else { magnitude as i64 }
}
