//! [`block_product`](super::block_product) of several rows of activations, for processors with dot
//! products of four bytes.
//!
//! Weights are packed in panels: 16 rows, one per lane, with one byte per weight. A panel is packed
//! once for all rows of activations, whose bytes are broadcast to its lanes.

use std::arch::x86_64::*;
use std::array;

use super::block_row::{BlockRow, BlockWeights, CHUNK, ROWS, WEIGHT_BLOCK_BYTES};
use super::vector::Vnni;

/// Weight rows in a panel.
const LANES: usize = 16;
/// Blocks of a panel: 16 KiB, half of a small L1 cache.
const BLOCKS: usize = 32;
/// Blocks of a row in a cache line.
const LINE_BLOCKS: usize = 64 / WEIGHT_BLOCK_BYTES;
/// Rows of activations that are multiplied by a panel at once.
const TILE: usize = 4;

/// A block of one row.
type Block = [u8; WEIGHT_BLOCK_BYTES];
/// A block of 16 rows, weights with an offset of 8. Vector `2 d` has the low nibbles of bytes `4 d`
/// to `4 d + 3` of the block, vector `2 d + 1` the high ones.
type PanelBlock = [__m512i; 8];

/// Multiplies the weight rows that fill panels by all of `x`; returns their number, 0 if the
/// processor lacks the instructions. `out` has the layout of `block_product`.
pub(super) fn panels(weights: BlockWeights<'_>, x: &[BlockRow], out: &mut [f32]) -> usize {
    if Vnni::detect().is_none() {
        return 0;
    }
    let whole = weights.count / LANES * LANES;
    for top in (0..whole).step_by(LANES) {
        #[allow(unsafe_code, reason = "calls a function for processor features that were detected")]
        // SAFETY: the processor features were detected.
        unsafe {
            rows_of_panel(weights, top, x, out);
        }
    }
    whole
}

/// Multiplies 16 weight rows, starting at row `top`, by all of `x`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn rows_of_panel(weights: BlockWeights<'_>, top: usize, x: &[BlockRow], out: &mut [f32]) {
    let (pitch, row_bytes) = (weights.count, weights.rows.len() / weights.count);
    let (factors, out) = (load(&weights.factors_of::<LANES>(top)), &mut out[top..]);
    let weights = &weights.rows[top * row_bytes..][..LANES * row_bytes];
    let rows: [&[Block]; LANES] = array::from_fn(|row| weights[row * row_bytes..][..row_bytes].as_chunks().0);
    let blocks = row_bytes / WEIGHT_BLOCK_BYTES;
    let mut panel = Vec::with_capacity(BLOCKS.min(blocks));
    for first in (0..blocks).step_by(BLOCKS) {
        panel.clear();
        for b in first..blocks.min(first + BLOCKS) {
            if b % LINE_BLOCKS == 0 {
                // Prefetches the next panel: hardware prefetchers do not follow 16 short streams.
                for row in &rows {
                    _mm_prefetch::<_MM_HINT_T0>(row[b].as_ptr().wrapping_add(weights.len()).cast());
                }
            }
            panel.push(panel_block(&rows, b));
        }
        for (x, out) in x.chunks(TILE).zip(out.chunks_mut(TILE * pitch)) {
            match x {
                [a, b, c, d] => tile([a, b, c, d], &panel, first, factors, out, pitch),
                [a, b, c] => tile([a, b, c], &panel, first, factors, out, pitch),
                [a, b] => tile([a, b], &panel, first, factors, out, pitch),
                [a] => tile([a], &panel, first, factors, out, pitch),
                _ => {}
            }
        }
    }
}

/// Returns block `b` of 16 rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn panel_block(rows: &[&[Block]; LANES], b: usize) -> PanelBlock {
    // Every fourth row, one in each 128 bits; then, within those, words of four rows side by side.
    let (r0, r1, r2, r3) = (
        every_fourth(rows, 0, b),
        every_fourth(rows, 1, b),
        every_fourth(rows, 2, b),
        every_fourth(rows, 3, b),
    );
    let (low, high) = (_mm512_unpacklo_epi32(r0, r1), _mm512_unpackhi_epi32(r0, r1));
    let (low2, high2) = (_mm512_unpacklo_epi32(r2, r3), _mm512_unpackhi_epi32(r2, r3));
    let words = [
        _mm512_unpacklo_epi64(low, low2),
        _mm512_unpackhi_epi64(low, low2),
        _mm512_unpacklo_epi64(high, high2),
        _mm512_unpackhi_epi64(high, high2),
    ];
    let mut block = [_mm512_setzero_si512(); 8];
    for (bytes, [low, high]) in words.into_iter().zip(block.as_chunks_mut::<2>().0) {
        *low = nibbles(bytes);
        *high = nibbles(_mm512_srli_epi16::<4>(bytes));
    }
    block
}

/// Returns block `b` of rows `row`, `row + 4`, `row + 8` and `row + 12`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn every_fourth(rows: &[&[Block]; LANES], row: usize, b: usize) -> __m512i {
    let blocks = _mm512_castsi128_si512(block(&rows[row][b]));
    let blocks = _mm512_inserti32x4::<1>(blocks, block(&rows[row + 4][b]));
    let blocks = _mm512_inserti32x4::<2>(blocks, block(&rows[row + 8][b]));
    _mm512_inserti32x4::<3>(blocks, block(&rows[row + 12][b]))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn block(block: &Block) -> __m128i {
    #[allow(unsafe_code, reason = "reads a reference")]
    // SAFETY: the array has 16 bytes.
    unsafe {
        _mm_loadu_si128(block.as_ptr().cast())
    }
}

/// Returns the low nibbles with an offset of 8.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn nibbles(bytes: __m512i) -> __m512i {
    _mm512_xor_si512(_mm512_and_si512(bytes, _mm512_set1_epi8(0xF)), _mm512_set1_epi8(8))
}

/// Multiplies a panel, whose first block is block `first` of its rows, by `M` rows of activations.
/// Adds to `out` unless `first` is 0; `factors` has one for each row of the panel.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn tile<const M: usize>(
    x: [&BlockRow; M],
    panel: &[PanelBlock],
    first: usize,
    factors: __m512,
    out: &mut [f32],
    pitch: usize,
) {
    let mut sums = [_mm512_setzero_ps(); M];
    if first > 0 {
        for (m, sums) in sums.iter_mut().enumerate() {
            *sums = load(&out[m * pitch..]);
        }
    }
    // No closures below: library functions that call them are compiled without the features, and
    // not inlined.
    let chunks = x.map(|x| &x.chunks[first / CHUNK..]);
    for (b, weights) in panel.iter().enumerate() {
        let (place, b) = (b / CHUNK, b % CHUNK);
        let mut four_blocks = [&chunks[0][place]; M];
        let mut products = [_mm512_setzero_si512(); M];
        for m in 0..M {
            four_blocks[m] = &chunks[m][place];
            // A lane has a whole block; a start is for a quarter of it.
            products[m] = _mm512_set1_epi32(ROWS as i32 * four_blocks[m].starts[b][0]);
        }
        for d in 0..weights.len() / 2 {
            for m in 0..M {
                let (even, odd) = (&four_blocks[m].even[b], &four_blocks[m].odd[b]);
                products[m] = _mm512_dpbusd_epi32(products[m], weights[2 * d], four(even, d));
                products[m] = _mm512_dpbusd_epi32(products[m], weights[2 * d + 1], four(odd, d));
            }
        }
        for m in 0..M {
            let scales = _mm512_mul_ps(_mm512_set1_ps(four_blocks[m].scales[b][0]), factors);
            sums[m] = _mm512_add_ps(sums[m], _mm512_mul_ps(_mm512_cvtepi32_ps(products[m]), scales));
        }
    }
    for (m, sums) in sums.into_iter().enumerate() {
        store(sums, &mut out[m * pitch..]);
    }
}

/// Returns values `4 d` to `4 d + 3` in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn four(values: &[i8; WEIGHT_BLOCK_BYTES], d: usize) -> __m512i {
    let [a, b, c, d] = values.as_chunks::<4>().0[d];
    _mm512_set1_epi32(i32::from_le_bytes([a as u8, b as u8, c as u8, d as u8]))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(from: &[f32]) -> __m512 {
    let from = &from[..LANES];
    #[allow(unsafe_code, reason = "reads a slice")]
    // SAFETY: the slice has 16 floats.
    unsafe {
        _mm512_loadu_ps(from.as_ptr())
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(sums: __m512, to: &mut [f32]) {
    let to = &mut to[..LANES];
    #[allow(unsafe_code, reason = "writes a slice")]
    // SAFETY: the slice has 16 floats.
    unsafe {
        _mm512_storeu_ps(to.as_mut_ptr(), sums);
    }
}
