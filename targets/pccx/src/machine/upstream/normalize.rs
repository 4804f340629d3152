//! Conversion of 48-bit accumulators to BF16: [`normalize`].

/// Bits of an accumulator.
pub const ACCUMULATOR_BITS: u32 = 48;
/// Bit of the leading one that corresponds to the block's exponent.
const HIDDEN: u8 = 26;

/// Sign-extends the lowest 48 bits.
pub const fn sign_extended(accumulator: u64) -> i64 {
    ((accumulator << (64 - ACCUMULATOR_BITS)) as i64) >> (64 - ACCUMULATOR_BITS)
}

/// Converts an accumulator with a block exponent to BF16: the fraction is truncated, the exponent
/// wraps.
pub const fn normalize(accumulator: u64, e_max: u8) -> u16 {
    let value = sign_extended(accumulator);
    let (magnitude, sign) = (value.unsigned_abs(), ((value < 0) as u16) << 15);
    if magnitude == 0 {
        return sign;
    }
    // The scan begins at bit 46. The magnitude of the most negative number has no one below bit 47,
    // and the scan then returns bit 0.
    let leading = match (magnitude & ((1 << (ACCUMULATOR_BITS - 1)) - 1)).checked_ilog2() {
        Some(leading) => leading,
        None => 0,
    };
    let exponent = e_max.wrapping_add(leading as u8).wrapping_sub(HIDDEN);
    let fraction = if leading >= 7 { magnitude >> (leading - 7) } else { magnitude << (7 - leading) };
    sign | (exponent as u16) << 7 | (fraction & 0x7F) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MASK: u64 = (1 << ACCUMULATOR_BITS) - 1;

    /// Models the circuit's four stages, register by register.
    fn stages(data_in: u64, e_max: u8) -> u16 {
        let sign = data_in >> 47 & 1;
        let magnitude = if sign == 1 { (!data_in).wrapping_add(1) & MASK } else { data_in };
        let mut first_one = 0_u8;
        for bit in (0..=46).rev() {
            if magnitude >> bit & 1 == 1 {
                first_one = bit;
                break;
            }
        }
        let (mut exponent, mut mantissa) = (0, 0);
        if magnitude != 0 {
            exponent = e_max.wrapping_add(first_one).wrapping_sub(26);
            mantissa = match first_one {
                7.. => magnitude >> (first_one - 7) & 0x7F,
                // The value is seven bits wide before and after the shift.
                _ => (magnitude & 0x7F) << (7 - first_one) & 0x7F,
            };
        }
        (sign << 15) as u16 | u16::from(exponent) << 7 | mantissa as u16
    }

    #[test]
    fn the_most_negative_accumulator_has_no_leading_one() {
        assert_eq!(normalize(0x8000_0000_0000, 117), 0xAD80);
        for e_max in 0..=255 {
            for near in 0..300_u64 {
                for accumulator in [1_u64 << 47, 0, 1 << 46, 1 << 26, 1 << 7]
                    .map(|at| at.wrapping_sub(150).wrapping_add(near))
                {
                    let accumulator = accumulator & MASK;
                    assert_eq!(
                        normalize(accumulator, e_max),
                        stages(accumulator, e_max),
                        "{accumulator:012x} at {e_max}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_accumulator_is_as_the_stages_say(bits in any::<u64>(), shift in 0_u32..48, e_max in any::<u8>()) {
            let accumulator = sign_extended(bits & MASK) >> shift;
            let accumulator = accumulator as u64 & MASK;
            prop_assert_eq!(normalize(accumulator, e_max), stages(accumulator, e_max));
        }
    }
}
