//! [`Factors`]: a matrix to multiply rows of elements by, in a layout for vector units.

use std::sync::OnceLock;

use super::{BITS, Element, PRIME, Products};
use crate::simd::{Rows, SMALL_LANES, Small, small_products};

/// Largest magnitude in bits of a small number.
const SMALL_BITS: u32 = 20;
/// Numbers of rows and outputs below which the packing costs more than it saves.
const FEW: usize = 4;

/// Matrix with one row of factors per output.
///
/// Weights are usually short numbers in a common unit. If all elements are, up to a shared power of
/// two, they are stored as small integers. The results are the same for any elements.
#[derive(Clone, Debug)]
pub struct Factors {
    outputs: usize,
    depth: usize,
    elements: Vec<Element>,
    small: OnceLock<Option<Small>>,
}

impl Factors {
    /// Creates the matrix from the elements of each output, one output after the other.
    pub fn of(elements: Vec<Element>, outputs: usize) -> Self {
        let depth = elements.len().checked_div(outputs).unwrap_or(0); // Default: no outputs.
        Self { outputs, depth, elements, small: OnceLock::new() }
    }

    /// Returns the number of outputs: elements of a row of results.
    pub const fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the number of elements of an input row.
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// Computes `out[i][j] = addends[j] + sum over k of rows[i][k] * elements[j][k]`, without the
    /// addend if `addends` is `None`.
    ///
    /// Shapes: `rows` of [`Self::depth`] elements, and one contiguous row of `out` per row. Panics
    /// if one is too short.
    pub fn products(&self, rows: Rows<'_, Element>, addends: Option<&[Element]>, out: &mut [Element]) {
        match self.small(rows.count) {
            Some(small) => small_products(small, rows, out),
            None => self.literal(rows, out),
        }
        let Some(addends) = addends else { return };
        for row in out.chunks_exact_mut(self.outputs.max(1)).take(rows.count) {
            row.iter_mut().zip(addends).for_each(|(x, &addend)| *x += addend);
        }
    }

    /// Reference implementation for all factors, without addends.
    fn literal(&self, rows: Rows<'_, Element>, out: &mut [Element]) {
        for (i, out) in out.chunks_exact_mut(self.outputs.max(1)).take(rows.count).enumerate() {
            let row = rows.row(i, self.depth);
            for (j, x) in out.iter_mut().enumerate() {
                *x = Products::of(row, &self.elements[j * self.depth..][..self.depth]);
            }
        }
    }

    /// Returns the small integers, if the elements allow it and the packing is worth it for this
    /// number of rows.
    fn small(&self, rows: usize) -> Option<&Small> {
        if rows < FEW || self.outputs < FEW || self.depth == 0 {
            return None;
        }
        self.small.get_or_init(|| self.arranged()).as_ref()
    }

    fn arranged(&self) -> Option<Small> {
        let all = self.elements.iter().fold(PRIME, |all, &element| all & rotations(element));
        (all != 0).then(|| {
            let scale = BITS - 1 - all.trailing_zeros();
            let mut panels = vec![[0; SMALL_LANES]; self.outputs.div_ceil(SMALL_LANES) * self.depth];
            for (j, row) in self.elements.chunks_exact(self.depth).enumerate() {
                let panel = &mut panels[j / SMALL_LANES * self.depth..];
                for (lanes, &element) in panel.iter_mut().zip(row) {
                    lanes[j % SMALL_LANES] = number(element.scaled(scale as i32));
                }
            }
            Small { scale, outputs: self.outputs, depth: self.depth, panels }
        })
    }
}

/// Returns the rotations that turn an element into a small number: bit `BITS - 1 - n` is set for a
/// rotation by `n`.
///
/// The upper bits of a small number, or of its negative, are all equal.
#[inline(always)]
fn rotations(element: Element) -> u64 {
    const { assert!(BITS - SMALL_BITS == 1 + 8 + 32, "the number of compared bits") };
    let rotated = |bits: u64, places: u32| (bits << places | bits >> (BITS - places)) & PRIME;
    let longer = |runs: u64, places: u32| runs & rotated(runs, places);
    let equal = !(element.0 ^ rotated(element.0, 1)) & PRIME;
    let of_8 = longer(longer(longer(equal, 1), 2), 4);
    let of_32 = longer(longer(of_8, 8), 16);
    of_32 & rotated(of_8, 32)
}

/// Returns the integer that a small element represents.
const fn number(element: Element) -> i32 {
    if element.0 >> SMALL_BITS == 0 { element.0 as i32 } else { -((PRIME ^ element.0) as i32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(bits: u64, of: u32) -> i64 {
        bits as i64 >> (64 - of)
    }

    fn elements(count: usize, seed: u64, of: u32, point: i32) -> Vec<Element> {
        let bits = Element::random(seed).take(count).map(|element| element.bits() << 3);
        bits.map(|bits| Element::from_fixed(number_of(bits, of), point)).collect()
    }

    /// Compared with one product after the other; all elements of the left side are the largest,
    /// too.
    #[test]
    fn factors_give_the_sums_of_products() {
        let sizes =
            [(1, 5, 3), (4, 4, 1), (5, 16, 16), (9, 17, 33), (7, 40, 3000), (6, 3, 5), (3, 0, 0), (5, 4, 0)];
        for (seed, (count, outputs, depth)) in (1..).zip(sizes) {
            let pitch = depth + 3;
            for largest in [false, true] {
                let left: Vec<Element> = match largest {
                    true => vec![-Element::ONE; count * pitch],
                    false => Element::random(seed).take(count * pitch).collect(),
                };
                for (of, point, is_small) in
                    [(20, 8, true), (16, -70, true), (1, 0, true), (22, 8, false), (64, 3, false)]
                {
                    let factors = Factors::of(elements(outputs * depth, seed, of, point), outputs);
                    let rows = Rows { values: &left, pitch, count };
                    let addends = elements(outputs, seed + 1, 64, 0);
                    let (mut out, mut expected) =
                        (vec![Element::ONE; count * outputs], vec![Element::ONE; count * outputs]);
                    factors.products(rows, Some(&addends), &mut out);
                    factors.literal(rows, &mut expected);
                    for (i, x) in expected.iter_mut().enumerate() {
                        *x += addends[i % outputs];
                    }
                    assert_eq!(out, expected, "{count} {outputs} {depth} {of}");
                    let is_used = factors.small(count).is_some();
                    let is_large = count >= FEW && outputs >= FEW && outputs * depth > 100;
                    assert!(!is_large || is_used == is_small, "{count} {outputs} {depth} {of}");
                }
            }
        }
    }

    /// Compared with the definition, for numbers at both ends of the small range and beyond.
    #[test]
    fn rotations_are_those_that_make_small_numbers() {
        let ends = [0, 1, 2, 3, (1 << SMALL_BITS) - 1, 1 << SMALL_BITS, (1 << SMALL_BITS) + 1, 0x5_5555];
        let numbers = ends.into_iter().flat_map(|end| [end, -end]).map(Element::from_integer);
        let turned = numbers.flat_map(|element| [0, 1, 17, 60].map(|turn| element.scaled(turn)));
        for element in turned.chain(Element::random(1).take(100)) {
            for n in 0..BITS {
                let bits = element.scaled(n as i32).bits();
                let magnitude = bits.min(PRIME - bits);
                let is_small = magnitude < 1 << SMALL_BITS;
                assert_eq!(rotations(element) >> (BITS - 1 - n) & 1 == 1, is_small, "{element:?} {n}");
                if is_small {
                    assert_eq!(Element::from_integer(number(Element(bits)).into()), Element(bits));
                }
            }
        }
    }
}
