//! Programs that the hardware never finishes: [`Hang`].

use std::fmt;

use super::unit::Unit;
use crate::config::Reading;
use crate::isa::op::{Op, SimdOp};

/// A SIMD form that the hardware never completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StuckForm {
    /// Neither source is the input, so the vector that is read is never consumed.
    InputUnused,
    /// A source is the input, but nothing is read.
    InputMissing,
    /// A NoOp with a flag waits for data without a routing instruction.
    NoOpMoves,
}

impl fmt::Display for StuckForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InputUnused => "it reads an input that neither source uses",
            Self::InputMissing => {
                "a source is the input, even if the operation ignores it, and nothing is read"
            }
            Self::NoOpMoves => "a NoOp with the read or write flag waits for data, but nothing routes them",
        })
    }
}

/// Returns the form of an instruction that leaves a unit waiting forever; `None` if it completes.
fn stuck_form(op: &Op, reading: Reading) -> Option<StuckForm> {
    let Op::Simd { read, write, sub, .. } = *op else { return None };
    match sub.op {
        SimdOp::NoOp => (reading == Reading::Released && (read || write)).then_some(StuckForm::NoOpMoves),
        _ if reading == Reading::Released && read && !sub.takes_input(reading) => {
            Some(StuckForm::InputUnused)
        }
        _ if !read && sub.takes_input(reading) => Some(StuckForm::InputMissing),
        _ => None,
    }
}

/// Error: the decoder waits forever for a unit to take its part of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction {instruction} is never accepted: the {unit} never takes its part{}", cause(.stuck))]
pub struct Hang {
    /// Index of the instruction at the decoder.
    pub instruction: usize,
    /// Unit that never takes its part of the instruction.
    pub unit: Unit,
    /// Index and form of the first instruction that leaves a unit waiting forever; `None` if
    /// unknown.
    pub stuck: Option<(usize, StuckForm)>,
}

impl Hang {
    /// Creates the error: instruction `instruction` of `ops` waits for `unit` forever.
    pub(super) fn new(ops: &[Op], instruction: usize, unit: Unit, reading: Reading) -> Self {
        let before = ops.iter().take(instruction + 1).enumerate();
        let stuck = before.filter_map(|(index, op)| Some((index, stuck_form(op, reading)?))).next();
        Self { instruction, unit, stuck }
    }

    /// Renumbers instructions after the first `count`, which do not hang, are removed.
    pub(crate) fn move_back(&mut self, count: usize) {
        self.instruction = self.instruction.saturating_sub(count);
        if let Some((index, _)) = &mut self.stuck {
            *index = index.saturating_sub(count);
        }
    }
}

fn cause(stuck: &Option<(usize, StuckForm)>) -> String {
    stuck.map_or_else(String::new, |(index, form)| {
        format!(", because instruction {index} (SIMD) is never completed: {form}")
    })
}
