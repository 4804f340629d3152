//! Results of verbs: plain values that serialize to the keys of `--json`.

pub mod activity;
pub mod area;
pub mod benchmark;
pub mod breakdown;
pub mod language;
pub mod term;
pub mod time;
pub mod trace;

use std::collections::BTreeMap;

use npukit_lower::HostStep;
use serde::Serialize;

/// A step that the host computes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostStepReport {
    /// Name of the node.
    pub node: String,
    /// Operator of the node.
    pub op: String,
    /// Program output to which the step applies.
    pub output: String,
    /// Why the accelerator cannot compute it.
    pub reason: String,
}

impl From<&HostStep> for HostStepReport {
    fn from(step: &HostStep) -> Self {
        let HostStep { node, output, reason, op } = step.clone();
        Self { node, op: op.name().to_owned(), output, reason }
    }
}

/// Use of a memory, in the addressable unit of that memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MemoryReport {
    /// Peak use: the highest number of units in use at once.
    pub maximum: u64,
    /// Sum of the sizes of all allocations.
    pub aggregate: u64,
    /// Size of the memory.
    pub depth: u64,
    /// Unit of these numbers: `vectors`, `words` or `bytes`.
    pub unit: String,
}

/// Summary of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProgramReport {
    /// Name of the program.
    pub name: String,
    /// Target and instance, as `TARGET:INSTANCE`.
    pub target: String,
    /// Number of instructions.
    pub instructions: usize,
    /// Multiply-accumulates of the model, without padding; `None` if the artifact does not record
    /// them.
    pub macs: Option<u64>,
    /// Use of each memory by name; empty if the artifact does not record it.
    pub memory: BTreeMap<String, MemoryReport>,
    /// Steps that the host computes.
    pub host_steps: Vec<HostStepReport>,
    /// Names of the layers; empty if the artifact does not record them.
    pub layers: Vec<String>,
    /// Choices of the compiler, by option; empty if the artifact does not record them.
    pub choices: BTreeMap<String, String>,
    /// Number of constants that saturated in the number format; `None` if the artifact does not
    /// record it.
    pub saturated_constants: Option<u64>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Number of saturated results in one layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Saturation {
    /// Name of the layer, or of the kind of instruction if layers are unknown.
    pub layer: String,
    /// Number of saturated results.
    pub count: u64,
}

/// Number of values that saturated in the number format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Saturations {
    /// Number of saturated input values.
    pub inputs: u64,
    /// Number of saturated results on the machine.
    pub results: u64,
    /// Saturated results by layer; layers without any are omitted.
    pub layers: Vec<Saturation>,
}

impl Saturations {
    /// Returns the total of inputs and results.
    pub fn total(&self) -> u64 {
        self.inputs + self.results
    }

    /// Adds the numbers of another sample.
    pub fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.results += other.results;
        for layer in &other.layers {
            match self.layers.iter_mut().find(|l| l.layer == layer.layer) {
                Some(mine) => mine.count += layer.count,
                None => self.layers.push(layer.clone()),
            }
        }
    }
}
