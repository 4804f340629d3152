//! The configuration registers: [`Configuration`], what Configure writes and what it is for.
//!
//! The functional machine obeys the offsets and keeps the rest; the clock obeys the timeout, the
//! tracepoint and the sample interval, which are about time. Source: the TCU specification, 9.6 and
//! 9.8, and the published hardware description's decoder.

use crate::fault::Memory;

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

    /// The largest value that a Configure can give it; of more, hardware takes the low bits only.
    pub const fn largest(self) -> u32 {
        match self {
            Self::Dram0Cache | Self::Dram1Cache => 0xF,
            Self::Dram0Offset | Self::Dram1Offset | Self::Timeout | Self::SampleInterval => 0xFFFF,
            Self::Tracepoint | Self::ProgramCounter => Self::LARGEST,
        }
    }

    /// The largest value of a Configure: it has 28 bits.
    pub const LARGEST: u32 = (1 << 28) - 1;

    /// What the register holds after `value` was written: its low bits, or bits 16 to 31 of an offset.
    const fn held(self, value: u32) -> u32 {
        match self {
            Self::Dram0Offset | Self::Dram1Offset => value << 16,
            Self::Dram0Cache | Self::Dram1Cache => value & 0xF,
            Self::Timeout | Self::SampleInterval => value & 0xFFFF,
            Self::Tracepoint | Self::ProgramCounter => value,
        }
    }

    /// After a reset.
    const fn reset(self) -> u32 {
        match self {
            Self::Timeout => 100,
            Self::Tracepoint => u32::MAX,
            _ => 0,
        }
    }
}

/// What the configuration registers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration([u32; 16]);

impl Default for Configuration {
    /// After a reset.
    fn default() -> Self {
        let mut held = [0; 16];
        for register in Register::ALL {
            held[register as usize] = register.reset();
        }
        Self(held)
    }
}

impl Configuration {
    /// What a register holds; an offset in bytes.
    pub const fn get(&self, register: Register) -> u32 {
        self.0[register as usize]
    }

    /// Obeys an instruction `Configure register, value`; registers that do not exist are ignored.
    pub(crate) fn configure(&mut self, register: u8, value: u32) {
        if let Some(register) = Register::from_code(register) {
            self.0[register as usize] = register.held(value);
        }
    }

    /// Counts an instruction the decoder is done with: all but a Configure of the counter itself.
    pub(crate) fn count(&mut self) {
        let counter = &mut self.0[Register::ProgramCounter as usize];
        *counter = counter.wrapping_add(1);
    }

    /// Instructions the decoder is done with, or what Configure made of that.
    pub const fn program_counter(&self) -> u32 {
        self.get(Register::ProgramCounter)
    }

    /// Whether the tracepoint flag is high.
    pub const fn at_tracepoint(&self) -> bool {
        self.program_counter() == self.get(Register::Tracepoint)
    }

    /// Where vector 0 of a DRAM bank begins, in bytes; 0 for memories on chip.
    pub const fn offset_bytes(&self, memory: Memory) -> u32 {
        match memory {
            Memory::Dram0 => self.get(Register::Dram0Offset),
            Memory::Dram1 => self.get(Register::Dram1Offset),
            Memory::Local | Memory::Accumulators => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_hold_as_many_bits_as_they_have() {
        let mut configuration = Configuration::default();
        for register in Register::ALL {
            configuration.configure(register as u8, 0x0FFF_FFFF);
        }
        let held = Register::ALL.map(|register| configuration.get(register));
        let wide = 0x0FFF_FFFF;
        assert_eq!(held, [0xFFFF_0000, 0xF, 0xFFFF_0000, 0xF, 0xFFFF, wide, wide, 0xFFFF]);
    }

    #[test]
    fn registers_that_do_not_exist_are_ignored() {
        let mut configuration = Configuration::default();
        for register in (0..=u8::MAX).filter(|code| Register::from_code(*code).is_none()) {
            configuration.configure(register, 7);
        }
        assert_eq!(configuration, Configuration::default());
    }

    #[test]
    fn the_tracepoint_is_met_once() {
        let mut configuration = Configuration::default();
        configuration.configure(Register::Tracepoint as u8, 2);
        let mut met = Vec::new();
        for _ in 0..4 {
            met.push(configuration.at_tracepoint());
            configuration.count();
        }
        assert_eq!(met, [false, false, true, false]);
    }
}
