//! [`Session`]: a program on its machine under a debugger, which steps it, looks into its memories and asks what each step
//! reads and writes.
//!
//! A session goes forwards only. Whoever wants to go backwards keeps copies of it ([`Session::fork`]): a machine does the
//! same again from the same state.

use std::fmt::Display;

use npukit_asm::ListingLine;
use npukit_graph::Graph;

use crate::error::TargetError;
use crate::hand::BenchMemory;
use crate::run_options::Meaning;
use crate::view::View;

/// How a program is to be debugged.
#[derive(Clone, Copy, Default)]
pub struct SessionOptions<'a> {
    /// What counts where hardware and sequence differ.
    pub meaning: Meaning,
    /// The graph that the program was compiled from: with it the session also computes in float, by the model's own
    /// constants ([`Session::floats`]).
    pub graph: Option<&'a Graph>,
}

/// Addresses of a memory: `count` of them, `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressRun {
    /// Place of the memory in [`Session::memories`].
    pub memory: usize,
    /// The first address.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// From one to the next.
    pub stride: u64,
}

impl AddressRun {
    /// Addresses one after the other.
    pub const fn dense(memory: usize, first: u64, count: u64) -> Self {
        Self { memory, first, count, stride: 1 }
    }

    /// Which of its addresses `address` of its own memory is.
    pub fn place(&self, address: u64) -> Option<u64> {
        let ahead = address.checked_sub(self.first)?;
        let place = match self.stride {
            0 => (ahead == 0).then_some(0)?,
            stride => ahead.is_multiple_of(stride).then_some(ahead / stride)?,
        };
        (place < self.count).then_some(place)
    }

    /// Its address number `place`.
    pub const fn at(&self, place: u64) -> u64 {
        self.first.wrapping_add(place.wrapping_mul(self.stride))
    }

    /// Whether one of its addresses is among `start .. end` of a memory.
    pub fn meets(&self, memory: usize, start: u64, end: u64) -> bool {
        if self.memory != memory || self.count == 0 || start >= end {
            return false;
        }
        let ahead = start.saturating_sub(self.first);
        let place = if self.stride == 0 { 0 } else { ahead.div_ceil(self.stride) };
        place < self.count && (start..end).contains(&self.at(place))
    }
}

/// Addresses that a step reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// Which.
    pub run: AddressRun,
    /// Whether they are written.
    pub is_write: bool,
}

impl Accessed {
    /// Addresses that are read.
    pub const fn read(run: AddressRun) -> Self {
        Self { run, is_write: false }
    }

    /// Addresses that are written.
    pub const fn write(run: AddressRun) -> Self {
        Self { run, is_write: true }
    }
}

/// A number in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scalar {
    /// Place of the memory in [`Session::memories`].
    pub memory: usize,
    /// Its address.
    pub address: u64,
    /// Which of the numbers there.
    pub lane: usize,
}

/// What a number was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What it is to the instruction, in a word or two.
    pub role: &'static str,
    /// Where it lies.
    pub run: AddressRun,
    /// Which of the numbers of each address; none for all of them.
    pub lane: Option<usize>,
    /// Steps that were done when it became what the step uses, where the step uses what it was earlier; none for what it is
    /// before the step.
    pub since: Option<usize>,
}

impl Operand {
    /// What addresses hold before the step.
    pub const fn new(role: &'static str, run: AddressRun, lane: Option<usize>) -> Self {
        Self { role, run, lane, since: None }
    }
}

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The program's name.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// The memories, in an order that stays.
    pub memories: Vec<BenchMemory>,
    /// The layers.
    pub layers: StepLayers,
    /// Where tensors lie.
    pub placed: Vec<Placed>,
}

impl Outline {
    /// Of a program without layers and tensors, by its name and its target's.
    pub fn new((name, target): (String, String), memories: Vec<BenchMemory>) -> Self {
        Self { name, target, memories, ..Self::default() }
    }
}

/// What a step reads, as operands.
pub fn read_operands(accesses: Vec<Accessed>) -> Vec<Operand> {
    let reads = accesses.into_iter().filter(|accessed| !accessed.is_write);
    reads.map(|accessed| Operand::new("read", accessed.run, None)).collect()
}

/// Does a step in float, too. What it cannot do is told, and ends what is computed in float.
pub fn step_float<F, E: Display>(
    float: &mut Option<F>,
    step: impl FnOnce(&mut F) -> Result<(), E>,
) -> Option<String> {
    let told = step(float.as_mut()?).err()?;
    *float = None;
    Some(format!("in float: {told}; floats are not known from here on"))
}

/// Of a listing, the lines that hold an instruction: what [`Session::listing`] is.
pub fn instruction_lines(lines: Vec<ListingLine>) -> Vec<ListingLine> {
    lines.into_iter().filter(|line| line.word.is_some()).collect()
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

/// A program on its machine, between two steps.
///
/// A step is an instruction, but for machines that execute several at a time: there it is a cycle. Steps count from 0 to
/// [`Self::steps`], which is not one of them; memories by their place in [`Self::memories`].
pub trait Session: Send + Sync {
    /// What is the same at all steps.
    fn outline(&self) -> &Outline;

    /// The program's name.
    fn name(&self) -> &str {
        &self.outline().name
    }

    /// Target and instance.
    fn target(&self) -> &str {
        &self.outline().target
    }

    /// What a step is, in a word.
    fn step_name(&self) -> &'static str {
        "instruction"
    }

    /// How many steps the program has.
    fn steps(&self) -> usize;

    /// Steps that are done: the next one is the step of that number.
    fn position(&self) -> usize;

    /// Does the next step; nothing behind the last. Gives what its author should know of, a sentence each.
    ///
    /// # Errors
    ///
    /// What the machine faults on. It then is as it was before the step.
    fn step(&mut self) -> Result<Vec<String>, TargetError>;

    /// The same at the same step, to go on by itself.
    fn fork(&self) -> Box<dyn Session>;

    /// The memories, in an order that stays.
    fn memories(&self) -> &[BenchMemory] {
        &self.outline().memories
    }

    /// How a person looks at the memories now: each is in one view. Of memories that share their numbers the first view
    /// says most.
    fn views(&self) -> Vec<View> {
        View::of_each(self.memories())
    }

    /// The numbers at `count` addresses from `address` on. Whoever calls has checked that they exist.
    ///
    /// # Errors
    ///
    /// Memory that cannot be read now.
    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError>;

    /// Changes numbers of a memory from `address` on, whole addresses of them, each in the memory's range: what is done from
    /// here on is done with these. Whoever calls has checked this and that the addresses exist. The suite of all targets
    /// finds out by it what a number depends on.
    ///
    /// # Errors
    ///
    /// Memory that cannot be changed now, or not from outside.
    fn write(&mut self, memory: usize, _address: u64, _numbers: &[i64]) -> Result<(), TargetError> {
        let name = self.memories().get(memory).map_or("this memory", |memory| &memory.name);
        Err(TargetError::failed(format!("`{name}` is not changed under a debugger")))
    }

    /// The real value of a number; none in a memory of integers only.
    fn real(&self, memory: usize, number: i64) -> Option<f64>;

    /// What the numbers would be in float, with nothing rounded on the way; none where nobody computes it. Where it is known of
    /// some of them only, the others are no numbers (NaN).
    fn floats(&self, _memory: usize, _address: u64, _count: u64) -> Option<Vec<f64>> {
        None
    }

    /// What the numbers in float are, in a sentence; none where there are none.
    fn floats_are(&self) -> Option<&'static str> {
        None
    }

    /// What a step reads and writes; of all steps, whether they are done or not.
    fn accesses(&self, step: usize) -> Vec<Accessed>;

    /// What `scalar` was computed from by `step`, which wrote it. All that the step reads, unless the machine knows better.
    fn operands(&self, step: usize, _scalar: Scalar) -> Vec<Operand> {
        read_operands(self.accesses(step))
    }

    /// Instructions that begin in a step, by their place in [`Self::listing`].
    fn issued(&self, step: usize) -> Vec<usize> {
        vec![step]
    }

    /// The steps in which an instruction begins, in order, the first of them where there are many.
    fn steps_of(&self, instruction: usize) -> Vec<usize> {
        vec![instruction]
    }

    /// What the step is, where it is more than the instructions that begin in it.
    fn told(&self, _step: usize) -> Option<String> {
        None
    }

    /// The instructions, a line each. It takes time: whoever calls keeps it.
    ///
    /// # Errors
    ///
    /// A program that has no listing.
    fn listing(&self) -> Result<Vec<ListingLine>, TargetError>;

    /// Names of the layers.
    fn layers(&self) -> &[String] {
        &self.outline().layers.names
    }

    /// The layer of a step, by its place in [`Self::layers`].
    fn layer(&self, step: usize) -> Option<usize> {
        self.outline().layers.at(step)
    }

    /// Where tensors lie.
    fn placed(&self) -> &[Placed] {
        &self.outline().placed
    }

    /// Results that did not fit, in the steps that are done.
    fn saturations(&self) -> u64 {
        0
    }

    /// When the clock has each step, as far as it knows. It takes time: whoever calls keeps it.
    ///
    /// # Errors
    ///
    /// A machine without a clock, and a program that the clock cannot run.
    fn moments(&self) -> Result<Vec<Moment>, TargetError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judged by going through all addresses.
    #[test]
    fn runs_know_their_addresses() {
        for (first, count, stride) in [(7, 3, 4), (0, 1, 1), (5, 0, 1), (3, 4, 1), (9, 1, 0), (2, 5, 8)] {
            let run = AddressRun { memory: 1, first, count, stride };
            let all: Vec<u64> = (0..count).map(|place| first + place * stride).collect();
            for start in 0..50 {
                assert_eq!(run.place(start), all.iter().position(|&a| a == start).map(|p| p as u64));
                for end in start..50 {
                    let meets = all.iter().any(|address| (start..end).contains(address));
                    assert_eq!(run.meets(1, start, end), meets, "{run:?} {start}..{end}");
                    assert!(!run.meets(0, start, end));
                }
            }
        }
    }
}
