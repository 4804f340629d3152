//! The configuration registers that there are, and how wide they are: [`Register`].

use crate::config::Reading;

/// A register that exists; the discriminant is its number. All others are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Register {
    /// Where DRAM0 begins, in units of 64 KiB.
    Dram0Offset = 0x0,
    /// AxCACHE of DRAM0's bus.
    Dram0Cache = 0x1,
    /// Where DRAM1 begins, in units of 64 KiB.
    Dram1Offset = 0x4,
    /// AxCACHE of DRAM1's bus.
    Dram1Cache = 0x5,
    /// Cycles the decoder may hold an instruction until the timeout flag rises.
    Timeout = 0x8,
    /// The program counter at which the tracepoint flag is high.
    Tracepoint = 0x9,
    /// Instructions the decoder is done with.
    ProgramCounter = 0xA,
    /// Cycles from a performance sample to the next; 0 is off.
    SampleInterval = 0xB,
}

impl Register {
    /// Every register.
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

    /// Its name in the text.
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

    /// The register of that number, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|register| *register as u8 == code)
    }

    /// Bits it has. The page gives offsets 32; of these the released hardware adds 16 to its 32-bit addresses.
    pub const fn bits(self, reading: Reading) -> u32 {
        match (self, reading) {
            (Self::Dram0Cache | Self::Dram1Cache, _) => 4,
            (Self::Dram0Offset | Self::Dram1Offset, Reading::Released) => 16,
            (Self::Timeout | Self::SampleInterval, _) => 16,
            (Self::Dram0Offset | Self::Dram1Offset, Reading::Seed) => 32,
            (Self::Tracepoint | Self::ProgramCounter, _) => 32,
        }
    }

    /// The largest value it holds; of more it takes the low bits only.
    pub const fn largest(self, reading: Reading) -> u32 {
        u32::MAX >> (u32::BITS - self.bits(reading))
    }

    /// What is lost when `value` is written to it.
    pub fn cut(self, value: u32, reading: Reading) -> Option<Cut> {
        (value > self.largest(reading)).then_some(Cut { register: self, value, reading })
    }

    /// After a reset.
    pub(crate) const fn reset(self) -> u32 {
        match self {
            Self::Timeout => 100,
            Self::Tracepoint => u32::MAX,
            _ => 0,
        }
    }
}

/// A value that has more bits than the register it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} has {} bits: of {value:#x} it takes {:#x}",
    .register.name(), .register.bits(*.reading), .value & .register.largest(*.reading)
)]
pub struct Cut {
    /// The register.
    pub register: Register,
    /// The value.
    pub value: u32,
    /// Whose registers they are.
    pub reading: Reading,
}

impl Cut {
    /// What to do.
    pub fn hint(self) -> String {
        let largest = self.register.largest(self.reading);
        let wider = self.register.largest(Reading::Seed) > largest;
        let seed =
            if wider { ", or name an instance that ends in `+seed`, in which it has 32 bits" } else { "" };
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
        assert_eq!(cut.to_string(), "dram0_offset has 16 bits: of 0x10002 it takes 0x2");
        assert!(cut.hint().contains("up to 0xffff") && cut.hint().contains("`+seed`"), "{}", cut.hint());
        assert_eq!(Register::Dram0Offset.cut(0x1_0002, Reading::Seed), None);
        assert_eq!(Register::Tracepoint.cut(u32::MAX, Reading::Released), None);
        let cut = Register::Dram1Cache.cut(16, Reading::Seed).unwrap();
        assert_eq!(cut.hint(), "give a value up to 0xf");
    }
}
