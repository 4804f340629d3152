//! `calc`: arithmetic on scalar registers (specification 5.1).

use super::saturate;
use crate::isa::op::CalcMode;

/// Returns the result of a mode, or `None` for `idle`, which writes nothing. A division by 0 gives
/// 0.
///
/// Numbers are signed, with 16 bits; sums, differences, products and left shifts saturate.
pub(crate) fn calc(mode: CalcMode, a: i16, b: i16) -> Option<i16> {
    let (wide_a, wide_b) = (i64::from(a), i64::from(b));
    Some(match mode {
        CalcMode::Idle => return None,
        CalcMode::Add => saturate(wide_a + wide_b),
        CalcMode::Sub => saturate(wide_a - wide_b),
        CalcMode::Lls => left(a, b),
        CalcMode::Lrs => a >> b.clamp(0, 15),
        CalcMode::Mul => saturate(wide_a * wide_b),
        // Default: a division by 0 gives 0.
        CalcMode::Div => saturate(wide_a.checked_div(wide_b).unwrap_or(0)),
        // Default: a remainder by 0 gives 0.
        CalcMode::Mod => saturate(wide_a.checked_rem(wide_b).unwrap_or(0)),
        CalcMode::BitAnd => a & b,
        CalcMode::BitOr => a | b,
        CalcMode::BitInv => !a,
        CalcMode::BitXor => a ^ b,
        CalcMode::Eq => i16::from(a == b),
        CalcMode::Ne => i16::from(a != b),
        CalcMode::Gt => i16::from(a > b),
        CalcMode::Ge => i16::from(a >= b),
        CalcMode::Lt => i16::from(a < b),
        CalcMode::Le => i16::from(a <= b),
        CalcMode::Addh => a.wrapping_add(b << 8),
        CalcMode::And => i16::from(a != 0 && b != 0),
        CalcMode::Or => i16::from(a != 0 || b != 0),
        CalcMode::Not => i16::from(a == 0),
    })
}

/// Returns the result in the released sequencer. `idle`, products and quotients give 0. Sums of
/// high bytes saturate as unsigned numbers. Left shifts keep 17 bits.
pub(crate) fn released(mode: CalcMode, a: i16, b: i16) -> Option<i16> {
    match mode {
        CalcMode::Idle | CalcMode::Mul | CalcMode::Div | CalcMode::Mod => Some(0),
        CalcMode::Addh => {
            let sum = a.wrapping_add(b << 8).cast_unsigned();
            Some(sum.min(i16::MAX.cast_unsigned()).cast_signed())
        }
        CalcMode::Lls => {
            // Default: no bit is left.
            let shifted = i32::from(a).checked_shl(u32::from(b as u16)).unwrap_or(0);
            Some(saturate(i64::from(shifted << 15 >> 15)))
        }
        CalcMode::Lrs => Some(a >> (b as u16).min(15)),
        other => calc(other, a, b),
    }
}

/// Left shift: shifts by 0 to 15 saturate, others give 0.
fn left(a: i16, b: i16) -> i16 {
    if (0..=15).contains(&b) { saturate(i64::from(a) << b) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode() {
        use CalcMode::*;
        #[rustfmt::skip] // Not formatted: the rows are aligned as a table.
        let cases = [
            (Add, 32767, 1, 32767), (Add, -3, 1, -2), (Sub, -32768, 1, -32768), (Lls, 3, 2, 12),
            (Lls, -20000, 1, -32768), (Lls, 1, 16, 0), (Lls, 1, -1, 0), (Lrs, -5, 1, -3), (Lrs, -5, 99, -1),
            (Mul, 300, 300, 32767), (Mul, -7, 6, -42), (Div, -7, 2, -3), (Div, 7, 0, 0), (Div, -32768, -1, 32767),
            (Mod, -7, 2, -1), (Mod, 7, 0, 0), (BitAnd, 12, 10, 8), (BitOr, 12, 10, 14), (BitXor, 12, 10, 6),
            (BitInv, 0, 9, -1), (Eq, 2, 2, 1), (Ne, 2, 2, 0), (Gt, -1, 0, 0), (Ge, 0, 0, 1), (Lt, -1, 0, 1),
            (Le, 1, 0, 0), (Addh, 0, 0x80, -32768), (Addh, 0x1234, 1, 0x1334), (And, 2, 4, 1), (Or, 0, 0, 0), (Not, 3, 0, 0),
            (Gt, 1, 1, 0), (Lt, 1, 1, 0), (And, 2, 0, 0), (And, 0, 2, 0), (Or, 2, 0, 1), (Or, 0, 2, 1), (Lls, 1, 15, 32767),
        ];
        for (mode, a, b, expected) in cases {
            assert_eq!(calc(mode, a, b), Some(expected), "{mode:?} {a} {b}");
        }
        assert_eq!(calc(Idle, 1, 2), None);
    }

    /// Specification 5.1, column "hardware".
    #[test]
    fn the_released_sequencer_differs() {
        use CalcMode::*;
        let cases = [(Idle, 1, 2, 0), (Mul, 3, 4, 0), (Div, 8, 2, 0), (Mod, 7, 4, 0), (Add, 3, 4, 7)];
        let wide = [(Addh, 0, 0x80, 0x7fff), (Addh, 0x1234, 1, 0x1334), (Lls, 3, 2, 12), (Lls, 0x4000, 3, 0)];
        let right = [(Lrs, -5, 1, -3), (Lrs, 64, 4, 4), (Lrs, -5, -1, -1)];
        for (mode, a, b, expected) in cases.into_iter().chain(wide).chain(right) {
            assert_eq!(released(mode, a, b), Some(expected), "{mode:?} {a} {b}");
        }
    }
}
