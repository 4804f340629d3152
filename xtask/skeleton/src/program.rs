//! [`Program`]: instructions, and where a driver puts inputs and finds outputs.

pub(crate) mod artifact;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::isa::op::Op;

/// A program for an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name of its files.
    pub name: String,
    /// Name of the instance.
    pub instance: String,
    /// The instance.
    pub config: Config,
    /// Instructions; the last one is `end`.
    pub instructions: Vec<Op>,
    /// Where inputs go.
    pub inputs: Vec<Binding>,
    /// Where outputs are.
    pub outputs: Vec<Binding>,
    /// The nodes of the graph, in the order of their instructions.
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
    /// Its first number.
    pub address: u32,
}

/// A node of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// Name of the value it makes.
    pub result: String,
    /// Its first instruction.
    pub first: usize,
    /// How many it has.
    pub count: usize,
}

impl Binding {
    /// How many numbers it has; none when that is not a number of memory.
    pub fn numbers(&self) -> Option<u32> {
        let count = self.shape.iter().try_fold(1_usize, |all, &size| all.checked_mul(size))?;
        u32::try_from(count).ok().filter(|&count| self.address.checked_add(count).is_some())
    }

    /// Whether it lies in the memory of an instance.
    pub fn is_within(&self, config: &Config) -> bool {
        self.numbers().is_some_and(|count| self.address + count <= config.memory_words)
    }
}

impl Program {
    /// The layer of an instruction; the number of layers when it is of none.
    pub fn layer_of(&self, instruction: usize) -> usize {
        let is_its = |layer: &Layer| (layer.first..layer.first + layer.count).contains(&instruction);
        self.layers.iter().position(is_its).unwrap_or(self.layers.len())
    }
}
