//! Comparison of cycles with measurements of hardware: runs of the [`Clock`] and the tolerance.

use npukit_target::Outcome;

use crate::clock::{Clock, Timeline};
use crate::config::{ClockParams, Config};
use crate::isa::op::Op;

/// Absolute tolerance in cycles.
const TOLERANCE_CYCLES: u64 = 2;
/// Relative tolerance, as its inverse: 0.5 %.
const TOLERANCE_INVERSE: u64 = 200;

/// Passes if every number is within 2 cycles or 0.5 %.
pub(super) fn compare(expected: &[u64], got: &[u64]) -> Outcome {
    let near = |(expected, got): (&u64, &u64)| {
        expected.abs_diff(*got) <= TOLERANCE_CYCLES.max(expected / TOLERANCE_INVERSE)
    };
    if expected.len() == got.len() && expected.iter().zip(got).all(near) {
        return Outcome::Measured { exact: expected == got };
    }
    let first = expected.iter().zip(got).position(|pair| !near(pair));
    let at = first.unwrap_or_else(|| expected.len().min(got.len()));
    let shown = |cycles: &[u64]| {
        let cycle = cycles.get(at).map_or_else(|| "nothing".to_owned(), u64::to_string);
        format!("{cycle} as number {at} of {}", cycles.len())
    };
    Outcome::Failed { expected: shown(expected), got: shown(got) }
}

/// Runs `ops` on an instance with memory of `latency` cycles; a hang is an error.
pub(super) fn run(config: &Config, params: ClockParams, ops: &[Op]) -> Result<Timeline, String> {
    let timeline = Clock::new(config, params).map_err(|error| error.to_string())?.run(ops);
    match timeline.hang {
        Some(hang) => Err(hang.to_string()),
        None => Ok(timeline),
    }
}

/// Returns the outcome, or a failure with the error.
pub(super) fn outcome(expected: &str, checked: Result<Outcome, String>) -> Outcome {
    checked.unwrap_or_else(|error| Outcome::error(expected, error))
}
