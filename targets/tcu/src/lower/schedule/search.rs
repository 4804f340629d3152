//! Search for the tiling of a layer: [`Search`].
//!
//! A tile is a range of pixels of the layer's last grid and a range of its blocks. For the block
//! counts and tile orders that read least, the largest tilings that fit are *sampled*. The first
//! groups of tiles are emitted; from them, the published estimator and the memory waits predict the
//! cost of the others. The most promising tilings are then emitted completely, until no other is
//! predicted to be cheaper. Similar layers get similar tilings: for them only the best earlier
//! tilings are emitted. Samples are independent, and all cores share them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::layer_key::{Alike, alike};
use super::traffic::most_promising_first;
use crate::config::Config;
use crate::isa::op::Op;
use crate::lower::issue::lir::Checkpoint;
use crate::lower::layers::hir::{Layer, Model, Step};
use crate::lower::memory::arena::Arena;
use crate::lower::schedule::tiling::{Tile, Tiling};
use crate::lower::tile::{Context, Limits, State, TileError, emit};

/// A layer emitted with one tiling, to be compared with other tilings.
pub struct Attempt {
    /// Tiling of the layer.
    pub tiling: Tiling,
    /// Instructions of the layer.
    pub ops: Vec<Op>,
    /// State of the instruction list after them.
    pub after: Checkpoint,
    /// Contents of local memory after them.
    pub arena: Arena,
    /// Maximum memory usage so far.
    pub limits: Limits,
    /// End of the last tile's accumulators; 0 if they followed the accumulators of another tile.
    pub accumulators: u64,
}

/// Search strategy for the layers of a model, and the results so far.
#[derive(Debug)]
pub struct Search {
    way: Way,
    known: Known,
}

/// Best tilings of a layer, best first, by the key of similar layers. Clones share the map: tilings
/// that were best under one strategy are tried first under the next.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<Mutex<HashMap<Alike, Vec<Tiling>>>>);

impl Known {
    fn all(&self) -> MutexGuard<'_, HashMap<Alike, Vec<Tiling>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Extent of the search.
#[derive(Debug)]
enum Way {
    /// All tilings: small networks take no time, and every cycle is a larger share of theirs.
    Thorough,
    /// Samples, then the tilings that they predict to be cheapest.
    Sampled,
    /// The tilings that read least. For similar layers, only the tiling that was best for the
    /// first.
    Quick,
    /// The largest tile that fits.
    Draft,
    /// No search: these tilings are used for the next layers.
    Decided(std::vec::IntoIter<Tiling>),
}

impl Search {
    /// Creates the search before the first layer of a model, with the tilings in `known`.
    pub fn new(model: &Model, known: Known) -> Self {
        let vectors = || model.layers.iter().map(products);
        let is_small =
            vectors().fold(0, u64::saturating_add) < SMALL && vectors().all(|layer| layer < SMALL_LAYER);
        Self { way: if is_small { Way::Thorough } else { Way::Sampled }, known }
    }

    fn by(way: Way) -> Self {
        Self { way, known: Known::default() }
    }

    /// Creates a search that tries few tilings per layer, with the tilings in `known`.
    pub fn quick(known: Known) -> Self {
        Self { way: Way::Quick, known }
    }

    /// Creates a search that takes the largest tile of each layer, regardless of its cost.
    pub fn draft() -> Self {
        Self::by(Way::Draft)
    }

    /// Returns the number of attempts per layer that the clock compares. The clock takes far longer
    /// than the estimator, which in turn ignores the overlap of units.
    pub fn attempts_timed(&self, config: &Config) -> usize {
        match self.way {
            Way::Thorough => 3 * tilings_tried(config),
            _ => 3,
        }
    }

    /// Creates a search that uses one given tiling per layer.
    pub fn decided(tilings: Vec<Tiling>) -> Self {
        Self::by(Way::Decided(tilings.into_iter()))
    }
}

/// Maximum number of vectors that a small network multiplies.
const SMALL: u64 = 3 << 19;
/// Maximum number of vectors that a layer of a small network multiplies. A segment of a large
/// network may have few layers that take seconds each.
const SMALL_LAYER: u64 = 1 << 17;

/// Returns the number of vectors that a layer multiplies.
fn products(layer: &Layer) -> u64 {
    let terms = |step: &Step| if let Step::MatMul(matmul) = step { matmul.terms.len() } else { 0 };
    let terms: usize = layer.steps.iter().map(terms).sum();
    (layer.pixels as u64).saturating_mul(layer.blocks as u64).saturating_mul(terms as u64)
}

/// Returns the number of fitting tilings that a thorough search tries per number of blocks and tile
/// order. Small tiles need more weight loads, which queues hide.
const fn tilings_tried(config: &Config) -> usize {
    if config.overlap.has_queues() { 8 } else { 2 }
}

/// A tiling that fits, with its predicted cost.
struct Sample {
    tiling: Tiling,
    /// Cycles of the program up to the end of this layer, by the estimator: emitted groups plus a
    /// prediction for the rest.
    cycles: u64,
    /// The complete attempt, if there were too few groups to sample.
    whole: Option<Attempt>,
}

/// Maximum length of a program, in instructions; longer programs would exhaust the host's memory.
pub const MAX_INSTRUCTIONS: usize = 1 << 24;

/// Maximum number of attempts emitted completely per attempt requested: a prediction holds only
/// while local memory has room.
const WRITTEN: usize = 2;

impl Search {
    /// Returns the `count` cheapest attempts for the layer by the estimator, cheapest first; at
    /// least one. If only one tiling exists, the arena of `state` is moved out and lost.
    ///
    /// # Errors
    ///
    /// Reports why the last tiling tried does not fit.
    pub fn layer(
        &mut self,
        state: &mut State,
        context: Context<'_>,
        layer: &Layer,
        count: usize,
    ) -> Result<Vec<Attempt>, TileError> {
        let lists = match &mut self.way {
            Way::Decided(tilings) => vec![tilings.next().into_iter().collect()],
            _ => tilings(layer, context.config.accumulator_depth),
        };
        if let [only] = &lists[..]
            && let [only] = only[..]
        {
            // Most layers of a long network are small and have only one tiling. Skipping the copy
            // of the arena saves time.
            let arena = std::mem::replace(&mut state.arena, Arena::new(0..0));
            return whole(state.fork(arena), context, layer, only).map(|attempt| vec![attempt]);
        }
        let state = &*state;
        let write = |&tiling: &Tiling| whole(state.fork(state.arena.clone()), context, layer, tiling);
        if let Way::Draft = self.way {
            return first_whole(&largest_first(&lists), write).map(|attempt| vec![attempt]);
        }
        let key = alike(layer, context.model);
        // Default: a new kind of layer has no known tilings.
        let known = self.known.all().get(&key).cloned().unwrap_or_default();
        let tried = tilings_tried(context.config);
        let mut written: Vec<Attempt> = match self.way {
            Way::Thorough => lists.par_iter().flat_map_iter(|list| first_few(list, tried, write)).collect(),
            Way::Quick => known.first().and_then(|tiling| write(tiling).ok()).into_iter().collect(),
            _ => known.par_iter().filter_map(|tiling| write(tiling).ok()).collect(),
        };
        if written.is_empty() {
            // No tiling is known, or none of the known ones fits here.
            written = match self.way {
                Way::Thorough => written,
                Way::Quick => {
                    promising(&most_promising_first(&lists, layer, context, &state.lir), count, write)
                }
                _ => best(samples(state, context, layer, &lists, count)?, count, write),
            };
        }
        if written.is_empty() {
            // If all tiles differ, the first tiles predict the others badly, so a whole attempt is
            // written.
            written.push(first_whole(&lists.concat(), write)?);
        }
        written.sort_by_key(|attempt| attempt.after.cycles);
        written.truncate(count);
        let mut known = self.known.all();
        known.entry(key).or_insert_with(|| written.iter().map(|attempt| attempt.tiling).collect());
        Ok(written)
    }

    /// Stores the best tilings of `layer` by the clock. Later similar layers try only these, since
    /// the clock takes far longer than anything in the search.
    pub fn learn(&mut self, layer: &Layer, model: &Model, tilings: Vec<Tiling>) {
        if !matches!(self.way, Way::Thorough) && tilings.len() > 1 {
            self.known.all().insert(alike(layer, model), tilings);
        }
    }
}

/// Returns attempts with the largest tiles of a list that fit completely.
fn first_few(
    list: &[Tiling],
    count: usize,
    write: impl Fn(&Tiling) -> Result<Attempt, TileError>,
) -> Vec<Attempt> {
    list.iter().filter_map(|tiling| write(tiling).ok()).take(count).collect()
}

/// Returns one attempt per list, with the largest tiles that fit completely, for the first `count`
/// lists that have one.
fn promising(
    lists: &[&[Tiling]],
    count: usize,
    write: impl Fn(&Tiling) -> Result<Attempt, TileError>,
) -> Vec<Attempt> {
    let first = |list: &&[Tiling]| list.iter().find_map(|tiling| write(tiling).ok());
    lists.iter().filter_map(first).take(count).collect()
}

/// Returns all tilings, larger tiles first.
fn largest_first(lists: &[Vec<Tiling>]) -> Vec<Tiling> {
    let mut all = lists.concat();
    all.sort_by_key(|tiling| Reverse(tiling.pixels * tiling.blocks));
    all
}

/// Returns the first tiling that fits completely.
fn first_whole(
    tilings: &[Tiling],
    write: impl Fn(&Tiling) -> Result<Attempt, TileError>,
) -> Result<Attempt, TileError> {
    let mut last_error = None;
    for tiling in tilings {
        match write(tiling) {
            Ok(attempt) => return Ok(attempt),
            Err(error @ TileError::Long { .. }) => return Err(error),
            Err(error) => last_error = Some(error),
        }
    }
    Err(last_error.expect("a layer has at least one tiling"))
}

/// Emits the most promising samples completely, until `count` attempts cost no more than any
/// prediction left; cheapest first.
fn best(
    mut samples: Vec<Sample>,
    count: usize,
    write: impl Fn(&Tiling) -> Result<Attempt, TileError> + Sync,
) -> Vec<Attempt> {
    samples.sort_by_key(|sample| sample.cycles);
    let (mut written, mut left) = (Vec::new(), Vec::new());
    for Sample { tiling, cycles, whole } in samples {
        match whole {
            Some(attempt) => written.push(attempt),
            None => left.push((cycles, tiling)),
        }
    }
    let mut left = left.into_iter().take(WRITTEN * count).peekable();
    loop {
        written.sort_by_key(|attempt: &Attempt| attempt.after.cycles);
        // Default: with fewer than `count` attempts, any prediction is worth emitting.
        let enough = written.get(count - 1).map_or(u64::MAX, |attempt| attempt.after.cycles);
        let promising = std::iter::from_fn(|| left.next_if(|&(cycles, _)| cycles < enough));
        let next: Vec<Tiling> = promising.take(count).map(|(_, tiling)| tiling).collect();
        if next.is_empty() {
            return written;
        }
        written.extend(next.par_iter().filter_map(|tiling| write(tiling).ok()).collect::<Vec<_>>());
    }
}

/// Samples the largest tiling that fits of each list, and for the `count` most promising lists also
/// the next one. With few exceptions, smaller tiles only cost more loads.
fn samples(
    state: &State,
    context: Context<'_>,
    layer: &Layer,
    lists: &[Vec<Tiling>],
    count: usize,
) -> Result<Vec<Sample>, TileError> {
    let first = |list: &&[Tiling]| first_that_fits(state, context, layer, list);
    let (mut samples, mut rest, mut last_error) = (Vec::new(), Vec::new(), None);
    let lists = most_promising_first(lists, layer, context, &state.lir);
    let sampled = if products(layer) > 0 { SAMPLED_LISTS } else { lists.len() };
    let (promising, others) = lists.split_at(sampled.min(lists.len()));
    for lists in [promising, others] {
        let found: Vec<_> = lists.par_iter().map(first).collect();
        for (result, list) in found.into_iter().zip(lists) {
            match result {
                Ok((sample, at)) => {
                    rest.push((sample.cycles, &list[at + 1..]));
                    samples.push(sample);
                }
                Err(error) => last_error = error.or(last_error),
            }
        }
        if !samples.is_empty() {
            break;
        }
    }
    rest.sort_by_key(|&(cycles, _)| cycles);
    let next = |&(_, list): &(u64, &[Tiling])| first_that_fits(state, context, layer, list).ok();
    let more: Vec<_> = rest.par_iter().take(count).filter_map(next).collect();
    samples.extend(more.into_iter().map(|(sample, _)| sample));
    match last_error {
        Some(error) if samples.is_empty() => Err(error),
        _ => Ok(samples),
    }
}

/// Maximum number of tiling lists sampled for a layer with products; more are sampled if no tiling
/// in these fits.
const SAMPLED_LISTS: usize = 10;

/// Returns a sample of the first tiling in a list that fits, with its index; otherwise the last
/// error, if any.
fn first_that_fits(
    state: &State,
    context: Context<'_>,
    layer: &Layer,
    list: &[Tiling],
) -> Result<(Sample, usize), Option<TileError>> {
    let mut last_error = None;
    for (at, &tiling) in list.iter().enumerate() {
        match sample(state, context, layer, tiling) {
            Ok(sample) => return Ok((sample, at)),
            Err(error) => last_error = Some(error),
        }
    }
    Err(last_error)
}

/// Number of tile groups emitted for a sample: one that starts with the given local memory, and one
/// that represents the following groups.
const SAMPLED: usize = 2;

/// Emits the first groups, or all if there are only a few more.
fn sample(state: &State, context: Context<'_>, layer: &Layer, tiling: Tiling) -> Result<Sample, TileError> {
    let mut trial = state.fork(state.arena.clone());
    let groups = tiling.groups(layer);
    if groups.len() <= SAMPLED + 1 {
        let attempt = whole(trial, context, layer, tiling)?;
        return Ok(Sample { tiling, cycles: attempt.after.cycles, whole: Some(attempt) });
    }
    trial.arena.come_back_to(tiling.again(layer));
    let mut last = (0, 0);
    for group in &groups[..SAMPLED] {
        let before = (trial.lir.cycles, trial.lir.ops.len());
        write(&mut trial, context, layer, group)?;
        last = (trial.lir.cycles - before.0, (trial.lir.ops.len() - before.1) as u64);
    }
    let rest = groups[SAMPLED..].iter().map(|group| work(group)).sum();
    let promised = |of_last: u64| scaled(of_last, rest, work(&groups[SAMPLED - 1]));
    let instructions = trial.lir.instructions().saturating_add(promised(last.1) as usize);
    if instructions / 2 > MAX_INSTRUCTIONS {
        return Err(TileError::Long { instructions });
    }
    let cycles = trial.lir.cycles.saturating_add(promised(last.0));
    Ok(Sample { tiling, cycles, whole: None })
}

/// Returns the number of grid vectors in the tiles.
fn work(tiles: &[Tile]) -> u64 {
    tiles.iter().map(|(pixels, blocks)| (pixels.len() * blocks.len()) as u64).sum()
}

/// Extrapolates `of`, the cost of `part`, to the cost of `work`.
fn scaled(of: u64, work: u64, part: u64) -> u64 {
    let scaled = u128::from(of) * u128::from(work) / u128::from(part.max(1));
    // Default: on overflow, the largest number serves as well.
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Emits the instructions of the whole layer.
fn whole(
    mut trial: State,
    context: Context<'_>,
    layer: &Layer,
    tiling: Tiling,
) -> Result<Attempt, TileError> {
    trial.arena.come_back_to(tiling.again(layer));
    for group in tiling.groups(layer) {
        write(&mut trial, context, layer, &group)?;
    }
    let after = trial.lir.checkpoint();
    let State { lir, arena, limits, accumulators } = trial;
    Ok(Attempt { tiling, ops: lir.ops, after, arena, limits, accumulators })
}

/// Emits the instructions of tiles.
fn write(state: &mut State, context: Context<'_>, layer: &Layer, tiles: &[Tile]) -> Result<(), TileError> {
    for (pixels, blocks) in tiles {
        emit(state, context, layer, pixels.clone(), blocks.clone())?;
        let instructions = state.lir.instructions();
        if instructions > MAX_INSTRUCTIONS {
            return Err(TileError::Long { instructions });
        }
    }
    Ok(())
}

/// Returns tilings grouped by blocks per tile and order; each list has fewer and fewer pixels per
/// tile. The first tiles fit in `accumulators`; the smallest tiles are always included.
fn tilings(layer: &Layer, accumulators: u64) -> Vec<Vec<Tiling>> {
    let mut lists = Vec::new();
    for blocks in halvings(layer.blocks) {
        for blocks_outer in [true, false] {
            if !blocks_outer && blocks == layer.blocks {
                continue;
            }
            let pixels = halvings(layer.pixels);
            // If one tile has all pixels, both orders are equal and one is skipped.
            let skipped = usize::from(!blocks_outer && layer.pixels > 0);
            let tiling = |pixels| Tiling { pixels, blocks, blocks_outer };
            let fits = |pixels: &usize| *pixels <= 1 || (pixels * blocks) as u64 <= accumulators;
            lists.push(pixels.into_iter().skip(skipped).filter(fits).map(tiling).collect());
        }
    }
    lists
}

/// Returns `n` divided by increasing numbers of parts, down to 1.
fn halvings(n: usize) -> Vec<usize> {
    let mut parts: Vec<usize> = vec![1];
    while let Some(&last) = parts.last().filter(|&&last| last < n) {
        // The sizes are 1, 2, 3, 4, 6, 8, 12, 16, ...: two per power of two.
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

#[cfg(test)]
pub(crate) mod tests {
    use npukit_graph::op::{Conv, Relu};
    use npukit_graph::{Graph, ValueInfo};
    use npukit_numeric::{ElementType, Tensor};

    use super::*;
    use crate::config::Config;
    use crate::lower::Options;
    use crate::lower::layers::hir::Model;
    use crate::lower::memory::{Plan, Strategy};
    use crate::lower::schedule::cost::Waits;

    /// An instance with an array of size four, few accumulators and little local memory.
    pub fn config() -> Config {
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
    pub fn model(config: &Config) -> Model {
        let mut graph = Graph { name: "net".to_owned(), ..Graph::default() };
        let info = ValueInfo { shape: vec![1, 5, 5, 10], element: ElementType::F32 };
        let x = graph.add_input("x".to_owned(), info);
        let weights = Tensor::from_f32(vec![3, 3, 10, 8], vec![0.5; 720]).expect("720 elements");
        let weights = graph.add_constant("weights".to_owned(), weights);
        let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 1 };
        let y = graph
            .add_node("conv".to_owned(), conv.into(), vec![x, weights], &["y"])
            .expect("a convolution")[0];
        let z = graph.add_node("relu".to_owned(), Relu.into(), vec![y], &["z"]).expect("a relu")[0];
        graph.outputs = vec![z];
        crate::lower::layers::build(&graph, config, &Options::default()).expect("it can be lowered")
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

    /// With all blocks or all pixels in one tile there is one order; otherwise two.
    #[test]
    fn tilings_are_of_fewer_and_fewer_blocks_and_pixels() {
        let (nodes, steps) = (Vec::new(), Vec::new());
        let layer = Layer { nodes, macs: 0, pixels: 3, blocks: 2, steps, kept: 0 };
        let list = |blocks, blocks_outer| -> Vec<Tiling> {
            [3, 2, 1].map(|pixels| Tiling { pixels, blocks, blocks_outer }).to_vec()
        };
        assert_eq!(tilings(&layer, u64::MAX), [list(2, true), list(1, true), list(1, false)[1..].to_vec()]);
    }

    /// The attempts returned are the cheapest of all tilings that fit, although only some were
    /// emitted completely.
    #[test]
    fn the_cheapest_of_all_tilings_are_found() {
        let config = config();
        let model = model(&config);
        let plan = Plan::new(&model, &config, Strategy::LocalIsolated).expect("fits");
        let context = Context { model: &model, plan: &plan, config: &config };
        let layer = &model.layers[0];
        let mut state = State::new(&config, Waits::default(), Arena::new(plan.arena.clone()));
        let lists = tilings(layer, config.accumulator_depth);
        let all = lists.iter().flatten();
        let all =
            all.filter_map(|&tiling| whole(state.fork(state.arena.clone()), context, layer, tiling).ok());
        let mut all: Vec<u64> = all.map(|attempt| attempt.after.cycles).collect();
        all.sort_unstable();
        assert!(all.len() > 6 && all[0] < all[1], "{all:?}");
        let mut cycles = |search: &mut Search, count| -> Vec<(Tiling, u64)> {
            let found = search.layer(&mut state, context, layer, count).expect("some fit");
            found.iter().map(|attempt| (attempt.tiling, attempt.after.cycles)).collect()
        };
        let mut thorough = Search::new(&model, Known::default());
        let of_thorough: Vec<u64> = cycles(&mut thorough, 6).into_iter().map(|(_, cycles)| cycles).collect();
        assert_eq!((of_thorough.len(), of_thorough[0]), (6, all[0]));
        let mut search = Search::by(Way::Sampled);
        let found = cycles(&mut search, 3);
        assert_eq!((found.len(), found[0].1), (3, all[0]));
        assert!(found.is_sorted_by_key(|&(_, cycles)| cycles), "{found:?}");
        assert_eq!(cycles(&mut search, 3), found, "known tilings are found again");
        assert_eq!(cycles(&mut search, 1), found[..1]);
    }

    /// For the next similar layer only the tilings learned from the clock are tried, except by a
    /// thorough search.
    #[test]
    fn what_was_learnt_is_tried_next() {
        let config = config();
        let model = model(&config);
        let plan = Plan::new(&model, &config, Strategy::LocalIsolated).expect("fits");
        let context = Context { model: &model, plan: &plan, config: &config };
        let layer = &model.layers[0];
        let mut state = State::new(&config, Waits::default(), Arena::new(plan.arena.clone()));
        for (way, expected) in [(Way::Sampled, 2), (Way::Thorough, 6)] {
            let mut search = Search::by(way);
            let mut found = |search: &mut Search| -> Vec<Tiling> {
                let found = search.layer(&mut state, context, layer, 6).expect("some fit");
                found.iter().map(|attempt| attempt.tiling).collect()
            };
            let first = found(&mut search);
            search.learn(layer, &model, vec![first[3], first[1]]);
            let next = found(&mut search);
            assert_eq!(next.len(), expected);
            assert!(next.contains(&first[1]) && next.contains(&first[3]), "{next:?}");
        }
    }

    /// Groups by blocks, then by pixels, then with all at once, where each tile is its own group.
    #[test]
    fn groups_are_of_one_kind_of_tiles() {
        let (nodes, steps) = (Vec::new(), Vec::new());
        let layer = Layer { nodes, macs: 0, pixels: 5, blocks: 3, steps, kept: 0 };
        let groups = |pixels, blocks, blocks_outer| Tiling { pixels, blocks, blocks_outer }.groups(&layer);
        assert_eq!(groups(3, 2, true), [[(0..3, 0..2), (3..5, 0..2)], [(0..3, 2..3), (3..5, 2..3)]]);
        assert_eq!(groups(3, 2, false), [[(0..3, 0..2), (0..3, 2..3)], [(3..5, 0..2), (3..5, 2..3)]]);
        assert_eq!(groups(3, 3, true), [[(0..3, 0..3)], [(3..5, 0..3)]]);
        assert_eq!(
            (work(&groups(3, 2, true)[0]), scaled(10, 6, 4), scaled(u64::MAX, 2, 1)),
            (10, 15, u64::MAX)
        );
    }
}
