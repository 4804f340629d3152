//! What verbs answer with: plain values that serialise to the keys of the command's `--json`.

pub mod area;
pub mod benchmark;
pub mod breakdown;
pub mod term;
pub mod time;
pub mod trace;

use std::collections::BTreeMap;

use npukit_lower::HostStep;
use serde::Serialize;

/// A step left to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostStepReport {
    /// Name of the node.
    pub node: String,
    /// Operator.
    pub op: String,
    /// Output it applies to.
    pub output: String,
    /// Why the host does it.
    pub reason: String,
}

impl From<&HostStep> for HostStepReport {
    fn from(step: &HostStep) -> Self {
        let HostStep { node, output, reason, op } = step.clone();
        Self { node, op: op.name().to_owned(), output, reason }
    }
}

/// Use of a memory, in the memory's own addressable unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MemoryReport {
    /// Highest number in use at once.
    pub maximum: u64,
    /// Sum of all allocations.
    pub aggregate: u64,
    /// Size of the memory.
    pub depth: u64,
    /// What is counted: `vectors`, `words`, `bytes`.
    pub unit: String,
}

/// What a program is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProgramReport {
    /// Its name.
    pub name: String,
    /// Target and instance, as `TARGET:INSTANCE`.
    pub target: String,
    /// Instructions.
    pub instructions: usize,
    /// Multiply-accumulates of the model, padding left out; none when the artifact does not say.
    pub macs: Option<u64>,
    /// Use of each memory by name; empty when the artifact does not say.
    pub memory: BTreeMap<String, MemoryReport>,
    /// Steps left to the host.
    pub host_steps: Vec<HostStepReport>,
    /// Layers; empty when the artifact does not say.
    pub layers: Vec<String>,
    /// What the compiler chose, by option; empty when the artifact does not say.
    pub choices: BTreeMap<String, String>,
    /// Constants that did not fit the number format; none when the artifact does not say.
    pub saturated_constants: Option<u64>,
    /// What its user should know of.
    pub warnings: Vec<String>,
}

/// Results at a layer that did not fit the number format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Saturation {
    /// Name of the layer, or of the kind of instruction when layers are not known.
    pub layer: String,
    /// Number of results.
    pub count: u64,
}

/// Values that did not fit the number format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Saturations {
    /// Input values.
    pub inputs: u64,
    /// Results on the machine.
    pub results: u64,
    /// By layer, those with none left out.
    pub layers: Vec<Saturation>,
}

impl Saturations {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.inputs + self.results
    }

    /// Adds those of another sample.
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
