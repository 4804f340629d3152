//! Programs the hardware never finishes: [`Hang`].

use std::fmt;

use super::unit::Unit;
use crate::config::Reading;
use crate::isa::op::{Op, SimdOp};

/// A SIMD form that the hardware never completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StuckForm {
    /// Neither source is the input, so what was read is never consumed.
    InputUnused,
    /// A source is the input, and nothing is read.
    InputMissing,
    /// NoOp with a flag moves data that no router was told of.
    NoOpMoves,
}

impl fmt::Display for StuckForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InputUnused => "it reads an input that no source takes",
            Self::InputMissing => {
                "a source, which may be an ignored right one, is the input, and nothing is read"
            }
            Self::NoOpMoves => "a NoOp with the read or write flag waits for data that nothing routes",
        })
    }
}

/// The form of an instruction that leaves a unit waiting for ever.
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

/// The decoder waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction {instruction} is never accepted: its part for the {unit} is never taken{}", cause(.stuck))]
pub struct Hang {
    /// The instruction at the decoder.
    pub instruction: usize,
    /// The unit that does not take its part.
    pub unit: Unit,
    /// The first instruction that leaves a unit waiting for ever, and why.
    pub stuck: Option<(usize, StuckForm)>,
}

impl Hang {
    /// Instruction `instruction` of `ops` waits for `unit` for ever.
    pub(super) fn new(ops: &[Op], (instruction, unit): (usize, Unit), reading: Reading) -> Self {
        let before = ops.iter().take(instruction + 1).enumerate();
        let stuck = before.filter_map(|(index, op)| Some((index, stuck_form(op, reading)?))).next();
        Self { instruction, unit, stuck }
    }

    /// The same for a program without its first `count` instructions, which do not hang.
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
