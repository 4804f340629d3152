//! [`Part`]s of a [`Machine`] by name, for filling memories before a program and reading them
//! afterwards.

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
    /// Rows of the array: `weights`, the bias first, then the rows of input lanes 0, 1, ...
    Weights,
    /// An ALU register: `r1`, `r2`, ...
    Register(u8),
    /// A configuration register; its name is as in assembly text.
    Configuration(Register),
}

impl Part {
    /// Returns all parts of an instance, the memories first.
    pub fn all(config: &Config) -> Vec<Self> {
        let memories = [Memory::Dram0, Memory::Dram1, Memory::Local, Memory::Accumulators].map(Self::Memory);
        let registers = (1..=config.simd_registers_depth).map(|register| Self::Register(register as u8));
        let configuration = Register::ALL.map(Self::Configuration);
        memories.into_iter().chain([Self::Weights]).chain(registers).chain(configuration).collect()
    }

    /// Returns the name, as in assembly text.
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

    /// Returns the number of vectors, or of numbers for a configuration register.
    pub fn depth(self, config: &Config) -> u64 {
        match self {
            Self::Memory(memory) => depth(config, memory),
            Self::Weights => config.array_size as u64 + 1,
            Self::Register(_) | Self::Configuration(_) => 1,
        }
    }
}

impl Part {
    /// Returns the description of the part as a memory.
    pub fn memory(self, config: &Config) -> MachineMemory {
        let (lanes, bits, is_signed) = match self {
            Self::Configuration(_) => (1, CONFIGURATION_BITS, false),
            _ => (config.array_size, bits(config.data_type.format()), true),
        };
        MachineMemory { name: self.name(), depth: self.depth(config), lanes, bits, is_signed }
    }

    /// Returns the view that displays the part, and a description.
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

    /// Returns whether its numbers represent real values.
    pub const fn has_reals(self) -> bool {
        !matches!(self, Self::Configuration(_))
    }
}

/// Maximum bits of a configuration register.
const CONFIGURATION_BITS: u32 = 32;

/// Returns the bits of a number of a format.
fn bits(format: NumberFormat) -> u32 {
    match format {
        NumberFormat::Fixed(fixed) => fixed.width,
        NumberFormat::Float32 => u32::BITS,
    }
}

impl Machine {
    /// Returns the numbers at `count` addresses of a part, starting at `address`.
    ///
    /// # Errors
    ///
    /// The errors of [`Machine::read`]. For other parts the caller must have checked the addresses.
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

    /// Returns the raw scalars of `count` rows of the array, starting at `first`; the rows must
    /// exist.
    pub(crate) fn weights(&self, first: u64, count: u64) -> Vec<i32> {
        (first..first + count).flat_map(|row| self.core.row(row as usize)).collect()
    }

    /// Writes whole rows of the array, starting at row `first`.
    pub(crate) fn set_weights(&mut self, first: u64, raw: &[i32]) {
        for (row, scalars) in (first as usize..).zip(raw.chunks_exact(self.config.array_size)) {
            self.core.set_row(row, scalars);
        }
    }

    /// Returns the raw scalars of an ALU register; numbers start at 1, and the register must exist.
    pub(crate) fn register(&self, register: u8) -> Vec<i32> {
        self.core.register(register)
    }

    /// Writes an ALU register.
    pub(crate) fn set_register(&mut self, register: u8, raw: &[i32]) {
        self.core.set_register(register, raw);
    }
}
