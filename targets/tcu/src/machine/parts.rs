//! [`Part`]s of a [`Machine`] by name, for who fills them before a program and reads them after it.

use super::Machine;
use crate::check::depth;
use crate::config::Config;
use crate::configuration::Register;
use crate::fault::Memory;

/// A part of the machine that holds numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A memory of vectors: `dram0`, `dram1`, `local`, `acc`.
    Memory(Memory),
    /// Rows of the array: `weights`, the bias first, then those of input lanes 0, 1, ...
    Weights,
    /// A register of the ALUs: `r1` and on.
    Register(u8),
    /// A configuration register, by its name in the text.
    Configuration(Register),
}

impl Part {
    /// Those of an instance, the memories first.
    pub fn all(config: &Config) -> Vec<Self> {
        let memories = [Memory::Dram0, Memory::Dram1, Memory::Local, Memory::Accumulators].map(Self::Memory);
        let registers = (1..=config.simd_registers_depth).map(|register| Self::Register(register as u8));
        let configuration = Register::ALL.map(Self::Configuration);
        memories.into_iter().chain([Self::Weights]).chain(registers).chain(configuration).collect()
    }

    /// Its name, as assembly text has it.
    pub fn name(self) -> String {
        match self {
            Self::Memory(Memory::Dram0) => "dram0".to_owned(),
            Self::Memory(Memory::Dram1) => "dram1".to_owned(),
            Self::Memory(Memory::Local) => "local".to_owned(),
            Self::Memory(Memory::Accumulators) => "acc".to_owned(),
            Self::Weights => "weights".to_owned(),
            Self::Register(register) => format!("r{register}"),
            Self::Configuration(register) => register.name().to_owned(),
        }
    }

    /// Vectors it has, or numbers of a configuration register.
    pub fn depth(self, config: &Config) -> u64 {
        match self {
            Self::Memory(memory) => depth(config, memory),
            Self::Weights => config.array_size as u64 + 1,
            Self::Register(_) | Self::Configuration(_) => 1,
        }
    }
}

impl Machine {
    /// The raw scalars of `count` rows of the array from `first` on, all of which it has.
    pub(crate) fn weights(&self, first: u64, count: u64) -> Vec<i32> {
        (first..first + count).flat_map(|row| self.core.row(row as usize)).collect()
    }

    /// Puts whole rows into the array from row `first` on.
    pub(crate) fn set_weights(&mut self, first: u64, raw: &[i32]) {
        for (row, scalars) in (first as usize..).zip(raw.chunks_exact(self.config.array_size)) {
            self.core.set_row(row, scalars);
        }
    }

    /// The raw scalars of a register of the ALUs, from 1, which it has.
    pub(crate) fn register(&self, register: u8) -> Vec<i32> {
        self.core.register(register)
    }

    /// Writes a register of the ALUs.
    pub(crate) fn set_register(&mut self, register: u8, raw: &[i32]) {
        self.core.set_register(register, raw);
    }
}
