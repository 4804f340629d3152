//! Runs the clock for reports; [`TimeError`] is the reason if it has no result.

use npukit_target::CycleSpan;

use super::TcuProgram;
use super::settings::Settings;
use crate::clock::timing::estimate;
use crate::clock::{Clock, Hang, Slice, Timeline};
use crate::config::ClockError;
use crate::program::Program;

/// Maximum cycles, by the estimator, of a program for which the clock runs. The clock processes
/// every vector, and a few damaged bytes can request 2^60.
const MAX_CYCLES: u64 = 1 << 28;

/// Why the clock has no cycles for a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeError {
    /// The program moves too many vectors for the clock.
    #[error("the estimator gives {cycles} cycles, but the clock supports at most {MAX_CYCLES}")]
    TooLong {
        /// Cycles by the estimator.
        cycles: u64,
    },
    /// The hardware cannot be built.
    #[error("hardware with this memory cannot be built")]
    Clock(#[from] ClockError),
    /// The hardware would wait forever.
    #[error(
        "{place} hangs the hardware: {hang}; its timeout flag rises in cycle {timeout_cycle} and stays; \
         `--clock estimator` still estimates the program"
    )]
    Hang {
        /// Description of the instruction.
        place: String,
        /// Reason for the hang.
        hang: Hang,
        /// Cycle in which the timeout flag rises.
        timeout_cycle: u64,
    },
}

impl TcuProgram {
    /// Creates the clock for a program, if the program is not too long.
    pub(super) fn clock(&self, settings: &Settings) -> Result<Clock, TimeError> {
        let Program { config, instructions, .. } = &self.program;
        let cycles = estimate(config, instructions).cycles;
        if cycles > MAX_CYCLES {
            return Err(TimeError::TooLong { cycles });
        }
        Ok(Clock::new(config, settings.memory)?)
    }

    /// Runs the clock.
    pub(super) fn timeline(&self, settings: &Settings) -> Result<Timeline, TimeError> {
        self.complete(self.clock(settings)?.run(&self.program.instructions))
    }

    /// Runs the clock like [`Self::timeline`]; returns also in which cycles units work for each
    /// instruction.
    pub(super) fn timeline_and_spans(
        &self,
        settings: &Settings,
    ) -> Result<(Timeline, Vec<Option<CycleSpan>>), TimeError> {
        let ops = &self.program.instructions;
        let mut spans = vec![None; ops.len()];
        let timeline = self.clock(settings)?.run_observed(ops, &mut |slice| {
            let Slice { instruction, start: first, end: last, .. } = slice;
            if let Some(span) = spans.get_mut(instruction) {
                CycleSpan::extend(span, Some(CycleSpan { first, last }));
            }
        });
        let timeline = self.complete(timeline)?;
        // The clock counts from the first beat, so the last event ends the last cycle.
        let last = timeline.total.saturating_sub(1);
        spans.iter_mut().flatten().for_each(|span| span.last = span.last.min(last));
        Ok((timeline, spans))
    }

    /// Returns the timeline, or an error if the program hangs.
    pub(super) fn complete(&self, timeline: Timeline) -> Result<Timeline, TimeError> {
        let Some(hang) = timeline.hang else { return Ok(timeline) };
        let timeout_cycle = timeline.timeout.last;
        Err(TimeError::Hang { place: self.program.place(hang.instruction), hang, timeout_cycle })
    }
}
