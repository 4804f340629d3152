//! The array product in integer tiles, for processors without a fused multiply-add.

use super::{ArrayWeights, NARROW, Rows, WIDE, literal};
use crate::number::Number;
use crate::saturation::Saturations;

/// Input rows of a tile.
const ROWS: usize = 4;

/// Computes all rows.
pub(super) fn rows<F: Number>(
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    if weights.outputs() <= NARROW {
        tiles::<F, NARROW>(weights, x, y, saturations);
    } else {
        tiles::<F, WIDE>(weights, x, y, saturations);
    }
}

fn tiles<F: Number, const LANES: usize>(
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    let whole = x.count - x.count % ROWS;
    for lane in (0..weights.size().pitch).step_by(LANES) {
        for i in (0..whole).step_by(ROWS) {
            tile::<F, ROWS, LANES>(weights, x, y, (i, lane), saturations);
        }
        for i in whole..x.count {
            tile::<F, 1, LANES>(weights, x, y, (i, lane), saturations);
        }
    }
}

/// Computes `COUNT` rows starting at row `i`, and `LANES` outputs starting at `lane`.
#[inline(always)]
fn tile<F: Number, const COUNT: usize, const LANES: usize>(
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    (i, lane): (usize, usize),
    saturations: &mut Saturations,
) {
    let inputs: [&[F::Raw]; COUNT] = std::array::from_fn(|r| x.row(i + r, weights.inputs()));
    let (sums, clipped) = accumulate::<F, COUNT, LANES>(weights, &inputs, lane);
    let width = LANES.min(weights.outputs() - lane);
    for r in 0..COUNT {
        let y = &mut y[(i + r) * weights.outputs() + lane..][..width];
        for (l, y) in y.iter_mut().enumerate() {
            *y = if clipped[l] == F::Wide::default() {
                F::narrow(sums[r][l])
            } else {
                // Rare; the reference code gives the same value, and the statistics.
                literal::output::<F>(weights, inputs[r], lane + l, saturations)
            };
        }
    }
}

/// Returns the sums of a tile, and the lanes in which any step of any row saturated.
#[inline(always)]
fn accumulate<F: Number, const COUNT: usize, const LANES: usize>(
    weights: &ArrayWeights<F>,
    inputs: &[&[F::Raw]; COUNT],
    lane: usize,
) -> ([[F::Wide; LANES]; COUNT], [F::Wide; LANES]) {
    let widen = |row: &[F::Raw]| -> [F::Wide; LANES] {
        let row = &row[lane..][..LANES];
        std::array::from_fn(|l| F::widen(row[l]))
    };
    let mut rows = weights.raw().chunks_exact(weights.size().pitch);
    let bias = rows.next().map_or([F::Wide::default(); LANES], widen);
    let mut sums = [bias; COUNT];
    let mut clipped = [F::Wide::default(); LANES];
    for (k, row) in rows.enumerate() {
        let w = widen(row);
        for r in 0..COUNT {
            let x = F::widen(inputs[r][k]);
            for l in 0..LANES {
                sums[r][l] = F::mac(x, w[l], sums[r][l], &mut clipped[l]);
            }
        }
    }
    (sums, clipped)
}
