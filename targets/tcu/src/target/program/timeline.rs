//! Runs the clock for reports: [`TimeError`] where it has no answer.

use super::TcuProgram;
use super::settings::Settings;
use crate::clock::timing::estimate;
use crate::clock::{Clock, Hang, Timeline};
use crate::config::ClockError;
use crate::program::Program;

/// The longest program the clock is asked about, in the estimator's cycles: it looks at every vector,
/// and a few damaged bytes can ask for 2^60.
const MAX_CYCLES: u64 = 1 << 28;

/// Why the clock has no cycles for a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeError {
    /// It looks at every vector, and these are too many.
    #[error("the estimator gives {cycles} cycles, and the clock looks at {MAX_CYCLES} at most")]
    TooLong {
        /// The estimator's.
        cycles: u64,
    },
    /// The hardware cannot be built.
    #[error("hardware with this memory cannot be built")]
    Clock(#[from] ClockError),
    /// The hardware would wait for ever.
    #[error(
        "{place} hangs the hardware: {hang}; its timeout flag rises in cycle {timeout_cycle} and stays; \
         `--clock estimator` still estimates the program"
    )]
    Hang {
        /// Of the instruction.
        place: String,
        /// What it waits for, and why that does not come.
        hang: Hang,
        /// When the decoder has held it too long.
        timeout_cycle: u64,
    },
}

impl TcuProgram {
    /// The clock for a program that is not too long for it.
    pub(super) fn clock(&self, settings: &Settings) -> Result<Clock, TimeError> {
        let Program { config, instructions, .. } = &self.program;
        let cycles = estimate(config, instructions).cycles;
        if cycles > MAX_CYCLES {
            return Err(TimeError::TooLong { cycles });
        }
        Ok(Clock::new(config, settings.memory)?)
    }

    /// The clock's cycles.
    pub(super) fn timeline(&self, settings: &Settings) -> Result<Timeline, TimeError> {
        self.complete(self.clock(settings)?.run(&self.program.instructions))
    }

    /// A timeline that has an end.
    pub(super) fn complete(&self, timeline: Timeline) -> Result<Timeline, TimeError> {
        let Some(hang) = timeline.hang else { return Ok(timeline) };
        let timeout_cycle = timeline.timeout.last;
        Err(TimeError::Hang { place: self.program.place(hang.instruction), hang, timeout_cycle })
    }
}
