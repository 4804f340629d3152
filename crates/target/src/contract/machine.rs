//! [`Machine`]: a program on its machine, which is run or stepped, and whose memories are open in between: for debuggers,
//! programs by hand, Python, and whoever asks what a step reads and writes.
//!
//! A machine goes forwards only. Whoever wants to go backwards keeps copies of it ([`Machine::fork`]): it does the same again
//! from the same state.

mod access;
mod memory;
mod outline;
mod run;
pub mod view;

use std::fmt::Display;

use npukit_asm::ListingLine;
use npukit_graph::Graph;

use crate::config::run_options::Meaning;
use crate::contract::cosim::{CosimJudge, CosimOptions};
use crate::error::TargetError;
use view::View;

pub use access::{Accessed, AddressRun, Operand, Scalar, read_operands};
pub use memory::{MachineMemory, number_of, real_of};
pub use outline::{Moment, Outline, Placed, PlacedKind, StepLayers};
pub use run::{Executed, Halt, Limits, Ran, Remark, Saturated, Stopped, execute, run_steps};

/// How the machine of a program with inputs is to be.
#[derive(Clone, Copy, Default)]
pub struct MachineOptions<'a> {
    /// What counts where hardware and sequence differ.
    pub meaning: Meaning,
    /// The graph that the program was compiled from: with it the machine also computes in float, by the model's own
    /// constants ([`Machine::floats`]).
    pub graph: Option<&'a Graph>,
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

/// Of a listing, the lines that hold an instruction: what [`Machine::listing`] is.
pub fn instruction_lines(lines: Vec<ListingLine>) -> Vec<ListingLine> {
    lines.into_iter().filter(|line| line.word.is_some()).collect()
}

/// A program on its machine, between two steps.
///
/// A step is an instruction, but for machines that execute several at a time: there it is a cycle. Steps count from 0 to
/// [`Self::steps`], which is not one of them; memories by their place in [`Outline::memories`].
pub trait Machine: Send + Sync {
    /// What is the same at all steps.
    fn outline(&self) -> &Outline;

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

    /// Takes all steps that are left. A target has its own where a whole run is quicker than its steps, or where something
    /// counts cycles.
    ///
    /// # Errors
    ///
    /// What the machine stops at; a limit that is reached.
    fn run(&mut self, limits: Limits) -> Result<Ran, Stopped> {
        match limits.cycles {
            None => Ok(run_steps(self, limits, |_, _| Ok(()))?.0),
            Some(_) => Err(Stopped::uncounted("the machine counts no cycles")),
        }
    }

    /// Runs the program from memories as they are on the machine's circuit and on the machine, whose memories then hold what
    /// has come of it; `judge` has the circuit's run. None for a machine without a circuit.
    ///
    /// # Errors
    ///
    /// An instance of which there is no circuit, programs that cannot be compared, and what the machine stops at.
    fn cosim(
        &mut self,
        _options: &CosimOptions,
        _judge: &mut CosimJudge<'_>,
    ) -> Option<Result<(), TargetError>> {
        None
    }

    /// The same at the same step, to go on by itself.
    fn fork(&self) -> Box<dyn Machine>;

    /// How a person looks at the memories now: each is in one view. Of memories that share their numbers the first view
    /// says most.
    fn views(&self) -> Vec<View> {
        View::of_each(&self.outline().memories)
    }

    /// The numbers at `count` addresses from `address` on. Whoever calls has checked that they exist.
    ///
    /// # Errors
    ///
    /// Memory that cannot be read now.
    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError>;

    /// Changes numbers of a memory from `address` on, whole addresses of them, each in the memory's range: what is done from
    /// here on is done with these. Whoever calls has checked this and that the addresses exist.
    ///
    /// # Errors
    ///
    /// Memory that cannot be changed now, or not from outside.
    fn write(&mut self, memory: usize, _address: u64, _numbers: &[i64]) -> Result<(), TargetError> {
        let name = self.outline().memories.get(memory).map_or("this memory", |memory| &memory.name);
        Err(TargetError::failed(format!("`{name}` is not changed from outside")))
    }

    /// The number that a real value becomes in a memory; none in a memory of integers only.
    fn number(&self, _memory: usize, _real: f64) -> Option<i64> {
        None
    }

    /// The real value of a number; none in a memory of integers only.
    fn real(&self, _memory: usize, _number: i64) -> Option<f64> {
        None
    }

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

impl dyn Machine + '_ {
    /// [`Outline::name`].
    pub fn name(&self) -> &str {
        &self.outline().name
    }

    /// [`Outline::target`].
    pub fn target(&self) -> &str {
        &self.outline().target
    }

    /// [`Outline::step_name`].
    pub fn step_name(&self) -> &'static str {
        self.outline().step_name
    }

    /// [`Outline::memories`].
    pub fn memories(&self) -> &[MachineMemory] {
        &self.outline().memories
    }

    /// Names of [`Outline::layers`].
    pub fn layers(&self) -> &[String] {
        &self.outline().layers.names
    }

    /// The layer of a step, by its place in [`Outline::layers`].
    pub fn layer(&self, step: usize) -> Option<usize> {
        self.outline().layers.at(step)
    }

    /// [`Outline::placed`].
    pub fn placed(&self) -> &[Placed] {
        &self.outline().placed
    }
}
