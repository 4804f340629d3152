//! [`Outline`]: what is the same of a program at all its steps.

use super::access::AddressRun;
use super::memory::MachineMemory;

/// What a tensor is to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedKind {
    /// It was written before the program began.
    Input,
    /// It belongs to the program.
    Constant,
    /// It is read when the program has ended.
    Output,
}

impl PlacedKind {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Constant => "constant",
            Self::Output => "output",
        }
    }
}

/// Where a tensor lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: PlacedKind,
    /// Its addresses.
    pub run: AddressRun,
}

/// The layers of a program, and which of them its steps belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepLayers {
    /// Their names, in order.
    pub names: Vec<String>,
    /// By step, the place of its layer; the number of layers, or more, for a step of none.
    pub of: Vec<usize>,
}

impl StepLayers {
    /// The layer of a step, by its place; none for a step of no layer, and behind the last.
    pub fn at(&self, step: usize) -> Option<usize> {
        self.of.get(step).copied().filter(|&place| place < self.names.len())
    }
}

/// What is the same of a program at all its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The program's name.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// What a step is, in a word.
    pub step_name: &'static str,
    /// The memories, in an order that stays.
    pub memories: Vec<MachineMemory>,
    /// The layers.
    pub layers: StepLayers,
    /// Where tensors lie.
    pub placed: Vec<Placed>,
}

impl Outline {
    /// Of a program without layers and tensors whose steps are instructions, by its name and its target's.
    pub fn new((name, target): (String, String), memories: Vec<MachineMemory>) -> Self {
        let (step_name, layers, placed) = ("instruction", StepLayers::default(), Vec::new());
        Self { name, target, step_name, memories, layers, placed }
    }
}

/// When the clock has a step, in cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The first cycle.
    pub start: u64,
    /// The cycle after the last.
    pub end: u64,
    /// What units waited for, in the step's own words: unit, on what, and how many cycles.
    pub waits: Vec<(String, String, u64)>,
}
