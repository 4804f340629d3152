//! The array product for arrays that fill half a vector: two rows in one vector, side by side.
//!
//! Like `fused`, except that the inputs of a pair of rows stay in a register, from which the inputs
//! of each step are broadcast within the halves.

use super::vector::{Halves, Vector};
use super::weights::Size;
use super::{ArrayWeights, NARROW, Rows, literal};
use crate::number::Number;
use crate::saturation::Saturations;

/// Number of row pairs computed side by side, to hide latency.
const PAIRS: usize = 4;
/// Lanes of a pair.
const LANES: usize = 2 * NARROW;

/// A value aligned to a cache line, so that vectors do not cross lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned<T>(T);

/// The inputs of all pairs, or their sums.
type Block<T> = Aligned<[[T; LANES]; PAIRS]>;

/// Whether [`rows`] supports arrays of this size.
pub(super) fn fits(size: Size) -> bool {
    size.inputs <= NARROW && size.outputs <= NARROW
}

/// Computes all rows. The array must fit.
#[inline(always)]
pub(super) fn rows<F: Number, V: Halves + Vector<Scalar = F::Sum>>(
    proof: V::Proof,
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    match weights.size() {
        // The usual size, as constants, so that loops are unrolled.
        size @ Size { inputs: NARROW, outputs: NARROW, pitch: NARROW } => {
            tiles::<F, V>(proof, (weights, size), x, y, saturations)
        }
        size => tiles::<F, V>(proof, (weights, size), x, y, saturations),
    }
}

#[inline(always)]
fn tiles<F: Number, V: Halves + Vector<Scalar = F::Sum>>(
    proof: V::Proof,
    (weights, size): (&ArrayWeights<F>, Size),
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    let mut block: Block<F::Sum> = Aligned([[F::Sum::default(); LANES]; PAIRS]);
    for first in (0..x.count).step_by(2 * PAIRS) {
        let count = (2 * PAIRS).min(x.count - first);
        let x = Rows { values: &x.values[first * x.pitch..], count, ..x };
        let y = &mut y[first * size.outputs..][..count * size.outputs];
        // Missing rows are computed too, from old values, but not stored.
        convert::<F>(x, size, &mut block);
        let tile = Tile::<V, PAIRS>::compute::<F>(proof, (weights.floats(), size), &block.0);
        store::<F, V>(&tile, y, size.outputs);
        if lanes(tile.seen).into_iter().fold(false, |left, seen| left | F::sum_left(seen)) {
            repair::<F, V>(proof, weights, x, &block, y, saturations);
        }
    }
}

/// Converts rows to floats.
#[inline(always)]
fn convert<F: Number>(x: Rows<'_, F::Raw>, size: Size, block: &mut Block<F::Sum>) {
    let block = block.0.as_flattened_mut();
    if x.pitch == NARROW && size.inputs == NARROW && x.count == 2 * PAIRS {
        for (float, &raw) in block.iter_mut().zip(&x.values[..2 * PAIRS * NARROW]) {
            *float = F::sum_input(raw);
        }
        return;
    }
    for (r, floats) in block.chunks_exact_mut(NARROW).take(x.count).enumerate() {
        for (float, &raw) in floats.iter_mut().zip(x.row(r, size.inputs)) {
            *float = F::sum_input(raw);
        }
    }
}

/// Writes raw values to all rows of `y`.
#[inline(always)]
fn store<F: Number, V: Vector<Scalar = F::Sum>>(tile: &Tile<V, PAIRS>, y: &mut [F::Raw], outputs: usize) {
    let mut sums: Block<F::Sum> = Aligned([[F::Sum::default(); LANES]; PAIRS]);
    for (to, sum) in sums.0.iter_mut().zip(&tile.sums) {
        sum.store(to);
    }
    let sums = sums.0.as_flattened();
    if let Some(y) = y.first_chunk_mut::<{ PAIRS * LANES }>().filter(|_| outputs == NARROW) {
        for (y, &sum) in y.iter_mut().zip(sums) {
            *y = F::sum_end(sum);
        }
        return;
    }
    for (y, sums) in y.chunks_exact_mut(outputs).zip(sums.chunks_exact(NARROW)) {
        for (y, &sum) in y.iter_mut().zip(sums) {
            *y = F::sum_end(sum);
        }
    }
}

/// Recomputes results that may have left the format's range. The reference code gives the same
/// value, and the statistics.
#[inline(never)]
fn repair<F: Number, V: Halves + Vector<Scalar = F::Sum>>(
    proof: V::Proof,
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    block: &Block<F::Sum>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    let outputs = weights.outputs();
    let mut rows = y.chunks_exact_mut(outputs).enumerate();
    for pair in &block.0 {
        let tile =
            Tile::<V, 1>::compute::<F>(proof, (weights.floats(), weights.size()), std::array::from_ref(pair));
        let seen = lanes::<V>(tile.seen);
        for seen in seen.chunks_exact(NARROW) {
            let Some((r, y)) = rows.next() else { return };
            for ((j, y), &seen) in y.iter_mut().enumerate().zip(seen) {
                if F::sum_left(seen) {
                    *y = literal::output::<F>(weights, x.row(r, weights.inputs()), j, saturations);
                }
            }
        }
    }
}

/// Returns the lanes of a vector.
#[inline(always)]
fn lanes<V: Vector>(vector: V) -> [V::Scalar; LANES] {
    let mut lanes = [V::Scalar::default(); LANES];
    vector.store(&mut lanes);
    lanes
}

/// Sums of `PAIRS` pairs of rows.
struct Tile<V, const PAIRS: usize> {
    sums: [V; PAIRS],
    /// Union of the bits that the sums of each lane had, over all pairs.
    seen: V,
}

impl<V: Halves, const PAIRS: usize> Tile<V, PAIRS> {
    #[inline(always)]
    fn compute<F: Number<Sum = V::Scalar>>(
        proof: V::Proof,
        (floats, size): (&[F::Sum], Size),
        inputs: &[[F::Sum; LANES]; PAIRS],
    ) -> Self {
        let (bias, floats) = floats.split_at(size.pitch);
        // The whole slice; the explicit length lets the compiler unroll the loop.
        let floats = &floats[..size.inputs * size.pitch];
        let mut start = V::load_twice(proof, bias);
        if let Some((one, zero)) = F::SUM_ORIGIN {
            start = start.mul_add(V::splat(proof, one), V::splat(proof, zero));
        }
        let inputs = inputs.each_ref().map(|inputs| V::load(proof, inputs));
        let (mut sums, mut seen) = ([start; PAIRS], V::splat(proof, F::Sum::default()));
        for (k, floats) in floats.chunks_exact(size.pitch).enumerate() {
            let w = V::load_twice(proof, floats);
            for (sum, inputs) in sums.iter_mut().zip(&inputs) {
                let x = inputs.splat_halves(k);
                if F::SUM_ORIGIN.is_some() {
                    *sum = x.mul_add(w, *sum);
                    seen = seen.or(*sum);
                } else {
                    *sum = x.mul(w).add(*sum);
                }
            }
        }
        Self { sums, seen }
    }
}
