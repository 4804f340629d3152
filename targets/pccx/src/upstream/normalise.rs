//! Accumulators of 48 bits to BF16: [`normalise`].

/// Bits of an accumulator.
pub const ACCUMULATOR_BITS: u32 = 48;
/// The place of the leading one that stands for the block's exponent.
const HIDDEN: u8 = 26;

/// The number behind the lowest 48 bits.
pub const fn sign_extended(accumulator: u64) -> i64 {
    ((accumulator << (64 - ACCUMULATOR_BITS)) as i64) >> (64 - ACCUMULATOR_BITS)
}

/// The BF16 pattern of an accumulator with a block exponent: the fraction is cut off, the exponent wraps.
pub fn normalise(accumulator: u64, e_max: u8) -> u16 {
    let value = sign_extended(accumulator);
    // The scan begins at bit 46: the magnitude of the most negative number has none there.
    let magnitude = value.unsigned_abs() & ((1 << (ACCUMULATOR_BITS - 1)) - 1);
    let sign = u16::from(value < 0) << 15;
    let Some(leading) = magnitude.checked_ilog2() else { return sign };
    let exponent = e_max.wrapping_add(leading as u8).wrapping_sub(HIDDEN);
    let fraction = if leading >= 7 { magnitude >> (leading - 7) } else { magnitude << (7 - leading) };
    sign | u16::from(exponent) << 7 | (fraction & 0x7F) as u16
}
