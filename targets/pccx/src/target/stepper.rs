//! The functional machine, one instruction at a time: [`stepper`].

use npukit_target::{MemoryInfo, Stepper, TargetError};

use crate::codec::{Codec, decode_program};
use crate::config::Config;
use crate::machine::Machine;
use crate::op::Op;

/// Values of a word of L2.
const LANES: usize = 8;

struct Stepped {
    machine: Machine,
    ops: Vec<Op>,
}

/// The machine after a reset, with a program of words and without weights or host windows.
///
/// # Errors
///
/// Words that are not instructions; an instance that cannot be simulated.
pub(super) fn stepper(config: &Config, words: &[u8]) -> Result<Stepper, TargetError> {
    let ops = decode_program(&Codec::new(config), words).map_err(TargetError::failed)?;
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
        vec![MemoryInfo::new("l2", self.machine.config().l2_words.into(), LANES)]
    }

    fn read(&self, _memory: usize, address: u64, words: u64) -> Result<Vec<i32>, TargetError> {
        let values = usize::try_from(words).ok().and_then(|words| words.checked_mul(LANES));
        let values = values.ok_or_else(|| TargetError::failed(format!("{words} words are too many")))?;
        let read = self.machine.read_l2(word(address)?, values).map_err(TargetError::failed)?;
        Ok(read.iter().map(|&bits| i32::from(bits)).collect())
    }

    fn write(&mut self, _memory: usize, address: u64, values: &[i32]) -> Result<(), TargetError> {
        let pattern = |&value: &i32| {
            u16::try_from(value)
                .map_err(|_| TargetError::failed(format!("{value} is not the 16 bits of a BF16 number")))
        };
        let patterns = values.iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
        if !patterns.len().is_multiple_of(LANES) {
            let text = format!("{} values are not whole words of {LANES}", patterns.len());
            return Err(TargetError::failed(text));
        }
        self.machine.write_l2(word(address)?, &patterns).map_err(TargetError::failed)
    }
}

fn word(address: u64) -> Result<u32, TargetError> {
    u32::try_from(address).map_err(|_| TargetError::failed(format!("there is no word {address:#x} in L2")))
}
