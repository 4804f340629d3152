//! [`FloatMemory`]: the memory in float, next to the machine, for the debugger.

use npukit_graph::Graph;
use npukit_target::{Inputs, PortError};

use super::program::values;
use crate::isa::op::Op;
use crate::lower;
use crate::program::Program;

/// Values that the numbers of the memory would have without rounding, one per address; NaN if
/// unknown.
#[derive(Clone)]
pub struct FloatMemory(Vec<f64>);

impl FloatMemory {
    /// Creates the memory before the first instruction, with the constants of the graph that the
    /// program was compiled from.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit.
    pub fn new(program: &Program, graph: &Graph, inputs: &Inputs) -> Result<Self, PortError> {
        let mut memory = Self(vec![f64::NAN; program.config.memory_words as usize]);
        for constant in lower::constants(graph) {
            memory.set(constant.address, &constant.values);
        }
        for binding in &program.inputs {
            memory.set(binding.address, &values(binding, inputs)?);
        }
        Ok(memory)
    }

    /// Executes an instruction that the machine has executed, so that its addresses are legal.
    pub fn step(&mut self, op: &Op) {
        let read = |first: u32, n: u32| self.read(first, n).to_vec();
        match *op {
            Op::End => {}
            Op::Add { dst, left, right, n } => {
                let (left, right) = (read(left, n), read(right, n));
                self.write(dst, left.iter().zip(&right).map(|(left, right)| left + right));
            }
            Op::Relu { dst, src, n } => {
                let src = read(src, n);
                // Not `max`, which would return 0 for an unknown value.
                self.write(dst, src.iter().map(|&x| if x < 0.0 { 0.0 } else { x }));
            }
            Op::Dot { dst, left, right, n } => {
                let (left, right) = (read(left, n), read(right, n));
                self.write(dst, [left.iter().zip(&right).map(|(left, right)| left * right).sum()]);
            }
        }
    }

    /// Returns `n` values. The addresses must be legal.
    pub fn read(&self, first: u32, n: u32) -> &[f64] {
        &self.0[first as usize..][..n as usize]
    }

    fn set(&mut self, first: u32, values: &[f32]) {
        self.write(first, values.iter().map(|&value| value.into()));
    }

    fn write(&mut self, first: u32, values: impl IntoIterator<Item = f64>) {
        self.0[first as usize..].iter_mut().zip(values).for_each(|(at, value)| *at = value);
    }
}
