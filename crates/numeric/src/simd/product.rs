//! The systolic array's product, row by row, in the array's own order: [`array_product`].
//!
//! Every output lane starts at its bias and adds the inputs 0, 1, ... in that order, with rounding
//! and saturation at each step, so the order must not change.

#[cfg(target_arch = "x86_64")]
use super::fused;
#[cfg(target_arch = "x86_64")]
use super::paired;
#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Avx512, Lane, Vector};
use super::{ArrayWeights, Path, literal, portable};
use crate::number::{Fixed, Number};
use crate::saturation::Saturations;

/// Input rows: row `i` starts at scalar `i * pitch` of `values`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    /// Scalars of all rows.
    pub values: &'a [T],
    /// Distance between rows, in scalars.
    pub pitch: usize,
    /// Number of rows.
    pub count: usize,
}

impl<'a, T> Rows<'a, T> {
    pub(crate) fn row(&self, i: usize, lanes: usize) -> &'a [T] {
        &self.values[i * self.pitch..][..lanes]
    }
}

/// Multiplies rows by the weights: `y[i][j] = bias[j] + sum over k of x[i][k] * w[k][j]`, starting
/// with the bias and in the order of `k`, rounded and saturated at every step.
///
/// Shapes: `x` has `x.count` rows of `inputs`; `y` has the same number of contiguous rows of
/// `outputs`. Every saturated step is recorded in `saturations`. Panics if `x` or `y` is too short.
///
/// Source: 5.3 of the specification of the unit with that array, whose golden vectors it meets.
pub fn array_product<F: Number>(
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    array_product_on::<F>(Path::fastest(), weights, x, y, saturations);
}

/// [`array_product`] in FP16BP8, compiled with this crate's options. A generic function is compiled
/// with its caller's options, which may optimize for size.
pub fn fp16bp8_product(
    weights: &ArrayWeights<Fixed<i16, 16, 8>>,
    x: Rows<'_, i16>,
    y: &mut [i16],
    saturations: &mut Saturations,
) {
    array_product(weights, x, y, saturations);
}

/// Like [`array_product`], on the given path; a path that is not available becomes
/// [`Path::Portable`].
pub fn array_product_on<F: Number>(
    path: Path,
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    match path {
        Path::Literal => return literal::rows(weights, x, y, saturations),
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => {
            if let Some(proof) = Avx2::detect() {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: `proof` shows that the processor has the features.
                return unsafe { rows_avx2(proof, weights, x, y, saturations) };
            }
        }
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 | Path::Vnni => {
            if let (Some(narrow), Some(proof)) = (Avx2::detect(), Avx512::detect()) {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: the two proofs show that the processor has the features.
                return unsafe { rows_avx512((narrow, proof), weights, x, y, saturations) };
            }
        }
        _ => {}
    }
    portable::rows(weights, x, y, saturations);
}

/// 16 registers: 8 for sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn rows_avx2<F: Number>(
    proof: Avx2,
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    type V<F> = <<F as Number>::Sum as Lane>::Avx2;
    match V::<F>::LANES {
        8 if weights.outputs() <= 8 => fused::rows::<F, V<F>, 8, 1, 8>(proof, weights, x, y, saturations),
        8 => fused::rows::<F, V<F>, 4, 2, 16>(proof, weights, x, y, saturations),
        _ => fused::rows::<F, V<F>, 4, 2, 8>(proof, weights, x, y, saturations),
    }
}

/// 32 registers: 8 for sums, which is enough to keep two multipliers busy.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn rows_avx512<F: Number>(
    (narrow, proof): (Avx2, Avx512),
    weights: &ArrayWeights<F>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    type V<F> = <<F as Number>::Sum as Lane>::Avx512;
    match V::<F>::LANES {
        16 if paired::fits(weights.size()) => paired::rows::<F, V<F>>(proof, weights, x, y, saturations),
        // Wide vectors would be half empty, and mixing vector widths is slow.
        16 if weights.outputs() <= 8 => rows_avx2(narrow, weights, x, y, saturations),
        16 => fused::rows::<F, V<F>, 8, 1, 16>(proof, weights, x, y, saturations),
        _ => fused::rows::<F, V<F>, 8, 1, 8>(proof, weights, x, y, saturations),
    }
}
