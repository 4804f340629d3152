//! [`MachineMemory`]: a memory of a machine, and its numbers.

use npukit_numeric::NumberFormat;

/// A memory of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineMemory {
    /// Its name, as documents and assembly text have it.
    pub name: String,
    /// Addresses it has.
    pub depth: u64,
    /// Numbers at each address.
    pub lanes: usize,
    /// Bits of a number, at most 64.
    pub bits: u32,
    /// Whether the first of them is a sign.
    pub is_signed: bool,
}

impl MachineMemory {
    /// The smallest and the largest number it holds.
    pub fn range(&self) -> (i128, i128) {
        let values = 1_i128 << self.bits.clamp(1, 64);
        if self.is_signed { (-values / 2, values / 2 - 1) } else { (0, values - 1) }
    }

    /// The number that a pattern of bits stands for; none for one that has more bits.
    pub fn of_pattern(&self, pattern: u64) -> Option<i64> {
        let (_, largest) = self.range();
        let values = 1_i128 << self.bits.clamp(1, 64);
        let pattern = i128::from(pattern);
        (pattern < values).then_some((if pattern > largest { pattern - values } else { pattern }) as i64)
    }

    /// The bits of a number.
    pub fn pattern(&self, number: i64) -> u64 {
        if self.bits >= 64 { number as u64 } else { number as u64 & ((1 << self.bits) - 1) }
    }
}

/// What a real value becomes in a memory of `format`.
pub fn number_of(format: NumberFormat, real: f64) -> i64 {
    format.raw_from_f32(real as f32).into()
}

/// The real value of a number in a memory of `format`.
pub fn real_of(format: NumberFormat, number: i64) -> f64 {
    // A number of a format has 32 bits at most.
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
