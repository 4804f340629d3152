//! The search for a layer's tiling: [`Search`].
//!
//! A tile is a range of pixels of the layer's last grid and a range of its blocks. For the numbers of blocks and orders
//! of tiles that read least, the largest that fit are *sampled*: their first groups are written out, which tells by the
//! published estimator, and the waits for memory, what the others will cost. Those that promise most are written whole, until none that is left
//! promises more than is reached. Layers that are alike are cut alike: of them only what did best before is
//! written. Samples do not depend on each other, and all cores share them.

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

/// A way to write a layer, to be compared with others.
pub struct Attempt {
    /// How it is cut.
    pub tiling: Tiling,
    /// Its instructions.
    pub ops: Vec<Op>,
    /// What the list knows after them.
    pub after: Checkpoint,
    /// What local memory holds after them.
    pub arena: Arena,
    /// The most used so far.
    pub limits: Limits,
    /// Where the last tile's accumulators end.
    pub accumulators: u64,
}

/// How the layers of a model are searched, and what was found out so far.
#[derive(Debug)]
pub struct Search {
    way: Way,
    known: Known,
}

/// The tilings that did best for a layer, by what makes layers alike; the best first. Copies share what is known: what did
/// best under one strategy is tried first under the next.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<Mutex<HashMap<Alike, Vec<Tiling>>>>);

impl Known {
    fn all(&self) -> MutexGuard<'_, HashMap<Alike, Vec<Tiling>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is looked at.
#[derive(Debug)]
enum Way {
    /// Everything: small networks take no time, and every cycle is a larger share of theirs.
    Thorough,
    /// Samples, and what promises most by them.
    Sampled,
    /// What promises most by what it reads, and of layers that are alike only what did best of the first.
    Quick,
    /// The largest tile that fits.
    Draft,
    /// Nothing: these are the tilings of the layers to come.
    Decided(std::vec::IntoIter<Tiling>),
}

impl Search {
    /// Before the first layer, of a model of which this is known.
    pub fn new(model: &Model, known: Known) -> Self {
        let vectors = || model.layers.iter().map(products);
        let is_small =
            vectors().fold(0, u64::saturating_add) < SMALL && vectors().all(|layer| layer < SMALL_LAYER);
        Self { way: if is_small { Way::Thorough } else { Way::Sampled }, known }
    }

    fn by(way: Way) -> Self {
        Self { way, known: Known::default() }
    }

    /// A search that looks at few ways of a layer, of a model of which this is known.
    pub fn quick(known: Known) -> Self {
        Self { way: Way::Quick, known }
    }

    /// The largest tile of each layer, whatever it costs.
    pub fn draft() -> Self {
        Self::by(Way::Draft)
    }

    /// Ways of a layer that the clock decides between. It takes far longer than what names them, which knows nothing of what
    /// runs beside what.
    pub fn attempts_timed(&self, config: &Config) -> usize {
        match self.way {
            Way::Thorough => 3 * tilings_tried(config),
            _ => 3,
        }
    }

    /// No search: a tiling for each layer.
    pub fn decided(tilings: Vec<Tiling>) -> Self {
        Self::by(Way::Decided(tilings.into_iter()))
    }
}

/// Vectors that a small network multiplies.
const SMALL: u64 = 3 << 19;
/// Vectors that a layer of one multiplies: a segment of a large network may have few of them, each of which takes seconds.
const SMALL_LAYER: u64 = 1 << 17;

/// Vectors that a layer multiplies.
fn products(layer: &Layer) -> u64 {
    let terms = |step: &Step| if let Step::MatMul(matmul) = step { matmul.terms.len() } else { 0 };
    let terms: usize = layer.steps.iter().map(terms).sum();
    (layer.pixels as u64).saturating_mul(layer.blocks as u64).saturating_mul(terms as u64)
}

/// Fitting tilings looked at per number of blocks and order of tiles, by a thorough search: small tiles cost loads of weights,
/// which queues hide.
const fn tilings_tried(config: &Config) -> usize {
    if config.overlap.has_queues() { 8 } else { 2 }
}

/// A tiling that fits.
struct Sample {
    tiling: Tiling,
    /// Cycles of the program up to its end, by the estimator: as far as it is written, and what that promises.
    cycles: u64,
    /// Where there were too few groups to sample.
    whole: Option<Attempt>,
}

/// The longest program: beyond, it would fill the host's memory.
pub const MAX_INSTRUCTIONS: usize = 1 << 24;

/// Ways written whole for each that is asked for, at most: samples promise what only holds while local memory has room.
const WRITTEN: usize = 2;

impl Search {
    /// The `count` cheapest ways of writing the layer by the estimator, cheapest first; at least one. What the arena of `state`
    /// holds is lost when there is no other way than one.
    ///
    /// # Errors
    ///
    /// Why the last tiling that was tried does not fit.
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
            // Most layers of a long network are small and have one way: what the arena holds is not copied for them.
            let arena = std::mem::replace(&mut state.arena, Arena::new(0..0));
            return whole(state.fork(arena), context, layer, only).map(|attempt| vec![attempt]);
        }
        let state = &*state;
        let write = |&tiling: &Tiling| whole(state.fork(state.arena.clone()), context, layer, tiling);
        if let Way::Draft = self.way {
            return first_whole(&largest_first(&lists), write).map(|attempt| vec![attempt]);
        }
        let key = alike(layer, context.model);
        // Default: of a layer that was not met there is nothing to try first.
        let known = self.known.all().get(&key).cloned().unwrap_or_default();
        let tried = tilings_tried(context.config);
        let mut written: Vec<Attempt> = match self.way {
            Way::Thorough => lists.par_iter().flat_map_iter(|list| first_few(list, tried, write)).collect(),
            Way::Quick => known.first().and_then(|tiling| write(tiling).ok()).into_iter().collect(),
            _ => known.par_iter().filter_map(|tiling| write(tiling).ok()).collect(),
        };
        if written.is_empty() {
            // Nothing is known, or none of it fits here.
            written = match self.way {
                Way::Thorough => written,
                Way::Quick => {
                    promising(&most_promising_first(&lists, layer, context, &state.lir), count, write)
                }
                _ => best(samples(state, context, layer, &lists, count)?, count, write),
            };
        }
        if written.is_empty() {
            // Where no tile is like another, the first ones say little.
            written.push(first_whole(&lists.concat(), write)?);
        }
        written.sort_by_key(|attempt| attempt.after.cycles);
        written.truncate(count);
        let mut known = self.known.all();
        known.entry(key).or_insert_with(|| written.iter().map(|attempt| attempt.tiling).collect());
        Ok(written)
    }

    /// Of layers like `layer`, these tilings did best by the clock, which takes far longer than anything else: of the next ones
    /// no others are tried.
    pub fn learn(&mut self, layer: &Layer, model: &Model, tilings: Vec<Tiling>) {
        if !matches!(self.way, Way::Thorough) && tilings.len() > 1 {
            self.known.all().insert(alike(layer, model), tilings);
        }
    }
}

/// The largest tiles of a list that fit to their ends.
fn first_few(
    list: &[Tiling],
    count: usize,
    write: impl Fn(&Tiling) -> Result<Attempt, TileError>,
) -> Vec<Attempt> {
    list.iter().filter_map(|tiling| write(tiling).ok()).take(count).collect()
}

/// Of the first lists the largest tiles that fit to their ends, of as many lists as are asked for.
fn promising(
    lists: &[&[Tiling]],
    count: usize,
    write: impl Fn(&Tiling) -> Result<Attempt, TileError>,
) -> Vec<Attempt> {
    let first = |list: &&[Tiling]| list.iter().find_map(|tiling| write(tiling).ok());
    lists.iter().filter_map(first).take(count).collect()
}

/// All tilings, those of larger tiles first.
fn largest_first(lists: &[Vec<Tiling>]) -> Vec<Tiling> {
    let mut all = lists.concat();
    all.sort_by_key(|tiling| Reverse(tiling.pixels * tiling.blocks));
    all
}

/// The first of the tilings that fits to its end.
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

/// Writes whole what promises most, until `count` are done that cost no more than any other promises; cheapest first.
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
        // Default: as long as there are fewer, any is worth writing.
        let enough = written.get(count - 1).map_or(u64::MAX, |attempt| attempt.after.cycles);
        let promising = std::iter::from_fn(|| left.next_if(|&(cycles, _)| cycles < enough));
        let next: Vec<Tiling> = promising.take(count).map(|(_, tiling)| tiling).collect();
        if next.is_empty() {
            return written;
        }
        written.extend(next.par_iter().filter_map(|tiling| write(tiling).ok()).collect::<Vec<_>>());
    }
}

/// Of each list the largest tiles that fit, and of the `count` lists that promise most the next ones, too: smaller tiles
/// only cost more loads, with few exceptions.
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

/// Lists of tilings that are sampled of a layer with products, at most, unless none of these has one that fits.
const SAMPLED_LISTS: usize = 10;

/// The first tiling of a list that fits, and where it is in the list; the last error, if there is one.
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

/// Groups of tiles that are written for a sample: one that finds local memory as it was, and one as all that follow.
const SAMPLED: usize = 2;

/// Writes the first groups, or all when there are few more.
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

/// Vectors of the grid that tiles hold.
fn work(tiles: &[Tile]) -> u64 {
    tiles.iter().map(|(pixels, blocks)| (pixels.len() * blocks.len()) as u64).sum()
}

/// What `of` is for `work`, of which so much is for `part` of it.
fn scaled(of: u64, work: u64, part: u64) -> u64 {
    let scaled = u128::from(of) * u128::from(work) / u128::from(part.max(1));
    // Default: beyond 64 bits, the largest number is as good as any.
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Writes all of the layer.
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

/// Writes tiles.
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

/// Tilings by blocks per tile and order, each list with fewer and fewer pixels per tile; the tiles that fit so many
/// accumulators, and the smallest.
fn tilings(layer: &Layer, accumulators: u64) -> Vec<Vec<Tiling>> {
    let mut lists = Vec::new();
    for blocks in halvings(layer.blocks) {
        for blocks_outer in [true, false] {
            if !blocks_outer && blocks == layer.blocks {
                continue;
            }
            let pixels = halvings(layer.pixels);
            // Of all pixels at once, tiles come in one order.
            let skipped = usize::from(!blocks_outer && layer.pixels > 0);
            let tiling = |pixels| Tiling { pixels, blocks, blocks_outer };
            let fits = |pixels: &usize| *pixels <= 1 || (pixels * blocks) as u64 <= accumulators;
            lists.push(pixels.into_iter().skip(skipped).filter(fits).map(tiling).collect());
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

    /// Arrays of four; few accumulators and little local memory.
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
        let weights = Tensor::from_f32(vec![3, 3, 10, 8], vec![0.5; 720]).expect("as many as the shape says");
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

    /// All blocks or pixels at once have no order; fewer have two.
    #[test]
    fn tilings_are_of_fewer_and_fewer_blocks_and_pixels() {
        let (nodes, steps) = (Vec::new(), Vec::new());
        let layer = Layer { nodes, macs: 0, pixels: 3, blocks: 2, steps, kept: 0 };
        let list = |blocks, blocks_outer| -> Vec<Tiling> {
            [3, 2, 1].map(|pixels| Tiling { pixels, blocks, blocks_outer }).to_vec()
        };
        assert_eq!(tilings(&layer, u64::MAX), [list(2, true), list(1, true), list(1, false)[1..].to_vec()]);
    }

    /// The tilings that were written whole are those that cost least of all that fit, though only a part of them was.
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
        assert_eq!(cycles(&mut search, 3), found, "what is known is found again");
        assert_eq!(cycles(&mut search, 1), found[..1]);
    }

    /// What the clock has found out of a layer is all that is tried for the next one like it, unless all is looked at.
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

    /// Of the same pixels and blocks, then in another order, then of all at once, which are tiles of their own.
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
