//! Products of pixels and weights of one byte, with results of 16 bits: [`pointwise`].
//!
//! A tap of a convolution, as overlay processors compute it: the products of a pixel's channels are summed exactly,
//! shifted with rounding down, and added to the result with one saturation. Weights may add what makes
//! the shift round otherwise.

use super::Path;
#[cfg(target_arch = "x86_64")]
use super::bytes;
#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Vnni};

/// Pixels of a strided grid: the channels of pixel `(y, x)` begin at `y * row + x * column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Rows of the grid.
    pub rows: usize,
    /// Pixels of a row.
    pub columns: usize,
    /// Elements from row to row.
    pub row: usize,
    /// Elements from pixel to pixel.
    pub column: usize,
}

/// A product; the result of pixel `p` and output `k` of `outputs` becomes, at `p * outputs + k`,
/// `clamp(old + add[k] + (((x[p] . w[k]) << left) + offset[k] >> right))` in 16 bits, with an old value of
/// 0 unless results accumulate.
#[derive(Clone, Copy, Debug)]
pub struct Pointwise<'a> {
    /// Inputs, from the first pixel on.
    pub inputs: &'a [i8],
    /// Which of them count.
    pub pixels: Pixels,
    /// Weights `[outputs, channels]`.
    pub weights: &'a [i8],
    /// Channels of a pixel, a multiple of 4 up to 64.
    pub channels: usize,
    /// Bits the sum of products is shifted to the left, at most 9.
    pub left: u32,
    /// Bits it is shifted to the right then, at most 30.
    pub right: u32,
    /// By output, what is added between the shifts: at most 2^29 either way.
    pub offset: &'a [i32],
    /// By output, what is added after the shifts: at most 2^29 either way.
    pub add: &'a [i32],
    /// Whether results are added to what was there.
    pub accumulate: bool,
}

/// Largest amount of [`Pointwise::offset`] and [`Pointwise::add`]: with the products, 32 bits hold all sums.
const MAX: u32 = 1 << 29;

impl Pointwise<'_> {
    /// Outputs of a pixel.
    pub fn outputs(&self) -> usize {
        self.offset.len()
    }

    /// Position in `inputs` of each pixel.
    pub(super) fn starts(&self) -> Vec<usize> {
        let Pixels { rows, columns, row, column } = self.pixels;
        (0..rows).flat_map(|y| (0..columns).map(move |x| y * row + x * column)).collect()
    }

    /// Whether sizes agree and all numbers are within their bounds.
    fn is_sound(&self, results: usize) -> bool {
        let (outputs, pixels) = (self.outputs(), self.pixels);
        let small = |values: &[i32]| values.iter().all(|value| value.unsigned_abs() <= MAX);
        let last = |count: usize, step: usize| count.checked_sub(1)?.checked_mul(step);
        let end = last(pixels.rows, pixels.row)
            .zip(last(pixels.columns, pixels.column))
            .and_then(|(y, x)| y.checked_add(x)?.checked_add(self.channels));
        self.channels.is_multiple_of(4)
            && (4..=64).contains(&self.channels)
            && self.left <= 9
            && self.right <= 30
            && outputs > 0
            && self.add.len() == outputs
            && Some(self.weights.len()) == outputs.checked_mul(self.channels)
            && end.is_some_and(|end| end <= self.inputs.len())
            && pixels.rows.checked_mul(pixels.columns).and_then(|n| n.checked_mul(outputs)) == Some(results)
            && small(self.offset)
            && small(self.add)
    }
}

/// Computes a product; false, with nothing done, when sizes disagree or a number is out of its bounds.
pub fn pointwise(product: &Pointwise<'_>, results: &mut [i16]) -> bool {
    pointwise_on(Path::fastest(), product, results)
}

/// As [`pointwise`], on a path of choice; one that is not available becomes [`Path::Portable`].
pub fn pointwise_on(path: Path, product: &Pointwise<'_>, results: &mut [i16]) -> bool {
    if !product.is_sound(results.len()) {
        return false;
    }
    match path {
        Path::Literal => literal(product, results),
        #[cfg(target_arch = "x86_64")]
        Path::Vnni | Path::Avx512 | Path::Avx2 => match (Vnni::detect(), Avx2::detect()) {
            (Some(proof), _) if path == Path::Vnni => bytes::product(proof, product, results),
            (_, Some(_)) => {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: the proof is one that the processor has AVX2.
                unsafe {
                    portable_avx2(product, results);
                }
            }
            _ => portable(product, results),
        },
        _ => portable(product, results),
    }
    true
}

/// One result after the other, in 64 bits.
fn literal(product: &Pointwise<'_>, results: &mut [i16]) {
    let (outputs, starts) = (product.outputs(), product.starts());
    for (index, result) in results.iter_mut().enumerate() {
        let (p, k) = (index / outputs, index % outputs);
        let x = &product.inputs[starts[p]..][..product.channels];
        let w = &product.weights[k * product.channels..][..product.channels];
        let sum: i64 = x.iter().zip(w).map(|(&x, &w)| i64::from(x) * i64::from(w)).sum();
        let shifted = ((sum << product.left) + i64::from(product.offset[k])) >> product.right;
        let old = if product.accumulate { i64::from(*result) } else { 0 };
        let value = old + i64::from(product.add[k]) + shifted;
        *result = value.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn portable_avx2(product: &Pointwise<'_>, results: &mut [i16]) {
    portable(product, results);
}

/// Outputs computed side by side.
const LANES: usize = 16;

/// Integers of 32 bits, in loops that compilers make vectors of.
#[inline(always)]
fn portable(product: &Pointwise<'_>, results: &mut [i16]) {
    let (outputs, channels, starts) = (product.outputs(), product.channels, product.starts());
    for first in (0..outputs).step_by(LANES) {
        let lanes = LANES.min(outputs - first);
        // By channel, the weights of the lanes.
        let mut weights = [[0i16; LANES]; 64];
        for (l, weights) in weights.iter_mut().take(channels).enumerate() {
            for (lane, weight) in weights.iter_mut().take(lanes).enumerate() {
                *weight = product.weights[(first + lane) * channels + l].into();
            }
        }
        for (p, &start) in starts.iter().enumerate() {
            let x = &product.inputs[start..][..channels];
            let mut sums = [0i32; LANES];
            for (&x, weights) in x.iter().zip(&weights) {
                for (sum, &weight) in sums.iter_mut().zip(weights) {
                    *sum += i32::from(i16::from(x) * weight);
                }
            }
            let results = &mut results[p * outputs + first..][..lanes];
            for (lane, (result, sum)) in results.iter_mut().zip(sums).enumerate() {
                let k = first + lane;
                let shifted = ((sum << product.left) + product.offset[k]) >> product.right;
                let old = if product.accumulate { i32::from(*result) } else { 0 };
                let value = old + product.add[k] + shifted;
                *result = value.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
            }
        }
    }
}
