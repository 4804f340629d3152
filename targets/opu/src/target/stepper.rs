//! The functional machine, one instruction at a time: [`stepper`].

use npukit_target::{MemoryInfo, Stepper, TargetError};

use crate::codec::decode_program;
use crate::config::Config;
use crate::layout::MEMORY_BYTES;
use crate::machine::{AccessError, Machine};
use crate::op::Op;

struct Stepped {
    machine: Machine,
    ops: Vec<Op>,
}

/// The machine after a reset, with a program of words up to its first `end`. The words do not lie in memory.
///
/// # Errors
///
/// Words that are not instructions.
pub(super) fn stepper(config: &Config, words: &[u8]) -> Result<Stepper, TargetError> {
    let mut ops = decode_program(words, config.validity).map_err(TargetError::failed)?;
    if let Some(end) = ops.iter().position(|op| *op == Op::End) {
        ops.truncate(end + 1);
    }
    let machine = Machine::new(config.types).with_validity(config.validity);
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
        vec![MemoryInfo::new("memory", MEMORY_BYTES, 1)]
    }

    fn read(&self, _memory: usize, address: u64, bytes: u64) -> Result<Vec<i32>, TargetError> {
        if address.checked_add(bytes).is_none_or(|end| end > MEMORY_BYTES) {
            return Err(TargetError::failed(AccessError::Range { address, bytes }));
        }
        let mut read = vec![0; bytes as usize];
        self.machine.read(address, &mut read).map_err(TargetError::failed)?;
        Ok(read.into_iter().map(i32::from).collect())
    }

    fn write(&mut self, _memory: usize, address: u64, values: &[i32]) -> Result<(), TargetError> {
        let byte = |&value: &i32| {
            u8::try_from(value).map_err(|_| TargetError::failed(format!("{value} is not a byte: 0 to 255")))
        };
        let bytes = values.iter().map(byte).collect::<Result<Vec<_>, _>>()?;
        self.machine.write(address, &bytes).map_err(TargetError::failed)
    }
}
