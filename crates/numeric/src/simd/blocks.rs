//! Products of 4-bit weights and 8-bit activations in blocks: [`block_product`].
//!
//! A block is 32 consecutive values. Its products are summed exactly, the sum is multiplied by the
//! block's scale, a power of two, and the scaled sums are added as `f32` in the order of the
//! blocks. That order is part of the result, so kernels process several rows at a time, and never
//! several blocks of one row.

use super::Path;
use super::block_row::{BLOCK, BlockRow, BlockWeights, WEIGHT_BLOCK_BYTES};
#[cfg(target_arch = "x86_64")]
use super::{blocks_avx2, blocks_avx512, blocks_vnni};

/// Returns the value of nibble `i` of a block of weights, -8 to 7.
fn weight(block: &[u8], i: usize) -> i8 {
    let byte = block[i / 2];
    let nibble = if i.is_multiple_of(2) { byte & 0xF } else { byte >> 4 };
    ((nibble << 4) as i8) >> 4
}

/// Multiplies rows of activations by rows of weights, on the fastest path of this processor.
///
/// `out[m * count + n]` is a sum over blocks `b`, in order and rounded to `f32` at each step. Its
/// terms are the exact sum of the products of block `b` of `x[m]` with block `b` of weight row `n`,
/// multiplied by the scale of block `b` of `x[m]`, which is first multiplied by the factor of row
/// `n`.
///
/// Shapes: `weights` has `count` rows with the same number of blocks as each row of `x`, and
/// `count` factors, if any; `out` has `x.len() * count` elements. Panics otherwise.
pub fn block_product(weights: BlockWeights<'_>, x: &[BlockRow], out: &mut [f32]) {
    block_product_on(Path::fastest(), weights, x, out);
}

/// Like [`block_product`], on the given path; a path that is not available becomes the portable
/// one.
pub fn block_product_on(path: Path, weights: BlockWeights<'_>, x: &[BlockRow], out: &mut [f32]) {
    let count = weights.count;
    assert_eq!(out.len(), x.len() * count, "one output for each row of weights and of activations");
    assert!(weights.factors.is_none_or(|factors| factors.len() == count), "one factor for each row");
    let Some(row_bytes) = x.first().map(|x| x.blocks() * WEIGHT_BLOCK_BYTES) else { return };
    assert_eq!(weights.rows.len(), count * row_bytes, "weights fill their rows");
    assert!(x.iter().all(|x| x.blocks() * WEIGHT_BLOCK_BYTES == row_bytes), "activations of one length");
    if count == 0 || row_bytes == 0 {
        return out.fill(0.0);
    }
    // Weights are the larger operand: each group of weight rows is loaded once, for all
    // activations.
    let done = groups(path, weights, x, out);
    for row in done..count {
        let bytes = &weights.rows[row * row_bytes..][..row_bytes];
        let [factor] = weights.factors_of(row);
        for (m, x) in x.iter().enumerate() {
            out[m * count + row] = match path {
                Path::Literal => literal(bytes, factor, x),
                _ => portable(bytes, factor, x),
            };
        }
    }
}

/// Multiplies the weight rows that fill groups of the path's kernels; returns their number.
#[cfg(target_arch = "x86_64")]
fn groups(path: Path, weights: BlockWeights<'_>, x: &[BlockRow], out: &mut [f32]) -> usize {
    match path {
        Path::Literal | Path::Portable => 0,
        Path::Avx2 => blocks_avx2::rows(weights, x, out, 0),
        Path::Avx512 => blocks_avx512::rows(weights, x, out, 0),
        Path::Vnni => {
            // Panels are only worth packing for several rows of activations.
            let done = if x.len() > 1 { blocks_vnni::panels(weights, x, out) } else { 0 };
            blocks_avx512::rows_vnni(weights, x, out, done)
        }
    }
}

/// Multiplies the weight rows that fill groups of the path's kernels; returns their number.
#[cfg(not(target_arch = "x86_64"))]
fn groups(_: Path, _: BlockWeights<'_>, _: &[BlockRow], _: &mut [f32]) -> usize {
    0
}

/// Reference implementation for a row, one value after the other.
fn literal(row: &[u8], factor: f32, x: &BlockRow) -> f32 {
    let mut sum = 0.0_f32;
    for (b, block) in row.chunks_exact(WEIGHT_BLOCK_BYTES).enumerate() {
        let (halves, _, scale) = x.block(b);
        let products = (0..BLOCK).map(|i| i32::from(weight(block, i)) * i32::from(halves[i % 2][i / 2]));
        let scaled = products.sum::<i32>() as f32 * (scale * factor);
        sum += scaled;
    }
    sum
}

/// For any processor, and for remaining rows: nibbles with an offset of 8, even and odd values
/// separately.
fn portable(row: &[u8], factor: f32, x: &BlockRow) -> f32 {
    let mut sum = 0.0_f32;
    for (b, block) in row.chunks_exact(WEIGHT_BLOCK_BYTES).enumerate() {
        let ([even, odd], start, scale) = x.block(b);
        let mut products = start;
        for ((&byte, &even), &odd) in block.iter().zip(even).zip(odd) {
            let byte = byte ^ 0x88;
            products += i32::from(byte & 0xF) * i32::from(even) + i32::from(byte >> 4) * i32::from(odd);
        }
        sum += products as f32 * (scale * factor);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As bit patterns, so that NaN compare equal.
    fn product(path: Path, weights: BlockWeights<'_>, x: &[BlockRow]) -> Vec<u32> {
        let mut out = vec![f32::NAN; weights.count * x.len()];
        block_product_on(path, weights, x, &mut out);
        out.into_iter().map(f32::to_bits).collect()
    }

    fn without_factors(rows: &[u8], count: usize) -> BlockWeights<'_> {
        BlockWeights { rows, count, factors: None }
    }

    proptest! {
        #[test]
        fn every_path_equals_the_literal_one(
            count in 0_usize..39,
            blocks in prop_oneof![0_usize..11, 31_usize..35],
            activations in 0_usize..7,
            has_factors: bool,
            exponents in prop::collection::vec(-132_i32..=121, 44),
            seed: u64,
        ) {
            let mut state = seed | 1;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            };
            let weights: Vec<u8> = (0..count * blocks * WEIGHT_BLOCK_BYTES).map(|_| next()).collect();
            // Factors of either sign, which make products round.
            let factors: Vec<f32> = (0..count).map(|_| (f32::from(next()) - 127.5) / 77.0).collect();
            let mut row = |m: usize| {
                let values: Vec<i8> = (0..blocks * BLOCK).map(|_| (next() as i8).max(-127)).collect();
                let scale = |b: usize| 2.0_f32.powi(exponents[(m * 11 + b) % exponents.len()]);
                BlockRow::new(&values, &(0..blocks).map(scale).collect::<Vec<_>>())
            };
            let x: Vec<BlockRow> = (0..activations).map(&mut row).collect();
            let factors = has_factors.then_some(&factors[..]);
            let weights = BlockWeights { rows: &weights, count, factors };
            let expected = product(Path::Literal, weights, &x);
            for path in Path::available() {
                prop_assert_eq!(&product(path, weights, &x), &expected, "{:?}", path);
            }
        }
    }

    #[test]
    fn by_hand() {
        // Nibbles 1, -1, 7, -8 at the start of two blocks.
        let mut weights = [0_u8; 2 * WEIGHT_BLOCK_BYTES];
        weights[..2].copy_from_slice(&[0xF1, 0x87]);
        weights[16] = 0x02;
        let mut values = [0_i8; 64];
        values[..4].copy_from_slice(&[10, 20, 30, -40]);
        values[32] = 5;
        let x = [BlockRow::new(&values, &[0.5, 4.0])];
        let expected = (10.0 - 20.0 + 210.0 + 320.0) * 0.5 + 40.0_f32;
        for path in Path::available() {
            assert_eq!(product(path, without_factors(&weights, 1), &x), [expected.to_bits()], "{path:?}");
        }
    }

    /// Rows of activations and, within them, rows of weights: each output is the product of its own
    /// two rows.
    #[test]
    fn outputs_lie_by_activation_and_weight() {
        let (count, size) = (9, 2 * WEIGHT_BLOCK_BYTES);
        let weights: Vec<u8> = (0..count * size).map(|i| (i * 7919 % 251) as u8).collect();
        let row = |m: usize| {
            let values: Vec<i8> = (0..2 * BLOCK).map(|i| ((m * 64 + i) * 31 % 255) as i8).collect();
            BlockRow::new(&values.iter().map(|&value| value.max(-127)).collect::<Vec<_>>(), &[1.0, 0.25])
        };
        let x: Vec<BlockRow> = (0..3).map(row).collect();
        for path in Path::available() {
            let alone = |(m, n): (usize, usize)| {
                product(path, without_factors(&weights[n * size..][..size], 1), &x[m..=m])[0]
            };
            let expected: Vec<u32> =
                (0..3).flat_map(|m| (0..count).map(move |n| (m, n))).map(alone).collect();
            assert_eq!(product(path, without_factors(&weights, count), &x), expected, "{path:?}");
        }
    }

    #[test]
    fn the_extremes_do_not_overflow() {
        let weights = [0x88_u8; 16 * WEIGHT_BLOCK_BYTES];
        let x = [BlockRow::new(&[-127; 32], &[1.0])];
        for path in Path::available() {
            let found = product(path, without_factors(&weights, 16), &x);
            assert_eq!(found, [(8.0 * 127.0 * 32.0_f32).to_bits(); 16], "{path:?}");
        }
    }
}
