//! [`Format`]: which fraction lengths values have, and how a dpu gets from those of operands to those of results.
//!
//! A dpu scales products by its fixed number of fraction bits, mode `mac`; with extensions, mode `mac_inter` sums
//! exactly and scales by a constant of its configuration. Where the bits lost are not those that the result asks for,
//! operands give up some of theirs beforehand: constants, which costs nothing, or values, which are scaled.

use std::collections::BTreeMap;

use npukit_graph::op::{Binary, BinaryKind, Op};
use npukit_graph::quantise::{Quantisation, Rounding, Scheme};
use npukit_graph::{Graph, ValueId};

use super::Reject;
use super::column::Column;
use super::kernels::Work;
use crate::fabric::Fabric;
use crate::op::DpuMode;

/// Bits of a word.
const BITS: u32 = 16;
/// Places that `mac_inter` shifts by.
const MOST_SHIFT: i32 = 31;
/// Bits that a constant gives up alone, before both operands of a product do.
const OF_CONSTANTS: i32 = 7;
/// Bits that an operand has to keep.
const LEAST_BITS: i32 = 4;

/// Fraction lengths of values, and what the dpus can do.
#[derive(Clone, Debug)]
pub struct Format<'a> {
    /// Fraction bits that products lose.
    pub fraction_bits: i32,
    /// Whether modes that no source defines may be used.
    pub extensions: bool,
    quantisation: Option<&'a Quantisation>,
    /// What differs from the quantisation.
    changed: BTreeMap<ValueId, i32>,
}

/// How products become a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Products {
    /// Fraction lengths that the operands are to have.
    pub operands: [i32; 2],
    /// Fraction bits that a product loses.
    pub shift: i32,
    /// Fraction length of what comes out: less than was asked for where operands do not have as many bits.
    pub result: i32,
    /// What sums them.
    pub sum: Work,
    /// What gives a single one.
    pub single: Work,
}

/// The integers that tensors become on a fabric.
///
/// Sums of mode `mac` saturate after every product, so that activations keep a bit for what a sum is on its way.
pub fn scheme(fabric: &Fabric) -> Scheme {
    let activations = if fabric.options.extensions { BITS } else { BITS - 1 };
    let (weights, biases, partial_sums) = (BITS, BITS, activations);
    // What dpus cannot shift by, operands and results make up for.
    let shifts = -MOST_SHIFT..=MOST_SHIFT;
    Scheme { activations, weights, biases, partial_sums, shifts, rounding: Rounding::HalfAway }
}

impl<'a> Format<'a> {
    /// That of columns that are alike.
    pub fn new(columns: &[Column], extensions: bool, quantisation: Option<&'a Quantisation>) -> Self {
        let fraction_bits = columns.first().map_or(0, |column| column.fraction_bits as i32);
        Self { fraction_bits, extensions, quantisation, changed: BTreeMap::new() }
    }

    /// The fraction length of a value.
    pub fn fraction(&self, id: ValueId) -> i32 {
        let stated = || self.quantisation.and_then(|all| all.fraction(id));
        self.changed.get(&id).copied().or_else(stated).unwrap_or(self.fraction_bits)
    }

    /// Takes fraction bits from the operands of products of two inputs, which have no weights that could give way,
    /// or from the results, where a dpu loses a fixed number of them.
    pub fn balance(&mut self, graph: &Graph) {
        let consumers = graph.consumers();
        let is_alone = |id: &ValueId| consumers.get(id.0 as usize).is_some_and(|nodes| nodes.len() <= 1);
        let is_product = |op: &Op| matches!(op, Op::MatMul(_) | Op::Binary(Binary { kind: BinaryKind::Mul }));
        for node in graph.nodes.iter().filter(|node| is_product(&node.op) && !self.extensions) {
            let (&[a, b], &[y]) = (&node.inputs[..], &node.outputs[..]) else { continue };
            let excess = self.fraction(a) + self.fraction(b) - self.fraction_bits - self.fraction(y);
            let are_free = [a, b].iter().all(|id| graph.inputs.contains(id) && is_alone(id));
            if excess > 0 && are_free && a != b {
                self.changed.insert(a, self.fraction(a) - excess / 2);
                self.changed.insert(b, self.fraction(b) - (excess - excess / 2));
            } else if excess < 0
                && graph.outputs.contains(&y)
                && consumers.get(y.0 as usize).is_some_and(Vec::is_empty)
            {
                self.changed.insert(y, self.fraction(y) + excess);
            }
        }
    }

    /// How products of operands with these fraction lengths become a result with fraction length `y`.
    ///
    /// `constant` tells which operands are constants. Errors: bits that would be lost, when few are left.
    pub fn products(&self, operands: [i32; 2], constant: [bool; 2], y: i32) -> Result<Products, Reject> {
        let range = if self.extensions { 0..=MOST_SHIFT } else { self.fraction_bits..=self.fraction_bits };
        let [a, b] = operands;
        let shift = (a + b - y).clamp(*range.start(), *range.end());
        let result = y.min(a + b - shift);
        let excess = a + b - result - shift;
        let given = match constant {
            [false, true] if excess <= OF_CONSTANTS => [0, excess],
            [true, false] if excess <= OF_CONSTANTS => [excess, 0],
            _ => [excess / 2, excess - excess / 2],
        };
        let kept = given.map(|bits| BITS as i32 - bits);
        if kept.iter().any(|&bits| bits < LEAST_BITS) && self.quantisation.is_some() {
            let reason = format!(
                "operands with {a} and {b} fraction bits and a result with {y} leave {} and {} of {BITS} bits to the \
                 operands, where products lose {shift}",
                kept[0], kept[1]
            );
            let hint =
                "use a dpu with more fraction bits, such as that of `3x1+f11`, or the extension's, `3x1+ext`";
            return Err(Reject::new(reason, hint));
        }
        let wide = Work { mode: DpuMode::MacInter, immediate: shift as i16 };
        let sum = if self.extensions { wide } else { Work::plain(DpuMode::Mac) };
        let single = if shift == self.fraction_bits { Work::plain(DpuMode::Mult) } else { wide };
        Ok(Products { operands: [a - given[0], b - given[1]], shift, result, sum, single })
    }

    /// How words become `2^up` times as large, and the word that they are multiplied by, if they are; none when no
    /// mode does that.
    pub fn scaling(&self, up: i32) -> Option<(Work, Option<i16>)> {
        if self.extensions {
            let mode = if up < 0 { DpuMode::ScaleDw } else { DpuMode::ScaleUp };
            return Some((Work { mode, immediate: up.abs().min(MOST_SHIFT) as i16 }, None));
        }
        let factor = self.fraction_bits + up;
        (0..BITS as i32 - 1).contains(&factor).then(|| (Work::plain(DpuMode::Mult), Some(1 << factor)))
    }

    /// The operand of `mult` that stands for -1.
    pub fn minus_one(&self) -> i16 {
        integer(-1.0, self.fraction_bits)
    }

    /// The mode, which only extensions have.
    pub fn extension(&self, mode: DpuMode, immediate: i16) -> Result<Work, Reject> {
        if self.extensions {
            return Ok(Work { mode, immediate });
        }
        let reason = format!("it needs the dpu's mode {}, which no source defines", mode.name());
        Err(Reject::new(reason, "use a fabric with extensions"))
    }
}

/// The nearest integer of a number with a fraction length; saturates, NaN is 0.
pub fn integer(x: f64, fraction: i32) -> i16 {
    let scaled = (x * 2f64.powi(fraction)).round();
    scaled.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// The largest fraction length with which all of the numbers fit; at most 30.
pub fn largest_fraction(values: impl Iterator<Item = f64>) -> i32 {
    let largest = values.filter(|x| x.is_finite()).fold(0_f64, |largest, x| largest.max(x.abs()));
    let fits = |fraction: &i32| (largest * 2f64.powi(*fraction)).round() <= i16::MAX.into();
    (-30..=30).rev().find(fits).unwrap_or(-30)
}

/// A bias as a product: the integer for it, and the operand that stands for one.
///
/// The product loses `shift` fraction bits to become a result of fraction length `result`.
pub fn bias(values: &[f32], result: i32, shift: i32) -> (Vec<i16>, i16) {
    let largest = values.iter().fold(0_f64, |largest, &x| largest.max(f64::from(x).abs()));
    let fits = |one: &i32| (largest * 2f64.powi(result + shift - one)).round() <= i16::MAX.into();
    let one = (0..BITS as i32 - 2).find(fits).unwrap_or(BITS as i32 - 2);
    (values.iter().map(|&x| integer(x.into(), result + shift - one)).collect(), 1 << one)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_bias_is_as_exact_as_fits() {
        assert_eq!(bias(&[1.5, -2.0], 8, 0), (vec![384, -512], 1));
        // 2 with 20 fraction bits does not fit: the other factor takes 6 of them.
        assert_eq!(bias(&[1.5, -2.0], 8, 12), (vec![12288, -16384], 1 << 7));
    }

    #[test]
    fn the_largest_fraction_that_fits() {
        let of = |values: &[f64]| largest_fraction(values.iter().copied());
        assert_eq!(
            [of(&[1.0, -0.5]), of(&[2.0]), of(&[0.0]), of(&[1.0 / 64.0]), of(&[1e9])],
            [14, 13, 30, 20, -15]
        );
    }

    #[test]
    fn operands_give_up_what_products_do_not_lose() {
        let format = |extensions, fraction_bits| Format {
            fraction_bits,
            extensions,
            quantisation: None,
            changed: BTreeMap::new(),
        };
        let weights = [false, true];
        let of = |extensions, fraction_bits, y| {
            let found = format(extensions, fraction_bits).products([14, 14], weights, y).unwrap();
            (found.operands, found.shift)
        };
        assert_eq!(of(true, 0, 10), ([14, 14], 18));
        assert_eq!(of(false, 11, 12), ([14, 9], 11), "weights alone");
        assert_eq!(of(false, 0, 12), ([6, 6], 0), "both");
        assert_eq!(format(false, 11).products([10, 11], weights, 11).unwrap().result, 10);
        assert_eq!(format(false, 11).scaling(-4), Some((Work::plain(DpuMode::Mult), Some(1 << 7))));
        assert_eq!(format(false, 0).scaling(-4), None);
    }

    #[test]
    fn integers_round_and_saturate() {
        assert_eq!(
            [integer(0.5, 0), integer(-0.5, 0), integer(3.0, 15), integer(f64::NAN, 3)],
            [1, -1, i16::MAX, 0]
        );
    }
}
