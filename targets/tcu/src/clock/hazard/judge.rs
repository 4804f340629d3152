//! Decision whether a hazard changes results: [`judge`] runs the clock.
//!
//! The result depends on when the decoder reaches the second instruction. If instructions in
//! between wait for DRAM, that depends on the latency of the board's memory, which is not known for
//! every board. Each hazard is therefore timed with several memories, from one that answers
//! immediately to one slower than any board's.

use super::{Hazard, Pending};
use crate::clock::{Clock, Timeline};
use crate::config::{ClockError, ClockParams, Config};
use crate::isa::op::Op;
use crate::machine::losing::LostWrite;

/// Memory latencies in cycles at which hazards are timed, in addition to the board's own.
const LATENCIES: [u64; 6] = [0, 1, 10, 30, 100, 400];

/// Fate of a write that hardware may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The write is lost with every memory latency tried.
    Lost,
    /// The write is lost with some memory latencies and kept with others.
    Depends {
        /// A latency in cycles with which it is lost.
        lost_at: u64,
        /// A latency in cycles with which it is kept.
        kept_at: u64,
    },
    /// The write happens in time with every memory latency tried.
    Kept,
    /// The clock does not support the instance.
    Unknown,
}

/// A hazard and its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Hazard found in the program.
    pub hazard: Hazard,
    /// Whether hardware loses the hazard's first write.
    pub verdict: Verdict,
}

impl Judged {
    /// Whether hardware can compute something other than the instructions specify.
    pub fn differs(&self) -> bool {
        self.verdict != Verdict::Kept
    }

    /// Returns the text of the problem.
    pub fn reason(&self) -> String {
        let Self { hazard, verdict } = self;
        match verdict {
            Verdict::Lost => hazard.to_string(),
            Verdict::Depends { lost_at, kept_at } => format!(
                "{hazard}; this happens if memory answers after {lost_at} cycles, but not after {kept_at}: \
                 it depends on the board's memory"
            ),
            Verdict::Kept => format!(
                "only timing keeps the addition from reading acc[{:#x}] before instruction {} has written it",
                hazard.address, hazard.first
            ),
            Verdict::Unknown => {
                format!(
                    "{hazard}, if the read comes first; this is unknown, as the clock does not support this instance"
                )
            }
        }
    }

    /// Hint on how to avoid the hazard.
    pub const HINT: &str = "put another command of the accumulators between them, such as a SIMD that only reads; NoOps do not help";
}

/// Returns the hazards of a program, ordered by their second instructions.
pub fn hazards(ops: &[Op]) -> Vec<Hazard> {
    let mut pending = Pending::default();
    ops.iter().enumerate().filter_map(|(i, op)| pending.follow(i, op)).collect()
}

/// Returns the hazards of a program on a board with `memory`, with their verdicts.
pub fn judge(config: &Config, ops: &[Op], memory: ClockParams) -> Vec<Judged> {
    let hazards = hazards(ops);
    if hazards.is_empty() {
        return Vec::new();
    }
    let found = timelines(config, ops, memory);
    let verdict = |hazard: &Hazard| found.as_ref().map_or(Verdict::Unknown, |found| verdict(hazard, found));
    hazards.into_iter().map(|hazard| Judged { hazard, verdict: verdict(&hazard) }).collect()
}

/// Returns timelines by latency, with the board's memory and with others.
///
/// # Errors
///
/// Fails if the clock does not support the instance.
pub(super) fn timelines(
    config: &Config,
    ops: &[Op],
    memory: ClockParams,
) -> Result<Vec<(u64, Timeline)>, ClockError> {
    let latencies = std::iter::once(memory.read_latency).chain(LATENCIES);
    let timeline = |latency| {
        let params = ClockParams { axi_bits: memory.axi_bits, ..ClockParams::with_latency(latency) };
        Ok((latency, Clock::new(config, params)?.run(ops)))
    };
    latencies.map(timeline).collect()
}

fn verdict(hazard: &Hazard, found: &[(u64, Timeline)]) -> Verdict {
    let is_lost =
        |timeline: &Timeline| timeline.lost.binary_search_by_key(&hazard.second, |lost| lost.second).is_ok();
    let latency = |wanted: bool| found.iter().find(|(_, at)| is_lost(at) == wanted).map(|found| found.0);
    match (latency(true), latency(false)) {
        (Some(lost_at), Some(kept_at)) => Verdict::Depends { lost_at, kept_at },
        (Some(_), None) => Verdict::Lost,
        (None, _) => Verdict::Kept,
    }
}

/// Returns the writes that hardware with `memory` loses.
///
/// # Errors
///
/// Fails with [`ClockError`] if the clock does not support the instance: vectors do not fill whole
/// beats of the bus.
pub fn lost(config: &Config, ops: &[Op], memory: ClockParams) -> Result<Vec<LostWrite>, ClockError> {
    // Only the clock can decide whether a write is lost. It need not run if no hazard exists.
    if hazards(ops).is_empty() {
        return Ok(Vec::new());
    }
    let Timeline { lost, .. } = Clock::new(config, memory.as_released())?.run(ops);
    Ok(lost)
}
