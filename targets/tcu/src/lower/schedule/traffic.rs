//! Vectors that the products of a layer read, by tiling: [`most_promising_first`] orders tilings by
//! the cost of these reads.
//!
//! No instruction is emitted. It assumes that the largest tiles fit, and counts the vectors read
//! and how often the array is filled.

use std::collections::HashMap;
use std::ops::Range;

use crate::lower::issue::lir::Lir;
use crate::lower::layers::hir::{Layer, Step, Term};
use crate::lower::memory::object::{ObjectId, VecRef};
use crate::lower::schedule::tiling::Tiling;
use crate::lower::tile::Context;

/// Returns the non-empty tiling lists of a layer, ordered by the cost of their largest tiles; in
/// the given order if the layer has no products.
pub fn most_promising_first<'l>(
    lists: &'l [Vec<Tiling>],
    layer: &Layer,
    context: Context<'_>,
    lir: &Lir,
) -> Vec<&'l [Tiling]> {
    let traffic = Traffic::of(layer, context);
    let mut lists: Vec<&[Tiling]> = lists.iter().map(Vec::as_slice).filter(|list| !list.is_empty()).collect();
    lists.sort_by_cached_key(|list| traffic.cycles(list[0], layer, lir));
    lists
}

/// Vectors that the products of a layer read with any tiling.
struct Traffic {
    weights: u64,
    inputs: u64,
    /// Number of arrays full of weights, with one tile of all pixels.
    sets: u64,
    /// Number of rows of an array full of weights.
    rows: u64,
    /// Number of vectors of local memory for weights and inputs.
    local: u64,
}

impl Traffic {
    fn of(layer: &Layer, context: Context<'_>) -> Self {
        let products = layer.steps.iter().filter_map(|step| match step {
            Step::MatMul(matmul) => Some(matmul),
            _ => None,
        });
        let terms: Vec<&Term> = products.flat_map(|matmul| &matmul.terms).collect();
        let (sets, rows) = ((terms.len() * layer.blocks) as u64, context.config.array_size as u64 + 1);
        let local = context.plan.arena.end.saturating_sub(context.plan.arena.start);
        Self { weights: sets * rows, inputs: inputs(&terms), sets, rows, local }
    }

    /// Returns the cycles that depend on the tiling: reads, plus loads of the array. Each load
    /// takes its rows and the drain of the previous product. Vectors that stay in local memory
    /// between tiles are read once.
    fn cycles(&self, tiling: Tiling, layer: &Layer, lir: &Lir) -> u64 {
        let parts = |all: usize, of: usize| all.div_ceil(of.max(1)).max(1) as u64;
        let (pixels, blocks) = (parts(layer.pixels, tiling.pixels), parts(layer.blocks, tiling.blocks));
        let reads = |size: u64, stays: u64, again: u64| if stays <= self.local { size } else { size * again };
        let (weights_stay, inputs_stay) = if tiling.blocks_outer {
            (self.weights / blocks, self.inputs)
        } else {
            (self.weights, self.inputs / pixels)
        };
        let read = reads(self.weights, weights_stay, pixels) + reads(self.inputs, inputs_stay, blocks);
        lir.read_cycles(read) + 2 * self.rows * self.sets * pixels
    }
}

/// Returns the number of vectors that terms read, estimated for each object by the first and last
/// vector of each term.
fn inputs(terms: &[&Term]) -> u64 {
    let stored = |vector: &&VecRef| !vector.is_zero();
    let ends =
        terms.iter().flat_map(|term| [term.inputs.iter().find(stored), term.inputs.iter().rfind(stored)]);
    let mut reach: HashMap<ObjectId, Range<u32>> = HashMap::new();
    for vector in ends.flatten() {
        let reach = reach.entry(vector.object).or_insert(vector.index..vector.index + 1);
        *reach = reach.start.min(vector.index)..reach.end.max(vector.index + 1);
    }
    reach.values().map(|reach| reach.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::memory::{Plan, Strategy};
    use crate::lower::schedule::cost::Waits;
    use crate::lower::schedule::search::tests::{config, model};

    /// 27 terms of two blocks read 25 pixels of three blocks, and 54 arrays of five rows.
    #[test]
    fn weights_that_stay_are_read_once() {
        let config = config();
        let model = model(&config);
        let plan = Plan::new(&model, &config, Strategy::LocalIsolated).expect("fits");
        let (layer, context) = (&model.layers[0], Context { model: &model, plan: &plan, config: &config });
        let traffic = Traffic::of(layer, context);
        assert_eq!((traffic.weights, traffic.inputs, traffic.sets, traffic.local), (270, 75, 54, 89));
        let lir = Lir::new(&config, Waits::default());
        let tiling = |pixels, blocks, blocks_outer| Tiling { pixels, blocks, blocks_outer };
        let cycles = |pixels, blocks, outer| traffic.cycles(tiling(pixels, blocks, outer), layer, &lir);
        // The 270 weights do not stay in local memory and are read again for each of three tiles.
        // The inputs stay.
        assert_eq!(cycles(9, 2, true), 3 * 270 + 75 + 3 * 540);
        assert_eq!(cycles(25, 1, true), 270 + 75 + 540, "all pixels at once");
        assert_eq!(cycles(25, 2, true), 270 + 75 + 540);
        let lists = [vec![tiling(9, 1, false)], vec![], vec![tiling(25, 1, true), tiling(13, 1, true)]];
        let ordered = most_promising_first(&lists, layer, context, &lir);
        assert_eq!(ordered, [&lists[2][..], &lists[0][..]]);
    }
}
