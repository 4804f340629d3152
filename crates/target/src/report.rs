//! What verbs answer with: plain values that serialise to the keys of the command's `--json`.

use std::collections::BTreeMap;

use serde::Serialize;

/// A node that a target cannot lower.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Name of the node.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// Why it cannot be lowered.
    pub reason: String,
    /// What to change.
    pub hint: String,
}

/// A step left to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

/// Use of a memory, in the memory's own addressable unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryReport {
    /// Highest number in use at once.
    pub maximum: u64,
    /// Sum of all allocations.
    pub aggregate: u64,
    /// Size of the memory.
    pub depth: u64,
}

/// What a program is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramReport {
    /// Its name.
    pub name: String,
    /// Target and instance, as `tcu:pynqz1`.
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

/// Where time goes, by layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerTime {
    /// Names of the nodes.
    pub name: String,
    /// Instructions.
    pub instructions: usize,
    /// Cycles.
    pub cycles: u64,
    /// Share of all cycles, 0 to 1.
    pub share: f64,
    /// Multiply-accumulates of the model.
    pub macs: u64,
    /// Share of the array's multipliers that did the model's work, 0 to 1.
    pub utilisation: f64,
}

/// Where time goes, by kind of instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindTime {
    /// Mnemonic, with the variant.
    pub kind: String,
    /// Instructions.
    pub instructions: usize,
    /// Vectors they handle.
    pub vectors: u64,
    /// Cycles.
    pub cycles: u64,
}

/// How long a program takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeReport {
    /// Cycles by cost model.
    pub cycles: BTreeMap<String, u64>,
    /// The cost model behind `milliseconds`, `utilisation`, `layers` and `kinds`.
    pub model: String,
    /// What the cost models assume, a sentence each.
    pub assumptions: Vec<String>,
    /// At `clock_mhz`; none when the clock is not known.
    pub milliseconds: Option<f64>,
    /// Clock of the board.
    pub clock_mhz: Option<f64>,
    /// Where the clock is from.
    pub clock_source: Option<String>,
    /// Share of the array's multipliers that did the model's work; none when the work is not known.
    pub utilisation: Option<f64>,
    /// Share of the cycles in which the array was given a vector.
    pub array_busy: f64,
    /// Energy in the cost model's own unit.
    pub energy: u64,
    /// By layer; empty when the artifact does not say.
    pub layers: Vec<LayerTime>,
    /// By kind of instruction.
    pub kinds: Vec<KindTime>,
}

/// Results at a layer that did not fit the number format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Saturation {
    /// Name of the layer, or of the kind of instruction when layers are not known.
    pub layer: String,
    /// Number of results.
    pub count: u64,
}

/// Values that did not fit the number format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
