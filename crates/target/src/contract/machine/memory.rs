//! [`MachineMemory`]: a memory of a machine, and its number format.

use npukit_numeric::NumberFormat;

/// A memory of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineMemory {
    /// Name, as in documents and assembly text.
    pub name: String,
    /// Number of addresses.
    pub depth: u64,
    /// Numbers at each address.
    pub lanes: usize,
    /// Bits per number, at most 64.
    pub bits: u32,
    /// Whether the numbers are signed.
    pub is_signed: bool,
}

impl MachineMemory {
    /// Returns the smallest and the largest number that the memory can hold.
    pub fn range(&self) -> (i128, i128) {
        let values = 1_i128 << self.bits.clamp(1, 64);
        if self.is_signed { (-values / 2, values / 2 - 1) } else { (0, values - 1) }
    }

    /// Converts a bit pattern to a number; `None` if it has more than `bits` bits.
    pub fn of_pattern(&self, pattern: u64) -> Option<i64> {
        let (_, largest) = self.range();
        let values = 1_i128 << self.bits.clamp(1, 64);
        let pattern = i128::from(pattern);
        (pattern < values).then_some((if pattern > largest { pattern - values } else { pattern }) as i64)
    }

    /// Returns the bit pattern of a number.
    pub fn pattern(&self, number: i64) -> u64 {
        if self.bits >= 64 { number as u64 } else { number as u64 & ((1 << self.bits) - 1) }
    }
}

/// Converts a real value to a number of `format`.
pub fn number_of(format: NumberFormat, real: f64) -> i64 {
    format.raw_from_f32(real as f32).into()
}

/// Returns the real value of a number of `format`.
pub fn real_of(format: NumberFormat, number: i64) -> f64 {
    // Cannot truncate: a number has at most 32 bits.
    format.raw_to_f32(number as i32).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_numbers() {
        let memory =
            |bits, is_signed| MachineMemory { name: "m".into(), depth: 1, lanes: 1, bits, is_signed };
        for (bits, is_signed, pattern, number) in [
            (16, true, 0xffff, Some(-1)),
            (16, true, 0x7fff, Some(0x7fff)),
            (16, true, 0x1_0000, None),
            (16, false, 0xffff, Some(0xffff)),
            (64, true, u64::MAX, Some(-1)),
            (32, true, 0x8000_0000, Some(-0x8000_0000)),
        ] {
            let memory = memory(bits, is_signed);
            assert_eq!(memory.of_pattern(pattern), number, "{bits} {pattern:x}");
            if let Some(number) = number {
                assert_eq!(memory.pattern(number), pattern);
            }
        }
        assert_eq!(memory(4, true).range(), (-8, 7));
        assert_eq!(memory(64, false).range(), (0, u64::MAX.into()));
    }
}
