//! [`Outline`]: properties of a program that are the same at all steps.

use super::access::AddressRun;
use super::memory::MachineMemory;

/// Role of a tensor in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedKind {
    /// Input: written before the program begins.
    Input,
    /// Constant: part of the program.
    Constant,
    /// Output: read after the program has ended.
    Output,
}

impl PlacedKind {
    /// Returns the role as a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Constant => "constant",
            Self::Output => "output",
        }
    }
}

/// Location of a tensor in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Name of the tensor.
    pub name: String,
    /// Role of the tensor.
    pub kind: PlacedKind,
    /// Addresses of the tensor.
    pub run: AddressRun,
}

/// Layers of a program, and the layer of each of its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepLayers {
    /// Names of the layers, in order.
    pub names: Vec<String>,
    /// Layer index of each step; an index past the end of `names` means no layer.
    pub of: Vec<usize>,
}

impl StepLayers {
    /// Returns the layer index of a step; `None` for a step outside all layers and past the last
    /// step.
    pub fn at(&self, step: usize) -> Option<usize> {
        self.of.get(step).copied().filter(|&place| place < self.names.len())
    }
}

/// Properties of a program that are the same at all steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Name of the program.
    pub name: String,
    /// Target and instance, as `TARGET:INSTANCE`.
    pub target: String,
    /// Meaning of a step, as a word, for example `instruction`.
    pub step_name: &'static str,
    /// Memories; their order never changes.
    pub memories: Vec<MachineMemory>,
    /// Layers of the program.
    pub layers: StepLayers,
    /// Locations of the tensors.
    pub placed: Vec<Placed>,
}

impl Outline {
    /// Creates the outline of a program without layers and tensors whose steps are instructions;
    /// the first argument has its name and its target.
    pub fn new((name, target): (String, String), memories: Vec<MachineMemory>) -> Self {
        let (step_name, layers, placed) = ("instruction", StepLayers::default(), Vec::new());
        Self { name, target, step_name, memories, layers, placed }
    }
}

/// Cycles of a step by the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// First cycle of the step.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
    /// Waits of units for this step: unit, reason, and number of cycles.
    pub waits: Vec<(String, String, u64)>,
}
