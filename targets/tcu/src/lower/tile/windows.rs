//! Steps that compute a new grid from windows of the previous grid: pools and weighted sums.

use std::collections::HashMap;

use super::{Grid, Tile, TileError};
use crate::isa::op::SimdOp;
use crate::lower::issue::lir::{
    FROM_REGISTER, Lir, THROUGH, TO_REGISTER, ZERO, into_register, with_register,
};
use crate::lower::layers::hir::{WeightedSum, Windows};
use crate::lower::memory::object::VecRef;

impl Tile<'_> {
    /// Visits each accumulator of the grid with the addresses of its window's vectors in the
    /// previous grid and the positions of their entries in the window list.
    fn for_each_window(&self, windows: &Windows, before: &Grid, mut visit: impl FnMut(u64, usize, &[u64])) {
        let mut sources = Vec::new();
        for (block, _) in self.blocks.clone().enumerate() {
            for (i, &pixel) in self.grid.pixels.iter().enumerate() {
                sources.clear();
                let first = before.accumulator(block, 0);
                let position = |p: &u32| {
                    let at = before.pixels.binary_search(p);
                    at.expect("the grid before has the pixels of all windows") as u64
                };
                sources.extend(windows.get(pixel as usize).iter().map(|p| first + position(p)));
                visit(self.accumulator(block, i), pixel as usize, &sources);
            }
        }
    }

    /// Emits [`Step::Reduce`](crate::lower::layers::hir::Step).
    pub fn reduce(&mut self, op: SimdOp, windows: &Windows, before: &Grid) {
        let mut list = Vec::new();
        self.for_each_window(windows, before, |to, _, sources| list.push((to, sources.to_vec())));
        for (to, sources) in list {
            reduce(&mut self.state.lir, op, &sources, to);
        }
    }

    /// Emits [`Step::AveragePool`](crate::lower::layers::hir::Step).
    ///
    /// # Errors
    ///
    /// Fails if the scales do not fit in local memory.
    pub fn average_pool(
        &mut self,
        windows: &Windows,
        scales: &[VecRef],
        before: &Grid,
    ) -> Result<(), TileError> {
        let places =
            self.bring_distinct(self.grid.pixels.iter().map(|&pixel| scales[pixel as usize]).collect())?;
        let mut list = Vec::new();
        self.for_each_window(windows, before, |to, pixel, sources| list.push((to, pixel, sources.to_vec())));
        for (to, pixel, sources) in list {
            let Some((first, rest)) = sources.split_first() else {
                self.state.lir.simd(ZERO, None, Some((to, false)));
                continue;
            };
            self.state.lir.simd(TO_REGISTER, Some(*first), None);
            for &source in rest {
                self.state.lir.simd(into_register(SimdOp::Add), Some(source), None);
            }
            let scale = places[&scales[pixel]];
            self.state.lir.simd(with_register(SimdOp::Multiply, false), Some(scale), Some((to, false)));
        }
        Ok(())
    }

    /// Emits a weighted sum. Products are added weight by weight, so that each weight goes to the
    /// register once.
    ///
    /// # Errors
    ///
    /// Fails if the weights do not fit in local memory, or there are too few accumulators.
    pub fn weighted_sum(&mut self, sum: &WeightedSum, before: &Grid) -> Result<(), TileError> {
        let mut uses: Vec<Vec<(u64, u64)>> = vec![Vec::new(); sum.weights.len() * self.blocks.len()];
        let per_block = self.grid.pixels.len() as u64;
        self.for_each_window(&sum.windows, before, |to, pixel, sources| {
            let block = ((to - self.grid.base) / per_block) as usize;
            for (&weight, &source) in sum.which[sum.windows.range(pixel)].iter().zip(sources) {
                uses[weight as usize * self.blocks.len() + block].push((source, to));
            }
        });
        // Biases are written before the weights because both use the same accumulators.
        let mut written = self.begin_sums(sum)?;
        let vectors = self.weight_vectors(sum, &uses);
        let places = self.bring_distinct(vectors.iter().flatten().copied().collect())?;
        let mut register = None;
        for (weight, uses) in vectors.iter().zip(&uses) {
            let Some(weight) = weight else { continue };
            if register.replace(*weight) != Some(*weight) {
                self.state.lir.simd(TO_REGISTER, Some(places[weight]), None);
            }
            for &(source, to) in uses {
                let accumulate = std::mem::replace(&mut written[(to - self.grid.base) as usize], true);
                let product = with_register(SimdOp::Multiply, false);
                self.state.lir.simd(product, Some(source), Some((to, accumulate)));
            }
        }
        let unwritten = self.accumulators().into_iter().zip(written).filter(|&(_, written)| !written);
        unwritten.for_each(|(to, _)| self.state.lir.simd(ZERO, None, Some((to, false))));
        Ok(())
    }

    /// Returns the vector of each weight for each block of the tile; `None` if it is not used.
    fn weight_vectors(&self, sum: &WeightedSum, uses: &[Vec<(u64, u64)>]) -> Vec<Option<VecRef>> {
        let pairs = sum.weights.iter().flat_map(|weight| {
            self.blocks.clone().map(move |block| if weight.len() == 1 { weight[0] } else { weight[block] })
        });
        pairs.zip(uses).map(|(vector, uses)| (!uses.is_empty()).then_some(vector)).collect()
    }

    /// Initializes the sums with their biases; returns which sums have one.
    fn begin_sums(&mut self, sum: &WeightedSum) -> Result<Vec<bool>, TileError> {
        let sums = self.accumulators().len();
        if sum.bias.is_empty() {
            return Ok(vec![false; sums]);
        }
        let bias = self.bring(&sum.bias[self.blocks.clone()])?;
        for (block, bias) in (0..self.blocks.len()).zip(bias..) {
            self.state.lir.simd(TO_REGISTER, Some(bias), None);
            for i in 0..self.grid.pixels.len() {
                let to = self.accumulator(block, i);
                self.state.lir.simd(FROM_REGISTER, None, Some((to, false)));
            }
        }
        Ok(vec![true; sums])
    }

    fn bring_distinct(&mut self, mut vectors: Vec<VecRef>) -> Result<HashMap<VecRef, u64>, TileError> {
        vectors.sort_unstable();
        vectors.dedup();
        let base = self.bring(&vectors)?;
        Ok(vectors.into_iter().zip(base..).collect())
    }
}

/// Reduces vectors to one: the first goes to the register, the last one's result to `to`.
fn reduce(lir: &mut Lir, op: SimdOp, sources: &[u64], to: u64) {
    match sources {
        [] => {}
        [only] => lir.simd(THROUGH, Some(*only), Some((to, false))),
        [first, middle @ .., last] => {
            lir.simd(TO_REGISTER, Some(*first), None);
            for &source in middle {
                lir.simd(into_register(op), Some(source), None);
            }
            lir.simd(with_register(op, false), Some(*last), Some((to, false)));
        }
    }
}
