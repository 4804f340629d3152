//! Comparison of attempts by the clock: [`timed`] finds the one that ends first.
//!
//! Running the clock is the slowest part of the search. It runs an attempt only as long as it can
//! still be among the first to end. The result is the same as timing all attempts to their ends, in
//! any order.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::search::Attempt;
use crate::clock::Meter;
use crate::clock::hazard::Pending;
use crate::config::Config;
use crate::isa::op::Op;
use crate::lower::issue::order::{Shape, order};
use crate::lower::issue::overlap::overlap;
use crate::lower::issue::prefetch::{Pace, Room, ahead};
use crate::lower::issue::prefetch_weights::late;
use crate::lower::issue::separate::separate;
use crate::lower::schedule::tiling::Tiling;

/// Result of timing: the attempt that ended first, with its instructions in the best order and the
/// clock after it, and the ranked tilings.
pub struct Timed {
    /// Clock after the best attempt, and the attempt.
    pub first: (Meter, Attempt),
    /// Tilings of the ranked attempts, best first.
    pub tilings: Vec<Tiling>,
}

/// Inputs of timing.
pub struct Timing<'a> {
    /// Clock before the attempts.
    pub meter: &'a Meter,
    /// Accumulator writes that are still pending.
    pub pending: &'a Pending,
    /// Target instance.
    pub config: &'a Config,
    /// Whether reads of weights may overlap with products ([`late`]).
    pub hides_reads: bool,
}

/// Times attempts. An attempt is abandoned as soon as it cannot be among the first [`RANKED`].
pub fn timed(attempts: Vec<Attempt>, timing: &Timing<'_>) -> Option<Timed> {
    let &Timing { meter, config, hides_reads, .. } = timing;
    let ranks = Ranks::new();
    let time = |attempt: Attempt| {
        let ways = ways(attempt.ops, timing).into_iter();
        let ways = ways.filter_map(|way| Some((ranks.run(&way.ops, meter.clone())?, way)));
        let (after, Way { ops, pieces }) = ways.min_by_key(|(after, _)| after.cycles())?;
        ranks.enter(after.cycles());
        tracing::trace!(tiles = ?attempt.tiling, cycles = after.cycles(), "tiles tried");
        Some((after, Attempt { ops, after: attempt.after.longer(pieces), ..attempt }))
    };
    let mut timed: Vec<(Meter, Attempt)> = attempts.into_par_iter().filter_map(time).collect();
    timed.sort_by_key(|(after, _)| after.cycles());
    let tilings = timed.iter().take(RANKED).map(|(_, attempt)| attempt.tiling).collect();
    let (after, attempt) = timed.into_iter().next()?;
    let first = if hides_reads && !config.overlap.has_queues() {
        with_late_reads(after, attempt, timing)
    } else {
        (after, attempt)
    };
    Some(Timed { first, tilings })
}

/// An order of a layer's instructions in which hardware loses no addition.
struct Way {
    ops: Vec<Op>,
    /// Number of additional instructions because reads are split into pieces.
    pieces: usize,
}

/// Returns the orders worth timing.
fn ways(ops: Vec<Op>, timing: &Timing<'_>) -> Vec<Way> {
    let &Timing { meter, config, pending, .. } = timing;
    let kept = |ops| Way { ops: separate(ops, pending, Some(meter)), pieces: 0 };
    if !config.overlap.has_queues() {
        return vec![kept(overlap(ops, config))];
    }
    let ordered = order(ops.clone(), Shape::new(config, meter));
    [ordered, overlap(ops, config)].map(|ops| kept(ops).early(meter)).into()
}

impl Way {
    /// Returns the order with DRAM reads issued early.
    fn early(self, meter: &Meter) -> Self {
        let (beats, latency) = meter.reads();
        let pace = Pace { beats, latency, lead: LEAD * beats };
        let Some(early) = ahead(&self.ops, Room::Own, [pace]).next() else { return self };
        let pieces = early.len() - self.ops.len();
        Self { ops: early.into_iter().map(|(op, _)| op).collect(), pieces }
    }
}

/// Vectors that a bank still has to read when a layer issues its next reads.
const LEAD: u64 = 32;

/// Returns the attempt with late weight reads, if that is faster.
fn with_late_reads(after: Meter, attempt: Attempt, timing: &Timing<'_>) -> (Meter, Attempt) {
    let Some(ops) = late(&attempt.ops, timing.config.array_size as u64 + 1) else { return (after, attempt) };
    let pieces = ops.len() - attempt.ops.len();
    let ops = separate(ops, timing.pending, Some(timing.meter));
    let ranks = Ranks(Mutex::new([after.cycles(); RANKED]));
    match ranks.time(&ops, timing.meter.clone()).filter(|late| late.cycles() < after.cycles()) {
        Some(quicker) => (quicker, Attempt { ops, after: attempt.after.longer(pieces), ..attempt }),
        None => (after, attempt),
    }
}

/// Number of attempts ranked by the clock: the best attempt, and one more to try for similar
/// layers.
const RANKED: usize = 2;

/// Number of instructions after which an attempt is compared with the finished ones.
const UNTIL_COMPARED: usize = 512;

/// End times of the best attempts so far, ascending.
struct Ranks(Mutex<[u64; RANKED]>);

impl Ranks {
    const fn new() -> Self {
        Self(Mutex::new([u64::MAX; RANKED]))
    }

    /// Runs the clock over `ops` and records its end time; `None` if [`RANKED`] other attempts end
    /// earlier.
    fn time(&self, ops: &[Op], meter: Meter) -> Option<Meter> {
        let after = self.run(ops, meter)?;
        self.enter(after.cycles());
        Some(after)
    }

    /// Runs the clock over `ops`; `None` if [`RANKED`] other attempts end earlier.
    fn run(&self, ops: &[Op], mut meter: Meter) -> Option<Meter> {
        for part in ops.chunks(UNTIL_COMPARED) {
            meter.run(part);
            // Time never decreases, so an attempt that is late now stays late.
            if meter.cycles() > self.last() {
                return None;
            }
        }
        Some(meter)
    }

    /// Returns the end times. Default: a panic in another thread cannot leave them half-written, so
    /// a poisoned lock is ignored.
    fn ended(&self) -> MutexGuard<'_, [u64; RANKED]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> u64 {
        self.ended()[RANKED - 1]
    }

    fn enter(&self, cycles: u64) {
        let mut ended = self.ended();
        ended[RANKED - 1] = ended[RANKED - 1].min(cycles);
        ended.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ClockParams;
    use crate::lower::memory::arena::Arena;
    use crate::lower::memory::{Plan, Strategy};
    use crate::lower::schedule::cost::{Minimize, Waits};
    use crate::lower::schedule::search::tests::{config, model};
    use crate::lower::schedule::search::{Known, Search};
    use crate::lower::tile::{Context, State};

    /// Returns the end time of each attempt, in the order of attempts, each timed to its end.
    fn literally(attempts: Vec<Attempt>, meter: &Meter, config: &Config) -> Vec<(u64, Tiling)> {
        let time = |Attempt { tiling, ops, .. }: Attempt| {
            let mut meter = meter.clone();
            let ops = separate(overlap(ops, config), &Pending::default(), Some(&meter));
            ops.iter().for_each(|op| meter.push(op));
            (meter.cycles(), tiling)
        };
        attempts.into_iter().map(time).collect()
    }

    /// A complete search would never rank an abandoned attempt, on any instance.
    #[test]
    fn what_ends_first_is_what_ends_first_of_all() {
        for (local_depth, accumulator_depth, latency) in
            [(90, 24, 5), (90, 24, 60), (200, 24, 20), (400, 100, 20), (120, 60, 200)]
        {
            let config = Config { local_depth, accumulator_depth, ..config() };
            let params = ClockParams { axi_bits: 32, ..ClockParams::with_latency(latency) };
            let meter = Minimize::Clock(params).meter(&config).expect("whole beats");
            let model = model(&config);
            let plan = Plan::new(&model, &config, Strategy::LocalIsolated).expect("fits");
            let context = Context { model: &model, plan: &plan, config: &config };
            let mut state = State::new(&config, Waits::default(), Arena::new(plan.arena.clone()));
            let mut attempts = || {
                let mut search = Search::new(&model, Known::default());
                search.layer(&mut state, context, &model.layers[0], 6).expect("some fit")
            };
            let pending = Pending::default();
            let timing = Timing { meter: &meter, pending: &pending, config: &config, hides_reads: false };
            let mut all = literally(attempts(), &meter, &config);
            all.sort_by_key(|&(cycles, _)| cycles);
            let Timed { first: (after, attempt), tilings } =
                timed(attempts(), &timing).expect("there is one");
            assert_eq!((after.cycles(), attempt.tiling), all[0]);
            let ranked: Vec<Tiling> = all.iter().take(RANKED).map(|&(_, tiling)| tiling).collect();
            assert_eq!(tilings, ranked);
        }
    }

    /// The third of three is abandoned where it passes the second, even if it is timed last.
    #[test]
    fn an_attempt_is_given_up_once_it_cannot_be_ranked() {
        let ranks = Ranks::new();
        [70, 40, 50, 90].into_iter().for_each(|cycles| ranks.enter(cycles));
        assert_eq!(ranks.last(), 50);
        let config = Config::preset("ultra96v2").expect("a preset");
        let params = ClockParams::with_latency(20);
        let meter = Minimize::Clock(params).meter(&config).expect("whole beats");
        let ops = |count| vec![Op::NoOp; count];
        assert!(ranks.time(&ops(60), meter.clone()).is_none());
        assert_eq!(ranks.time(&ops(20), meter.clone()).map(|after| after.cycles() < 40), Some(true));
        assert!(ranks.time(&ops(45), meter).is_none(), "now the second ends at 40");
    }
}
