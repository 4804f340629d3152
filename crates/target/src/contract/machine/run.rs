//! Runs: how long they may be, what they were, and one step by step ([`run_steps`]).

use std::fmt::Display;

use super::Machine;
use crate::error::TargetError;

/// How long a run may be; none for as long as it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Instructions executed.
    pub instructions: Option<u64>,
    /// Cycles, for a machine that counts them.
    pub cycles: Option<u64>,
}

/// What a run was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles, when the machine counts them as it runs.
    pub cycles: Option<u64>,
    /// What its author should know of, first of all reads of memory that nobody has written.
    pub remarks: Vec<Remark>,
}

/// What there is to say of an instruction that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Index of the instruction in the program, from 0; none for what is of no instruction.
    pub instruction: Option<usize>,
    /// What there is to say.
    pub message: String,
}

/// Why a machine did not reach the end of its program.
#[derive(Debug)]
pub struct Stopped {
    /// Index of the instruction that it stopped at, from 0, where it is one.
    pub instruction: Option<usize>,
    /// Why.
    pub error: TargetError,
}

impl Stopped {
    /// The error of a run that is longer than its limit.
    pub fn limit(instruction: usize, limit: u64, what: &str) -> Self {
        let error = TargetError::failed(format!("the limit of {limit} {what} is reached"));
        Self { instruction: Some(instruction), error }
    }

    /// The error of a limit of cycles that nothing counts, for a reason.
    pub fn uncounted(reason: impl Display) -> Self {
        let told = format!("cycles cannot be limited, as nothing counts them: {reason}");
        Self { instruction: None, error: TargetError::failed(told) }
    }
}

/// Results that did not fit in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturated {
    /// Index of the first instruction that had some, from 0; none for a step of no instruction.
    pub instruction: Option<usize>,
    /// How many it had.
    pub count: u64,
    /// How many there were in the whole run.
    pub total: u64,
}

impl Saturated {
    /// A remark on them, at the instruction that had the first.
    pub const fn remark(self, message: String) -> Remark {
        Remark { instruction: self.instruction, message }
    }
}

/// Why an instruction is not done.
#[derive(Debug)]
pub enum Halt {
    /// It reads memory that nobody has written. Whoever says so has marked the memory as written, so that the instruction
    /// can be executed again.
    Unwritten(String),
    /// It is done, and the program ends with it.
    End,
    /// It cannot be executed.
    Fault(TargetError),
}

/// An instruction that was executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// What nobody had written and it read, where it did: the first of these.
    pub remark: Option<String>,
    /// Whether the program ends with it.
    pub ends: bool,
}

/// Executes an instruction: `step` again after each [`Halt::Unwritten`], where it changes nothing but what that says.
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

/// Reads of memory that nobody has written that are told one by one.
const TOLD: usize = 100;

/// Takes all steps of a machine that are left; `begins` is called before each that has an instruction. Also gives the results
/// that did not fit.
///
/// # Errors
///
/// What the machine stops at; the limit of instructions; an error of `begins`.
pub fn run_steps<M: Machine + ?Sized>(
    machine: &mut M,
    limits: Limits,
    mut begins: impl FnMut(&M, usize) -> Result<(), TargetError>,
) -> Result<(Ran, Option<Saturated>), Stopped> {
    let (mut ran, mut more, mut first) = (Ran::default(), 0_u64, None);
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
        message: format!("and {more} other instructions read memory that nobody has written"),
    });
    ran.remarks.extend(rest);
    let total = machine.saturations() - before;
    Ok((ran, first.map(|(instruction, count)| Saturated { instruction, count, total })))
}
