//! Products of pixels and weights of one byte, with 16-bit results: [`pointwise`].
//!
//! This is one tap of a convolution, as overlay processors compute it. The products of a pixel's
//! channels are summed exactly, shifted with rounding down, and added to the result with one
//! saturation. An offset per output can change the rounding of the shift.

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
    /// Distance between rows, in elements.
    pub row: usize,
    /// Distance between pixels, in elements.
    pub column: usize,
}

/// A product. The result of pixel `p` and output `k` of `outputs` is stored at `p * outputs + k`:
/// `clamp(old + add[k] + (((x[p] . w[k]) << left) + offset[k] >> right))` in 16 bits. `old` is 0
/// unless results accumulate.
#[derive(Clone, Copy, Debug)]
pub struct Pointwise<'a> {
    /// Inputs, starting at the first pixel.
    pub inputs: &'a [i8],
    /// Positions of the pixels in the inputs.
    pub pixels: Pixels,
    /// Weights `[outputs, channels]`.
    pub weights: &'a [i8],
    /// Channels of a pixel, a multiple of 4 up to 64.
    pub channels: usize,
    /// Bits of the left shift of the sum of products, at most 9.
    pub left: u32,
    /// Bits of the right shift after that, at most 30.
    pub right: u32,
    /// Addend between the shifts, per output; magnitude at most 2^29.
    pub offset: &'a [i32],
    /// Addend after the shifts, per output; magnitude at most 2^29.
    pub add: &'a [i32],
    /// Whether results are added to the old values.
    pub accumulate: bool,
}

/// Largest magnitude of [`Pointwise::offset`] and [`Pointwise::add`]: with the products, all sums
/// fit 32 bits.
const MAX: u32 = 1 << 29;

impl Pointwise<'_> {
    /// Returns the number of outputs of a pixel.
    pub fn outputs(&self) -> usize {
        self.offset.len()
    }

    /// Returns the position in `inputs` of each pixel.
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

/// Computes a product; returns false, without any effect, if sizes disagree or a number is out of
/// bounds.
pub fn pointwise(product: &Pointwise<'_>, results: &mut [i16]) -> bool {
    pointwise_on(Path::fastest(), product, results)
}

/// Like [`pointwise`], on the given path; a path that is not available becomes [`Path::Portable`].
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
                // SAFETY: the proof shows that the processor has AVX2.
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

/// Reference implementation, one result after the other, in 64 bits.
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

/// Number of outputs computed side by side.
const LANES: usize = 16;

/// 32-bit integers, in loops that compilers vectorize.
#[inline(always)]
fn portable(product: &Pointwise<'_>, results: &mut [i16]) {
    let (outputs, channels, starts) = (product.outputs(), product.channels, product.starts());
    for first in (0..outputs).step_by(LANES) {
        let lanes = LANES.min(outputs - first);
        // The weights of the lanes, by channel.
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
