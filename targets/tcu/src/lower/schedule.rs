//! Scheduling: cuts layers into tiles that fit, tries each tiling and keeps the cheapest.
//!
//! For every layer the search ranks tilings by the published estimator plus memory waits, which is
//! quick. The clock then decides between the best ones.

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
use super::schedule::cost::Minimize;
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

/// Schedule of a whole model.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// Placement of objects.
    pub plan: Plan,
    /// Instructions of the program.
    pub ops: Vec<Op>,
    /// Number of cycles by the cost measure that was minimized.
    pub cycles: u64,
    /// Memory timing with which the hardware takes `cycles` cycles; `None` if `cycles` is an
    /// estimate.
    pub clocked: Option<ClockParams>,
    /// Instruction range of each layer.
    pub layers: Vec<Range<usize>>,
    /// Tiling chosen for each layer.
    tilings: Vec<Tiling>,
    /// Whether the vectors needed latest were evicted first from local memory.
    by_next_use: bool,
    /// Usage of local memory.
    pub local: Usage,
    /// Usage of the accumulators.
    pub accumulators: Usage,
    config: Config,
}

/// Schedules under the given strategy, or under every strategy that fits, and keeps the cheapest
/// result.
///
/// # Errors
///
/// Returns the error of the chosen strategy. If none was chosen and none fits, returns the error of
/// [`Strategy::LocalIsolated`], which needs the least memory. With a chosen strategy, variables
/// that do not all fit in local memory are not an error: the rest go to DRAM0.
pub fn cheapest(
    model: &Model,
    config: &Config,
    strategy: Option<Strategy>,
    minimize: Minimize,
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
    let task = Task { model, config, minimize, phase, known: &Known::default(), effort };
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

/// Schedules with the choices of an earlier search, made for `strategy`. Produces the same
/// instructions as that search.
///
/// # Errors
///
/// Fails like [`cheapest`] if the choices belong to another model.
pub fn again(
    model: &Model,
    config: &Config,
    strategy: Option<Strategy>,
    choices: Choices,
    minimize: Minimize,
) -> Result<Scheduled, LowerError> {
    let Choices { strategy: chosen, by_next_use, tilings } = choices;
    let plan = planned(model, config, chosen, strategy.is_some())?;
    let phase = &Phase::counting("schedule", model.layers.len());
    let task = Task { model, config, minimize, phase, known: &Known::default(), effort: Effort::Thorough };
    let arena = Arena::new(plan.arena.clone());
    let arena = if by_next_use { arena.by_next_use(NextUse::new(model)) } else { arena };
    let mut state = task.state(arena);
    let scheduled = task.layers(&mut state, Search::decided(tilings), plan, u64::MAX)?;
    Ok(Scheduled { by_next_use, ..scheduled })
}

/// Schedules in the first way that fits, under the given strategy or the one that needs the least
/// memory. Compiles quickly; the program may be slow.
///
/// # Errors
///
/// Fails like [`cheapest`].
pub fn draft(model: &Model, config: &Config, strategy: Option<Strategy>) -> Result<Scheduled, LowerError> {
    let plan = planned(model, config, strategy.unwrap_or(Strategy::LocalIsolated), true)?;
    let phase = &Phase::counting("schedule", model.layers.len());
    let (minimize, effort) = (Minimize::Estimator, Effort::Quick);
    let task = Task { model, config, minimize, phase, known: &Known::default(), effort };
    let mut state = task.state(Arena::new(plan.arena.clone()));
    task.layers(&mut state, Search::draft(), plan, u64::MAX)
}

/// Plans the placement of objects under a strategy. If the user `asked` for it, variables that do
/// not all fit in local memory are placed there in part.
///
/// # Errors
///
/// Fails if a memory is too small.
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

/// Number of evictions up to which a second schedule is tried. Comparing tilings scans all of local
/// memory per eviction, which takes ResNet-50 from 18 seconds to minutes for 0.3 % of its cycles.
const MAX_ATTEMPTS: usize = 500;

/// Scheduling job; advances `phase` by one step per layer.
#[derive(Clone, Copy)]
struct Task<'a> {
    model: &'a Model,
    config: &'a Config,
    minimize: Minimize,
    phase: &'a Phase,
    /// Best tilings found for earlier layers of the same shape.
    known: &'a Known,
    effort: Effort,
}

/// Effort of the search for a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effort {
    /// Full search, for a program that will be run.
    #[default]
    Thorough,
    /// Reduced search, for one of many instances that are compared.
    Quick,
}

/// Strategies that a quick search tries if they fit: constants in local memory save more cycles
/// than variables do.
const WORTH_A_LOOK: [Strategy; 2] = [Strategy::LocalConsts, Strategy::LocalVarsAndConsts];

impl Task<'_> {
    /// Returns the search for tilings of layers.
    fn search(self) -> Search {
        match self.effort {
            Effort::Thorough => Search::new(self.model, self.known.clone()),
            Effort::Quick => Search::quick(self.known.clone()),
        }
    }

    /// Returns the state before the first layer, with `arena`.
    fn state(self, arena: Arena) -> State {
        State::new(self.config, self.minimize.waits(self.config), arena)
    }

    /// Schedules under a plan, at most twice. The first run evicts the least recently needed
    /// vectors. If anything was evicted and there is time, the second evicts the vectors needed
    /// latest.
    ///
    /// # Errors
    ///
    /// Fails if a memory is too small or the program takes `budget` cycles or more.
    fn schedule(self, plan: Plan, budget: u64) -> Result<Scheduled, LowerError> {
        let model = self.model;
        let strategy = plan.strategy;
        let arena = Arena::new(plan.arena.clone());
        let mut state = self.state(arena.clone());
        let by_age = self.layers(&mut state, self.search(), plan.clone(), budget);
        let again = self.effort == Effort::Thorough && (1..=MAX_ATTEMPTS).contains(&state.arena.gave_up);
        let scheduled = if again {
            // Default: a failed first schedule leaves the budget unchanged.
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

    /// Schedules the layers one after another, starting with an empty arena.
    fn layers(
        self,
        state: &mut State,
        mut search: Search,
        plan: Plan,
        budget: u64,
    ) -> Result<Scheduled, LowerError> {
        let Self { model, config, minimize, phase, .. } = self;
        let context = Context { model, plan: &plan, config };
        let mut written = ScheduleState::new(minimize, config);
        // Reads move across layers only after all layers are written, which can shorten the
        // program. Until then, no program is too long.
        let reads_ahead = config.overlap.has_queues() && written.meter.is_some();
        let until = if reads_ahead { u64::MAX } else { budget };
        let (mut layers, mut tilings) = (Vec::new(), Vec::new());
        for (i, layer) in model.layers.iter().enumerate() {
            let first = state.lir.ops.len();
            state.arena.enter(i);
            tilings.push(schedule_layer(state, &mut written, &mut search, context, layer, until)?);
            state.arena.retire(plan.last_needed(i));
            layers.push(first..state.lir.ops.len());
            phase.advance();
        }
        let (local, accumulators) = usage(&plan, state);
        let ops = std::mem::take(&mut state.lir.ops);
        let cycles = written.meter.as_ref().map_or(state.lir.cycles, Meter::cycles);
        let mut whole = Whole { ops, layers, cycles, local };
        if let Some(clock) = minimize.meter(config).filter(|_| reads_ahead) {
            whole.read_ahead(&clock, &plan.arena);
        }
        if let (true, Some(layer)) = (whole.cycles >= budget, model.layers.last()) {
            return Err(too_long(layer, whole.ops.len()));
        }
        let Whole { ops, layers, cycles, local } = whole;
        let clocked = minimize.clocked(written.meter.as_ref());
        // Last check: a program with a hazard never leaves the compiler, even if an earlier stage
        // is wrong.
        if let Some(hazard) = hazards(&ops).into_iter().next() {
            return Err(lost(model, &layers, hazard));
        }
        Ok(Scheduled {
            plan,
            ops,
            cycles,
            clocked,
            layers,
            tilings,
            by_next_use: false,
            local,
            accumulators,
            config: config.clone(),
        })
    }
}

/// Returns the use of local memory and of the accumulators.
fn usage(plan: &Plan, state: &State) -> (Usage, Usage) {
    let State { arena, limits, .. } = state;
    let local = Usage {
        maximum: plan.local.maximum.max(arena.highest),
        aggregate: plan.local.aggregate + arena.aggregate,
    };
    (local, Usage { maximum: limits.accumulators, aggregate: limits.accumulators_aggregate })
}

/// State after the instructions written so far.
struct ScheduleState {
    /// Clock that measures them, if the clock is minimized.
    meter: Option<Meter>,
    /// Accumulator writes that are still pending.
    pending: Pending,
    /// Whether reads of weights may overlap with products.
    hides_reads: bool,
}

impl ScheduleState {
    /// State before the first instruction.
    fn new(minimize: Minimize, config: &Config) -> Self {
        let hides_reads = minimize.hides_reads(config);
        Self { meter: minimize.meter(config), pending: Pending::default(), hides_reads }
    }

    /// Advances the state by `ops`.
    fn push(&mut self, ops: &[Op]) {
        for (i, op) in ops.iter().enumerate() {
            self.pending.follow(i, op);
        }
    }
}

/// Emits the layer with the tiling that takes the fewest cycles, if the program stays below
/// `budget`.
fn schedule_layer(
    state: &mut State,
    written: &mut ScheduleState,
    search: &mut Search,
    context: Context<'_>,
    layer: &Layer,
    budget: u64,
) -> Result<Tiling, LowerError> {
    let ScheduleState { meter, pending, hides_reads } = written;
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
        "the program has more than {instructions} instructions up to this layer; the limit is {MAX_INSTRUCTIONS}"
    );
    let hint = "use an instance with a larger array or larger memories";
    let problem = Problem::new(&layer.name(), "layer", reason, hint);
    LowerError::Unsupported { problems: vec![problem] }
}

impl Scheduled {
    /// Returns the choices made; [`again`] reproduces this schedule from them.
    pub fn choices(&self) -> Choices {
        let (strategy, by_next_use) = (self.plan.strategy, self.by_next_use);
        Choices { strategy, by_next_use, tilings: self.tilings.clone() }
    }

    /// Formats the instruction listing with a comment line before each layer: name and tiling.
    pub fn print(&self, model: &Model) -> String {
        let mut text = String::new();
        for ((layer, range), tiling) in model.layers.iter().zip(&self.layers).zip(&self.tilings) {
            let order = if tiling.blocks_outer { "weights stay" } else { "inputs stay" };
            // The result is ignored because writing to a string cannot fail.
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
