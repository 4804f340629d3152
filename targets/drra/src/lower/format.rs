//! [`Format`]: which fraction lengths values have, and how a dpu gets from those of operands to those of results.
//!
//! A dpu scales products by its fixed number of fraction bits, mode `mac`; with extensions, mode `mac_inter` sums
//! exactly and scales by a constant of its configuration.

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

/// The integers that tensors become on a fabric.
pub fn scheme(fabric: &Fabric) -> Scheme {
    let fixed = super::column::columns(fabric).ok().and_then(|all| all.first().copied());
    let fixed = fixed.map_or(0, |column| column.fraction_bits as i32);
    let shifts = if fabric.options.extensions { -MOST_SHIFT..=0 } else { -fixed..=-fixed };
    let (activations, weights, biases, partial_sums) = (BITS, BITS, BITS, BITS);
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

    /// How sums of products lose `shift` fraction bits.
    pub fn sum_of_products(&self, shift: i32) -> Result<Work, Reject> {
        if self.extensions && (0..=MOST_SHIFT).contains(&shift) {
            return Ok(Work { mode: DpuMode::MacInter, immediate: shift as i16 });
        }
        if shift == self.fraction_bits {
            return Ok(Work::plain(DpuMode::Mac));
        }
        let reason = format!(
            "products would have to lose {shift} fraction bits; the dpu takes {}",
            self.fraction_bits
        );
        Err(Reject::new(reason, "use fraction lengths that fit, or a fabric with extensions"))
    }

    /// How single products lose `shift` fraction bits.
    pub fn product(&self, shift: i32) -> Result<Work, Reject> {
        if shift == self.fraction_bits { Ok(Work::plain(DpuMode::Mult)) } else { self.sum_of_products(shift) }
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
    use super::*;

    #[test]
    fn a_bias_is_as_exact_as_fits() {
        assert_eq!(bias(&[1.5, -2.0], 8, 0), (vec![384, -512], 1));
        // 2 with 20 fraction bits does not fit: the other factor takes 6 of them.
        assert_eq!(bias(&[1.5, -2.0], 8, 12), (vec![12288, -16384], 1 << 7));
    }

    #[test]
    fn integers_round_and_saturate() {
        assert_eq!(
            [integer(0.5, 0), integer(-0.5, 0), integer(3.0, 15), integer(f64::NAN, 3)],
            [1, -1, i16::MAX, 0]
        );
    }
}
