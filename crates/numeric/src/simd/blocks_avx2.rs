//! [`block_product`](super::block_product) for processors with AVX2: four weight rows at a time,
//! and two blocks of each.
//!
//! A register lane of 128 bits holds one block. Nibbles get an offset of 8, so that they are the
//! unsigned factor of the byte products; the starts of the sums remove its contribution. Sums of
//! four rows are arranged side by side, scaled, and added block after block.

use std::arch::x86_64::*;

use super::block_row::{BlockRow, BlockWeights, CHUNK, ROWS, WEIGHT_BLOCK_BYTES};
use super::vector::Avx2;

/// Bytes of the blocks of a row that are processed at once.
const BYTES: usize = 2 * WEIGHT_BLOCK_BYTES;

/// Multiplies the whole groups of four weight rows that start at row `first`; returns the end of
/// the last group. That is `first` if the processor lacks the instructions.
pub(super) fn rows(weights: BlockWeights<'_>, x: &[BlockRow], out: &mut [f32], first: usize) -> usize {
    if Avx2::detect().is_none() {
        return first;
    }
    #[allow(unsafe_code, reason = "calls a function for processor features that were detected")]
    // SAFETY: the processor features were detected.
    unsafe {
        groups(weights, x, out, first)
    }
}

#[target_feature(enable = "avx2,fma")]
fn groups(weights: BlockWeights<'_>, x: &[BlockRow], out: &mut [f32], first: usize) -> usize {
    let (count, row_bytes) = (weights.count, weights.rows.len() / weights.count);
    let whole = first + (count - first) / ROWS * ROWS;
    for row in (first..whole).step_by(ROWS) {
        let rows = &weights.rows[row * row_bytes..][..ROWS * row_bytes];
        for (m, x) in x.iter().enumerate() {
            group(rows, weights.factors_of(row), x, &mut out[m * count + row..][..ROWS]);
        }
    }
    whole
}

/// Multiplies four weight rows by one row.
#[inline]
#[target_feature(enable = "avx2,fma")]
#[allow(unsafe_code, reason = "loads and stores of vectors")]
fn group(weights: &[u8], factors: [f32; ROWS], x: &BlockRow, out: &mut [f32]) {
    let row_bytes = weights.len() / ROWS;
    let low = _mm256_set1_epi8(0xF);
    let eights = _mm256_set1_epi8(0x88_u8 as i8);
    let ones = _mm256_set1_epi16(1);
    // SAFETY: an array of four floats.
    let factors = unsafe { _mm_loadu_ps(factors.as_ptr()) };
    let factors = _mm256_set_m128(factors, factors);
    let mut sum = _mm_setzero_ps();
    for at in (0..row_bytes).step_by(BYTES) {
        let block = at / WEIGHT_BLOCK_BYTES;
        let (chunk, half) = (&x.chunks[block / CHUNK], block % CHUNK);
        let (even, odd) = (load(&chunk.even[half..]), load(&chunk.odd[half..]));
        let start = load(&chunk.starts[half..]);
        let products = |row: usize| {
            let bytes = blocks_of(&weights[row * row_bytes..][..row_bytes], at);
            let bytes = _mm256_xor_si256(bytes, eights);
            let evens = _mm256_maddubs_epi16(_mm256_and_si256(bytes, low), even);
            let odds = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low), odd);
            // At most 4 * 15 * 127 = 7620 each: neither saturates.
            _mm256_add_epi32(start, _mm256_madd_epi16(_mm256_add_epi16(evens, odds), ones))
        };
        let pair = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (rows01, rows23) = (pair(products(0), products(1)), pair(products(2), products(3)));
        // Lane b: block b of rows 0 to 3.
        let sums =
            _mm256_add_epi32(_mm256_unpacklo_epi64(rows01, rows23), _mm256_unpackhi_epi64(rows01, rows23));
        let scales = &chunk.scales[half..][..2];
        // SAFETY: a slice of eight floats.
        let scales = _mm256_mul_ps(unsafe { _mm256_loadu_ps(scales.as_ptr().cast()) }, factors);
        let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), scales);
        sum = _mm_add_ps(sum, _mm256_castps256_ps128(scaled));
        sum = _mm_add_ps(sum, _mm256_extractf128_ps::<1>(scaled));
    }
    let out = &mut out[..ROWS];
    // SAFETY: a slice of four floats.
    unsafe { _mm_storeu_ps(out.as_mut_ptr(), sum) };
}

/// Returns two blocks of a row, starting at byte `at`; zeros after the last block.
#[inline]
#[target_feature(enable = "avx2")]
#[allow(unsafe_code, reason = "reads a slice")]
fn blocks_of(row: &[u8], at: usize) -> __m256i {
    if row.len() < at + BYTES {
        let block = &row[at..][..WEIGHT_BLOCK_BYTES];
        // SAFETY: the slice has 16 bytes.
        return _mm256_zextsi128_si256(unsafe { _mm_loadu_si128(block.as_ptr().cast()) });
    }
    load(&row[at..])
}

/// Loads the first 32 bytes of a slice.
#[inline]
#[target_feature(enable = "avx2")]
fn load<T>(from: &[T]) -> __m256i {
    let from = &from[..size_of::<__m256i>() / size_of::<T>()];
    #[allow(unsafe_code, reason = "reads a slice")]
    // SAFETY: the slice has 32 bytes; the callers' elements are integers.
    unsafe {
        _mm256_loadu_si256(from.as_ptr().cast())
    }
}
