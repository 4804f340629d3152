//! [`Machine`]: bit-exact simulator of an instance.

pub(crate) mod exec;
pub(crate) mod state;

use npukit_target::UninitMemory;
use npukit_target::sim::Fault;

use crate::config::Config;
use crate::isa::op::Op;
use crate::machine::exec::step;
use crate::machine::state::{FaultKind, State};

/// Simulator of an instance, created in the state after a reset.
#[derive(Clone, Debug)]
pub struct Machine {
    state: State,
}

impl Machine {
    /// Creates a machine. `unset` is the content of unwritten memory.
    pub fn new(config: &Config, unset: UninitMemory) -> Self {
        Self { state: State::new(config.memory_words, unset) }
    }

    /// Number of results that saturated so far.
    pub const fn saturated(&self) -> u64 {
        self.state.saturated
    }

    /// Executes one instruction.
    ///
    /// # Errors
    ///
    /// [`FaultKind`]; the state is unchanged then.
    pub fn step(&mut self, op: &Op) -> Result<(), FaultKind> {
        step(&mut self.state, op)
    }

    /// Executes a program up to its `end`.
    ///
    /// # Errors
    ///
    /// The first instruction that cannot be executed.
    pub fn run(&mut self, ops: &[Op]) -> Result<(), Fault<FaultKind>> {
        let ops = ops.split(|op| *op == Op::End).next().unwrap_or(ops);
        npukit_target::sim::run(ops, &mut |_| (), |_, op| self.step(op))
    }

    /// Reads `n` numbers.
    ///
    /// # Errors
    ///
    /// Numbers beyond the memory, or unwritten ones.
    pub fn read(&self, address: u32, n: u32) -> Result<Vec<i16>, FaultKind> {
        self.state.read(address, n)
    }

    /// Writes numbers.
    ///
    /// # Errors
    ///
    /// Numbers beyond the memory.
    pub fn write(&mut self, address: u32, numbers: &[i16]) -> Result<(), FaultKind> {
        let n = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        self.state.write(address, n)?.copy_from_slice(numbers);
        Ok(())
    }
}
