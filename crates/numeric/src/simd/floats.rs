//! Products of float matrices, each sum in the order of the inner axis: [`float_product`].
//!
//! Every product and every sum is rounded. A fused multiply-add rounds only once, and some
//! processors lack it. Without it, all paths give the same bits, on any machine and for any
//! division of the rows among cores. Vectors run along the columns, so no sum is reordered.

#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Avx512, F32x8, F32x16, Vector};
use super::{Path, Rows};

/// Columns of a panel.
pub const PANEL: usize = 32;

/// Columns of a right operand side by side: element `(k, j)` is at `k * PANEL + j`. The unused
/// columns of a partial panel never affect a result.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    /// Elements.
    pub values: &'a [f32],
    /// Number of used columns, at most [`PANEL`].
    pub columns: usize,
}

/// Adds `left` times `panel` to `out`. `out[i * pitch + j]` accumulates the products of row `i` and
/// column `j` one after the other, with each product and each sum rounded.
///
/// Shapes: rows of `left` are as long as the panel has rows; `out` has the same number of
/// rows as `left`, `pitch` apart. Panics if one is too short.
pub fn float_product(left: Rows<'_, f32>, panel: Panel<'_>, out: &mut [f32], pitch: usize) {
    float_product_on(Path::fastest(), left, panel, out, pitch);
}

/// Like [`float_product`], on the given path; a path that is not available becomes
/// [`Path::Portable`].
pub fn float_product_on(path: Path, left: Rows<'_, f32>, panel: Panel<'_>, out: &mut [f32], pitch: usize) {
    assert!(panel.columns <= PANEL && panel.columns <= pitch, "columns of a panel within a row of results");
    match path {
        Path::Literal => return literal(left, panel, out, pitch),
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => {
            if let Some(proof) = Avx2::detect() {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: `proof` shows that the processor has the features.
                return unsafe { rows_avx2(proof, left, panel, out, pitch) };
            }
        }
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 | Path::Vnni => {
            if let Some(proof) = Avx512::detect() {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: `proof` shows that the processor has the features.
                return unsafe { rows_avx512(proof, left, panel, out, pitch) };
            }
        }
        _ => {}
    }
    portable(left, panel, out, pitch);
}

/// Reference implementation, one element after the other.
fn literal(left: Rows<'_, f32>, panel: Panel<'_>, out: &mut [f32], pitch: usize) {
    let depth = panel.values.len() / PANEL;
    for i in 0..left.count {
        for j in 0..panel.columns {
            for k in 0..depth {
                let product = left.values[i * left.pitch + k] * panel.values[k * PANEL + j];
                out[i * pitch + j] += product;
            }
        }
    }
}

/// For any processor: four rows at a time, in loops that compilers vectorize.
fn portable(left: Rows<'_, f32>, panel: Panel<'_>, out: &mut [f32], pitch: usize) {
    const LANES: usize = 8;
    const ROWS: usize = 4;
    let (rows, _) = panel.values.as_chunks::<PANEL>();
    for first in (0..left.count).step_by(ROWS) {
        let count = ROWS.min(left.count - first);
        // Missing rows repeat the last row; their sums are dropped.
        let inputs: [&[f32]; ROWS] = std::array::from_fn(|r| left.row(first + r.min(count - 1), rows.len()));
        for lane in (0..panel.columns).step_by(LANES) {
            let width = LANES.min(panel.columns - lane);
            let mut sums = [[0.0; LANES]; ROWS];
            for (r, sums) in sums.iter_mut().enumerate().take(count) {
                sums[..width].copy_from_slice(&out[(first + r) * pitch + lane..][..width]);
            }
            for (k, row) in rows.iter().enumerate() {
                let right = &row[lane..lane + LANES];
                for (sums, input) in sums.iter_mut().zip(inputs) {
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum += input[k] * right;
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate().take(count) {
                out[(first + r) * pitch + lane..][..width].copy_from_slice(&sums[..width]);
            }
        }
    }
}

/// 16 registers: 12 for sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn rows_avx2(proof: Avx2, left: Rows<'_, f32>, panel: Panel<'_>, out: &mut [f32], pitch: usize) {
    rows::<F32x8, 6>(proof, left, panel, out, pitch);
}

/// 32 registers: 16 for sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn rows_avx512(proof: Avx512, left: Rows<'_, f32>, panel: Panel<'_>, out: &mut [f32], pitch: usize) {
    rows::<F32x16, 8>(proof, left, panel, out, pitch);
}

/// Computes all rows, in tiles of `ROWS` rows of two vectors; the remainder in smaller tiles.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn rows<V: Vector<Scalar = f32>, const ROWS: usize>(
    proof: V::Proof,
    left: Rows<'_, f32>,
    panel: Panel<'_>,
    out: &mut [f32],
    pitch: usize,
) {
    let mut lane = 0;
    while lane < panel.columns {
        let place = Place { lane, columns: panel.columns - lane, pitch };
        let mut first = 0;
        while first < left.count {
            let (tile, rest) = ((left, first, panel.values), left.count - first);
            first += match place.columns <= V::LANES {
                false if rest >= ROWS => tile_of::<V, ROWS, 2>(proof, tile, out, place),
                false if rest >= 4 => tile_of::<V, 4, 2>(proof, tile, out, place),
                false => tile_of::<V, 1, 2>(proof, tile, out, place),
                true if rest >= ROWS => tile_of::<V, ROWS, 1>(proof, tile, out, place),
                true if rest >= 4 => tile_of::<V, 4, 1>(proof, tile, out, place),
                true => tile_of::<V, 1, 1>(proof, tile, out, place),
            };
        }
        lane += 2 * V::LANES;
    }
}

/// Position of a tile in the results.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Place {
    /// First column of the panel.
    lane: usize,
    /// Number of columns.
    columns: usize,
    /// Distance between rows of results.
    pitch: usize,
}

/// Computes tiles of `ROWS` rows and `VECTORS` vectors, starting at row `first`; returns the number
/// of rows done.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn tile_of<V: Vector<Scalar = f32>, const ROWS: usize, const VECTORS: usize>(
    proof: V::Proof,
    (left, first, panel): (Rows<'_, f32>, usize, &[f32]),
    out: &mut [f32],
    Place { lane, columns, pitch }: Place,
) -> usize {
    let (rights, _) = panel.as_chunks::<PANEL>();
    let inputs: [&[f32]; ROWS] = std::array::from_fn(|r| left.row(first + r, rights.len()));
    // The missing part of the last vectors is computed, but neither read nor stored.
    let mut edge = [0.0; PANEL];
    let width = columns.min(VECTORS * V::LANES);
    let is_whole = width == VECTORS * V::LANES;
    let mut sums = [[V::splat(proof, 0.0); VECTORS]; ROWS];
    for (r, sums) in sums.iter_mut().enumerate() {
        let from = &out[(first + r) * pitch + lane..][..width];
        let from = if is_whole {
            from
        } else {
            edge[..width].copy_from_slice(from);
            &edge[..]
        };
        for (v, sum) in sums.iter_mut().enumerate() {
            *sum = V::load(proof, &from[v * V::LANES..]);
        }
    }
    for (k, right) in rights.iter().enumerate() {
        let right: [V; VECTORS] = std::array::from_fn(|v| V::load(proof, &right[lane + v * V::LANES..]));
        for (sums, input) in sums.iter_mut().zip(inputs) {
            let x = V::splat(proof, input[k]);
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = sum.add(x.mul(right));
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        let to = &mut out[(first + r) * pitch + lane..][..width];
        for (v, sum) in sums.iter().enumerate() {
            if is_whole {
                sum.store(&mut to[v * V::LANES..]);
            } else {
                sum.store(&mut edge[v * V::LANES..]);
            }
        }
        if !is_whole {
            to.copy_from_slice(&edge[..width]);
        }
    }
    ROWS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As bit patterns, so that NaN and zeros of either sign compare.
    fn product(path: Path, left: Rows<'_, f32>, panel: Panel<'_>, start: &[f32], pitch: usize) -> Vec<u32> {
        let mut out = start.to_vec();
        float_product_on(path, left, panel, &mut out, pitch);
        out.into_iter().map(f32::to_bits).collect()
    }

    proptest! {
        #[test]
        fn every_path_equals_the_literal_one(
            count in 0_usize..27,
            depth in 0_usize..20,
            columns in 0_usize..=PANEL,
            (between_rows, between_results) in (0_usize..3, 0_usize..3),
            seed: u64,
        ) {
            let mut next = super::super::rounding_numbers(seed);
            let (pitch, results) = (depth + between_rows, columns + between_results);
            let mut values = |length: usize| (0..length).map(|_| next()).collect::<Vec<f32>>();
            let (left, right) = (values(count * pitch), values(depth * PANEL));
            let start = values(count * results);
            let left = Rows { values: &left, pitch, count };
            let panel = Panel { values: &right, columns };
            let expected = product(Path::Literal, left, panel, &start, results);
            for path in Path::available() {
                prop_assert_eq!(&product(path, left, panel, &start, results), &expected, "{:?}", path);
            }
        }
    }

    #[test]
    fn by_hand() {
        let mut right = [0.0; 2 * PANEL];
        (right[0], right[1], right[PANEL], right[PANEL + 1]) = (2.0, 3.0, 0.5, -1.0);
        let panel = Panel { values: &right, columns: 2 };
        let left = Rows { values: &[1.0, 10.0, -1.0, 4.0], pitch: 2, count: 2 };
        let expected = [100.0 + 2.0 + 5.0, 3.0 - 10.0, -2.0 + 2.0, -3.0 - 4.0_f32].map(f32::to_bits);
        for path in Path::available() {
            assert_eq!(product(path, left, panel, &[100.0, 0.0, 0.0, 0.0], 2), expected, "{path:?}");
        }
    }

    /// The product is rounded before it is added: with one rounding the sum would not be zero.
    #[test]
    fn products_are_rounded() {
        let (x, y) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON);
        let mut right = [0.0; PANEL];
        right[..20].fill(y);
        let left = Rows { values: &[x; 9], pitch: 1, count: 9 };
        for path in Path::available() {
            let found = product(path, left, Panel { values: &right, columns: 20 }, &[-(x * y); 180], 20);
            assert!(found.iter().all(|&bits| bits == 0), "{path:?}");
        }
    }
}
