//! Behavior of components in a cycle, one module per component. [`crate::machine`] orders the steps
//! of a cycle.

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

/// Clamps a value to 16 bits.
pub(crate) fn saturate(value: i64) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// Returns `value / 2^bits`, rounded to nearest, halves away from zero.
pub(crate) const fn scale_down(value: i64, bits: u32) -> i64 {
    if bits == 0 {
        return value;
    }
    let magnitude = (value.unsigned_abs() + (1 << (bits - 1))) >> bits;
    if value < 0 { -(magnitude as i64) } else { magnitude as i64 }
}

/// Returns the maximum, or the minimum if the lowest bit of the immediate is set.
pub(super) fn pick(immediate: i16, a: i16, b: i16) -> i16 {
    if immediate & 1 == 0 { a.max(b) } else { a.min(b) }
}

/// Clamps a shift amount to 0 to 31.
pub(super) fn amount(value: i64) -> u32 {
    value.clamp(0, 31) as u32
}

/// Clamps a value to a signed number of `bits` bits.
pub(super) fn clip(value: i64, bits: u32) -> i64 {
    let largest = (1_i64 << (bits - 1)) - 1;
    value.clamp(-largest - 1, largest)
}
