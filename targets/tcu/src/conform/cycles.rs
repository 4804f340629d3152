//! Cycles against measurements of hardware: runs of the [`Clock`] and the rule by which they pass.

use npukit_target::Outcome;

use super::recipes::{self, Measure};
use crate::clock::{Clock, ClockParams, Timeline};
use crate::config::Config;
use crate::op::Op;

/// Cycles that may be missing or too many.
const TOLERANCE_CYCLES: u64 = 2;
/// Or the part of the number that may, as its inverse: 0.5 %.
const TOLERANCE_INVERSE: u64 = 200;

/// Passes when every number is within 2 cycles or 0.5 %.
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

/// An outcome, or the failure to get one.
pub(super) fn outcome(expected: &str, checked: Result<Outcome, String>) -> Outcome {
    checked.unwrap_or_else(|error| Outcome::error(expected, error))
}

/// A steady state as the difference quotient of two numbers of repetitions.
///
/// The numbers are not published; these give the fractions that are. What only queues commands shows
/// its rate when the queues are full.
pub(super) fn steady(config: &Config, name: &str, expected: f64) -> Option<Outcome> {
    let (ops, latency) = recipes::steady(name)?;
    let n = config.array_size;
    let (from, to) = match name {
        _ if name.starts_with("simd_") && ops.len() == 1 => (8 * n, 12 * n),
        _ if name.contains("zeroes") => (8 * n, 12 * n),
        _ if name.starts_with("dram") => (8, 24),
        _ => (16, 32),
    };
    let total = |times: usize| {
        let repeated: Vec<Op> = ops.iter().copied().cycle().take(times * ops.len()).collect();
        run(config, ClockParams::with_latency(latency), &repeated).map(|timeline| timeline.total)
    };
    let cycles = (expected * (to - from) as f64).round() as u64;
    let checked = total(from).and_then(|from| Ok(compare(&[cycles], &[total(to)?.saturating_sub(from)])));
    Some(outcome("a steady state", checked))
}

/// What is measured of a single instruction after a pause.
pub(super) fn single(config: &Config, name: &str, expected: u64) -> Option<Outcome> {
    let (op, latency, measure) = recipes::single(name)?;
    let timeline = run(config, ClockParams::with_latency(latency), &[Op::NoOp, op]);
    let got = timeline.map(|timeline| {
        let [before, accepted] = timeline.accept[..] else { return 0 };
        let last = timeline.last;
        let event = match measure {
            Measure::Occupancy => accepted,
            Measure::AccumulatorWrite => last.accumulator_write,
            Measure::LocalWrite => last.local_write,
            Measure::AxiWrite => last.axi_write,
            Measure::WeightLoad => last.weight_load,
        };
        event.saturating_sub(before)
    });
    Some(outcome(name, got.map(|got| compare(&[expected], &[got]))))
}

/// How long the decoder holds a transfer of each size after a pause.
pub(super) fn occupancy(
    config: &Config,
    table: &str,
    vectors: &[usize],
    expected: &[u64],
) -> Option<Outcome> {
    let mut got = Vec::new();
    for &size in vectors {
        let (op, latency) = recipes::transfer(table, size as u64)?;
        match run(config, ClockParams::with_latency(latency), &[Op::NoOp, op]) {
            Ok(timeline) => got.extend(timeline.accept.windows(2).map(|pair| pair[1] - pair[0])),
            Err(error) => return Some(Outcome::error(table, error)),
        }
    }
    Some(compare(expected, &got))
}

/// Acceptances and last events of a few instructions after a pause, from the pause on; an event that
/// does not happen is 0. Events: accumulator write, local write, AXI write, weight load.
pub(super) fn short(config: &Config, name: &str, expected: &[u64]) -> Option<Outcome> {
    let mut ops = vec![Op::NoOp];
    ops.extend(recipes::short(name, config.array_size as u64 + 1)?);
    let timeline = run(config, ClockParams::with_latency(1), &ops);
    let got = timeline.map(|timeline| {
        let start = timeline.accept.first().copied().unwrap_or_default();
        let last = timeline.last;
        let events = [last.accumulator_write, last.local_write, last.axi_write, last.weight_load];
        let accepted = timeline.accept.into_iter().skip(1);
        accepted.chain(events).map(|cycle| cycle.saturating_sub(start)).collect::<Vec<u64>>()
    });
    Some(outcome(name, got.map(|got| compare(expected, &got))))
}

/// Whether repeating an instruction until every queue is full hangs the unit.
pub(super) fn hangs(config: &Config, op: Op) -> bool {
    let repeated = vec![op; 8 * config.array_size];
    run(config, ClockParams::with_latency(1), &repeated).is_err()
}
