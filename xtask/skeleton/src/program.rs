//! [`Program`]: instructions and constants, with the addresses of inputs and outputs.

pub(crate) mod artifact;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::isa::op::Op;

/// A program for an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Base name of its files.
    pub name: String,
    /// Name of the instance.
    pub instance: String,
    /// Parameters of the instance.
    pub config: Config,
    /// Instructions; the last one is `end`.
    pub instructions: Vec<Op>,
    /// Weights and other constants.
    pub constants: Vec<Constant>,
    /// Addresses of the inputs.
    pub inputs: Vec<Binding>,
    /// Addresses of the outputs.
    pub outputs: Vec<Binding>,
    /// Nodes of the graph, in the order of their instructions.
    pub layers: Vec<Layer>,
}

/// A tensor in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Name in the model.
    pub name: String,
    /// Shape in the model.
    pub shape: Vec<usize>,
    /// Address of the first number.
    pub address: u32,
}

/// Numbers that the host writes to memory before the program starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Name in the model.
    pub name: String,
    /// Address of the first number.
    pub address: u32,
    /// Raw numbers, in the order of their addresses.
    pub numbers: Vec<i16>,
    /// Number of values of the model that are beyond the range of the numbers.
    pub saturated: u64,
}

/// Instructions of a node of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name of the node.
    pub name: String,
    /// Name of the node's result.
    pub result: String,
    /// Index of the first instruction.
    pub first: usize,
    /// Number of instructions.
    pub count: usize,
}

impl Binding {
    /// Number of elements, or `None` if it exceeds `u32`.
    pub fn numbers(&self) -> Option<u32> {
        let count = self.shape.iter().try_fold(1_usize, |all, &size| all.checked_mul(size))?;
        u32::try_from(count).ok().filter(|&count| self.address.checked_add(count).is_some())
    }

    /// Whether the tensor is within the memory of an instance.
    pub fn is_within(&self, config: &Config) -> bool {
        self.numbers().is_some_and(|count| self.address + count <= config.memory_words)
    }
}

impl Program {
    /// Returns the layer of an instruction, or the number of layers if it does not belong to one.
    pub fn layer_of(&self, instruction: usize) -> usize {
        let is_its = |layer: &Layer| (layer.first..layer.first + layer.count).contains(&instruction);
        self.layers.iter().position(is_its).unwrap_or(self.layers.len())
    }
}
