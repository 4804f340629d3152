//! [`Register`]: the configuration registers and their widths.

use crate::config::Reading;

/// An existing configuration register; the discriminant is its number. Writes to other numbers are
/// ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Register {
    /// Start of DRAM0, in units of 64 KiB.
    Dram0Offset = 0x0,
    /// AxCACHE of DRAM0's bus.
    Dram0Cache = 0x1,
    /// Start of DRAM1, in units of 64 KiB.
    Dram1Offset = 0x4,
    /// AxCACHE of DRAM1's bus.
    Dram1Cache = 0x5,
    /// Cycles for which the decoder may hold an instruction until the timeout flag rises.
    Timeout = 0x8,
    /// Program counter at which the tracepoint flag is high.
    Tracepoint = 0x9,
    /// Number of instructions that the decoder has completed.
    ProgramCounter = 0xA,
    /// Cycles between performance samples; 0 disables sampling.
    SampleInterval = 0xB,
}

impl Register {
    /// Every register, in order of the numbers.
    pub const ALL: [Self; 8] = [
        Self::Dram0Offset,
        Self::Dram0Cache,
        Self::Dram1Offset,
        Self::Dram1Cache,
        Self::Timeout,
        Self::Tracepoint,
        Self::ProgramCounter,
        Self::SampleInterval,
    ];

    /// Returns the name in assembly text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dram0Offset => "dram0_offset",
            Self::Dram0Cache => "dram0_cache",
            Self::Dram1Offset => "dram1_offset",
            Self::Dram1Cache => "dram1_cache",
            Self::Timeout => "timeout",
            Self::Tracepoint => "tracepoint",
            Self::ProgramCounter => "program_counter",
            Self::SampleInterval => "sample_interval",
        }
    }

    /// Returns the register with that number, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|register| *register as u8 == code)
    }

    /// Returns the width in bits. The instruction set specification gives offsets 32 bits; the
    /// released hardware adds only 16 of them to its 32-bit addresses.
    pub const fn bits(self, reading: Reading) -> u32 {
        match (self, reading) {
            (Self::Dram0Cache | Self::Dram1Cache, _) => 4,
            (Self::Dram0Offset | Self::Dram1Offset, Reading::Released) => 16,
            (Self::Timeout | Self::SampleInterval, _) => 16,
            (Self::Dram0Offset | Self::Dram1Offset, Reading::Seed) => 32,
            (Self::Tracepoint | Self::ProgramCounter, _) => 32,
        }
    }

    /// Returns the largest value that it can hold; of larger values it takes the low bits.
    pub const fn largest(self, reading: Reading) -> u32 {
        u32::MAX >> (u32::BITS - self.bits(reading))
    }

    /// Returns the loss if `value` is written to it and does not fit.
    pub fn cut(self, value: u32, reading: Reading) -> Option<Cut> {
        (value > self.largest(reading)).then_some(Cut { register: self, value, reading })
    }

    /// Returns the value after a reset.
    pub(crate) const fn reset(self) -> u32 {
        match self {
            Self::Timeout => 100,
            Self::Tracepoint => u32::MAX,
            _ => 0,
        }
    }
}

/// A value with more bits than the register that it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} has {} bits: it takes only {:#x} of {value:#x}",
    .register.name(), .register.bits(*.reading), .value & .register.largest(*.reading)
)]
pub struct Cut {
    /// Register that the value is written to.
    pub register: Register,
    /// Value of the instruction.
    pub value: u32,
    /// Reading that determines the width.
    pub reading: Reading,
}

impl Cut {
    /// Returns the remedy, for the user.
    pub fn hint(self) -> String {
        let largest = self.register.largest(self.reading);
        let wider = self.register.largest(Reading::Seed) > largest;
        let seed =
            if wider { ", or use an instance with the suffix `+seed`, where it has 32 bits" } else { "" };
        format!("give a value up to {largest:#x}{seed}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn what_a_register_cuts_is_said() {
        let cut = Register::Dram0Offset.cut(0x1_0002, Reading::Released).unwrap();
        assert_eq!(cut.to_string(), "dram0_offset has 16 bits: it takes only 0x2 of 0x10002");
        assert!(cut.hint().contains("up to 0xffff") && cut.hint().contains("`+seed`"), "{}", cut.hint());
        assert_eq!(Register::Dram0Offset.cut(0x1_0002, Reading::Seed), None);
        assert_eq!(Register::Tracepoint.cut(u32::MAX, Reading::Released), None);
        let cut = Register::Dram1Cache.cut(16, Reading::Seed).unwrap();
        assert_eq!(cut.hint(), "give a value up to 0xf");
    }
}
