//! Dot products of rows, each with 16 partial sums: [`dot`] and [`dot_products`].
//!
//! Every product and every sum is rounded, as in [`float_product`](super::float_product). The order
//! of the sums does not depend on the processor, nor on the number of rows.

use super::Rows;
#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Avx512, F32x8, F32x16, Vector};
use crate::simd::Path;

/// Number of partial sums: element `k` is added to sum `k % LANES`.
const LANES: usize = 16;

/// Returns the sum of the products of two vectors; elements beyond the shorter one are ignored.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let length = a.len().min(b.len());
    let (a, b) = (&a[..length], &b[..length]);
    let mut sums = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    total(sums, a, b)
}

/// Returns the sum of the partial sums and of the products after the last whole group.
fn total(sums: [f32; LANES], a: &[f32], b: &[f32]) -> f32 {
    let rest = a.as_chunks::<LANES>().1.iter().zip(b.as_chunks::<LANES>().1);
    sums.iter().sum::<f32>() + rest.map(|(a, b)| a * b).sum::<f32>()
}

/// Writes the dot product of row `i` of `left` and row `j` of `right`, which have `length`
/// elements, to `out[i * right.count + j]`, as [`dot`] computes it. Panics if a row or `out` is too
/// short.
pub fn dot_products(left: Rows<'_, f32>, right: Rows<'_, f32>, length: usize, out: &mut [f32]) {
    dot_products_on(Path::fastest(), left, right, length, out);
}

/// Like [`dot_products`], on the given path; a path that is not available becomes
/// [`Path::Portable`].
pub fn dot_products_on(
    path: Path,
    left: Rows<'_, f32>,
    right: Rows<'_, f32>,
    length: usize,
    out: &mut [f32],
) {
    assert!(out.len() >= left.count * right.count, "a result for each pair of rows");
    match path {
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => {
            if let Some(proof) = Avx2::detect() {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: `proof` shows that the processor has the features.
                return unsafe { tiles_avx2(proof, left, right, length, out) };
            }
        }
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 | Path::Vnni => {
            if let Some(proof) = Avx512::detect() {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: `proof` shows that the processor has the features.
                return unsafe { tiles_avx512(proof, left, right, length, out) };
            }
        }
        _ => {}
    }
    for (i, j) in (0..left.count).flat_map(|i| (0..right.count).map(move |j| (i, j))) {
        out[i * right.count + j] = dot(left.row(i, length), right.row(j, length));
    }
}

/// 16 registers: 8 for sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn tiles_avx2(proof: Avx2, left: Rows<'_, f32>, right: Rows<'_, f32>, length: usize, out: &mut [f32]) {
    tiles::<F32x8, 2, 2>(proof, left, right, length, out);
}

/// 32 registers: 16 for sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn tiles_avx512(proof: Avx512, left: Rows<'_, f32>, right: Rows<'_, f32>, length: usize, out: &mut [f32]) {
    tiles::<F32x16, 4, 1>(proof, left, right, length, out);
}

/// Computes all results, in tiles of `SIDE` by `SIDE` rows; the remainder with one row of
/// either side. `VECTORS` vectors hold the partial sums of a result.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn tiles<V: Vector<Scalar = f32>, const SIDE: usize, const VECTORS: usize>(
    proof: V::Proof,
    left: Rows<'_, f32>,
    right: Rows<'_, f32>,
    length: usize,
    out: &mut [f32],
) {
    let mut j = 0;
    while j < right.count {
        let is_wide = right.count - j >= SIDE;
        let mut i = 0;
        while i < left.count {
            let at = (i, j, length);
            i += match left.count - i >= SIDE {
                true if is_wide => tile::<V, SIDE, SIDE, VECTORS>(proof, left, right, at, out),
                true => tile::<V, SIDE, 1, VECTORS>(proof, left, right, at, out),
                false if is_wide => tile::<V, 1, SIDE, VECTORS>(proof, left, right, at, out),
                false => tile::<V, 1, 1, VECTORS>(proof, left, right, at, out),
            };
        }
        j += if is_wide { SIDE } else { 1 };
    }
}

/// Computes the results of `A` rows of `left` and `B` rows of `right`, which begin at rows `i` and
/// `j`; returns `A`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn tile<V: Vector<Scalar = f32>, const A: usize, const B: usize, const VECTORS: usize>(
    proof: V::Proof,
    left: Rows<'_, f32>,
    right: Rows<'_, f32>,
    (i, j, length): (usize, usize, usize),
    out: &mut [f32],
) -> usize {
    let lefts: [&[f32]; A] = std::array::from_fn(|a| left.row(i + a, length));
    let rights: [&[f32]; B] = std::array::from_fn(|b| right.row(j + b, length));
    let mut sums = [[[V::splat(proof, 0.0); VECTORS]; B]; A];
    for group in 0..length / LANES {
        for v in 0..VECTORS {
            let k = group * LANES + v * V::LANES;
            let x: [V; B] = std::array::from_fn(|b| V::load(proof, &rights[b][k..]));
            for (sums, left) in sums.iter_mut().zip(lefts) {
                let left = V::load(proof, &left[k..]);
                for (sums, x) in sums.iter_mut().zip(x) {
                    sums[v] = sums[v].add(left.mul(x));
                }
            }
        }
    }
    for (a, sums) in sums.iter().enumerate() {
        for (b, sums) in sums.iter().enumerate() {
            let mut lanes = [0.0; LANES];
            sums.iter().enumerate().for_each(|(v, sum)| sum.store(&mut lanes[v * V::LANES..]));
            out[(i + a) * right.count + j + b] = total(lanes, lefts[a], rights[b]);
        }
    }
    A
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_equals_one_dot_after_the_other(
            (rows, vectors) in (0_usize..11, 0_usize..11),
            length in 0_usize..70,
            (gap, other_gap) in (0_usize..3, 0_usize..3),
            seed: u64,
        ) {
            let mut next = super::super::rounding_numbers(seed);
            let mut values = |length: usize| (0..length).map(|_| next()).collect::<Vec<f32>>();
            let (pitch, other) = (length + gap, length + other_gap);
            let (left, right) = (values(rows * pitch), values(vectors * other));
            let left = Rows { values: &left, pitch, count: rows };
            let right = Rows { values: &right, pitch: other, count: vectors };
            let expected: Vec<u32> = (0..rows)
                .flat_map(|i| (0..vectors).map(move |j| dot(left.row(i, length), right.row(j, length)).to_bits()))
                .collect();
            for path in Path::available() {
                let mut out = vec![0.0; rows * vectors];
                dot_products_on(path, left, right, length, &mut out);
                let out: Vec<u32> = out.into_iter().map(f32::to_bits).collect();
                prop_assert_eq!(&out, &expected, "{:?}", path);
            }
        }
    }

    #[test]
    fn a_dot_is_the_sum_of_products() {
        let a: Vec<f32> = (0..21_u8).map(f32::from).collect();
        let squares: u16 = (0..21_u16).map(|x| x * x).sum();
        assert_eq!(dot(&a, &a), f32::from(squares), "integers: no rounding");
    }
}
