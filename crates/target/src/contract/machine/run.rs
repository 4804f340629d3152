//! Runs of a machine: limits, results, and the run step by step ([`run_steps`]).

use std::fmt::Display;

use super::Machine;
use crate::error::TargetError;

/// Limits of a run; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of executed instructions.
    pub instructions: Option<u64>,
    /// Maximum number of cycles, for a machine that counts them.
    pub cycles: Option<u64>,
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOutcome {
    /// Number of executed instructions.
    pub instructions: u64,
    /// Number of cycles, if the machine counts them while it runs.
    pub cycles: Option<u64>,
    /// Remarks for the program's author, above all reads of unwritten memory.
    pub remarks: Vec<Remark>,
}

/// A remark about an executed instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Index of the instruction in the program, starting at 0; `None` if the remark concerns no
    /// single instruction.
    pub instruction: Option<usize>,
    /// Text of the remark.
    pub message: String,
}

/// Why a machine did not reach the end of its program.
#[derive(Debug)]
pub struct Stopped {
    /// Index of the instruction at which it stopped, starting at 0, if known.
    pub instruction: Option<usize>,
    /// Cause of the stop.
    pub error: TargetError,
}

impl Stopped {
    /// Creates the error of a run that reaches its limit.
    pub fn limit(instruction: usize, limit: u64, what: &str) -> Self {
        let error = TargetError::failed(format!("the limit of {limit} {what} is reached"));
        Self { instruction: Some(instruction), error }
    }

    /// Creates the error of a cycle limit on a machine that does not count cycles.
    pub fn uncounted(reason: impl Display) -> Self {
        let message = format!("cycles cannot be limited, since they are not counted: {reason}");
        Self { instruction: None, error: TargetError::failed(message) }
    }
}

/// Saturated results of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturated {
    /// Index of the first instruction with saturated results, starting at 0; `None` for a step
    /// without an instruction.
    pub instruction: Option<usize>,
    /// Number of saturated results of that instruction.
    pub count: u64,
    /// Number of saturated results in the whole run.
    pub total: u64,
}

impl Saturated {
    /// Creates a remark at the first instruction with saturated results.
    pub const fn remark(self, message: String) -> Remark {
        Remark { instruction: self.instruction, message }
    }
}

/// Why an instruction did not complete.
#[derive(Debug)]
pub enum Halt {
    /// It reads unwritten memory. The code that reports this has marked the memory as written, so
    /// that the instruction can be executed again.
    Unwritten(String),
    /// It completed, and the program ends with it.
    End,
    /// It cannot be executed.
    Fault(TargetError),
}

/// Result of executing an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Message about the first unwritten memory that it read, if any.
    pub remark: Option<String>,
    /// Whether the program ends with it.
    pub ends: bool,
}

/// Executes an instruction, and repeats `step` after each [`Halt::Unwritten`]; `step` must not have
/// changed anything further by then.
///
/// # Errors
///
/// [`Halt::Fault`]
pub fn execute(mut step: impl FnMut() -> Result<(), Halt>) -> Result<Executed, TargetError> {
    let mut executed = Executed::default();
    while let Err(halt) = step() {
        match halt {
            Halt::End => {
                executed.ends = true;
                break;
            }
            Halt::Fault(error) => return Err(error),
            Halt::Unwritten(message) => _ = executed.remark.get_or_insert(message),
        }
    }
    Ok(executed)
}

/// Maximum number of reads of unwritten memory that are reported individually.
const TOLD: usize = 100;

/// Executes all remaining steps of a machine. Calls `begins` before each step that has an
/// instruction. Also returns the saturated results.
///
/// # Errors
///
/// A fault of the machine; the instruction limit; an error of `begins`.
pub fn run_steps<M: Machine + ?Sized>(
    machine: &mut M,
    limits: Limits,
    mut begins: impl FnMut(&M, usize) -> Result<(), TargetError>,
) -> Result<(RunOutcome, Option<Saturated>), Stopped> {
    let (mut ran, mut more, mut first) = (RunOutcome::default(), 0_u64, None);
    let before = machine.saturations();
    while machine.position() < machine.steps() {
        let issued = machine.issued(machine.position());
        let instruction = issued.first().copied();
        if let Some(index) = instruction {
            if let Some(limit) = limits.instructions.filter(|&limit| ran.instructions >= limit) {
                return Err(Stopped::limit(index, limit, "instructions"));
            }
            begins(machine, index).map_err(|error| Stopped { instruction, error })?;
        }
        ran.instructions += issued.len() as u64;
        let messages = machine.step().map_err(|error| Stopped { instruction, error })?;
        for message in messages {
            if ran.remarks.len() < TOLD {
                ran.remarks.push(Remark { instruction, message });
            } else {
                more += 1;
            }
        }
        let saturated = machine.saturations() - before;
        if saturated > 0 {
            first.get_or_insert((instruction, saturated));
        }
    }
    let rest = (more > 0).then(|| Remark {
        instruction: None,
        message: format!("and {more} other instructions read unwritten memory"),
    });
    ran.remarks.extend(rest);
    let total = machine.saturations() - before;
    Ok((ran, first.map(|(instruction, count)| Saturated { instruction, count, total })))
}
