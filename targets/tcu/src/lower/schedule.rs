//! The schedule: layers cut into tiles that fit, each tiling tried and the cheapest kept.
//!
//! For every layer the search names the tilings that cost least by the published estimator, which is quick; the clock
//! decides between the best of them.

use std::fmt::Write;
use std::ops::Range;

use npukit_lower::Problem;
use npukit_target::Phase;

use super::arena::Arena;
use super::cost::Minimise;
use super::error::{LowerError, Memory};
use super::hir::{Layer, Model};
use super::memory::{Plan, Strategy};
use super::next_use::NextUse;
use super::search::{Attempt, MAX_INSTRUCTIONS, Search, Tiling};
use super::separate::separate;
use super::tile::{Context, State, TileError};
use super::timed::{Timed, Timing, timed};
use crate::clock::Meter;
use crate::config::Config;
use crate::hazard::{Hazard, Pending, hazards};
use crate::listing::listing;
use crate::op::Op;
use crate::program::Usage;

/// A scheduled model.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// Where objects live.
    pub plan: Plan,
    /// Instructions.
    pub ops: Vec<Op>,
    /// Cycles by what was minimised.
    pub cycles: u64,
    /// Instructions of each layer.
    pub layers: Vec<Range<usize>>,
    /// Tiling taken for each layer.
    tilings: Vec<Tiling>,
    /// Use of local memory.
    pub local: Usage,
    /// Use of the accumulators.
    pub accumulators: Usage,
    config: Config,
}

/// Schedules under one strategy, or under each that fits, keeping the cheapest.
///
/// # Errors
///
/// The chosen strategy's; that of [`Strategy::LocalIsolated`], which needs least, when none fits. Variables that do not all
/// fit local memory are no error of a strategy that was chosen: those that do stay there.
pub fn cheapest(
    model: &Model,
    config: &Config,
    strategy: Option<Strategy>,
    minimise: Minimise,
) -> Result<(Strategy, Scheduled), LowerError> {
    let planned = |strategy| planned(model, config, strategy);
    let (first, others) = match strategy {
        Some(only) if only.local_vars() => {
            (planned(only).or_else(|_| Plan::partial(model, config, only)), &[][..])
        }
        Some(only) => (planned(only), &[][..]),
        None => (planned(Strategy::LocalIsolated), &Strategy::ALL[1..]),
    };
    let others: Vec<Plan> = others.iter().filter_map(|&strategy| planned(strategy).ok()).collect();
    let layers = model.layers.len();
    let phase = Phase::counting("schedule", 2 * (1 + others.len()) * layers);
    let mut best = first.and_then(|plan| schedule(model, config, plan, minimise, u64::MAX, &phase));
    for (others_done, plan) in others.into_iter().enumerate() {
        phase.reach(2 * (1 + others_done) * layers);
        let budget = best.as_ref().map_or(u64::MAX, |best| best.cycles);
        if let Ok(cheaper) = schedule(model, config, plan, minimise, budget, &phase) {
            best = Ok(cheaper);
        }
    }
    best.map(|best| (best.plan.strategy, best))
}

/// Where objects live under a strategy.
///
/// # Errors
///
/// A memory that is too small.
fn planned(model: &Model, config: &Config, strategy: Strategy) -> Result<Plan, LowerError> {
    Plan::new(model, config, strategy).inspect_err(|reason| given_up(strategy, reason))
}

fn given_up(strategy: Strategy, reason: &LowerError) {
    tracing::info!(strategy = strategy.name(), %reason, "strategy given up");
}

/// Times that something may give up its place for a second schedule to be tried: while tilings are compared it looks at all of
/// local memory each time, which takes ResNet-50 from 18 seconds to minutes, for 0.3 % of its cycles.
const MOST_GIVEN_UP: usize = 500;

/// Schedules under a plan, at most twice: what gives up its place in local memory is once what was not needed for longest,
/// and then, if that ever happened, what will not be needed for longest. A step of `phase` for each layer.
///
/// # Errors
///
/// A memory that is too small, or a program of `budget` cycles or more.
fn schedule(
    model: &Model,
    config: &Config,
    plan: Plan,
    minimise: Minimise,
    budget: u64,
    phase: &Phase,
) -> Result<Scheduled, LowerError> {
    let strategy = plan.strategy;
    let arena = Arena::new(plan.arena.clone());
    let mut state = State::new(config, arena.clone());
    let by_age = schedule_layers(&mut state, model, config, plan.clone(), minimise, budget, phase);
    let scheduled = if (1..=MOST_GIVEN_UP).contains(&state.arena.gave_up) {
        // Default: what cannot be scheduled leaves the budget as it is.
        let budget = by_age.as_ref().map_or(budget, |by_age| by_age.cycles);
        let mut state = State::new(config, arena.by_next_use(NextUse::new(model)));
        schedule_layers(&mut state, model, config, plan, minimise, budget, phase).or(by_age)
    } else {
        by_age
    };
    let scheduled = scheduled.inspect_err(|reason| given_up(strategy, reason))?;
    tracing::info!(strategy = strategy.name(), cycles = scheduled.cycles, "strategy scheduled");
    Ok(scheduled)
}

/// As [`schedule`], which tells of it, with an arena in which nothing lies.
fn schedule_layers(
    state: &mut State,
    model: &Model,
    config: &Config,
    plan: Plan,
    minimise: Minimise,
    budget: u64,
    phase: &Phase,
) -> Result<Scheduled, LowerError> {
    let context = Context { model, plan: &plan, config };
    let mut written = Written {
        meter: minimise.meter(config),
        pending: Pending::default(),
        hides_reads: minimise.hides_reads(config),
    };
    let mut search = Search::new(model);
    let mut layers = Vec::new();
    let mut tilings = Vec::new();
    for (i, layer) in model.layers.iter().enumerate() {
        let first = state.lir.ops.len();
        state.arena.enter(i);
        tilings.push(schedule_layer(state, (&mut written, &mut search), context, layer, budget)?);
        state.arena.retire(plan.last_needed(i));
        layers.push(first..state.lir.ops.len());
        phase.advance();
    }
    let State { lir, arena, limits, .. } = state;
    let local = Usage {
        maximum: plan.local.maximum.max(arena.highest),
        aggregate: plan.local.aggregate + arena.aggregate,
    };
    let accumulators = Usage { maximum: limits.accumulators, aggregate: limits.accumulators_aggregate };
    let cycles = written.meter.map_or(lir.cycles, |meter| meter.cycles());
    let ops = std::mem::take(&mut lir.ops);
    // Whatever the stages above did, nothing goes out that hardware computes otherwise.
    if let Some(hazard) = hazards(&ops).into_iter().next() {
        return Err(lost(model, &layers, hazard));
    }
    Ok(Scheduled { plan, ops, cycles, layers, tilings, local, accumulators, config: config.clone() })
}

/// What is known of the instructions written so far.
struct Written {
    /// Their time, where the clock is minimised.
    meter: Option<Meter>,
    /// What they leave on its way to the accumulators.
    pending: Pending,
    /// Whether reads of weights may be hidden.
    hides_reads: bool,
}

impl Written {
    /// Follows `ops`.
    fn push(&mut self, ops: &[Op]) {
        for (i, op) in ops.iter().enumerate() {
            self.pending.follow(i, op);
        }
    }
}

/// Attempts that the clock decides between. It takes far longer than the estimator, which therefore names the
/// candidates; but the estimator knows nothing of bursts, for which one of two that it finds alike may take three times as
/// long as the other.
const ATTEMPTS_TIMED: usize = 6;

/// Writes the layer out in the way that takes fewest cycles, if that ends before `budget`.
fn schedule_layer(
    state: &mut State,
    (written, search): (&mut Written, &mut Search),
    context: Context<'_>,
    layer: &Layer,
    budget: u64,
) -> Result<Tiling, LowerError> {
    let Written { meter, pending, hides_reads } = written;
    let count = if meter.is_some() { ATTEMPTS_TIMED } else { 1 };
    let attempts = search.layer(state, context, layer, count);
    let mut attempts = attempts.map_err(|error| insufficient(layer, context, error))?;
    let best = match meter {
        None => attempts
            .pop()
            .filter(|attempt| attempt.after.cycles < budget)
            .map(|attempt| Attempt { ops: separate(attempt.ops, pending, None), ..attempt }),
        Some(meter) => {
            let timing = Timing { meter, pending, config: context.config, hides_reads: *hides_reads };
            let quickest = timed(attempts, &timing);
            let quickest = quickest.filter(|Timed { first: (after, _), .. }| after.cycles() < budget);
            quickest.map(|Timed { first: (after, attempt), tilings }| {
                search.learn(layer, context.model, tilings);
                let (tiles, cycles) = (attempt.tiling, after.cycles().saturating_sub(meter.cycles()));
                tracing::debug!(layer = layer.name(), ?tiles, cycles, "layer scheduled");
                *meter = after;
                attempt
            })
        }
    };
    let Some(Attempt { tiling, ops, after, arena, limits, accumulators }) = best else {
        return Err(too_long(layer, state.lir.ops.len()));
    };
    written.push(&ops);
    state.lir.replay(ops, &after);
    (state.arena, state.limits, state.accumulators) = (arena, limits, accumulators);
    Ok(tiling)
}

fn insufficient(layer: &Layer, context: Context<'_>, error: TileError) -> LowerError {
    let Context { plan, config, .. } = context;
    let (memory, needed, available) = match error {
        TileError::Long { instructions } => return too_long(layer, instructions),
        TileError::Accumulators { needed } => (Memory::Accumulators, needed, config.accumulator_depth),
        TileError::Local { needed } => {
            (Memory::Local, needed, plan.arena.end.saturating_sub(plan.arena.start))
        }
    };
    LowerError::Insufficient { layer: layer.name(), memory, needed, available }
}

fn lost(model: &Model, layers: &[Range<usize>], hazard: Hazard) -> LowerError {
    let layer = layers.iter().position(|layer| layer.contains(&hazard.second));
    let layer = layer.and_then(|layer| model.layers.get(layer)).map_or_else(String::new, Layer::name);
    LowerError::LostAddition { layer, hazard }
}

fn too_long(layer: &Layer, instructions: usize) -> LowerError {
    let reason = format!(
        "with it the program is longer than {instructions} instructions; programs end at {MAX_INSTRUCTIONS}"
    );
    let hint = "use an instance with a larger array or larger memories";
    let problem = Problem::new(&layer.name(), "layer", reason, hint);
    LowerError::Unsupported { problems: vec![problem] }
}

impl Scheduled {
    /// The listing, with the layers' names and tilings between.
    pub fn print(&self, model: &Model) -> String {
        let mut text = String::new();
        for ((layer, range), tiling) in model.layers.iter().zip(&self.layers).zip(&self.tilings) {
            let order = if tiling.blocks_outer { "weights stay" } else { "inputs stay" };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "; {}: tiles of {} of {} pixels x {} of {} blocks, {order}",
                layer.name(),
                tiling.pixels,
                layer.pixels,
                tiling.blocks,
                layer.blocks
            );
            text.push_str(&listing(&self.config, &self.ops[range.clone()]));
        }
        text
    }
}
