//! [`Part`]s of a [`Machine`] by name, for who fills them before a program and reads them after it.

use npukit_numeric::NumberFormat;
use npukit_target::MachineMemory;

use super::{AccessError, Machine};
use crate::config::Config;
use crate::isa::check::depth;
use crate::isa::op::{Memory, Register};

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

impl Part {
    /// What there is to know of it.
    pub fn memory(self, config: &Config) -> MachineMemory {
        let (lanes, bits, is_signed) = match self {
            Self::Configuration(_) => (1, CONFIGURATION_BITS, false),
            _ => (config.array_size, bits(config.data_type.format()), true),
        };
        MachineMemory { name: self.name(), depth: self.depth(config), lanes, bits, is_signed }
    }

    /// What it is looked at with, and what it is.
    pub const fn view(self) -> (&'static str, &'static str) {
        match self {
            Self::Memory(Memory::Dram0) => ("dram", "activations"),
            Self::Memory(Memory::Dram1) => ("dram", "constants"),
            Self::Memory(Memory::Local) => ("local", "vectors for the array"),
            Self::Memory(Memory::Accumulators) => ("array", "accumulators"),
            Self::Weights => ("array", "rows of the array, the bias first"),
            Self::Register(_) => ("array", "register of the ALUs"),
            Self::Configuration(_) => ("configuration", ""),
        }
    }

    /// Whether its numbers stand for real values.
    pub const fn has_reals(self) -> bool {
        !matches!(self, Self::Configuration(_))
    }
}

/// Bits of a configuration register, at most.
const CONFIGURATION_BITS: u32 = 32;

/// Bits of a number of a format.
fn bits(format: NumberFormat) -> u32 {
    match format {
        NumberFormat::Fixed(fixed) => fixed.width,
        NumberFormat::Float32 => u32::BITS,
    }
}

impl Machine {
    /// The numbers at `count` addresses of a part from `address` on.
    ///
    /// # Errors
    ///
    /// Those of [`Machine::read`]; other parts have the addresses, as whoever calls has checked.
    pub(crate) fn numbers(&self, part: Part, address: u64, count: u64) -> Result<Vec<i64>, AccessError> {
        let raw = match part {
            Part::Memory(memory) => self.read(memory, address, count)?,
            Part::Weights => self.weights(address, count),
            Part::Register(register) if count > 0 => self.register(register),
            Part::Configuration(register) if count > 0 => {
                return Ok(vec![self.configuration().get(register).into()]);
            }
            Part::Register(_) | Part::Configuration(_) => Vec::new(),
        };
        Ok(raw.into_iter().map(i64::from).collect())
    }

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
