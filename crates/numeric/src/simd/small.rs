//! Products of rows of field elements with small integers: [`small_products`].
//!
//! An element is two parts of at most 31 bits; products of each with numbers of 20 are summed exactly, and brought back to
//! the field together. The loops are those that compilers make vectors of.

#[cfg(target_arch = "x86_64")]
use super::vector::Avx2;
use super::{Path, Rows};
use crate::field::{BITS, Element, PRIME};

/// Outputs whose sums are made together.
pub const SMALL_LANES: usize = 16;
/// Bits of an element's lower part.
const LOW: u32 = 31;
/// What sums begin with, which is 0 in the field: they never are negative.
const START: i64 = 2 * PRIME as i64;
/// Products of parts with numbers of 20 bits that stay below [`START`].
const ROOM: usize = 1 << (BITS - LOW - 20);

/// Factors that are small integers over a power of two, in panels of [`SMALL_LANES`] outputs.
#[derive(Clone, Debug)]
pub struct Small {
    /// The exponent of the power, below [`BITS`].
    pub scale: u32,
    /// Outputs; the last panel may have fewer than it has lanes.
    pub outputs: usize,
    /// Factors of an output.
    pub depth: usize,
    /// Of each panel as many lines as `depth` says, with magnitudes below 2^20.
    pub panels: Vec<[i32; SMALL_LANES]>,
}

/// `out[i][j] = sum over k of rows[i][k] * factor[j][k]`.
///
/// Shapes: `rows` of `depth` elements, `out` as many of `outputs`, without gaps. Panics when one is too short.
pub fn small_products(small: &Small, rows: Rows<'_, Element>, out: &mut [Element]) {
    match Path::fastest() {
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 | Path::Avx512 | Path::Vnni => {
            if let Some(proof) = Avx2::detect() {
                #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
                // SAFETY: `proof` is proof that the processor has it.
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

/// The sums of the lower parts and of the upper ones.
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

/// Adds the sums of both parts, over the power of two.
#[inline(always)]
fn add(results: &mut [Element; SMALL_LANES], [low, high]: &[[i64; SMALL_LANES]; 2], scale: u32) {
    const HIGH: u32 = BITS - LOW;
    // What is above the field's bits counts once.
    let folded = |sum: u64| (sum & PRIME) + (sum >> BITS);
    for ((result, &low), &high) in results.iter_mut().zip(low).zip(high) {
        let (low, high) = (low as u64, high as u64);
        let sum = folded(folded(low) + ((high & ((1 << HIGH) - 1)) << LOW) + (high >> HIGH));
        let sum = folded((sum >> scale) + (sum << (BITS - scale) & PRIME) + result.bits());
        *result = Element::of_sum(sum);
    }
}
