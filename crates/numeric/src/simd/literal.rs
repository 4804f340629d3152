//! Reference implementation of the array product with [`NumberFormat`], one scalar after the other.
//! The other paths use it for saturated results and their statistics.

use super::{ArrayWeights, Rows};
use crate::format::NumberFormat;
use crate::number::Number;
use crate::saturation::Saturations;

/// Computes all rows.
pub(super) fn rows<F: Number>(
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    for (i, y) in y.chunks_exact_mut(weights.outputs()).take(x.count).enumerate() {
        for (j, y) in y.iter_mut().enumerate() {
            *y = output::<F>(weights, x.row(i, weights.inputs()), j, saturations);
        }
    }
}

/// Computes output lane `j` of one row of inputs.
pub(super) fn output<F: Number>(
    weights: &ArrayWeights<F>,
    x: &[F::Raw],
    j: usize,
    saturations: &mut Saturations,
) -> F::Raw {
    let format: NumberFormat = F::FORMAT;
    let mut sum = F::to_raw(weights.row(0)[j]);
    for (k, &x) in x.iter().enumerate() {
        sum = format.mac(F::to_raw(x), F::to_raw(weights.row(k + 1)[j]), sum, saturations);
    }
    F::from_raw(sum)
}
