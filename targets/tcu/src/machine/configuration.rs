//! [`Configuration`]: the configuration registers, written by Configure.
//!
//! The functional machine applies the offsets and stores the rest. The clock applies the timeout,
//! the tracepoint and the sample interval, which concern time. Source: the TCU specification, 9.6
//! and 9.8, and the decoder of the published hardware description.

use crate::config::Reading;
use crate::isa::op::{Memory, Register};

/// Content of the configuration registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    held: [u32; 16],
    reading: Reading,
}

impl Default for Configuration {
    /// Returns the registers of the released hardware after a reset.
    fn default() -> Self {
        Self::new(Reading::Released)
    }
}

impl Configuration {
    /// Returns the registers after a reset.
    pub fn new(reading: Reading) -> Self {
        let mut held = [0; 16];
        for register in Register::ALL {
            held[register as usize] = register.reset();
        }
        Self { held, reading }
    }

    /// Returns the reading that determines the register widths.
    pub const fn reading(&self) -> Reading {
        self.reading
    }

    /// Returns the content of a register; offsets are in units of 64 KiB.
    pub const fn get(&self, register: Register) -> u32 {
        self.held[register as usize]
    }

    /// Returns the content that a register would have after `value` was written to it.
    pub(crate) const fn taken(&self, register: Register, value: u32) -> u32 {
        value & register.largest(self.reading)
    }

    /// Executes an instruction `Configure register, value`; registers that do not exist are
    /// ignored.
    pub(crate) fn configure(&mut self, register: u8, value: u32) {
        if let Some(register) = Register::from_code(register) {
            self.held[register as usize] = self.taken(register, value);
        }
    }

    /// Counts a completed instruction; a Configure of the counter itself is not counted.
    pub(crate) fn count(&mut self) {
        let counter = &mut self.held[Register::ProgramCounter as usize];
        *counter = counter.wrapping_add(1);
    }

    /// Returns the number of completed instructions, as changed by Configure.
    pub const fn program_counter(&self) -> u32 {
        self.get(Register::ProgramCounter)
    }

    /// Returns whether the tracepoint flag is high.
    pub const fn at_tracepoint(&self) -> bool {
        self.program_counter() == self.get(Register::Tracepoint)
    }

    /// Returns the byte at which vector 0 of a DRAM bank begins; 0 for on-chip memories.
    pub const fn offset_bytes(&self, memory: Memory) -> u64 {
        let units = match memory {
            Memory::Dram0 => self.get(Register::Dram0Offset),
            Memory::Dram1 => self.get(Register::Dram1Offset),
            Memory::Local | Memory::Accumulators => 0,
        };
        (units as u64) << 16
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn registers_hold_as_many_bits_as_they_have() {
        let held = |reading| {
            let mut configuration = Configuration::new(reading);
            for register in Register::ALL {
                configuration.configure(register as u8, 0x89AB_CDEF);
            }
            Register::ALL.map(|register| configuration.get(register))
        };
        let wide = 0x89AB_CDEF;
        assert_eq!(held(Reading::Released), [0xCDEF, 0xF, 0xCDEF, 0xF, 0xCDEF, wide, wide, 0xCDEF]);
        assert_eq!(held(Reading::Seed), [wide, 0xF, wide, 0xF, 0xCDEF, wide, wide, 0xCDEF]);
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
