//! Whether a hazard makes hardware compute something else: [`judge`] asks the clock.
//!
//! What decides is when the decoder comes to the second instruction. Where instructions between them wait for DRAM,
//! that depends on the board's memory, whose latency is not known of every board: so each hazard is looked at with
//! memories from one that answers at once to one slower than any board's.

use super::{Hazard, Pending};
use crate::clock::{Clock, Timeline};
use crate::config::{ClockError, ClockParams, Config};
use crate::isa::op::Op;
use crate::machine::losing::LostWrite;

/// Latencies of memory, in cycles, at which hazards are looked at beside the board's own.
const LATENCIES: [u64; 6] = [0, 1, 10, 30, 100, 400];

/// What becomes of a write that hardware may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is lost with every memory looked at.
    Lost,
    /// It is lost with one memory and not with another.
    Depends {
        /// A latency with which it is lost, in cycles.
        lost_at: u64,
        /// A latency with which it is not.
        kept_at: u64,
    },
    /// It has happened in time with every memory looked at.
    Kept,
    /// There is no clock for the instance.
    Unknown,
}

/// A hazard and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The hazard.
    pub hazard: Hazard,
    /// What becomes of it.
    pub verdict: Verdict,
}

impl Judged {
    /// Whether hardware can compute something else than the instructions say.
    pub fn differs(&self) -> bool {
        self.verdict != Verdict::Kept
    }

    /// What is wrong.
    pub fn reason(&self) -> String {
        let Self { hazard, verdict } = self;
        match verdict {
            Verdict::Lost => hazard.to_string(),
            Verdict::Depends { lost_at, kept_at } => format!(
                "{hazard}; so with memory that answers after {lost_at} cycles, but not after {kept_at}: what the \
                 board's memory does decides"
            ),
            Verdict::Kept => format!(
                "only time keeps the addition from reading acc[{:#x}] before instruction {} has written it",
                hazard.address, hazard.first
            ),
            Verdict::Unknown => {
                format!(
                    "{hazard}, if it comes before that: there is no clock for this instance that could tell"
                )
            }
        }
    }

    /// What to do.
    pub const HINT: &str = "put another command of the accumulators between them, such as a SIMD that only reads; NoOps do not help";
}

/// The hazards of a program in the order of its second instructions.
pub fn hazards(ops: &[Op]) -> Vec<Hazard> {
    let mut pending = Pending::default();
    ops.iter().enumerate().filter_map(|(i, op)| pending.follow(i, op)).collect()
}

/// The hazards of a program on a board with `memory`, and what becomes of them.
pub fn judge(config: &Config, ops: &[Op], memory: ClockParams) -> Vec<Judged> {
    let hazards = hazards(ops);
    if hazards.is_empty() {
        return Vec::new();
    }
    let found = timelines(config, ops, memory);
    let verdict = |hazard: &Hazard| found.as_ref().map_or(Verdict::Unknown, |found| verdict(hazard, found));
    hazards.into_iter().map(|hazard| Judged { hazard, verdict: verdict(&hazard) }).collect()
}

/// By latency, what the clock says with the board's memory and with others.
///
/// # Errors
///
/// Instances that have no clock.
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

/// What hardware with `memory` loses of a program.
///
/// # Errors
///
/// [`ClockError`] for instances that have no clock: vectors that do not fill whole beats of the bus.
pub fn lost(config: &Config, ops: &[Op], memory: ClockParams) -> Result<Vec<LostWrite>, ClockError> {
    // Only the clock can tell, but it need not be asked where nothing can be lost.
    if hazards(ops).is_empty() {
        return Ok(Vec::new());
    }
    let Timeline { lost, .. } = Clock::new(config, memory.as_released())?.run(ops);
    Ok(lost)
}
