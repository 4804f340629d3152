//! The schedule: layers cut into tiles that fit, each tiling tried and the cheapest kept.
//!
//! A tile is a range of pixels of the layer's last grid and a range of its blocks. For every layer
//! a few tilings are written out and costed with the published estimator, which is quick; the clock decides
//! between the best of them.

use std::fmt::Write;
use std::ops::Range;

use npukit_lower::Problem;
use npukit_target::Phase;

use super::arena::Arena;
use super::cost::Minimise;
use super::error::{LowerError, Memory};
use super::hir::{Layer, Model};
use super::lir::Checkpoint;
use super::memory::{Plan, Strategy};
use super::next_use::{Again, NextUse};
use super::overlap::overlap;
use super::separate::separate;
use super::tile::{Context, Limits, State, TileError, emit};
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

/// How a layer is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tiling {
    pixels: usize,
    blocks: usize,
    /// Tiles of the same blocks follow each other, so that their weights stay in local memory;
    /// otherwise tiles of the same pixels do, so that their inputs stay.
    blocks_outer: bool,
}

impl Tiling {
    /// What its tiles come back to.
    fn again(self, layer: &Layer) -> Again {
        if self.blocks_outer && self.blocks < layer.blocks { Again::Variables } else { Again::Constants }
    }
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
    let mut written = Written { meter: minimise.meter(config), pending: Pending::default() };
    let mut layers = Vec::new();
    let mut tilings = Vec::new();
    for (i, layer) in model.layers.iter().enumerate() {
        let first = state.lir.ops.len();
        state.arena.enter(i);
        tilings.push(schedule_layer(state, &mut written, context, layer, budget)?);
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
}

impl Written {
    /// Follows `ops`.
    fn push(&mut self, ops: &[Op]) {
        for (i, op) in ops.iter().enumerate() {
            self.pending.follow(i, op);
        }
    }
}

/// A way to write a layer, to be compared with others.
struct Attempt {
    tiling: Tiling,
    ops: Vec<Op>,
    after: Checkpoint,
    arena: Arena,
    limits: Limits,
}

/// Attempts that the clock decides between. It takes far longer than the estimator, which
/// therefore names the candidates.
const ATTEMPTS_TIMED: usize = 6;

/// Writes the layer out in the way that takes fewest cycles, if that ends before `budget`.
fn schedule_layer(
    state: &mut State,
    written: &mut Written,
    context: Context<'_>,
    layer: &Layer,
    budget: u64,
) -> Result<Tiling, LowerError> {
    let Written { meter, pending } = written;
    let best = match meter {
        None => attempts(state, context, layer, 1, budget)?
            .pop()
            .map(|attempt| Attempt { ops: separate(attempt.ops, pending, None), ..attempt }),
        Some(meter) => {
            let timed =
                attempts(state, context, layer, ATTEMPTS_TIMED, u64::MAX)?.into_iter().map(|attempt| {
                    let ops = separate(overlap(attempt.ops, context.config), pending, Some(meter));
                    let attempt = Attempt { ops, ..attempt };
                    let mut after = meter.clone();
                    attempt.ops.iter().for_each(|op| after.push(op));
                    tracing::trace!(tiles = ?attempt.tiling, cycles = after.cycles(), "tiles tried");
                    (after, attempt)
                });
            let quickest = timed.min_by_key(|(after, _)| after.cycles());
            quickest.filter(|(after, _)| after.cycles() < budget).map(|(after, attempt)| {
                let (tiles, cycles) = (attempt.tiling, after.cycles().saturating_sub(meter.cycles()));
                tracing::debug!(layer = layer.name(), ?tiles, cycles, "layer scheduled");
                *meter = after;
                attempt
            })
        }
    };
    let Some(Attempt { tiling, ops, after, arena, limits }) = best else {
        return Err(too_long(layer, state.lir.ops.len()));
    };
    written.push(&ops);
    state.lir.replay(ops, &after);
    (state.arena, state.limits) = (arena, limits);
    Ok(tiling)
}

/// The `count` cheapest ways of writing the layer by the estimator, of those that end before `budget`,
/// cheapest first; at least one.
fn attempts(
    state: &mut State,
    context: Context<'_>,
    layer: &Layer,
    count: usize,
    budget: u64,
) -> Result<Vec<Attempt>, LowerError> {
    let mut best: Vec<Attempt> = Vec::new();
    let mut last_error = None;
    let all = tilings(layer);
    let is_only = matches!(&all[..], [only] if only.len() == 1);
    for tilings in all {
        let mut fitting = 0;
        for tiling in tilings {
            let worst = best.get(count - 1).map_or(budget, |worst| worst.after.cycles);
            match attempt(state, context, layer, tiling, worst, is_only) {
                Ok(cheaper) => {
                    fitting += 1;
                    best.truncate(count - 1);
                    let at = best.partition_point(|other| other.after.cycles <= cheaper.after.cycles);
                    best.insert(at, cheaper);
                }
                Err(error @ TileError::Long { .. }) => {
                    fitting += 1;
                    last_error = Some(error);
                }
                Err(error) => last_error = Some(error),
            }
            // Smaller tiles than the largest that fit only cost more loads, with few exceptions.
            if fitting == TILINGS_TRIED {
                break;
            }
        }
    }
    if best.is_empty() {
        let error = last_error.expect("at least one tiling is tried, and none has worked");
        return Err(insufficient(layer, context, error));
    }
    Ok(best)
}

/// Writes the layer out and takes it back; the arena stays empty when it is the only way.
fn attempt(
    state: &mut State,
    context: Context<'_>,
    layer: &Layer,
    tiling: Tiling,
    budget: u64,
    is_only: bool,
) -> Result<Attempt, TileError> {
    let before = state.lir.checkpoint();
    // Most layers of a long network are small and have one way: what the arena holds is not copied for them.
    let arena = if is_only { Arena::new(0..0) } else { state.arena.clone() };
    let limits = state.limits;
    state.arena.come_back_to(tiling.again(layer));
    let result = emit_layer(state, context, layer, tiling, budget);
    let after = state.lir.checkpoint();
    let ops = state.lir.rewind(&before);
    let arena = std::mem::replace(&mut state.arena, arena);
    let limits = std::mem::replace(&mut state.limits, limits);
    result.map(|()| Attempt { tiling, ops, after, arena, limits })
}

/// The longest program: beyond, it would fill the host's memory.
const MAX_INSTRUCTIONS: usize = 1 << 24;

/// Fitting tilings looked at per number of blocks and order of tiles.
const TILINGS_TRIED: usize = 2;

/// Tilings by blocks per tile and order, each list with fewer and fewer pixels per tile.
fn tilings(layer: &Layer) -> Vec<Vec<Tiling>> {
    let mut lists = Vec::new();
    for blocks in halvings(layer.blocks) {
        for blocks_outer in [true, false] {
            if !blocks_outer && blocks == layer.blocks {
                continue;
            }
            let pixels = halvings(layer.pixels);
            lists.push(pixels.into_iter().map(|pixels| Tiling { pixels, blocks, blocks_outer }).collect());
        }
    }
    lists
}

/// `n`, and `n` divided by rising numbers of parts, down to 1.
fn halvings(n: usize) -> Vec<usize> {
    let mut parts: Vec<usize> = vec![1];
    while let Some(&last) = parts.last().filter(|&&last| last < n) {
        // 1, 2, 3, 4, 6, 8, 12, 16, ...: two steps per octave.
        parts.push(if last.is_power_of_two() && last > 1 {
            last / 2 * 3
        } else {
            (last + 1).next_power_of_two()
        });
    }
    let mut sizes: Vec<usize> = parts.into_iter().map(|parts| n.div_ceil(parts)).collect();
    sizes.dedup();
    sizes
}

/// Writes the layer tile by tile; gives up as soon as the budget is used up.
fn emit_layer(
    state: &mut State,
    context: Context<'_>,
    layer: &Layer,
    tiling: Tiling,
    budget: u64,
) -> Result<(), TileError> {
    let pixels = ranges(layer.pixels, tiling.pixels);
    let blocks = ranges(layer.blocks, tiling.blocks);
    let mut tile = |pixels: &Range<usize>, blocks: &Range<usize>| {
        emit(state, context, layer, pixels.clone(), blocks.clone())?;
        let instructions = state.lir.ops.len();
        if state.lir.cycles >= budget || instructions > MAX_INSTRUCTIONS {
            return Err(TileError::Long { instructions });
        }
        Ok(())
    };
    if tiling.blocks_outer {
        blocks.iter().try_for_each(|blocks| pixels.iter().try_for_each(|pixels| tile(pixels, blocks)))
    } else {
        pixels.iter().try_for_each(|pixels| blocks.iter().try_for_each(|blocks| tile(pixels, blocks)))
    }
}

fn ranges(total: usize, size: usize) -> Vec<Range<usize>> {
    (0..total).step_by(size.max(1)).map(|first| first..(first + size).min(total)).collect()
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

#[cfg(test)]
mod tests {
    use npukit_graph::op::{Conv, Relu};
    use npukit_graph::{Graph, ValueInfo};
    use npukit_numeric::{ElementType, Tensor};

    use super::*;
    use crate::lower::{Options, hir};

    /// Arrays of four; few accumulators and little local memory.
    fn config() -> Config {
        Config {
            array_size: 4,
            local_depth: 90,
            accumulator_depth: 24,
            dram0_depth: 1 << 10,
            dram1_depth: 1 << 10,
            ..Config::preset("speech_robot").expect("a preset")
        }
    }

    /// A convolution of 5 x 5 pixels from three blocks to two.
    fn model(config: &Config) -> Model {
        let mut graph = Graph { name: "net".to_owned(), ..Graph::default() };
        let info = ValueInfo { shape: vec![1, 5, 5, 10], element: ElementType::F32 };
        let x = graph.add_input("x".to_owned(), info);
        let weights = Tensor::from_f32(vec![3, 3, 10, 8], vec![0.5; 720]).expect("as many as the shape says");
        let weights = graph.add_constant("weights".to_owned(), weights);
        let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 1 };
        let y = graph
            .add_node("conv".to_owned(), conv.into(), vec![x, weights], &["y"])
            .expect("a convolution")[0];
        let z = graph.add_node("relu".to_owned(), Relu.into(), vec![y], &["z"]).expect("a relu")[0];
        graph.outputs = vec![z];
        hir::build(&graph, config, &Options::default()).expect("it can be lowered")
    }

    #[test]
    fn sizes_fall_by_two_steps_an_octave() {
        for (n, sizes) in [
            (1, vec![1]),
            (2, vec![2, 1]),
            (3, vec![3, 2, 1]),
            (7, vec![7, 4, 3, 2, 1]),
            (12, vec![12, 6, 4, 3, 2, 1]),
            (24, vec![24, 12, 8, 6, 4, 3, 2, 1]),
            (100, vec![100, 50, 34, 25, 17, 13, 9, 7, 5, 4, 3, 2, 1]),
        ] {
            assert_eq!(halvings(n), sizes, "{n}");
        }
    }

    /// All blocks at once have no order; fewer have two.
    #[test]
    fn tilings_are_of_fewer_and_fewer_blocks_and_pixels() {
        let (nodes, steps) = (Vec::new(), Vec::new());
        let layer = Layer { nodes, macs: 0, pixels: 3, blocks: 2, steps, kept: 0 };
        let list = |blocks, blocks_outer| -> Vec<Tiling> {
            [3, 2, 1].map(|pixels| Tiling { pixels, blocks, blocks_outer }).to_vec()
        };
        assert_eq!(tilings(&layer), [list(2, true), list(1, true), list(1, false)]);
    }

    /// Each tiling written out by itself, and of each list the first two that fit: the cheapest of them are kept,
    /// cheapest first, whether one is asked for or six.
    #[test]
    fn the_cheapest_of_the_tilings_tried_are_kept() {
        let config = config();
        let model = model(&config);
        let plan = Plan::new(&model, &config, Strategy::LocalIsolated).expect("fits");
        let context = Context { model: &model, plan: &plan, config: &config };
        let layer = &model.layers[0];
        let arena = Arena::new(plan.arena.clone());
        let mut state = State::new(&config, arena);
        let mut cycles = Vec::new();
        for list in tilings(layer) {
            let fitting = list.into_iter().filter_map(|tiling| {
                // Where accumulators begin goes on from tile to tile.
                attempt(&mut state, context, layer, tiling, u64::MAX, false).ok()
            });
            cycles.extend(fitting.take(TILINGS_TRIED).map(|attempt| attempt.after.cycles));
        }
        cycles.sort_unstable();
        assert!(cycles.len() > 4 && cycles[0] < cycles[1], "{cycles:?}");
        for count in [1, 2, 3, 6] {
            let kept = attempts(&mut state, context, layer, count, u64::MAX).expect("some fit");
            let kept: Vec<u64> = kept.iter().map(|attempt| attempt.after.cycles).collect();
            assert_eq!(kept, cycles[..count.min(cycles.len())], "{count}");
        }
        let least = cycles[0];
        assert_eq!(attempts(&mut state, context, layer, 1, least + 1).map(|kept| kept.len()), Ok(1));
        assert!(attempts(&mut state, context, layer, 1, least).is_err(), "the budget is to be undercut");
    }
}
