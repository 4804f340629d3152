//! The schedule: layers cut into tiles that fit, each tiling tried and the cheapest kept.
//!
//! For every layer the search names the tilings that cost least by the published estimator and the waits for memory, which
//! is quick; the clock decides between the best of them.

pub(super) mod choices;
pub mod cost;
pub(super) mod layer_key;
pub(crate) mod search;
mod tiling;
pub(super) mod timed;
pub(super) mod traffic;

use std::fmt::Write;
use std::ops::Range;

use npukit_lower::Problem;
use npukit_target::Phase;

use super::error::{LowerError, Memory};
use super::issue::global_prefetch::Whole;
use super::issue::separate::separate;
use super::layers::hir::{Layer, Model};
use super::memory::arena::Arena;
use super::memory::next_use::NextUse;
use super::memory::{Plan, Strategy};
use super::schedule::choices::Choices;
use super::schedule::cost::Minimise;
use super::schedule::search::{Attempt, Known, MAX_INSTRUCTIONS, Search};
use super::schedule::timed::{Timed, Timing, timed};
use super::tile::{Context, State, TileError};
use crate::clock::Meter;
use crate::clock::hazard::{Hazard, Pending, hazards};
use crate::config::{ClockParams, Config};
use crate::isa::listing::listing;
use crate::isa::op::Op;
use crate::lower::schedule::tiling::Tiling;
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
    /// The memory with which the hardware takes these cycles, where they are its own.
    pub clocked: Option<ClockParams>,
    /// Instructions of each layer.
    pub layers: Vec<Range<usize>>,
    /// Tiling taken for each layer.
    tilings: Vec<Tiling>,
    /// Whether what will not be needed for longest gave up its place in local memory.
    by_next_use: bool,
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
    effort: Effort,
) -> Result<Scheduled, LowerError> {
    let (first, others) = match (strategy, effort) {
        (Some(only), _) => (planned(model, config, only, true), &[][..]),
        (None, Effort::Thorough) => {
            (planned(model, config, Strategy::LocalIsolated, false), &Strategy::ALL[1..])
        }
        (None, Effort::Quick) => (planned(model, config, Strategy::LocalIsolated, false), &WORTH_A_LOOK[..]),
    };
    let plan = |&strategy: &Strategy| planned(model, config, strategy, false).ok();
    let others: Vec<Plan> = others.iter().filter_map(plan).collect();
    let layers = model.layers.len();
    let phase = &Phase::counting("schedule", 2 * (1 + others.len()) * layers);
    let task = Task { model, config, minimise, phase, known: &Known::default(), effort };
    let mut best = first.and_then(|plan| task.schedule(plan, u64::MAX));
    for (others_done, plan) in others.into_iter().enumerate() {
        phase.reach(2 * (1 + others_done) * layers);
        let budget = best.as_ref().map_or(u64::MAX, |best| best.cycles);
        if let Ok(cheaper) = task.schedule(plan, budget) {
            best = Ok(cheaper);
        }
    }
    best
}

/// Schedules by choices that were made before, where `strategy` was asked for. Instructions are those of the search.
///
/// # Errors
///
/// As [`cheapest`], if the choices are of another model.
pub fn again(
    model: &Model,
    config: &Config,
    strategy: Option<Strategy>,
    choices: Choices,
    minimise: Minimise,
) -> Result<Scheduled, LowerError> {
    let Choices { strategy: chosen, by_next_use, tilings } = choices;
    let plan = planned(model, config, chosen, strategy.is_some())?;
    let phase = &Phase::counting("schedule", model.layers.len());
    let task = Task { model, config, minimise, phase, known: &Known::default(), effort: Effort::Thorough };
    let arena = Arena::new(plan.arena.clone());
    let arena = if by_next_use { arena.by_next_use(NextUse::new(model)) } else { arena };
    let mut state = task.state(arena);
    let scheduled = task.layers(&mut state, Search::decided(tilings), plan, u64::MAX)?;
    Ok(Scheduled { by_next_use, ..scheduled })
}

/// Schedules under one strategy, or that which needs least, in the first way that fits: quick to find, not to run.
///
/// # Errors
///
/// As [`cheapest`].
pub fn draft(model: &Model, config: &Config, strategy: Option<Strategy>) -> Result<Scheduled, LowerError> {
    let plan = planned(model, config, strategy.unwrap_or(Strategy::LocalIsolated), true)?;
    let phase = &Phase::counting("schedule", model.layers.len());
    let (minimise, effort) = (Minimise::Estimator, Effort::Quick);
    let task = Task { model, config, minimise, phase, known: &Known::default(), effort };
    let mut state = task.state(Arena::new(plan.arena.clone()));
    task.layers(&mut state, Search::draft(), plan, u64::MAX)
}

/// Where objects live under a strategy. If that was `asked` for, variables that do not all fit local memory stay there in
/// part.
///
/// # Errors
///
/// A memory that is too small.
fn planned(model: &Model, config: &Config, strategy: Strategy, asked: bool) -> Result<Plan, LowerError> {
    let plan = Plan::new(model, config, strategy).inspect_err(|reason| given_up(strategy, reason));
    if asked && strategy.local_vars() {
        return plan.or_else(|_| Plan::partial(model, config, strategy));
    }
    plan
}

fn given_up(strategy: Strategy, reason: &LowerError) {
    tracing::info!(strategy = strategy.name(), %reason, "strategy given up");
}

/// Times that something may give up its place for a second schedule to be tried: while tilings are compared it looks at all of
/// local memory each time, which takes ResNet-50 from 18 seconds to minutes, for 0.3 % of its cycles.
const MOST_GIVEN_UP: usize = 500;

/// What is to be scheduled, with a step of `phase` for each layer.
#[derive(Clone, Copy)]
struct Task<'a> {
    model: &'a Model,
    config: &'a Config,
    minimise: Minimise,
    phase: &'a Phase,
    /// What did best of layers.
    known: &'a Known,
    effort: Effort,
}

/// How long is searched for a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effort {
    /// As long as it pays for a program that is to be run.
    #[default]
    Thorough,
    /// A fraction of that: for one of many machines that are compared.
    Quick,
}

/// Strategies that a quick search tries where they fit: constants that live in local memory save more than variables do.
const WORTH_A_LOOK: [Strategy; 2] = [Strategy::LocalConsts, Strategy::LocalVarsAndConsts];

impl Task<'_> {
    /// What looks for the tilings of layers.
    fn search(self) -> Search {
        match self.effort {
            Effort::Thorough => Search::new(self.model, self.known.clone()),
            Effort::Quick => Search::quick(self.known.clone()),
        }
    }

    /// Before the first layer, with this arena.
    fn state(self, arena: Arena) -> State {
        State::new(self.config, self.minimise.waits(self.config), arena)
    }

    /// Schedules under a plan, at most twice: what gives up its place in local memory is once what was not needed for
    /// longest, and then, if that ever happened and there is time, what will not be needed for longest.
    ///
    /// # Errors
    ///
    /// A memory that is too small, or a program of `budget` cycles or more.
    fn schedule(self, plan: Plan, budget: u64) -> Result<Scheduled, LowerError> {
        let model = self.model;
        let strategy = plan.strategy;
        let arena = Arena::new(plan.arena.clone());
        let mut state = self.state(arena.clone());
        let by_age = self.layers(&mut state, self.search(), plan.clone(), budget);
        let again = self.effort == Effort::Thorough && (1..=MOST_GIVEN_UP).contains(&state.arena.gave_up);
        let scheduled = if again {
            // Default: what cannot be scheduled leaves the budget as it is.
            let budget = by_age.as_ref().map_or(budget, |by_age| by_age.cycles);
            let mut state = self.state(arena.by_next_use(NextUse::new(model)));
            let scheduled = self.layers(&mut state, self.search(), plan, budget);
            scheduled.map(|scheduled| Scheduled { by_next_use: true, ..scheduled }).or(by_age)
        } else {
            by_age
        };
        let scheduled = scheduled.inspect_err(|reason| given_up(strategy, reason))?;
        tracing::info!(strategy = strategy.name(), cycles = scheduled.cycles, "strategy scheduled");
        Ok(scheduled)
    }

    /// Schedules the layers one after the other, from a state in which nothing lies in the arena.
    fn layers(
        self,
        state: &mut State,
        mut search: Search,
        plan: Plan,
        budget: u64,
    ) -> Result<Scheduled, LowerError> {
        let Self { model, config, minimise, phase, .. } = self;
        let context = Context { model, plan: &plan, config };
        let mut written = Written {
            meter: minimise.meter(config),
            pending: Pending::default(),
            hides_reads: minimise.hides_reads(config),
        };
        // Reads are moved over layers when all are written: until then nothing is too long.
        let reads_ahead = config.overlap.has_queues() && written.meter.is_some();
        let until = if reads_ahead { u64::MAX } else { budget };
        let mut layers = Vec::new();
        let mut tilings = Vec::new();
        for (i, layer) in model.layers.iter().enumerate() {
            let first = state.lir.ops.len();
            state.arena.enter(i);
            tilings.push(schedule_layer(state, (&mut written, &mut search), context, layer, until)?);
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
        let ops = std::mem::take(&mut lir.ops);
        let cycles = written.meter.as_ref().map_or(lir.cycles, Meter::cycles);
        let mut whole = Whole { ops, layers, cycles, local };
        if let Some(clock) = minimise.meter(config).filter(|_| reads_ahead) {
            whole.read_ahead(&clock, &plan.arena);
        }
        if let (true, Some(layer)) = (whole.cycles >= budget, model.layers.last()) {
            return Err(too_long(layer, whole.ops.len()));
        }
        let Whole { ops, layers, cycles, local } = whole;
        let clocked = match minimise {
            Minimise::Clock(params) if written.meter.is_some_and(|meter| !meter.hangs()) => Some(params),
            _ => None,
        };
        // Whatever the stages above did, nothing goes out that hardware computes otherwise.
        if let Some(hazard) = hazards(&ops).into_iter().next() {
            return Err(lost(model, &layers, hazard));
        }
        let (by_next_use, config) = (false, config.clone());
        Ok(Scheduled {
            plan,
            ops,
            cycles,
            clocked,
            layers,
            tilings,
            by_next_use,
            local,
            accumulators,
            config,
        })
    }
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

/// Writes the layer out in the way that takes fewest cycles, if that ends before `budget`.
fn schedule_layer(
    state: &mut State,
    (written, search): (&mut Written, &mut Search),
    context: Context<'_>,
    layer: &Layer,
    budget: u64,
) -> Result<Tiling, LowerError> {
    let Written { meter, pending, hides_reads } = written;
    let count = if meter.is_some() { search.attempts_timed(context.config) } else { 1 };
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
    /// What was chosen, by which [`again`] gives the same.
    pub fn choices(&self) -> Choices {
        let (strategy, by_next_use) = (self.plan.strategy, self.by_next_use);
        Choices { strategy, by_next_use, tilings: self.tilings.clone() }
    }

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
