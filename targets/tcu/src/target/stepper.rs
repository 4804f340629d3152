//! The functional machine, one instruction at a time: [`stepper`].

use npukit_numeric::{FixedFormat, NumberFormat};
use npukit_target::{MemoryInfo, Stepper, TargetError};

use crate::check::depth;
use crate::codec::decode_program;
use crate::config::Config;
use crate::fault::Memory;
use crate::machine::Machine;
use crate::op::Op;

/// The memories, by the names that assembly text has for them.
const MEMORIES: [(&str, Memory); 4] = [
    ("dram0", Memory::Dram0),
    ("dram1", Memory::Dram1),
    ("local", Memory::Local),
    ("acc", Memory::Accumulators),
];

struct Stepped {
    machine: Machine,
    ops: Vec<Op>,
}

/// The machine after a reset, with a program of words.
///
/// # Errors
///
/// Words that are not instructions; an instance that cannot be simulated.
pub(super) fn stepper(config: &Config, words: &[u8]) -> Result<Stepper, TargetError> {
    let ops = decode_program(config, words).map_err(TargetError::failed)?;
    let machine = Machine::new(config).map_err(TargetError::failed)?;
    Ok(Stepper::new(Stepped { machine, ops }))
}

impl npukit_target::Machine for Stepped {
    fn instructions(&self) -> usize {
        self.ops.len()
    }

    fn execute(&mut self, index: usize) -> Result<(), TargetError> {
        self.machine.step(&self.ops[index]).map_err(TargetError::failed)
    }

    fn memories(&self) -> Vec<MemoryInfo> {
        let config = self.machine.config();
        let info = |(name, memory)| MemoryInfo::new(name, depth(config, memory), config.array_size);
        MEMORIES.map(info).to_vec()
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i32>, TargetError> {
        self.machine.read(MEMORIES[memory].1, address, count).map_err(TargetError::failed)
    }

    fn write(&mut self, memory: usize, address: u64, values: &[i32]) -> Result<(), TargetError> {
        if let NumberFormat::Fixed(FixedFormat { width, .. }) = self.machine.config().data_type.format() {
            let most = i32::MAX >> (i32::BITS - width);
            if let Some(value) = values.iter().find(|value| !(-1 - most..=most).contains(*value)) {
                let told = format!("{value} is not of {width} bits: {} to {most}", -1 - most);
                return Err(TargetError::failed(told));
            }
        }
        self.machine.write(MEMORIES[memory].1, address, values).map_err(TargetError::failed)
    }
}
