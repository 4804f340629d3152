//! [`block_product`](super::block_product) for processors with AVX2 or AVX-512: four weight rows at
//! a time, and two or four blocks of each.
//!
//! A register lane of 128 bits holds one block. Nibbles get an offset of 8, so that they are the
//! unsigned factor of the byte products; its known contribution per block is subtracted. Sums of
//! four rows are arranged side by side, scaled, and added block after block.

use std::arch::x86_64::*;

use super::block_row::{BlockRow, CHUNK, WEIGHT_BLOCK_BYTES};
use super::vector::{Avx2, Avx512};

/// Multiplies four weight rows by one row; false if the processor lacks the instructions.
#[allow(unsafe_code, reason = "calls a function for processor features that were detected")]
pub(super) fn avx512(weights: &[u8], x: &BlockRow, out: &mut [f32]) -> bool {
    let can = Avx512::detect().is_some();
    if can {
        // SAFETY: the processor features were detected.
        unsafe { rows_avx512(weights, x, out) };
    }
    can
}

/// Multiplies four weight rows by one row; false if the processor lacks the instructions.
#[allow(unsafe_code, reason = "calls a function for processor features that were detected")]
pub(super) fn avx2(weights: &[u8], x: &BlockRow, out: &mut [f32]) -> bool {
    let can = Avx2::detect().is_some();
    if can {
        // SAFETY: the processor features were detected.
        unsafe { rows_avx2(weights, x, out) };
    }
    can
}

/// Returns the bytes of row `row` starting at byte `at`. If they extend past the row's end, they
/// are copied to `rest`, which must be zero.
fn blocks_of<'a, const BYTES: usize>(
    weights: &'a [u8],
    row_bytes: usize,
    row: usize,
    at: usize,
    rest: &'a mut [u8; BYTES],
) -> &'a [u8; BYTES] {
    let row = &weights[row * row_bytes..][..row_bytes];
    match row[at..].first_chunk::<BYTES>() {
        Some(blocks) => blocks,
        None => {
            rest[..row_bytes - at].copy_from_slice(&row[at..]);
            rest
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[allow(unsafe_code, reason = "loads and stores of vectors")]
fn rows_avx512(weights: &[u8], x: &BlockRow, out: &mut [f32]) {
    const BYTES: usize = CHUNK * WEIGHT_BLOCK_BYTES;
    let row_bytes = x.blocks() * WEIGHT_BLOCK_BYTES;
    let low = _mm512_set1_epi8(0xF);
    let eights = _mm512_set1_epi8(0x88_u8 as i8);
    let ones = _mm512_set1_epi16(1);
    let mut sum = _mm_setzero_ps();
    for at in (0..row_bytes).step_by(BYTES) {
        let (even, odd) = (&x.even[at..][..BYTES], &x.odd[at..][..BYTES]);
        // SAFETY: both slices have 64 bytes.
        let (even, odd) =
            unsafe { (_mm512_loadu_si512(even.as_ptr().cast()), _mm512_loadu_si512(odd.as_ptr().cast())) };
        let products = |row| {
            let mut rest = [0; BYTES];
            let bytes = blocks_of(weights, row_bytes, row, at, &mut rest);
            // Prefetches the same position of the next four rows: rows cross pages too soon for
            // hardware prefetchers.
            _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(4 * row_bytes).cast());
            // SAFETY: an array of 64 bytes.
            let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
            let bytes = _mm512_xor_si512(bytes, eights);
            let evens = _mm512_maddubs_epi16(_mm512_and_si512(bytes, low), even);
            let odds = _mm512_maddubs_epi16(_mm512_and_si512(_mm512_srli_epi16::<4>(bytes), low), odd);
            // At most 4 * 15 * 127 = 7620 each: neither saturates.
            _mm512_madd_epi16(_mm512_add_epi16(evens, odds), ones)
        };
        let pair = |a, b| _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (rows01, rows23) = (pair(products(0), products(1)), pair(products(2), products(3)));
        // Lane b: block b of rows 0 to 3.
        let sums =
            _mm512_add_epi32(_mm512_unpacklo_epi64(rows01, rows23), _mm512_unpackhi_epi64(rows01, rows23));
        let marks = at / WEIGHT_BLOCK_BYTES * 4;
        let (excess, scales) = (&x.excess[marks..][..4 * CHUNK], &x.scales[marks..][..4 * CHUNK]);
        // SAFETY: both slices have 16 elements of 32 bits.
        let (excess, scales) =
            unsafe { (_mm512_loadu_si512(excess.as_ptr().cast()), _mm512_loadu_ps(scales.as_ptr())) };
        let scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sums, excess)), scales);
        sum = _mm_add_ps(sum, _mm512_castps512_ps128(scaled));
        sum = _mm_add_ps(sum, _mm512_extractf32x4_ps::<1>(scaled));
        sum = _mm_add_ps(sum, _mm512_extractf32x4_ps::<2>(scaled));
        sum = _mm_add_ps(sum, _mm512_extractf32x4_ps::<3>(scaled));
    }
    let out = &mut out[..4];
    // SAFETY: the slice has four elements.
    unsafe { _mm_storeu_ps(out.as_mut_ptr(), sum) };
}

#[target_feature(enable = "avx2,fma")]
#[allow(unsafe_code, reason = "loads and stores of vectors")]
fn rows_avx2(weights: &[u8], x: &BlockRow, out: &mut [f32]) {
    const BYTES: usize = 2 * WEIGHT_BLOCK_BYTES;
    let row_bytes = x.blocks() * WEIGHT_BLOCK_BYTES;
    let low = _mm256_set1_epi8(0xF);
    let eights = _mm256_set1_epi8(0x88_u8 as i8);
    let ones = _mm256_set1_epi16(1);
    let mut sum = _mm_setzero_ps();
    for at in (0..row_bytes).step_by(BYTES) {
        let (even, odd) = (&x.even[at..][..BYTES], &x.odd[at..][..BYTES]);
        // SAFETY: both slices have 32 bytes.
        let (even, odd) =
            unsafe { (_mm256_loadu_si256(even.as_ptr().cast()), _mm256_loadu_si256(odd.as_ptr().cast())) };
        let products = |row| {
            let mut rest = [0; BYTES];
            let bytes = blocks_of(weights, row_bytes, row, at, &mut rest);
            // SAFETY: an array of 32 bytes.
            let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
            let bytes = _mm256_xor_si256(bytes, eights);
            let evens = _mm256_maddubs_epi16(_mm256_and_si256(bytes, low), even);
            let odds = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low), odd);
            _mm256_madd_epi16(_mm256_add_epi16(evens, odds), ones)
        };
        let pair = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (rows01, rows23) = (pair(products(0), products(1)), pair(products(2), products(3)));
        let sums =
            _mm256_add_epi32(_mm256_unpacklo_epi64(rows01, rows23), _mm256_unpackhi_epi64(rows01, rows23));
        let marks = at / WEIGHT_BLOCK_BYTES * 4;
        let (excess, scales) = (&x.excess[marks..][..8], &x.scales[marks..][..8]);
        // SAFETY: both slices have 8 elements of 32 bits.
        let (excess, scales) =
            unsafe { (_mm256_loadu_si256(excess.as_ptr().cast()), _mm256_loadu_ps(scales.as_ptr())) };
        let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(sums, excess)), scales);
        sum = _mm_add_ps(sum, _mm256_castps256_ps128(scaled));
        sum = _mm_add_ps(sum, _mm256_extractf128_ps::<1>(scaled));
    }
    let out = &mut out[..4];
    // SAFETY: the slice has four elements.
    unsafe { _mm_storeu_ps(out.as_mut_ptr(), sum) };
}
