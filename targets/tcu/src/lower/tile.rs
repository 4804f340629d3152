//! Code generation for one tile of a layer.

pub(super) mod alu_expr;
pub(super) mod lookup;
pub(super) mod product;
pub(super) mod windows;

use std::ops::Range;

use super::issue::lir::{Lir, TO_REGISTER, ZERO_TO_REGISTER, with_register};
use super::layers::hir::{ChannelOperand, Layer, Model, Operand, Step};
use super::memory::arena::{Arena, Full, Placed};
use super::memory::object::{ObjectId, ObjectKind, Span, VecRef, spans};
use super::memory::{Home, Plan};
use super::schedule::cost::Waits;
use crate::config::Config;
use crate::isa::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};

/// Reason why a tile does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileError {
    /// The tile needs more accumulators than the instance has.
    Accumulators {
        /// Number of vectors needed.
        needed: u64,
    },
    /// The tile needs more local memory than the arena has.
    Local {
        /// Number of vectors needed at once.
        needed: u64,
    },
    /// The program exceeds the schedule's limit of instructions or cycles.
    Long {
        /// Number of instructions of the program so far.
        instructions: usize,
    },
}

impl From<Full> for TileError {
    fn from(Full { needed }: Full) -> Self {
        Self::Local { needed }
    }
}

/// Maximum memory usage of a program so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Most accumulators in use at once.
    pub accumulators: u64,
    /// Sum of the accumulators of all tiles.
    pub accumulators_aggregate: u64,
}

/// Grid of the tile in the accumulators, stored block by block, then pixel by pixel.
pub(super) struct Grid {
    /// Pixels of the layer's grid that the tile holds, ascending.
    pub pixels: Vec<u32>,
    /// Address of the first accumulator.
    pub base: u64,
    /// Distance between the accumulators of adjacent blocks.
    pub stride: u64,
}

impl Grid {
    /// Creates the grid of `pixels`, block by block, starting at accumulator `base`.
    fn new(pixels: Vec<u32>, base: u64) -> Self {
        let stride = pixels.len() as u64;
        Self { pixels, base, stride }
    }

    /// Returns the accumulator address of the `pixel`-th pixel in the `block`-th block.
    pub fn accumulator(&self, block: usize, pixel: usize) -> u64 {
        self.base + block as u64 * self.stride + pixel as u64
    }
}

/// Inputs that are the same for all tiles of a program.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Model to compile.
    pub model: &'a Model,
    /// Placement of its objects.
    pub plan: &'a Plan,
    /// Target instance.
    pub config: &'a Config,
}

/// State that is carried from tile to tile.
#[derive(Debug)]
pub struct State {
    /// Instructions so far.
    pub lir: Lir,
    /// Contents of local memory.
    pub arena: Arena,
    /// Maximum usage so far.
    pub limits: Limits,
    /// End of the last tile's accumulators; 0 if the tile was placed after the accumulators of
    /// another tile.
    pub accumulators: u64,
}

impl State {
    /// Creates the state before the first tile.
    pub fn new(config: &Config, waits: Waits, arena: Arena) -> Self {
        Self { lir: Lir::new(config, waits), arena, limits: Limits::default(), accumulators: 0 }
    }

    /// Returns a state that continues from this one, with its own arena and an empty instruction
    /// list.
    pub fn fork(&self, arena: Arena) -> Self {
        Self { lir: self.lir.fork(), arena, limits: self.limits, accumulators: self.accumulators }
    }

    /// Returns the first accumulator of a tile, at least `first`. If there is room, every second
    /// tile is placed after the accumulators of the tile before. Its product then need not wait for
    /// work on the previous results.
    fn accumulators_for(&mut self, needed: Option<u64>, first: u64, depth: u64) -> u64 {
        let end = |from: u64| needed.and_then(|needed| from.checked_add(needed)).filter(|&end| end <= depth);
        let after = std::mem::take(&mut self.accumulators);
        if after > first && end(after).is_some() {
            return after;
        }
        // Default: after a tile that does not fit, the next one starts at `first`.
        self.accumulators = end(first).unwrap_or(0);
        first
    }
}

/// A tile while its instructions are written.
pub(super) struct Tile<'a> {
    pub state: &'a mut State,
    pub context: Context<'a>,
    layer: &'a Layer,
    pub blocks: Range<usize>,
    pub grid: Grid,
    /// Previous grid, while the values of the current grid are still stored only there.
    pub source: Option<Grid>,
    /// Whether the grid started with values kept by an earlier layer.
    pub resumed: bool,
    /// Number of accumulators taken by grids so far.
    taken: u64,
}

/// Emits the instructions for `pixels` of the layer's last grid and `blocks`.
///
/// # Errors
///
/// Fails if a memory is too small. The caller must then rewind the state.
pub fn emit(
    state: &mut State,
    context: Context<'_>,
    layer: &Layer,
    pixels: Range<usize>,
    blocks: Range<usize>,
) -> Result<(), TileError> {
    let (pixels, grids) = grids(layer, pixels);
    let mut grids = grids.into_iter();
    let size = (pixels.len() * blocks.len()) as u64;
    let base =
        state.accumulators_for(needed(layer, size, &blocks), layer.kept, context.config.accumulator_depth);
    let resumed = matches!(layer.steps.first(), Some(Step::Resume));
    let keeps = layer.steps.iter().any(|step| matches!(step, Step::Keep { .. }));
    let (grid, taken) = match pixels.first() {
        // A kept grid covers the whole layer. The accumulators of this tile begin at this offset in
        // the grid.
        Some(&first) if resumed || keeps => {
            let stride = layer.pixels as u64;
            let base = blocks.start as u64 * stride + u64::from(first);
            (Grid { pixels, base, stride }, 0)
        }
        _ => (Grid::new(pixels, base), size),
    };
    let taken = base + taken;
    let mut tile = Tile { state, context, layer, blocks, grid, source: None, resumed, taken };
    tile.take(0)?;
    for step in &layer.steps {
        tile.step(step, &mut grids)?;
    }
    tile.state.limits.accumulators_aggregate += tile.taken - base;
    Ok(())
}

/// Returns the number of accumulators that a single-grid tile needs: its grid, plus the most extra
/// accumulators that any step takes. Returns `None` if the layer has several grids, whose sizes
/// depend on the tile.
fn needed(layer: &Layer, size: u64, blocks: &Range<usize>) -> Option<u64> {
    let of_operand = |operand: &Operand| match operand {
        Operand::Grid => 0,
        Operand::Blocks(vectors) => vectors.len().min(blocks.len()) as u64,
        Operand::Vectors(_) => size,
    };
    let beside = |step: &Step| match step {
        Step::Binary { .. } | Step::Keep { .. } => Some(size),
        Step::ChannelWise { operand: ChannelOperand::Blocks(vectors), .. } => {
            Some(vectors.len().min(blocks.len()) as u64)
        }
        Step::Formula(formula) => Some(formula.operands().map(of_operand).sum()),
        step => step.windows().is_none().then_some(0),
    };
    layer.steps.iter().try_fold(0, |most: u64, step| Some(most.max(beside(step)?))).map(|most| size + most)
}

/// Returns, for each of the layer's grids, the pixels on which the last grid's `pixels` depend:
/// first for the first grid, then for the grid that each window step makes.
fn grids(layer: &Layer, pixels: Range<usize>) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut first: Vec<u32> = pixels.map(|pixel| pixel as u32).collect();
    let mut later = Vec::new();
    for windows in layer.steps.iter().rev().filter_map(Step::windows) {
        let mut before: Vec<u32> =
            first.iter().flat_map(|&pixel| windows.get(pixel as usize)).copied().collect();
        before.sort_unstable();
        before.dedup();
        later.push(std::mem::replace(&mut first, before));
    }
    later.reverse();
    (first, later)
}

impl Tile<'_> {
    fn step(&mut self, step: &Step, grids: &mut impl Iterator<Item = Vec<u32>>) -> Result<(), TileError> {
        match step {
            Step::MatMul(matmul) => self.matmul(matmul),
            Step::Load(vectors) => self.move_in(DataMoveKind::LocalToAccumulator, vectors),
            Step::AddVectors(vectors) => self.move_in(DataMoveKind::LocalToAccumulatorAccumulate, vectors),
            Step::Binary { op, vectors, swapped } => self.binary(*op, vectors, *swapped),
            Step::ChannelWise { op, operand, swapped } => self.channel_wise(*op, operand, *swapped),
            Step::Formula(formula) => self.formula(formula),
            Step::Lookup(lookup) => self.lookup(lookup),
            Step::Reduce { op, windows } => {
                let before = self.next_grid(grids)?;
                self.reduce(*op, windows, &before);
                Ok(())
            }
            Step::AveragePool { windows, scales } => {
                let before = self.next_grid(grids)?;
                self.average_pool(windows, scales, &before)
            }
            Step::WeightedSum(sum) => {
                let before = self.next_grid(grids)?;
                self.weighted_sum(sum, &before)
            }
            Step::Resume => Ok(()),
            Step::Keep { .. } => self.keep(),
            Step::Save { object, pixel_major, pixels } => self.save(*object, *pixel_major, pixels.as_deref()),
        }
    }

    /// Leaves the grid for a later layer and continues in other accumulators.
    fn keep(&mut self) -> Result<(), TileError> {
        let size = self.size(self.grid.pixels.len());
        let base = self.take(size)?;
        self.taken += size;
        let grid = Grid::new(self.grid.pixels.clone(), base);
        self.source = Some(std::mem::replace(&mut self.grid, grid));
        Ok(())
    }

    fn size(&self, pixels: usize) -> u64 {
        (pixels * self.blocks.len()) as u64
    }

    /// Reserves `extra` accumulators beyond the grids and returns the first.
    fn take(&mut self, extra: u64) -> Result<u64, TileError> {
        let needed = self.taken + extra;
        if needed > self.context.config.accumulator_depth {
            return Err(TileError::Accumulators { needed });
        }
        self.state.limits.accumulators = self.state.limits.accumulators.max(needed);
        Ok(self.taken)
    }

    /// Advances to the next grid and returns the previous one.
    fn next_grid(&mut self, grids: &mut impl Iterator<Item = Vec<u32>>) -> Result<Grid, TileError> {
        let pixels = grids.next().expect("each step of windows has a grid");
        let base = self.take(self.size(pixels.len()))?;
        self.taken += self.size(pixels.len());
        Ok(std::mem::replace(&mut self.grid, Grid::new(pixels, base)))
    }

    /// Returns the accumulator address of the tile's `pixel`-th pixel in its `block`-th block.
    pub fn accumulator(&self, block: usize, pixel: usize) -> u64 {
        self.grid.accumulator(block, pixel)
    }

    /// Returns the addresses of all accumulators of the grid.
    pub fn accumulators(&self) -> Vec<u64> {
        self.accumulators_of(&self.grid)
    }

    fn accumulators_of(&self, grid: &Grid) -> Vec<u64> {
        let of_block = |block| (0..grid.pixels.len()).map(move |pixel| grid.accumulator(block, pixel));
        (0..self.blocks.len()).flat_map(of_block).collect()
    }

    /// Returns pairs of accumulators: one that holds a grid value, and one that receives its
    /// result.
    pub fn changes(&mut self) -> Vec<(u64, u64)> {
        let to = self.accumulators();
        let from = self.source.take().map_or_else(|| to.clone(), |source| self.accumulators_of(&source));
        from.into_iter().zip(to).collect()
    }

    /// Loads the vectors of `spans` that are not in local memory yet.
    ///
    /// # Errors
    ///
    /// Fails if they do not fit in local memory.
    pub fn load(&mut self, spans: &[Span]) -> Result<(), TileError> {
        let plan = self.context.plan;
        let away = |span: &Span| !matches!(plan.home(span.object), Home::Local(_));
        let needed: Vec<Span> = spans.iter().copied().filter(away).collect();
        let missing = self.state.arena.ensure(&needed);
        self.write_evicted();
        for Placed { span, local } in missing? {
            let (kind, dram) = match plan.home(span.object) {
                Home::Dram1(base) => (DataMoveKind::Dram1ToLocal, base),
                Home::Dram0(base) | Home::Local(base) => (DataMoveKind::Dram0ToLocal, base),
                Home::Nowhere => continue,
            };
            let other = Strided { address: dram + u64::from(span.start), stride_log2: 0 };
            let local = Strided { address: local, stride_log2: 0 };
            self.state.lir.push(Op::DataMove { kind, local, other, size: span.length() });
        }
        Ok(())
    }

    /// Writes vectors that were evicted from local memory, and are still needed, to DRAM0.
    fn write_evicted(&mut self) {
        for Placed { span, local } in self.state.arena.take_evicted() {
            if let Home::Dram0(base) = self.context.plan.home(span.object) {
                let other = Strided { address: base + u64::from(span.start), stride_log2: 0 };
                let local = Strided { address: local, stride_log2: 0 };
                let kind = DataMoveKind::LocalToDram0;
                self.state.lir.push(Op::DataMove { kind, local, other, size: span.length() });
            }
        }
    }

    /// Returns the local addresses of loaded vectors; consecutive vectors share one lookup.
    pub fn local(&self, vectors: impl IntoIterator<Item = VecRef>) -> impl Iterator<Item = u64> {
        let mut known: Option<Placed> = None;
        vectors.into_iter().map(move |vector| {
            let inside = |placed: &Placed| {
                placed.span.object == vector.object
                    && (placed.span.start..placed.span.end).contains(&vector.index)
            };
            if !known.as_ref().is_some_and(inside) {
                known = self.state.arena.locate(vector, self.context.plan);
            }
            let placed = known.expect("what a tile reads was loaded before");
            placed.local + u64::from(vector.index - placed.span.start)
        })
    }

    /// Returns, for each accumulator of the grid, its vector from a list ordered pixel by pixel,
    /// block by block.
    pub fn of_grid<'v>(&self, vectors: &'v [VecRef]) -> impl Iterator<Item = VecRef> + use<'v, '_> {
        let all = self.layer.blocks;
        let pixels = &self.grid.pixels;
        self.blocks
            .clone()
            .flat_map(move |block| pixels.iter().map(move |&p| vectors[p as usize * all + block]))
    }

    fn move_in(&mut self, kind: DataMoveKind, vectors: &[VecRef]) -> Result<(), TileError> {
        let vectors: Vec<VecRef> = self.of_grid(vectors).collect();
        self.load(&spans(vectors.iter().copied()))?;
        let stored = vectors.into_iter().zip(self.accumulators()).filter(|(vector, _)| !vector.is_zero());
        let (stored, accumulators): (Vec<VecRef>, Vec<u64>) = stored.unzip();
        let pairs: Vec<(u64, u64)> = self.local(stored).zip(accumulators).collect();
        self.state.lir.move_pairs(kind, pairs);
        Ok(())
    }

    /// Copies vectors to accumulators beyond the grids and returns the first.
    ///
    /// # Errors
    ///
    /// Fails if there are too few accumulators, or the vectors do not fit in local memory.
    pub fn bring(&mut self, vectors: &[VecRef]) -> Result<u64, TileError> {
        let base = self.take(vectors.len() as u64)?;
        self.load(&spans(vectors.iter().copied()))?;
        let pairs: Vec<(u64, u64)> = self.local(vectors.iter().copied()).zip(base..).collect();
        self.state.lir.move_pairs(DataMoveKind::LocalToAccumulator, pairs);
        Ok(base)
    }

    fn binary(&mut self, op: SimdOp, vectors: &[VecRef], swapped: bool) -> Result<(), TileError> {
        let vectors: Vec<VecRef> = self.of_grid(vectors).collect();
        let others = self.bring(&vectors)?;
        for (grid, other) in self.accumulators().into_iter().zip(others..) {
            // Register 1 must hold the left operand.
            let (left, right) = if swapped { (other, grid) } else { (grid, other) };
            self.state.lir.simd(TO_REGISTER, Some(left), None);
            self.state.lir.simd(with_register(op, true), Some(right), Some((grid, false)));
        }
        Ok(())
    }

    fn channel_wise(&mut self, op: SimdOp, operand: &ChannelOperand, swapped: bool) -> Result<(), TileError> {
        let sub = with_register(op, swapped);
        let operands = match operand {
            ChannelOperand::Zero => {
                self.state.lir.simd(ZERO_TO_REGISTER, None, None);
                let all = self.changes();
                self.change(sub, &all);
                return Ok(());
            }
            ChannelOperand::Blocks(vectors) if vectors.len() == 1 => vectors.clone(),
            ChannelOperand::Blocks(vectors) => vectors[self.blocks.clone()].to_vec(),
        };
        let base = self.bring(&operands)?;
        let in_place = self.source.is_none();
        let all = self.changes();
        let per_operand = all.len() / operands.len();
        for ((&vector, place), changes) in operands.iter().zip(base..).zip(all.chunks(per_operand.max(1))) {
            if in_place && self.changes_nothing(op, vector) {
                continue;
            }
            self.state.lir.simd(TO_REGISTER, Some(place), None);
            self.change(sub, changes);
        }
        Ok(())
    }

    /// Applies one operation to each accumulator. Results are written to other accumulators or
    /// replace the operands.
    fn change(&mut self, sub: SimdSub, changes: &[(u64, u64)]) {
        for &(from, to) in changes {
            self.state.lir.simd(sub, Some(from), Some((to, false)));
        }
    }

    /// Whether `op` with the constant `vector` leaves every value unchanged.
    fn changes_nothing(&self, op: SimdOp, vector: VecRef) -> bool {
        let neutral = match op {
            SimdOp::Multiply => self.context.config.data_type.format().raw_from_f32(1.0),
            SimdOp::Add => 0,
            _ => return false,
        };
        let n = self.context.config.array_size;
        let data = &self.context.model.objects.get(vector.object).data;
        let lanes = data.get(vector.index as usize * n..(vector.index as usize + 1) * n);
        lanes.is_some_and(|lanes| lanes.iter().all(|&raw| raw == neutral))
    }

    /// Stores the grid, or only its pixels in `stored`.
    fn save(&mut self, object: ObjectId, pixel_major: bool, stored: Option<&[u32]>) -> Result<(), TileError> {
        let blocks = self.layer.blocks;
        let pixels = self.context.model.objects.get(object).vectors as usize / blocks;
        let index = |block: usize, pixel: usize| {
            if pixel_major { pixel * blocks + block } else { block * pixels + pixel }
        };
        let mut saved: Vec<(VecRef, u64)> = Vec::new();
        for (b, block) in self.blocks.clone().enumerate() {
            for (i, &pixel) in self.grid.pixels.iter().enumerate() {
                let place = match stored {
                    None => pixel as usize,
                    Some(stored) => match stored.binary_search(&pixel) {
                        Ok(place) => place,
                        Err(_) => continue,
                    },
                };
                let index = index(block, place) as u32;
                saved.push((VecRef { object, index }, self.accumulator(b, i)));
            }
        }
        saved.sort_unstable();
        let (vectors, accumulators): (Vec<VecRef>, Vec<u64>) = saved.into_iter().unzip();
        let home = self.context.plan.home(object);
        // The host needs its values in DRAM, so they are stored at once. Other values are stored
        // only if local memory runs short.
        let host_reads = self.context.model.objects.get(object).kind == ObjectKind::Output;
        if let Home::Dram0(_) = home {
            let reserved = self.state.arena.reserve(&spans(vectors.iter().copied()), !host_reads);
            self.write_evicted();
            reserved?;
        }
        let local: Vec<u64> = self.local(vectors.iter().copied()).collect();
        self.state.lir.move_pairs(DataMoveKind::AccumulatorToLocal, local.iter().copied().zip(accumulators));
        if let (Home::Dram0(base), true) = (home, host_reads) {
            let dram = vectors.iter().map(|vector| base + u64::from(vector.index));
            self.state.lir.move_pairs(DataMoveKind::LocalToDram0, local.into_iter().zip(dram));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Arena, ChannelOperand, Layer, ObjectId, Operand, SimdOp, State, Step, VecRef, Waits, needed,
    };
    use crate::config::Config;
    use crate::lower::layers::hir::{Formula, Operation, Windows};

    /// For tiles in 100 accumulators: number needed, earliest start, expected start.
    #[test]
    fn every_other_tile_has_its_accumulators_behind_those_of_the_tile_before() {
        let config = Config::preset("speech_robot").expect("a preset");
        let arena = Arena::new(0..10);
        let mut state = State::new(&config, Waits::default(), arena);
        for (tile, (needed, first, begins)) in [
            // The second tile follows the first; the third does not follow the second.
            (Some(30), 10, 10),
            (Some(30), 10, 40),
            (Some(30), 10, 10),
            // Accumulators 40 to 101 exceed the memory, so the tile takes 71 to 100.
            (Some(61), 10, 10),
            (Some(29), 10, 71),
            // If the need is unknown, neither this tile nor the next one follows another tile.
            (None, 10, 10),
            (Some(40), 10, 10),
            (None, 10, 10),
            // The tile needs more accumulators than the memory has.
            (Some(91), 10, 10),
            (Some(10), 10, 10),
            // The first tile was not placed after the previous one, although it starts at its end.
            // The second tile was.
            (Some(10), 20, 20),
            (Some(10), 20, 30),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(state.accumulators_for(needed, first, 100), begins, "tile {tile}");
        }
    }

    /// Three pixels of two out of five blocks: six accumulators, plus the additional accumulators
    /// that a step needs at the same time.
    #[test]
    fn what_a_tile_needs_is_its_grid_and_the_most_any_step_puts_beside_it() {
        let vector = VecRef { object: ObjectId(0), index: 0 };
        let blocks = |count| ChannelOperand::Blocks(vec![vector; count]);
        let by_channel = |operand| Step::ChannelWise { op: SimdOp::Max, operand, swapped: false };
        let binary = || Step::Binary { op: SimdOp::Max, vectors: vec![vector; 50], swapped: false };
        let operation = |operand| Operation { op: SimdOp::Max, operand, swapped: false };
        let formula = Step::Formula(Formula {
            first: Operand::Grid,
            operations: vec![
                operation(Operand::Blocks(vec![vector; 5])),
                operation(Operand::Vectors(vec![vector; 50])),
            ],
        });
        let load = || Step::Load(vec![vector; 50]);
        let reduce = Step::Reduce { op: SimdOp::Max, windows: Windows::default() };
        for (steps, expected) in [
            (vec![load()], Some(6)),
            (vec![load(), by_channel(ChannelOperand::Zero)], Some(6)),
            (vec![load(), by_channel(blocks(1))], Some(6 + 1)),
            (vec![load(), by_channel(blocks(5))], Some(6 + 2)),
            (vec![load(), binary(), by_channel(blocks(5))], Some(6 + 6)),
            (vec![load(), Step::Keep { object: ObjectId(0) }], Some(6 + 6)),
            (vec![load(), formula], Some(6 + 2 + 6)),
            (vec![load(), binary(), reduce], None),
        ] {
            let nodes = Vec::new();
            let layer = Layer { nodes, macs: 0, pixels: 10, blocks: 5, steps, kept: 0 };
            assert_eq!(needed(&layer, 6, &(1..3)), expected, "{:?}", layer.steps);
        }
    }
}
