//! One tile of a layer, written out as instructions.

use std::collections::HashMap;
use std::ops::Range;

use super::arena::{Arena, Full, Placed};
use super::hir::{ChannelOperand, Layer, MatMul, Model, Step, WeightSet, Windows};
use super::lir::{Lir, Run, THROUGH, TO_REGISTER, ZERO_TO_REGISTER, into_register, roll, with_register};
use super::memory::{Home, Plan};
use super::object::{ObjectId, VecRef};
use crate::config::Config;
use crate::op::{DataMoveKind, Op, SimdOp, Strided};

/// Why a tile does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileError {
    /// More accumulators than there are.
    Accumulators {
        /// Vectors needed.
        needed: u64,
    },
    /// More of local memory than the arena has.
    Local {
        /// Vectors needed at once.
        needed: u64,
    },
}

impl From<Full> for TileError {
    fn from(Full { needed }: Full) -> Self {
        Self::Local { needed }
    }
}

/// The most a program has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Accumulators at once.
    pub accumulators: u64,
    /// Sum over all tiles.
    pub accumulators_aggregate: u64,
}

/// The grid of the tile in the accumulators: block by block, pixel by pixel.
struct Grid {
    /// Pixels of the layer's grid that the tile holds, ascending.
    pixels: Vec<u32>,
    /// First accumulator.
    base: u64,
}

/// What writing a tile needs at hand.
struct Tile<'a> {
    lir: &'a mut Lir,
    arena: &'a mut Arena,
    model: &'a Model,
    plan: &'a Plan,
    config: &'a Config,
    layer: &'a Layer,
    blocks: Range<usize>,
    grid: Grid,
    /// Accumulators taken by grids so far.
    taken: u64,
    limits: &'a mut Limits,
}

/// Writes the instructions for `pixels` of the layer's last grid and `blocks`.
#[allow(clippy::too_many_arguments, reason = "the caller's state, borrowed apart")]
pub fn emit(
    lir: &mut Lir,
    arena: &mut Arena,
    limits: &mut Limits,
    model: &Model,
    plan: &Plan,
    config: &Config,
    layer: &Layer,
    pixels: Range<usize>,
    blocks: Range<usize>,
) -> Result<(), TileError> {
    let mut grids = grids(layer, pixels).into_iter();
    let grid = Grid { pixels: grids.next().unwrap_or_default(), base: 0 };
    let mut tile = Tile { lir, arena, model, plan, config, layer, blocks, grid, taken: 0, limits };
    tile.taken = tile.size(tile.grid.pixels.len());
    tile.take(0)?;
    for step in &layer.steps {
        tile.step(step, &mut grids)?;
    }
    tile.limits.accumulators_aggregate += tile.taken;
    Ok(())
}

/// The pixels of each of the layer's grids that the last grid's `pixels` depend on, first grid first.
fn grids(layer: &Layer, pixels: Range<usize>) -> Vec<Vec<u32>> {
    let mut grids = vec![pixels.map(|pixel| pixel as u32).collect::<Vec<u32>>()];
    for step in layer.steps.iter().rev() {
        if let Step::MaxPool(windows)
        | Step::AveragePool { windows, .. }
        | Step::WeightedSum { windows, .. } = step
        {
            let last = grids.last().map(Vec::as_slice).unwrap_or_default();
            let mut before: Vec<u32> =
                last.iter().flat_map(|&pixel| windows.get(pixel as usize)).copied().collect();
            before.sort_unstable();
            before.dedup();
            grids.push(before);
        }
    }
    grids.reverse();
    grids
}

impl Tile<'_> {
    fn step(&mut self, step: &Step, grids: &mut impl Iterator<Item = Vec<u32>>) -> Result<(), TileError> {
        match step {
            Step::MatMul(matmul) => self.matmul(matmul),
            Step::Load(vectors) => self.move_in(DataMoveKind::LocalToAccumulator, vectors),
            Step::AddVectors(vectors) => self.move_in(DataMoveKind::LocalToAccumulatorAccumulate, vectors),
            Step::Binary { op, vectors, swapped } => self.binary(*op, vectors, *swapped),
            Step::ChannelWise { op, operand, swapped } => self.channel_wise(*op, operand, *swapped),
            Step::LeakyRelu { op, alpha } => self.leaky_relu(*op, *alpha),
            Step::MaxPool(windows) => {
                let before = self.next_grid(grids)?;
                self.max_pool(windows, &before);
                Ok(())
            }
            Step::AveragePool { windows, scales } => {
                let before = self.next_grid(grids)?;
                self.average_pool(windows, scales, &before)
            }
            Step::WeightedSum { windows, weights } => {
                let before = self.next_grid(grids)?;
                self.weighted_sum(windows, weights, &before)
            }
            Step::Save { object, pixel_major } => self.save(*object, *pixel_major),
        }
    }

    fn size(&self, pixels: usize) -> u64 {
        (pixels * self.blocks.len()) as u64
    }

    /// Checks that `extra` accumulators beyond the grids are there; gives the first.
    fn take(&mut self, extra: u64) -> Result<u64, TileError> {
        let needed = self.taken + extra;
        if needed > self.config.accumulator_depth {
            return Err(TileError::Accumulators { needed });
        }
        self.limits.accumulators = self.limits.accumulators.max(needed);
        Ok(self.taken)
    }

    /// Moves on to the next grid; gives the one before.
    fn next_grid(&mut self, grids: &mut impl Iterator<Item = Vec<u32>>) -> Result<Grid, TileError> {
        let pixels = grids.next().unwrap_or_default();
        let base = self.take(self.size(pixels.len()))?;
        self.taken += self.size(pixels.len());
        Ok(std::mem::replace(&mut self.grid, Grid { pixels, base }))
    }

    /// The accumulator of the tile's `pixel`-th pixel in its `block`-th block.
    fn accumulator(&self, block: usize, pixel: usize) -> u64 {
        self.grid.base + (block * self.grid.pixels.len() + pixel) as u64
    }

    fn accumulators(&self) -> Range<u64> {
        self.grid.base..self.grid.base + self.size(self.grid.pixels.len())
    }

    /// Loads what is not in local memory yet.
    fn load(&mut self, vectors: impl IntoIterator<Item = VecRef>) -> Result<(), TileError> {
        let plan = self.plan;
        let away = |vector: &VecRef| !vector.is_zero() && !matches!(plan.home(vector.object), Home::Local(_));
        let mut needed: Vec<VecRef> = vectors.into_iter().filter(away).collect();
        needed.sort_unstable();
        needed.dedup();
        for Placed { first, length, local } in self.arena.ensure(&needed)? {
            let (kind, dram) = match plan.home(first.object) {
                Home::Dram1(base) => (DataMoveKind::Dram1ToLocal, base),
                Home::Dram0(base) | Home::Local(base) => (DataMoveKind::Dram0ToLocal, base),
                Home::Nowhere => continue,
            };
            let other = Strided { address: dram + u64::from(first.index), stride_log2: 0 };
            let local = Strided { address: local, stride_log2: 0 };
            self.lir.push(Op::DataMove { kind, local, other, size: length });
        }
        Ok(())
    }

    /// The local address of a vector that was loaded.
    fn local(&self, vector: VecRef) -> u64 {
        self.arena.address(vector, self.plan).unwrap_or_default()
    }

    /// The vector of a list (pixel by pixel, block by block) for each accumulator of the grid.
    fn of_grid<'v>(&self, vectors: &'v [VecRef]) -> impl Iterator<Item = VecRef> + use<'v, '_> {
        let all = self.layer.blocks;
        let pixels = &self.grid.pixels;
        self.blocks
            .clone()
            .flat_map(move |block| pixels.iter().map(move |&p| vectors[p as usize * all + block]))
    }

    fn move_in(&mut self, kind: DataMoveKind, vectors: &[VecRef]) -> Result<(), TileError> {
        let vectors: Vec<VecRef> = self.of_grid(vectors).collect();
        self.load(vectors.iter().copied())?;
        let stored = vectors.iter().zip(self.accumulators()).filter(|(vector, _)| !vector.is_zero());
        let pairs: Vec<(u64, u64)> =
            stored.map(|(&vector, accumulator)| (self.local(vector), accumulator)).collect();
        self.lir.move_pairs(kind, pairs);
        Ok(())
    }

    /// Copies vectors to accumulators beyond the grids; gives the first.
    fn bring(&mut self, vectors: &[VecRef]) -> Result<u64, TileError> {
        let base = self.take(vectors.len() as u64)?;
        self.load(vectors.iter().copied())?;
        let pairs: Vec<(u64, u64)> = vectors.iter().zip(base..).map(|(&v, at)| (self.local(v), at)).collect();
        self.lir.move_pairs(DataMoveKind::LocalToAccumulator, pairs);
        Ok(base)
    }

    fn binary(&mut self, op: SimdOp, vectors: &[VecRef], swapped: bool) -> Result<(), TileError> {
        let vectors: Vec<VecRef> = self.of_grid(vectors).collect();
        let others = self.bring(&vectors)?;
        for (grid, other) in self.accumulators().zip(others..) {
            // Register 1 takes the left operand.
            let (left, right) = if swapped { (other, grid) } else { (grid, other) };
            self.lir.simd(TO_REGISTER, Some(left), None);
            self.lir.simd(with_register(op, true), Some(right), Some((grid, false)));
        }
        Ok(())
    }

    fn channel_wise(&mut self, op: SimdOp, operand: &ChannelOperand, swapped: bool) -> Result<(), TileError> {
        let sub = with_register(op, swapped);
        let per_block = self.grid.pixels.len();
        let operands = match operand {
            ChannelOperand::Zero => Vec::new(),
            ChannelOperand::Blocks(vectors) if vectors.len() == 1 => vectors.clone(),
            ChannelOperand::Blocks(vectors) => vectors[self.blocks.clone()].to_vec(),
        };
        let base = self.bring(&operands)?;
        if operands.is_empty() {
            self.lir.simd(ZERO_TO_REGISTER, None, None);
        }
        for (i, accumulator) in self.accumulators().enumerate() {
            let (block, first) = (i / per_block, i % per_block == 0);
            if first && (block as u64) < operands.len() as u64 {
                self.lir.simd(TO_REGISTER, Some(base + block as u64), None);
            }
            self.lir.simd(sub, Some(accumulator), Some((accumulator, false)));
        }
        Ok(())
    }

    fn leaky_relu(&mut self, op: SimdOp, alpha: VecRef) -> Result<(), TileError> {
        let alpha = self.bring(&[alpha])?;
        for accumulator in self.accumulators() {
            self.lir.simd(TO_REGISTER, Some(alpha), None);
            self.lir.simd(into_register(SimdOp::Multiply), Some(accumulator), None);
            self.lir.simd(with_register(op, false), Some(accumulator), Some((accumulator, false)));
        }
        Ok(())
    }

    /// For each accumulator of the grid: where its window's vectors are in the grid before, and which
    /// entries of the window list they are.
    fn for_each_window(&self, windows: &Windows, before: &Grid, mut visit: impl FnMut(u64, usize, &[u64])) {
        let mut sources = Vec::new();
        for (block, _) in self.blocks.clone().enumerate() {
            for (i, &pixel) in self.grid.pixels.iter().enumerate() {
                sources.clear();
                let first = before.base + (block * before.pixels.len()) as u64;
                let position = |p: &u32| before.pixels.binary_search(p).unwrap_or_default() as u64;
                sources.extend(windows.get(pixel as usize).iter().map(|p| first + position(p)));
                visit(self.accumulator(block, i), pixel as usize, &sources);
            }
        }
    }

    fn max_pool(&mut self, windows: &Windows, before: &Grid) {
        let mut list = Vec::new();
        self.for_each_window(windows, before, |to, _, sources| list.push((to, sources.to_vec())));
        for (to, sources) in list {
            reduce(self.lir, SimdOp::Max, &sources, to);
        }
    }

    fn average_pool(&mut self, windows: &Windows, scales: &[VecRef], before: &Grid) -> Result<(), TileError> {
        let places =
            self.bring_distinct(self.grid.pixels.iter().map(|&pixel| scales[pixel as usize]).collect())?;
        let mut list = Vec::new();
        self.for_each_window(windows, before, |to, pixel, sources| list.push((to, pixel, sources.to_vec())));
        for (to, pixel, sources) in list {
            let Some((first, rest)) = sources.split_first() else { continue };
            self.lir.simd(TO_REGISTER, Some(*first), None);
            for &source in rest {
                self.lir.simd(into_register(SimdOp::Add), Some(source), None);
            }
            let scale = places[&scales[pixel]];
            self.lir.simd(with_register(SimdOp::Multiply, false), Some(scale), Some((to, false)));
        }
        Ok(())
    }

    /// Products are added weight by weight, so that each weight goes to the register once.
    fn weighted_sum(
        &mut self,
        windows: &Windows,
        weights: &[VecRef],
        before: &Grid,
    ) -> Result<(), TileError> {
        let used =
            self.grid.pixels.iter().flat_map(|&p| &weights[windows.range(p as usize)]).copied().collect();
        let places = self.bring_distinct(used)?;
        let mut by_weight: HashMap<VecRef, Vec<(u64, u64)>> = HashMap::new();
        self.for_each_window(windows, before, |to, pixel, sources| {
            for (&weight, &source) in weights[windows.range(pixel)].iter().zip(sources) {
                by_weight.entry(weight).or_default().push((source, to));
            }
        });
        let mut order: Vec<VecRef> = by_weight.keys().copied().collect();
        order.sort_unstable();
        let mut written = vec![false; self.accumulators().count()];
        for weight in order {
            self.lir.simd(TO_REGISTER, Some(places[&weight]), None);
            for &(source, to) in &by_weight[&weight] {
                let accumulate = std::mem::replace(&mut written[(to - self.grid.base) as usize], true);
                self.lir.simd(with_register(SimdOp::Multiply, false), Some(source), Some((to, accumulate)));
            }
        }
        Ok(())
    }

    fn bring_distinct(&mut self, mut vectors: Vec<VecRef>) -> Result<HashMap<VecRef, u64>, TileError> {
        vectors.sort_unstable();
        vectors.dedup();
        let base = self.bring(&vectors)?;
        Ok(vectors.into_iter().zip(base..).collect())
    }

    fn save(&mut self, object: ObjectId, pixel_major: bool) -> Result<(), TileError> {
        let blocks = self.layer.blocks;
        let pixels = self.model.objects.get(object).vectors as usize / blocks;
        let index = |block: usize, pixel: usize| {
            if pixel_major { pixel * blocks + block } else { block * pixels + pixel }
        };
        let mut saved: Vec<(VecRef, u64)> = Vec::new();
        for (b, block) in self.blocks.clone().enumerate() {
            for (i, &pixel) in self.grid.pixels.iter().enumerate() {
                let index = index(block, pixel as usize) as u32;
                saved.push((VecRef { object, index }, self.accumulator(b, i)));
            }
        }
        saved.sort_unstable();
        if let Home::Dram0(_) = self.plan.home(object) {
            let vectors: Vec<VecRef> = saved.iter().map(|&(vector, _)| vector).collect();
            self.arena.reserve(&vectors)?;
        }
        let pairs: Vec<(u64, u64)> = saved.iter().map(|&(vector, at)| (self.local(vector), at)).collect();
        self.lir.move_pairs(DataMoveKind::AccumulatorToLocal, pairs);
        if let Home::Dram0(base) = self.plan.home(object) {
            let pairs: Vec<(u64, u64)> = saved
                .iter()
                .map(|&(vector, _)| (self.local(vector), base + u64::from(vector.index)))
                .collect();
            self.lir.move_pairs(DataMoveKind::LocalToDram0, pairs);
        }
        Ok(())
    }

    fn matmul(&mut self, matmul: &MatMul) -> Result<(), TileError> {
        let mut product =
            Product { matmul, written: Written::new(self.blocks.len(), self.grid.pixels.len()) };
        let terms: Vec<usize> = (0..matmul.terms.len()).collect();
        self.terms(&mut product, &terms)?;
        self.fill_unwritten(&product);
        Ok(())
    }

    /// Does terms at once when their inputs and weights fit, otherwise one half after the other.
    fn terms(&mut self, product: &mut Product, terms: &[usize]) -> Result<(), TileError> {
        let (inputs, weights) = (self.inputs(product.matmul, terms), self.weights(product.matmul, terms));
        let needed = self.load(inputs.into_iter().chain(weights));
        match (needed, terms) {
            (Ok(()), _) => {
                self.compute(product, terms);
                Ok(())
            }
            (Err(error), [] | [_]) => Err(error),
            (Err(_), _) => {
                let (first, second) = terms.split_at(terms.len() / 2);
                self.terms(product, first)?;
                self.terms(product, second)
            }
        }
    }

    fn inputs(&self, matmul: &MatMul, terms: &[usize]) -> Vec<VecRef> {
        let mut inputs = Vec::new();
        for &term in terms {
            let all = &matmul.terms[term].inputs;
            inputs.extend(
                self.grid.pixels.iter().map(|&pixel| all[pixel as usize]).filter(|input| !input.is_zero()),
            );
        }
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    fn weights(&self, matmul: &MatMul, terms: &[usize]) -> Vec<VecRef> {
        let sets = self
            .blocks
            .clone()
            .flat_map(|block| terms.iter().filter_map(move |&term| matmul.set(term, block)));
        sets.flat_map(|set| self.rows(matmul.weights, set)).collect()
    }

    fn rows(&self, object: ObjectId, set: WeightSet) -> impl Iterator<Item = VecRef> + use<> {
        let rows = self.config.array_size as u32 + u32::from(set.has_bias);
        (set.first_row..set.first_row + rows).map(move |index| VecRef { object, index })
    }

    fn compute(&mut self, product: &mut Product, terms: &[usize]) {
        let matmul = product.matmul;
        let met: Vec<Met> = terms.iter().map(|&term| self.meet(&matmul.terms[term].inputs)).collect();
        for (b, block) in self.blocks.clone().enumerate() {
            for (&term, met) in terms.iter().zip(&met) {
                let Some(set) = matmul.set(term, block) else { continue };
                if met.inputs.is_empty() && !set.has_bias {
                    continue;
                }
                let rows: Vec<u64> = self.rows(matmul.weights, set).map(|row| self.local(row)).collect();
                let key = (u64::from(matmul.weights.0) << 32) | u64::from(set.first_row);
                self.lir.load_weights(key, rows, set.has_bias);
                self.multiply(product, b, met);
                if set.has_bias {
                    self.multiply_zeroes(product, b, &met.padding);
                }
            }
        }
    }

    /// Which of the tile's pixels have an input, at which address, and which lie in the padding.
    fn meet(&self, inputs: &[VecRef]) -> Met {
        let mut met = Met::default();
        for (i, &pixel) in self.grid.pixels.iter().enumerate() {
            match inputs[pixel as usize] {
                input if input.is_zero() => met.padding.push(i),
                input => met.inputs.push((self.local(input), i)),
            }
        }
        let pairs = met.inputs.iter().map(|&(local, i)| (local, i as u64));
        met.runs = roll(pairs, self.config);
        met
    }

    fn multiply(&mut self, product: &mut Product, block: usize, met: &Met) {
        let pixels = met.inputs.iter().map(|&(_, i)| i);
        match product.written.state(block, pixels) {
            Some(accumulate) => {
                let first = self.accumulator(block, 0);
                for &run in &met.runs {
                    self.push_matmul(accumulate, run.shifted(first));
                }
            }
            None => {
                for accumulate in [false, true] {
                    let part =
                        met.inputs.iter().filter(|&&(_, i)| product.written.is(block, i) == accumulate);
                    let pairs: Vec<(u64, u64)> =
                        part.map(|&(local, i)| (local, self.accumulator(block, i))).collect();
                    for run in roll(pairs, self.config) {
                        self.push_matmul(accumulate, run);
                    }
                }
            }
        }
        product.written.mark(block, met.inputs.iter().map(|&(_, i)| i));
    }

    fn push_matmul(&mut self, accumulate: bool, run: Run) {
        let Run { local, other: accumulator, size } = run;
        self.lir.push(Op::MatMul { accumulate, zeroes: false, local, accumulator, size });
    }

    /// Gives pixels the bias that is in the array, without an input.
    fn multiply_zeroes(&mut self, product: &mut Product, block: usize, pixels: &[usize]) {
        for accumulate in [false, true] {
            let part = pixels.iter().filter(|&&i| product.written.is(block, i) == accumulate);
            // Both operands step alike so that runs depend on the accumulators alone.
            let pairs: Vec<(u64, u64)> = part.map(|&i| (i as u64, self.accumulator(block, i))).collect();
            for Run { other: accumulator, size, .. } in roll(pairs, self.config) {
                let local = Strided::default();
                self.lir.push(Op::MatMul { accumulate, zeroes: true, local, accumulator, size });
            }
        }
        product.written.mark(block, pixels.iter().copied());
    }

    /// Pixels that no weights met are zero.
    fn fill_unwritten(&mut self, product: &Product) {
        for block in 0..self.blocks.len() {
            let unwritten: Vec<usize> =
                (0..self.grid.pixels.len()).filter(|&i| !product.written.is(block, i)).collect();
            if unwritten.is_empty() {
                continue;
            }
            self.lir.load_zero_bias();
            let pairs: Vec<(u64, u64)> =
                unwritten.iter().map(|&i| (i as u64, self.accumulator(block, i))).collect();
            for Run { other: accumulator, size, .. } in roll(pairs, self.config) {
                self.lir.push(Op::MatMul {
                    accumulate: false,
                    zeroes: true,
                    local: Strided::default(),
                    accumulator,
                    size,
                });
            }
        }
    }
}

/// A matrix product under way.
struct Product<'a> {
    matmul: &'a MatMul,
    written: Written,
}

/// How a term meets the tile.
#[derive(Default)]
struct Met {
    /// Local address and pixel of the tile.
    inputs: Vec<(u64, usize)>,
    /// The same as runs, with pixels in place of accumulators.
    runs: Vec<Run>,
    /// Pixels of the tile without an input.
    padding: Vec<usize>,
}

/// Which accumulators of the tile hold something already.
struct Written {
    pixels: usize,
    flags: Vec<bool>,
    counts: Vec<usize>,
}

impl Written {
    fn new(blocks: usize, pixels: usize) -> Self {
        Self { pixels, flags: vec![false; blocks * pixels], counts: vec![0; blocks] }
    }

    fn is(&self, block: usize, pixel: usize) -> bool {
        self.flags[block * self.pixels + pixel]
    }

    /// Whether all of `pixels` are written, or none; `None` when they differ.
    fn state(&self, block: usize, mut pixels: impl Iterator<Item = usize>) -> Option<bool> {
        match self.counts[block] {
            0 => Some(false),
            count if count == self.pixels => Some(true),
            _ => {
                let first = pixels.next().is_some_and(|i| self.is(block, i));
                pixels.all(|i| self.is(block, i) == first).then_some(first)
            }
        }
    }

    fn mark(&mut self, block: usize, pixels: impl Iterator<Item = usize>) {
        if self.counts[block] == self.pixels {
            return;
        }
        for i in pixels {
            let flag = &mut self.flags[block * self.pixels + i];
            self.counts[block] += usize::from(!std::mem::replace(flag, true));
        }
    }
}

/// Reduces vectors to one: the first goes to the register, the last through to `to`.
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
