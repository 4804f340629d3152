//! [`Machine`]: a program on its machine that can run or step, with open memories in between.
//! Debuggers, assembly programs, Python and analyses of a step's accesses use it.
//!
//! A machine only moves forward. To step back, keep copies ([`Machine::fork`]) and replay from
//! them: execution is deterministic.

mod access;
mod memory;
mod outline;
mod run;
pub mod view;

use std::fmt::Display;

use npukit_asm::ListingLine;
use npukit_graph::Graph;

use crate::config::run_options::HazardMode;
use crate::contract::cosim::{CosimJudge, CosimOptions};
use crate::contract::motion::Motion;
use crate::error::TargetError;
use view::View;

pub use access::{Accessed, AddressRun, Operand, Scalar, read_operands};
pub use memory::{MachineMemory, number_of, real_of};
pub use outline::{Moment, Outline, Placed, PlacedKind, StepLayers};
pub use run::{Executed, Halt, Limits, Remark, RunOutcome, Saturated, Stopped, execute, run_steps};

/// Options of the machine of a program with inputs.
#[derive(Clone, Copy, Default)]
pub struct MachineOptions<'a> {
    /// Meaning to use where hardware and sequential execution differ.
    pub meaning: HazardMode,
    /// Graph that the program was compiled from. With it the machine also computes in float, with
    /// the model's own constants ([`Machine::floats`]).
    pub graph: Option<&'a Graph>,
}

/// Executes a step in float, too. If the step fails, the reason is reported and the float
/// computation ends.
pub fn step_float<F, E: Display>(
    float: &mut Option<F>,
    step: impl FnOnce(&mut F) -> Result<(), E>,
) -> Option<String> {
    let message = step(float.as_mut()?).err()?;
    *float = None;
    Some(format!("float computation stops here: {message}"))
}

/// Keeps the lines of a listing that hold an instruction, as [`Machine::listing`] returns them.
pub fn instruction_lines(lines: Vec<ListingLine>) -> Vec<ListingLine> {
    lines.into_iter().filter(|line| line.word.is_some()).collect()
}

/// Values that numbers of a machine would have in float.
#[derive(Clone, Debug, PartialEq)]
pub struct Floats {
    /// Values; unknown elements are NaN.
    pub values: Vec<f64>,
    /// Computation that yields them, in one sentence.
    pub are: &'static str,
}

/// A program on its machine, between two steps.
///
/// A step is one instruction, or one cycle on machines that execute several instructions at a time.
/// Steps are numbered from 0 to [`Self::steps`] (exclusive). Memories are numbered by their index
/// in [`Outline::memories`].
pub trait Machine: Send + Sync {
    /// Returns the properties that are the same at all steps.
    fn outline(&self) -> &Outline;

    /// Returns the number of steps of the program.
    fn steps(&self) -> usize;

    /// Returns the number of completed steps, which is the index of the next step.
    fn position(&self) -> usize;

    /// Executes the next step; does nothing after the last one. Returns remarks for the program's
    /// author, one sentence each.
    ///
    /// # Errors
    ///
    /// A fault of the machine, which then stays in the state before the step.
    fn step(&mut self) -> Result<Vec<String>, TargetError>;

    /// Executes all remaining steps. A target overrides this if a whole run is faster than single
    /// steps, or to count cycles.
    ///
    /// # Errors
    ///
    /// A fault of the machine; a limit that is reached.
    fn run(&mut self, limits: Limits) -> Result<RunOutcome, Stopped> {
        match limits.cycles {
            None => Ok(run_steps(self, limits, |_, _| Ok(()))?.0),
            Some(_) => Err(Stopped::uncounted("the machine does not count cycles")),
        }
    }

    /// Runs the program from the current memories on the machine's circuit and on the machine. The
    /// machine's memories then hold the results; `judge` receives the circuit's run. `None` for a
    /// machine without a circuit.
    ///
    /// # Errors
    ///
    /// An instance without a circuit; programs that cannot be compared; a fault of the machine.
    fn cosim(
        &mut self,
        _options: &CosimOptions,
        _judge: &mut CosimJudge<'_>,
    ) -> Option<Result<(), TargetError>> {
        None
    }

    /// Returns an independent copy at the same step.
    fn fork(&self) -> Box<dyn Machine>;

    /// Returns how to display the memories at this step; each memory is in one view. If memories
    /// share their content, the first view is the most informative one.
    fn views(&self) -> Vec<View> {
        View::of_each(&self.outline().memories)
    }

    /// Returns the numbers at `count` addresses, starting at `address`. The caller has checked that
    /// the addresses exist.
    ///
    /// # Errors
    ///
    /// Memory that cannot be read at this step.
    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError>;

    /// Overwrites numbers of a memory, starting at `address`; later steps use the new numbers. The
    /// caller has checked that they fill whole addresses, are in the memory's range, and that the
    /// addresses exist.
    ///
    /// # Errors
    ///
    /// Memory that cannot be changed at this step, or never from outside.
    fn write(&mut self, memory: usize, _address: u64, _numbers: &[i64]) -> Result<(), TargetError> {
        let name = self.outline().memories.get(memory).map_or("this memory", |memory| &memory.name);
        Err(TargetError::failed(format!("`{name}` cannot be changed from outside")))
    }

    /// Converts a real value to the number format of a memory; `None` for a memory that holds only
    /// integers.
    fn number(&self, _memory: usize, _real: f64) -> Option<i64> {
        None
    }

    /// Converts a number to its real value; `None` for a memory that holds only integers.
    fn real(&self, _memory: usize, _number: i64) -> Option<f64> {
        None
    }

    /// Returns the values that the numbers would have in float, without any rounding; `None` if
    /// they are not computed.
    fn floats(&self, _memory: usize, _address: u64, _count: u64) -> Option<Floats> {
        None
    }

    /// Returns the addresses that a step reads and writes, for any step, completed or not.
    fn accesses(&self, step: usize) -> Vec<Accessed>;

    /// Returns the operands from which `step` computed `scalar`. By default this is everything that
    /// the step reads.
    fn operands(&self, step: usize, _scalar: Scalar) -> Vec<Operand> {
        read_operands(self.accesses(step))
    }

    /// Returns the instructions that begin in a step, by index in [`Self::listing`].
    fn issued(&self, step: usize) -> Vec<usize> {
        vec![step]
    }

    /// Returns the steps in which an instruction begins, in order. If there are many, only the
    /// first ones are returned.
    fn steps_of(&self, instruction: usize) -> Vec<usize> {
        vec![instruction]
    }

    /// Describes the step, if it is more than the instructions that begin in it.
    fn described(&self, _step: usize) -> Option<String> {
        None
    }

    /// Returns the values inside a unit during the next step, cycle by cycle; `None` if there is no
    /// drawing of this step. Expensive for a long program: the clock runs it up to this step.
    ///
    /// # Errors
    ///
    /// A unit that is too large to draw; a step with a fault; a program that the clock refuses.
    fn motion(&self) -> Result<Option<Motion>, TargetError> {
        Ok(None)
    }

    /// Returns the listing, one line per instruction. Expensive: the caller should keep it.
    ///
    /// # Errors
    ///
    /// A program without a listing.
    fn listing(&self) -> Result<Vec<ListingLine>, TargetError>;

    /// Returns the number of saturated results in the completed steps.
    fn saturations(&self) -> u64 {
        0
    }

    /// Returns the cycles of each step by the clock, as far as known. Expensive: the caller should
    /// keep them.
    ///
    /// # Errors
    ///
    /// A machine without a clock; a program that the clock cannot run.
    fn moments(&self) -> Result<Vec<Moment>, TargetError>;
}

impl dyn Machine + '_ {
    /// Returns [`Outline::name`].
    pub fn name(&self) -> &str {
        &self.outline().name
    }

    /// Returns [`Outline::target`].
    pub fn target(&self) -> &str {
        &self.outline().target
    }

    /// Returns [`Outline::step_name`].
    pub fn step_name(&self) -> &'static str {
        self.outline().step_name
    }

    /// Returns [`Outline::memories`].
    pub fn memories(&self) -> &[MachineMemory] {
        &self.outline().memories
    }

    /// Returns the names of [`Outline::layers`].
    pub fn layers(&self) -> &[String] {
        &self.outline().layers.names
    }

    /// Returns the layer of a step, as index in [`Outline::layers`].
    pub fn layer(&self, step: usize) -> Option<usize> {
        self.outline().layers.at(step)
    }

    /// Whether float values of a memory are computed.
    pub fn has_floats(&self) -> bool {
        let mut memories = self.memories().iter().enumerate();
        memories.any(|(index, memory)| memory.depth > 0 && self.floats(index, 0, 1).is_some())
    }

    /// Returns [`Outline::placed`].
    pub fn placed(&self) -> &[Placed] {
        &self.outline().placed
    }
}
