//! The array product in float tiles, for processors with a fused multiply-add.
//!
//! The sums of fixed formats are floats too; the table of formats in `number.rs` explains why that
//! is exact. Independent values are computed side by side: the output lanes (in vectors) and a few
//! input rows (to hide latency).

use super::vector::Vector;
use super::weights::Size;
use super::{ArrayWeights, Rows, literal};
use crate::number::Number;
use crate::saturation::Saturations;

/// Number of inputs of a row that are converted together.
const BLOCK: usize = 64;

/// Inputs of `COUNT` rows, as floats, ready to be broadcast to the lanes.
type Block<T, const COUNT: usize> = Aligned<[[T; BLOCK]; COUNT]>;

/// A value aligned to a cache line: vectors that cross lines are loaded much more slowly.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned<T>(T);

/// Computes all rows, in tiles of `COUNT` rows of `VECTORS` vectors; a row of weights has whole
/// tiles.
#[inline(always)]
pub(super) fn rows<
    F: Number,
    V: Vector<Scalar = F::Sum>,
    const COUNT: usize,
    const VECTORS: usize,
    const LANES: usize,
>(
    proof: V::Proof,
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    // Constant sizes for small arrays, in which loop overhead matters most.
    match weights.size() {
        size @ Size { inputs: 8, outputs: 8, pitch: 8 } => {
            tiles::<F, V, COUNT, VECTORS, LANES>(proof, (weights, size), x, y, saturations)
        }
        size @ Size { inputs: 12, outputs: 12, pitch: 16 } => {
            tiles::<F, V, COUNT, VECTORS, LANES>(proof, (weights, size), x, y, saturations)
        }
        size @ Size { inputs: 16, outputs: 16, pitch: 16 } => {
            tiles::<F, V, COUNT, VECTORS, LANES>(proof, (weights, size), x, y, saturations)
        }
        size => tiles::<F, V, COUNT, VECTORS, LANES>(proof, (weights, size), x, y, saturations),
    }
}

/// Like [`rows`], with weights of the given size.
#[inline(always)]
fn tiles<
    F: Number,
    V: Vector<Scalar = F::Sum>,
    const COUNT: usize,
    const VECTORS: usize,
    const LANES: usize,
>(
    proof: V::Proof,
    (weights, size): (&ArrayWeights<F>, Size),
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    let Size { inputs, outputs, .. } = size;
    let mut one = [Aligned([[F::Sum::default(); BLOCK]; COUNT])];
    let mut many = Vec::new();
    let blocks = if inputs <= BLOCK {
        &mut one[..]
    } else {
        many.resize(inputs.div_ceil(BLOCK), one[0]);
        &mut many[..]
    };
    for first in (0..x.count).step_by(COUNT) {
        let count = COUNT.min(x.count - first);
        // Missing rows are computed too, from old values, but not stored.
        if count == COUNT {
            let rows = &x.values[first * x.pitch..][..(COUNT - 1) * x.pitch + inputs];
            for r in 0..COUNT {
                convert::<F, COUNT>(&rows[r * x.pitch..][..inputs], blocks, r);
            }
        } else {
            for r in 0..count {
                convert::<F, COUNT>(x.row(first + r, inputs), blocks, r);
            }
        }
        for lane in (0..outputs).step_by(LANES) {
            let tile = Tile::<V, COUNT, VECTORS, LANES>::compute::<F, COUNT>(
                proof,
                (weights.floats(), size),
                blocks,
                (0, lane),
            );
            let y = &mut y[first * outputs..][..count * outputs];
            store(&tile.raw::<F>(), y, (outputs, lane));
            if tile.left::<F>().contains(&true) {
                for r in 0..count {
                    let row = Tile::<V, 1, VECTORS, LANES>::compute::<F, COUNT>(
                        proof,
                        (weights.floats(), size),
                        blocks,
                        (r, lane),
                    );
                    let y = &mut y[r * outputs..][..outputs];
                    repair(weights, x.row(first + r, inputs), y, (lane, row.left::<F>()), saturations);
                }
            }
        }
    }
}

/// Converts `row` to row `r` of the blocks.
#[inline(always)]
fn convert<F: Number, const COUNT: usize>(row: &[F::Raw], blocks: &mut [Block<F::Sum, COUNT>], r: usize) {
    for (row, block) in row.chunks(BLOCK).zip(blocks) {
        // Whole vectors first, by their fixed size.
        let (raw, raw_rest) = row.as_chunks::<8>();
        let (floats, floats_rest) = block.0[r].as_chunks_mut::<8>();
        for (floats, raw) in floats.iter_mut().zip(raw) {
            let mut vector = [F::Sum::default(); 8];
            for (float, &raw) in vector.iter_mut().zip(raw) {
                *float = F::sum_input(raw);
            }
            *floats = vector;
        }
        let rest = floats.get_mut(raw.len()).map_or(floats_rest, |floats| &mut floats[..]);
        for (float, &raw) in rest.iter_mut().zip(raw_rest) {
            *float = F::sum_input(raw);
        }
    }
}

/// Writes raw values to `y`, whose first row is the first row of the tile, starting at output
/// `lane`. Writes only existing rows and lanes.
#[inline(always)]
fn store<T: Copy, const LANES: usize>(raw: &[[T; LANES]], y: &mut [T], (outputs, lane): (usize, usize)) {
    if outputs == LANES && y.len() == raw.len() * LANES {
        return y.copy_from_slice(raw.as_flattened());
    }
    for (y, raw) in y.chunks_exact_mut(outputs).zip(raw) {
        match y[lane..].first_chunk_mut() {
            Some(y) => *y = *raw,
            None => y[lane..].copy_from_slice(&raw[..outputs - lane]),
        }
    }
}

/// Recomputes the outputs starting at `lane` for which a row may have left the format's range. The
/// reference code gives the same value, and the statistics.
#[inline(never)]
fn repair<F: Number, const LANES: usize>(
    weights: &ArrayWeights<F>,
    x: &[F::Raw],
    y: &mut [F::Raw],
    (lane, left): (usize, [bool; LANES]),
    saturations: &mut Saturations,
) {
    for ((j, y), left) in y.iter_mut().enumerate().skip(lane).zip(left) {
        if left {
            *y = literal::output::<F>(weights, x, j, saturations);
        }
    }
}

/// Sums of `ROWS` rows of `VECTORS` vectors.
struct Tile<V, const ROWS: usize, const VECTORS: usize, const LANES: usize> {
    sums: [[V; VECTORS]; ROWS],
    /// Union of the bits that the sums of each lane had, over all rows.
    seen: [V; VECTORS],
}

impl<V: Vector, const ROWS: usize, const VECTORS: usize, const LANES: usize> Tile<V, ROWS, VECTORS, LANES> {
    /// Computes rows starting at row `row` of the blocks, and outputs starting at `lane`.
    #[inline(always)]
    fn compute<F: Number<Sum = V::Scalar>, const COUNT: usize>(
        proof: V::Proof,
        (floats, size): (&[F::Sum], Size),
        blocks: &[Block<F::Sum, COUNT>],
        (row, lane): (usize, usize),
    ) -> Self {
        let (bias, floats) = floats.split_at(size.pitch);
        // Sums in local variables stay in registers.
        let Self { mut sums, mut seen } = Self::start::<F>(proof, &bias[lane..]);
        for (block, floats) in blocks.iter().zip(floats.chunks(BLOCK * size.pitch)) {
            for (k, floats) in floats.chunks_exact(size.pitch).enumerate() {
                for v in 0..VECTORS {
                    let w = V::load(proof, &floats[lane + v * V::LANES..]);
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let x = V::splat(proof, block.0[row + r][k % BLOCK]);
                        let sum = &mut sums[v];
                        if F::SUM_ORIGIN.is_some() {
                            *sum = x.mul_add(w, *sum);
                            seen[v] = seen[v].or(*sum);
                        } else {
                            *sum = x.mul(w).add(*sum);
                        }
                    }
                }
            }
        }
        Self { sums, seen }
    }

    /// Starts every row with its bias.
    #[inline(always)]
    fn start<F: Number<Sum = V::Scalar>>(proof: V::Proof, bias: &[F::Sum]) -> Self {
        let zero = V::splat(proof, F::Sum::default());
        let mut start = [zero; VECTORS];
        for (v, start) in start.iter_mut().enumerate() {
            *start = V::load(proof, &bias[v * V::LANES..]);
            if let Some((one, zero)) = F::SUM_ORIGIN {
                *start = start.mul_add(V::splat(proof, one), V::splat(proof, zero));
            }
        }
        Self { sums: [start; ROWS], seen: [zero; VECTORS] }
    }

    /// Returns the lanes in which any row may have left the format's range.
    #[inline(always)]
    fn left<F: Number<Sum = V::Scalar>>(&self) -> [bool; LANES] {
        let mut left = [false; LANES];
        let mut seen = [F::Sum::default(); LANES];
        for v in 0..VECTORS {
            self.seen[v].store(&mut seen[v * V::LANES..]);
        }
        for (left, &seen) in left.iter_mut().zip(&seen) {
            *left = F::sum_left(seen);
        }
        left
    }

    /// Returns all raw values.
    #[inline(always)]
    fn raw<F: Number<Sum = V::Scalar>>(&self) -> [[F::Raw; LANES]; ROWS] {
        let mut sums = Aligned([[F::Sum::default(); LANES]; ROWS]);
        for (to, from) in sums.0.iter_mut().zip(&self.sums) {
            for (v, sum) in from.iter().enumerate() {
                sum.store(&mut to[v * V::LANES..]);
            }
        }
        let mut raw = [[F::Raw::default(); LANES]; ROWS];
        for (raw, &sum) in raw.as_flattened_mut().iter_mut().zip(sums.0.as_flattened()) {
            *raw = F::sum_end(sum);
        }
        raw
    }
}
