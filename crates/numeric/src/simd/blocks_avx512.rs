//! [`block_product`](super::block_product) for processors with AVX-512, with or without dot
//! products of four bytes: four weight rows at a time, and four blocks of each; or 16 rows of one
//! block.
//!
//! A register lane of 128 bits holds one block. Nibbles get an offset of 8, so that they are the
//! unsigned factor of the byte products; the starts of the sums remove its contribution. Sums of
//! four rows are arranged side by side, scaled, and added block after block.

use std::arch::x86_64::*;

use super::block_row::{BlockRow, BlockWeights, CHUNK, Chunk, ROWS, WEIGHT_BLOCK_BYTES};
use super::vector::{Avx512, Vnni};

/// Bytes of a register.
const BYTES: usize = CHUNK * WEIGHT_BLOCK_BYTES;
/// Rows of one block that are processed at once: four registers.
const SINGLE: usize = 16;
/// Distance in bytes at which weights are prefetched: rows cross pages too soon for hardware
/// prefetchers.
const AHEAD: usize = 2048;

/// Activations of four blocks: values at even and at odd positions, and starts of the sums.
type Blocks = [__m512i; 3];

/// Defines `$rows`, the product of weight rows with `$dot` as the sums of four products.
macro_rules! rows {
    ($rows:ident, $groups:ident, $group:ident, $single:ident, $dot:ident, $proof:ident, $features:literal) => {
        /// Multiplies the whole groups of weight rows that start at row `first`; returns the end of
        /// the last group. That is `first` if the processor lacks the instructions.
        pub(super) fn $rows(
            weights: BlockWeights<'_>,
            x: &[BlockRow],
            out: &mut [f32],
            first: usize,
        ) -> usize {
            if $proof::detect().is_none() {
                return first;
            }
            #[allow(unsafe_code, reason = "calls a function for processor features that were detected")]
            // SAFETY: the processor features were detected.
            unsafe {
                $groups(weights, x, out, first)
            }
        }

        #[target_feature(enable = $features)]
        fn $groups(weights: BlockWeights<'_>, x: &[BlockRow], out: &mut [f32], first: usize) -> usize {
            let (count, row_bytes) = (weights.count, weights.rows.len() / weights.count);
            let size = if row_bytes == WEIGHT_BLOCK_BYTES { SINGLE } else { ROWS };
            let whole = first + (count - first) / size * size;
            for row in (first..whole).step_by(size) {
                let rows = &weights.rows[row * row_bytes..][..size * row_bytes];
                for (m, x) in x.iter().enumerate() {
                    let out = &mut out[m * count + row..][..size];
                    if size == SINGLE {
                        $single(rows, weights.factors_of(row), x, out);
                    } else {
                        $group(rows, weights.factors_of(row), x, out);
                    }
                }
            }
            whole
        }

        /// Multiplies four weight rows by one row.
        #[inline]
        #[target_feature(enable = $features)]
        fn $group(weights: &[u8], factors: [f32; ROWS], x: &BlockRow, out: &mut [f32]) {
            let row_bytes = weights.len() / ROWS;
            let factors = _mm512_broadcast_f32x4(load_four(&factors));
            let mut sum = _mm_setzero_ps();
            for (chunk, at) in x.chunks.iter().zip((0..row_bytes).step_by(BYTES)) {
                let blocks = blocks_of(chunk);
                let products = |row: usize| {
                    let row = &weights[row * row_bytes..][..row_bytes];
                    _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().wrapping_add(at + AHEAD).cast());
                    $dot(load_rest(&row[at..]), blocks)
                };
                let sums = side_by_side([products(0), products(1), products(2), products(3)]);
                let scales = load_floats(chunk.scales.as_flattened());
                let scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_mul_ps(scales, factors));
                sum = _mm_add_ps(sum, _mm512_castps512_ps128(scaled));
                sum = _mm_add_ps(sum, _mm512_extractf32x4_ps::<1>(scaled));
                sum = _mm_add_ps(sum, _mm512_extractf32x4_ps::<2>(scaled));
                sum = _mm_add_ps(sum, _mm512_extractf32x4_ps::<3>(scaled));
            }
            let out = &mut out[..ROWS];
            #[allow(unsafe_code, reason = "writes a slice")]
            // SAFETY: the slice has four floats.
            unsafe {
                _mm_storeu_ps(out.as_mut_ptr(), sum);
            }
        }

        /// Multiplies 16 weight rows of one block by one row.
        #[inline]
        #[target_feature(enable = $features)]
        fn $single(weights: &[u8], factors: [f32; SINGLE], x: &BlockRow, out: &mut [f32]) {
            let chunk = &x.chunks[0];
            let [even, odd, start] = blocks_of(chunk);
            let first = |blocks| _mm512_broadcast_i32x4(_mm512_castsi512_si128(blocks));
            let blocks = [first(even), first(odd), first(start)];
            let products = |four: usize| $dot(load(&weights[four * BYTES..]), blocks);
            // Lane l: rows l, l + 4, l + 8 and l + 12.
            let sums = side_by_side([products(0), products(1), products(2), products(3)]);
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            let sums = _mm512_cvtepi32_ps(_mm512_permutexvar_epi32(order, sums));
            let scales = _mm512_mul_ps(_mm512_set1_ps(chunk.scales[0][0]), load_floats(&factors));
            // A sum starts at 0, so that it is never -0.
            let sums = _mm512_add_ps(_mm512_setzero_ps(), _mm512_mul_ps(sums, scales));
            let out = &mut out[..SINGLE];
            #[allow(unsafe_code, reason = "writes a slice")]
            // SAFETY: the slice has 16 floats.
            unsafe {
                _mm512_storeu_ps(out.as_mut_ptr(), sums);
            }
        }
    };
}

rows!(rows, groups, group, single, dot, Avx512, "avx512f,avx512bw,avx512dq,avx512vl");
rows!(
    rows_vnni,
    groups_vnni,
    group_vnni,
    single_vnni,
    dot_vnni,
    Vnni,
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
);

/// Returns, for each 32 bits of weights, the start plus the products of their eight nibbles.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn dot(bytes: __m512i, [even, odd, start]: Blocks) -> __m512i {
    let [low, high] = nibbles(bytes);
    let products = _mm512_add_epi16(_mm512_maddubs_epi16(low, even), _mm512_maddubs_epi16(high, odd));
    // At most 4 * 15 * 127 = 7620 each: neither saturates.
    _mm512_add_epi32(start, _mm512_madd_epi16(products, _mm512_set1_epi16(1)))
}

/// Returns, for each 32 bits of weights, the start plus the products of their eight nibbles.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn dot_vnni(bytes: __m512i, [even, odd, start]: Blocks) -> __m512i {
    let [low, high] = nibbles(bytes);
    _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(start, low, even), high, odd)
}

/// Returns the low and the high nibbles, with an offset of 8.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn nibbles(bytes: __m512i) -> [__m512i; 2] {
    // A closure in `map` would not be inlined: `map` is compiled without the features.
    let of_low =
        |bytes| _mm512_xor_si512(_mm512_and_si512(bytes, _mm512_set1_epi8(0xF)), _mm512_set1_epi8(8));
    [of_low(bytes), of_low(_mm512_srli_epi16::<4>(bytes))]
}

/// Returns the sums of the four numbers in each lane: lane `l` has the sums of lane `l` of each
/// register.
#[inline]
#[target_feature(enable = "avx512f")]
fn side_by_side([a, b, c, d]: [__m512i; 4]) -> __m512i {
    let pair = |a, b| _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (ab, cd) = (pair(a, b), pair(c, d));
    _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn blocks_of(chunk: &Chunk) -> Blocks {
    [load(&chunk.even), load(&chunk.odd), load(&chunk.starts)]
}

/// Loads the first 64 bytes of a slice.
#[inline]
#[target_feature(enable = "avx512f")]
fn load<T>(from: &[T]) -> __m512i {
    let from = &from[..BYTES / size_of::<T>()];
    #[allow(unsafe_code, reason = "reads a slice")]
    // SAFETY: the slice has 64 bytes; the callers' elements are integers.
    unsafe {
        _mm512_loadu_si512(from.as_ptr().cast())
    }
}

/// Loads the first 64 bytes of a slice; zeros after its end.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_rest(from: &[u8]) -> __m512i {
    let mask = u64::MAX >> (BYTES - from.len().clamp(1, BYTES));
    #[allow(unsafe_code, reason = "reads a slice")]
    // SAFETY: the mask has one bit for each byte of the slice, which is not empty at the callers.
    unsafe {
        _mm512_maskz_loadu_epi8(mask, from.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_floats(from: &[f32]) -> __m512 {
    let from = &from[..16];
    #[allow(unsafe_code, reason = "reads a slice")]
    // SAFETY: the slice has 16 floats.
    unsafe {
        _mm512_loadu_ps(from.as_ptr())
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_four(from: &[f32; ROWS]) -> __m128 {
    #[allow(unsafe_code, reason = "reads an array")]
    // SAFETY: the array has four floats.
    unsafe {
        _mm_loadu_ps(from.as_ptr())
    }
}
