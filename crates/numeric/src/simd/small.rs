//! Products of rows of field elements with small integers: [`small_products`].
//!
//! An element is split into two parts of at most 31 bits. Products of each part with 20-bit numbers
//! are summed exactly, and reduced to the field together. Compilers vectorize the loops.

#[cfg(target_arch = "x86_64")]
use super::vector::Avx2;
use super::{Path, Rows};
use crate::field::{BITS, Element, PRIME};

/// Number of outputs whose sums are computed together.
pub const SMALL_LANES: usize = 16;
/// Bits of an element's lower part.
const LOW: u32 = 31;
/// Start of sums, which is 0 in the field; it keeps them from becoming negative.
const START: i64 = 2 * PRIME as i64;
/// Number of products of parts with 20-bit numbers whose sum stays below [`START`].
const ROOM: usize = 1 << (BITS - LOW - 20);

/// Factors that are small integers divided by a power of two, in panels of [`SMALL_LANES`] outputs.
#[derive(Clone, Debug)]
pub struct Small {
    /// Exponent of the power of two, below [`BITS`].
    pub scale: u32,
    /// Number of outputs; the last panel may have unused lanes.
    pub outputs: usize,
    /// Number of factors of an output.
    pub depth: usize,
    /// `depth` lines per panel, with magnitudes below 2^20.
    pub panels: Vec<[i32; SMALL_LANES]>,
}

/// Computes `out[i][j] = sum over k of rows[i][k] * factor[j][k]`.
///
/// Shapes: `rows` of `depth` elements, and one contiguous row of `outputs` in `out` per row. Panics
/// if one is too short.
pub fn small_products(small: &Small, rows: Rows<'_, Element>, out: &mut [Element]) {
    match Path::fastest() {
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 | Path::Avx512 | Path::Vnni => {
            if let Some(proof) = Avx2::detect() {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: `proof` shows that the processor has the feature.
                return unsafe { all_avx2(proof, small, rows, out) };
            }
        }
        _ => {}
    }
    all(small, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn all_avx2(_: Avx2, small: &Small, rows: Rows<'_, Element>, out: &mut [Element]) {
    all(small, rows, out);
}

#[inline(always)]
fn all(small: &Small, rows: Rows<'_, Element>, out: &mut [Element]) {
    let panels = small.panels.chunks_exact(small.depth.max(1));
    for (first, panel) in (0..small.outputs).step_by(SMALL_LANES).zip(panels) {
        let width = SMALL_LANES.min(small.outputs - first);
        for i in 0..rows.count {
            let mut results = [Element::ZERO; SMALL_LANES];
            for (row, lines) in rows.row(i, small.depth).chunks(ROOM).zip(panel.chunks(ROOM)) {
                add(&mut results, &sums(row, lines), small.scale);
            }
            out[i * small.outputs + first..][..width].copy_from_slice(&results[..width]);
        }
    }
}

/// Returns the sums of the lower parts and of the upper ones.
#[inline(always)]
fn sums(row: &[Element], lines: &[[i32; SMALL_LANES]]) -> [[i64; SMALL_LANES]; 2] {
    let mut sums = [[START; SMALL_LANES]; 2];
    for (element, line) in row.iter().zip(lines) {
        let bits = element.bits();
        let parts = [(bits & ((1 << LOW) - 1)) as i32, (bits >> LOW) as i32];
        for (sums, part) in sums.iter_mut().zip(parts) {
            for (sum, &number) in sums.iter_mut().zip(line) {
                *sum += i64::from(part) * i64::from(number);
            }
        }
    }
    sums
}

/// Adds the sums of both parts, divided by the power of two.
#[inline(always)]
fn add(results: &mut [Element; SMALL_LANES], [low, high]: &[[i64; SMALL_LANES]; 2], scale: u32) {
    const HIGH: u32 = BITS - LOW;
    // The bits above the field's width have weight 1 in the field.
    let folded = |sum: u64| (sum & PRIME) + (sum >> BITS);
    for ((result, &low), &high) in results.iter_mut().zip(low).zip(high) {
        let (low, high) = (low as u64, high as u64);
        let sum = folded(folded(low) + ((high & ((1 << HIGH) - 1)) << LOW) + (high >> HIGH));
        let sum = folded((sum >> scale) + (sum << (BITS - scale) & PRIME) + result.bits());
        *result = Element::of_sum(sum);
    }
}
