//! Scheduling of layers, each in the tiles that take the fewest cycles: [`Schedule`].

use super::Span;
use super::constants::BlockPlan;
use super::emit::Emitter;
use super::error::LowerError;
use super::layer::Layer;
use super::map::Planes;
use super::memory::Plan;
use super::tile::{self, Costs, Tiling};
use crate::clock::{Clock, Cycle};
use crate::config::Config;
use crate::isa::op::Op;

/// Number of tilings that are timed with the clock.
const CANDIDATES: usize = 64;

/// Program so far.
pub struct Schedule<'a> {
    planes: &'a Planes,
    costs: Costs,
    /// Emitter for the next layer; holds the instructions of that layer so far.
    emitter: Emitter<'a>,
    clock: Clock,
    ops: Vec<Op>,
    tilings: Vec<Tiling>,
    spans: Vec<Span>,
}

impl<'a> Schedule<'a> {
    /// Creates an empty schedule.
    pub fn new(planes: &'a Planes, plan: &'a Plan, config: &Config, costs: Costs) -> Self {
        let (emitter, clock) = (Emitter::new(planes, plan), Clock::new(config));
        Self { planes, costs, emitter, clock, ops: Vec::new(), tilings: Vec::new(), spans: Vec::new() }
    }

    /// Adds the next layer, in the tiles that take the fewest cycles. Each instruction is charged
    /// one extra cycle, so that if instructions are free, many of them are not used to save almost
    /// nothing.
    ///
    /// # Errors
    ///
    /// Even tiles of single pixels do not fit.
    pub fn add(&mut self, layer: &Layer, blocks: &[BlockPlan]) -> Result<(), LowerError> {
        let candidates = tile::cheapest(layer, self.planes, self.costs, CANDIDATES);
        let tried = candidates.into_iter().map(|tiling| self.tried(layer, blocks, tiling));
        let best = tried.min_by_key(|trial| trial.cycles.saturating_add(trial.emitter.ops.len() as u64));
        let Trial { tiling, emitter, clock, cycles } =
            best.ok_or_else(|| LowerError::Tile { layer: layer.name.clone() })?;
        tracing::debug!(layer = layer.name, tiles = ?tiling, cycles, "layer scheduled");
        (self.emitter, self.clock) = (emitter, clock);
        let ops = std::mem::take(&mut self.emitter.ops);
        self.spans.push(Span { first: self.ops.len(), count: ops.len() });
        self.ops.extend(ops);
        self.tilings.push(tiling);
        Ok(())
    }

    /// Returns the instructions, and the tiles and instruction ranges of each layer.
    pub fn finish(self) -> (Vec<Op>, Vec<Tiling>, Vec<Span>) {
        (self.ops, self.tilings, self.spans)
    }

    fn tried(&self, layer: &Layer, blocks: &[BlockPlan], tiling: Tiling) -> Trial<'a> {
        let (mut emitter, mut clock) = (self.emitter.clone(), self.clock.clone());
        emitter.layer(layer, blocks, &tiling);
        // If the clock cannot time a tiling, any other tiling is better.
        let timed = emitter.ops.iter().try_for_each(|op| clock.push(op, &mut |_| ()));
        let cycles = timed.map_or(Cycle::MAX, |()| clock.clone().finish(&mut |_| ()).cycles);
        Trial { tiling, emitter, clock, cycles }
    }
}

/// Layer in certain tiles, after the program so far.
struct Trial<'a> {
    tiling: Tiling,
    emitter: Emitter<'a>,
    clock: Clock,
    /// Cycle at which everything is done.
    cycles: Cycle,
}
