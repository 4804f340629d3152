//! Attempts under the clock: [`timed`] finds the one that ends first.
//!
//! The clock takes longer than anything else. It runs through an attempt only as long as that may be among those that
//! end first: what is found is what timing all of them to their ends would find, whatever the order.

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

/// The attempt that ended first by the clock, with its instructions in the order that takes least and the clock after it; of
/// those after it the tilings.
pub struct Timed {
    /// The first.
    pub first: (Meter, Attempt),
    /// Those of as many as are ranked, the first one's first.
    pub tilings: Vec<Tiling>,
}

/// What attempts are timed with.
pub struct Timing<'a> {
    /// The clock before them.
    pub meter: &'a Meter,
    /// What is on its way to the accumulators.
    pub pending: &'a Pending,
    /// The instance.
    pub config: &'a Config,
    /// Whether reads of weights may be hidden ([`late`]).
    pub hides_reads: bool,
}

/// Times attempts. One that can be none of the [`RANKED`] that end first is given up as soon as that is known.
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

/// An order of a layer's instructions, of which hardware loses none.
struct Way {
    ops: Vec<Op>,
    /// How many more there are because reads come in pieces.
    pieces: usize,
}

/// The orders that are worth a look.
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
    /// The same with reads of DRAM early.
    fn early(self, meter: &Meter) -> Self {
        let (beats, latency) = meter.reads();
        let pace = Pace { beats, latency, lead: LEAD * beats };
        let Some(early) = ahead(&self.ops, Room::Own, [pace]).next() else { return self };
        let pieces = early.len() - self.ops.len();
        Self { ops: early.into_iter().map(|(op, _)| op).collect(), pieces }
    }
}

/// Vectors that a bank is still to read when a layer asks for the next ones.
const LEAD: u64 = 32;

/// The attempt with its reads of weights late, if that is quicker.
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

/// Attempts whose order by the clock is found out: the one that is taken, and one more for layers that are alike.
const RANKED: usize = 2;

/// Instructions after which an attempt is compared with those that have ended.
const UNTIL_COMPARED: usize = 512;

/// When the attempts that ended first did so, of those timed so far; the last one may wait for as many.
struct Ranks(Mutex<[u64; RANKED]>);

impl Ranks {
    const fn new() -> Self {
        Self(Mutex::new([u64::MAX; RANKED]))
    }

    /// The clock after `ops`, which is entered; none when as many others as are ranked end earlier.
    fn time(&self, ops: &[Op], meter: Meter) -> Option<Meter> {
        let after = self.run(ops, meter)?;
        self.enter(after.cycles());
        Some(after)
    }

    /// The clock after `ops`; none when as many others as are ranked end earlier.
    fn run(&self, ops: &[Op], mut meter: Meter) -> Option<Meter> {
        for part in ops.chunks(UNTIL_COMPARED) {
            meter.run(part);
            // Time does not run back.
            if meter.cycles() > self.last() {
                return None;
            }
        }
        Some(meter)
    }

    /// When they ended. Default: what a thread that panicked leaves is whole, as there is nothing between its parts.
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
    use crate::lower::schedule::cost::{Minimise, Waits};
    use crate::lower::schedule::search::tests::{config, model};
    use crate::lower::schedule::search::{Known, Search};
    use crate::lower::tile::{Context, State};

    /// When each attempt ends, in the order of attempts: every one to its end.
    fn literally(attempts: Vec<Attempt>, meter: &Meter, config: &Config) -> Vec<(u64, Tiling)> {
        let time = |Attempt { tiling, ops, .. }: Attempt| {
            let mut meter = meter.clone();
            let ops = separate(overlap(ops, config), &Pending::default(), Some(&meter));
            ops.iter().for_each(|op| meter.push(op));
            (meter.cycles(), tiling)
        };
        attempts.into_iter().map(time).collect()
    }

    /// Attempts that are given up are none of those that the literal search would rank, on any instance.
    #[test]
    fn what_ends_first_is_what_ends_first_of_all() {
        for (local_depth, accumulator_depth, latency) in
            [(90, 24, 5), (90, 24, 60), (200, 24, 20), (400, 100, 20), (120, 60, 200)]
        {
            let config = Config { local_depth, accumulator_depth, ..config() };
            let params = ClockParams { axi_bits: 32, ..ClockParams::with_latency(latency) };
            let meter = Minimise::Clock(params).meter(&config).expect("whole beats");
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

    /// The third of three is given up where it passes the second, even when it is timed last.
    #[test]
    fn an_attempt_is_given_up_once_it_cannot_be_ranked() {
        let ranks = Ranks::new();
        [70, 40, 50, 90].into_iter().for_each(|cycles| ranks.enter(cycles));
        assert_eq!(ranks.last(), 50);
        let config = Config::preset("ultra96v2").expect("a preset");
        let params = ClockParams::with_latency(20);
        let meter = Minimise::Clock(params).meter(&config).expect("whole beats");
        let ops = |count| vec![Op::NoOp; count];
        assert!(ranks.time(&ops(60), meter.clone()).is_none());
        assert_eq!(ranks.time(&ops(20), meter.clone()).map(|after| after.cycles() < 40), Some(true));
        assert!(ranks.time(&ops(45), meter).is_none(), "now the second ends at 40");
    }
}
