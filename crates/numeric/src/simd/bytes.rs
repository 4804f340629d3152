//! [`Pointwise`] on processors with AVX-512 VNNI: a dot product of four bytes in every lane.
//!
//! The instruction takes unsigned inputs, so 128 is added to each (its sign bit is flipped), and
//! 128 times the weights is subtracted. Lanes are outputs; a block of pixels shares every vector of
//! weights.

use std::arch::x86_64::*;

use super::Pointwise;
use super::vector::Vnni;

/// Lanes of a vector.
const LANES: usize = 16;
/// Channels of a lane.
const CHANNELS: usize = 4;

/// Weights of four channels for the outputs of a vector.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Weights([[i8; CHANNELS]; LANES]);

/// Addends for the outputs of a vector.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Addends([i32; LANES]);

/// Weights and addends of a product for up to `4 * LANES` outputs, starting at output `first`.
struct Packed {
    first: usize,
    outputs: usize,
    /// One vector per 16 outputs, for each group of channels.
    weights: Vec<Weights>,
    offset: [Addends; 4],
    add: [Addends; 4],
}

/// Computes a product whose sizes and numbers were checked.
pub(super) fn product(_: Vnni, product: &Pointwise<'_>, results: &mut [i16]) {
    let starts = product.starts();
    for first in (0..product.outputs()).step_by(4 * LANES) {
        let packed = Packed::new(product, first);
        #[allow(unsafe_code, reason = "calls code compiled for processor features")]
        // SAFETY: the proof shows that the processor has the features.
        unsafe {
            match packed.vectors() {
                1 => blocks::<1, 12>(product, &packed, &starts, results),
                2 => blocks::<2, 8>(product, &packed, &starts, results),
                3 => blocks::<3, 6>(product, &packed, &starts, results),
                _ => blocks::<4, 6>(product, &packed, &starts, results),
            }
        }
    }
}

impl Packed {
    fn new(product: &Pointwise<'_>, first: usize) -> Self {
        let outputs = (product.outputs() - first).min(4 * LANES);
        let (vectors, groups) = (outputs.div_ceil(LANES), product.channels / CHANNELS);
        let mut weights = vec![Weights([[0; CHANNELS]; LANES]); groups * vectors];
        let (mut offset, mut add) = ([Addends([0; LANES]); 4], [Addends([0; LANES]); 4]);
        for k in 0..outputs {
            let (vector, lane) = (k / LANES, k % LANES);
            let row = &product.weights[(first + k) * product.channels..][..product.channels];
            for (group, four) in row.as_chunks::<CHANNELS>().0.iter().enumerate() {
                weights[group * vectors + vector].0[lane] = *four;
            }
            let sum: i32 = row.iter().map(|&weight| i32::from(weight)).sum();
            offset[vector].0[lane] = product.offset[first + k] - ((128 * sum) << product.left);
            add[vector].0[lane] = product.add[first + k];
        }
        Self { first, outputs, weights, offset, add }
    }

    const fn vectors(&self) -> usize {
        self.outputs.div_ceil(LANES)
    }

    /// Returns the mask of the lanes of vector `v` that are outputs.
    fn mask(&self, v: usize) -> __mmask16 {
        let lanes = (self.outputs - v * LANES).min(LANES);
        ((1u32 << lanes) - 1) as u16
    }
}

/// Computes all pixels, `P` at a time, with `V` vectors of outputs.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn blocks<const V: usize, const P: usize>(
    product: &Pointwise<'_>,
    packed: &Packed,
    starts: &[usize],
    results: &mut [i16],
) {
    let outputs = product.outputs();
    for (starts, results) in starts.chunks(P).zip(results.chunks_mut(P * outputs)) {
        // Pixels beyond the last are replaced by the first one; their results are dropped.
        let inputs: [&[[i8; CHANNELS]]; P] = std::array::from_fn(|p| {
            let start = starts.get(p).copied().unwrap_or(starts[0]);
            product.inputs[start..][..product.channels].as_chunks().0
        });
        let sums = sums::<V, P>(&inputs, &packed.weights);
        for (sums, results) in sums.iter().zip(results.chunks_mut(outputs)) {
            finish(product, packed, sums, &mut results[packed.first..][..packed.outputs]);
        }
    }
}

/// Returns the sums of products of `P` pixels and `V` vectors of outputs, with inputs increased by
/// 128.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn sums<const V: usize, const P: usize>(
    inputs: &[&[[i8; CHANNELS]]; P],
    weights: &[Weights],
) -> [[__m512i; V]; P] {
    let mut sums = [[_mm512_setzero_si512(); V]; P];
    let signs = _mm512_set1_epi8(i8::MIN);
    for (group, weights) in weights.as_chunks::<V>().0.iter().enumerate() {
        let weights = weights.each_ref().map(|weights| load(weights));
        for (inputs, sums) in inputs.iter().zip(&mut sums) {
            let four = i32::from_le_bytes(inputs[group].map(i8::cast_unsigned));
            let four = _mm512_xor_si512(_mm512_set1_epi32(four), signs);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = _mm512_dpbusd_epi32(*sum, four, weights);
            }
        }
    }
    sums
}

/// Shifts, adds and saturates the sums of a pixel.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn finish<const V: usize>(
    product: &Pointwise<'_>,
    packed: &Packed,
    sums: &[__m512i; V],
    results: &mut [i16],
) {
    let left = _mm_cvtsi32_si128(product.left.cast_signed());
    let right = _mm_cvtsi32_si128(product.right.cast_signed());
    for (v, (&sum, results)) in sums.iter().zip(results.chunks_mut(LANES)).enumerate() {
        let shifted = _mm512_add_epi32(_mm512_sll_epi32(sum, left), load(&packed.offset[v]));
        let mut value = _mm512_add_epi32(_mm512_sra_epi32(shifted, right), load(&packed.add[v]));
        let mask = packed.mask(v);
        let to = results.as_mut_ptr();
        #[allow(unsafe_code, reason = "reads and writes a slice")]
        // SAFETY: the mask covers exactly the elements of the slice.
        unsafe {
            if product.accumulate {
                let old = _mm256_maskz_loadu_epi16(mask, to);
                value = _mm512_add_epi32(value, _mm512_cvtepi16_epi32(old));
            }
            _mm256_mask_storeu_epi16(to, mask, _mm512_cvtsepi32_epi16(value));
        }
    }
}

/// Types of 64 bytes that fill a vector.
trait Bytes64 {}
impl Bytes64 for Weights {}
impl Bytes64 for Addends {}

#[target_feature(enable = "avx512f")]
fn load<T: Bytes64>(from: &T) -> __m512i {
    #[allow(unsafe_code, reason = "reads a reference")]
    // SAFETY: both types have 64 bytes, all of them initialized.
    unsafe {
        _mm512_loadu_si512(std::ptr::from_ref(from).cast())
    }
}
