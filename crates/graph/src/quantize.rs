//! Post-training quantization with one power-of-two scale per tensor: [`quantize`] returns a
//! [`Quantization`].
//!
//! A tensor with fraction length `F` is stored as integers that represent `integer * 2^-F`. A
//! [`Scheme`] describes an accelerator's integer widths and the shifts that it supports.
//! [`Distributions`] record the values that samples produce, and a [`Method`] chooses fraction
//! lengths from them. Values that operators move, compare or add share one fraction length.
//! [`Losses`] measure the quantization error of each tensor, and [`simulate`] that of the whole
//! network.
//!
//! | module | contents |
//! |---|---|
//! | `distribution` | distribution of the elements of each value over samples |
//! | `sharing` | role of each value, and values that share a fraction length |
//! | `choose` | choice of the fraction length for tensors that share it |
//! | `measure` | quantization error of each tensor |
//! | `fill` | scaling of values between layers so that they fill their integers |
//! | `masks` | mask values, such as a large negative score, which need not fit |
//! | `lift` | conversion of networks with integer sections to float networks with scales |
//! | `signs` | values that are never below zero |
//! | `stated` | fraction lengths from scales that the model specifies |
//! | `simulate` | evaluation of the network with rounded tensors |
//! | [`rows`] | 4-bit weights with one scale per row, for targets that need them |

mod choose;
mod distribution;
mod fill;
mod lift;
mod mask;
mod masks;
mod measure;
mod qdq_scales;
pub mod rows;
mod sharing;
mod signs;
mod simulate;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

pub use npukit_numeric::Ties as Rounding;
use npukit_numeric::quantized;

use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::rescale::roles::{Role, role};
pub use choose::Method;
pub use distribution::{Distribution, Distributions};
pub use fill::fill;
pub use lift::{lift, lift_saturating};
pub(crate) use mask::is_mask;
use masks::Masks;
pub use measure::{Loss, Losses};
pub use qdq_scales::{Restated, is_settled, restated, stated_fractions};
use sharing::Sharing;
pub use sharing::shown;
pub use simulate::{Simulation, simulate};

/// Role of a tensor, which determines its bit width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An input of the graph, a result of a node, or a constant that is added to or concatenated
    /// with such a value.
    Activation,
    /// A constant factor of a product.
    Weight,
    /// A constant that is added to sums of products.
    Bias,
}

/// Integer widths and shifts of an accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Bits of activations, 2 to 32.
    pub activations: u32,
    /// Bits of weights, 2 to 32.
    pub weights: u32,
    /// Bits of biases, 2 to 32.
    pub biases: u32,
    /// Bits of sums of products before they become activations. Their largest value represents the
    /// same number as the largest activation, so `partial_sums - activations` bits are dropped at
    /// the end.
    pub partial_sums: u32,
    /// Legal shifts of products and biases; see [`Scheme::product_shift`].
    pub shifts: RangeInclusive<i32>,
    /// Rounding of constants and inputs.
    pub rounding: Rounding,
}

impl Default for Scheme {
    /// 8-bit activations and weights, 16-bit biases and partial sums, 8-bit shifts.
    fn default() -> Self {
        let (activations, weights, biases, partial_sums) = (8, 8, 16, 16);
        let (shifts, rounding) = (-128..=127, Rounding::HalfUp);
        Self { activations, weights, biases, partial_sums, shifts, rounding }
    }
}

impl Scheme {
    /// Returns the bits of a kind of tensor.
    pub fn bits(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Activation => self.activations,
            Kind::Weight => self.weights,
            Kind::Bias => self.biases,
        }
    }

    /// Returns the exponent of two that converts a sum of integer products to a partial sum. The
    /// operands have fraction lengths `x` and `w`, the result has `y`.
    pub fn product_shift(&self, x: i32, w: i32, y: i32) -> i32 {
        y + self.dropped() - x - w
    }

    /// Like [`Scheme::product_shift`], for a bias of fraction length `b`.
    pub fn bias_shift(&self, b: i32, y: i32) -> i32 {
        y + self.dropped() - b
    }

    /// Returns the bits that are dropped from a partial sum to an activation.
    fn dropped(&self) -> i32 {
        self.partial_sums as i32 - self.activations as i32
    }

    /// Returns the saturated `bits`-bit integer that represents `x` with fraction length
    /// `fraction`; 0 for NaN.
    pub fn integer(&self, x: f32, fraction: i32, bits: u32) -> i32 {
        quantized(x.into(), fraction, bits, self.rounding).value as i32
    }

    /// Returns the real number that the integer for `x` represents.
    fn nearest(&self, x: f64, fraction: i32, bits: u32) -> f64 {
        quantized(x, fraction, bits, self.rounding).value * 2f64.powi(-fraction)
    }

    /// Whether `x` is outside the integer range after rounding.
    fn saturates(&self, x: f64, fraction: i32, bits: u32) -> bool {
        quantized(x, fraction, bits, self.rounding).is_saturated
    }
}

/// Fraction length and role of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TensorFormat {
    kind: Kind,
    fraction: i32,
    /// Whether values outside the integer range are masks, which may saturate without loss.
    is_masked: bool,
}

/// Quantization parameters of the tensors of one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantization {
    /// Widths of weights, activations and sums, and the shifts between them.
    pub scheme: Scheme,
    /// Parameters by [`ValueId`]; `None` for a value that is not quantized.
    held: Vec<Option<TensorFormat>>,
}

impl Quantization {
    /// Creates a quantization for `scheme` without quantized tensors.
    pub fn new(scheme: Scheme) -> Self {
        Self { scheme, held: Vec::new() }
    }

    /// Sets the fraction length of value `id`.
    pub fn set(&mut self, id: ValueId, kind: Kind, fraction: i32) {
        let index = id.0 as usize;
        if self.held.len() <= index {
            self.held.resize(index + 1, None);
        }
        let is_masked = self.held[index].is_some_and(|held| held.is_masked);
        self.held[index] = Some(TensorFormat { kind, fraction, is_masked });
    }

    /// Marks values of `id` outside the integer range as masks.
    fn mask(&mut self, id: ValueId) {
        if let Some(Some(held)) = self.held.get_mut(id.0 as usize) {
            held.is_masked = true;
        }
    }

    fn held(&self, id: ValueId) -> Option<TensorFormat> {
        self.held.get(id.0 as usize).copied().flatten()
    }

    /// Returns the fraction length `F` of a value: its integers represent `integer * 2^-F`. `None`
    /// for a value that is not a float, and for a constant that is neither a factor nor an addend.
    pub fn fraction(&self, id: ValueId) -> Option<i32> {
        self.held(id).map(|held| held.fraction)
    }

    /// Whether elements outside the integer range are masks, which saturate without loss.
    pub fn is_masked(&self, id: ValueId) -> bool {
        self.held(id).is_some_and(|held| held.is_masked)
    }

    /// Returns the role of a value; `None` if it is not quantized.
    pub fn kind(&self, id: ValueId) -> Option<Kind> {
        self.held(id).map(|held| held.kind)
    }

    /// Returns the bits of a value's integers; `None` if it is not quantized.
    pub fn bits(&self, id: ValueId) -> Option<u32> {
        self.held(id).map(|held| self.scheme.bits(held.kind))
    }

    /// Returns the integers that represent `values` of the tensor `id`; `None` if it is not
    /// quantized.
    pub fn integers(&self, id: ValueId, values: &[f32]) -> Option<Vec<i32>> {
        let (fraction, bits) = (self.fraction(id)?, self.bits(id)?);
        Some(values.iter().map(|&x| self.scheme.integer(x, fraction, bits)).collect())
    }

    /// Returns the integers of a constant, row-major; `None` if it is not a quantized constant.
    pub fn constant(&self, graph: &Graph, id: ValueId) -> Option<Vec<i32>> {
        self.integers(id, graph.constant(id)?.as_f32()?)
    }
}

/// Chooses fraction lengths for a valid graph. `stated` holds the known ones; see
/// [`stated_fractions`].
///
/// If several stated lengths apply to values that share one, the smallest is used, with which all
/// values fit. If the shifts are out of range, the fraction lengths of weights and biases change.
pub fn quantize(
    graph: &Graph,
    seen: &Distributions,
    scheme: &Scheme,
    method: Method,
    stated: &BTreeMap<ValueId, i32>,
) -> Quantization {
    quantize_without(graph, &BTreeSet::new(), seen, scheme, method, stated)
}

/// Like [`quantize`], but the nodes in `host` are computed in floats on the host. Values that they
/// move, compare or add need not share a fraction length.
pub fn quantize_without(
    graph: &Graph,
    host: &BTreeSet<NodeId>,
    seen: &Distributions,
    scheme: &Scheme,
    method: Method,
    stated: &BTreeMap<ValueId, i32>,
) -> Quantization {
    let sharing = Sharing::new(graph, host);
    let masks = Masks::new(graph, host, seen, scheme);
    let mut classes: BTreeMap<(usize, Kind), Vec<ValueId>> = BTreeMap::new();
    for (index, kind) in sharing.kinds.iter().enumerate() {
        let (id, class) = (ValueId(index as u32), sharing.classes[index]);
        // Weights and biases share their fraction lengths with no other value.
        let class = if *kind == Some(Kind::Activation) { class } else { index };
        if let Some(kind) = kind {
            classes.entry((class, *kind)).or_default().push(id);
        }
    }
    let mut quantization = Quantization::new(scheme.clone());
    for ((_, kind), members) in classes {
        let tensor = |&id: &ValueId| match graph.constant(id) {
            Some(_) if masks.is_bound(id) => None,
            Some(constant) => constant.as_f32().map(choose::Tensor::Constant),
            None => seen.get(id).filter(|_| !sharing.hidden[id.0 as usize]).map(choose::Tensor::Seen),
        };
        let given = members.iter().filter_map(|id| stated.get(id).copied()).min();
        let choose = || {
            let tensors: Vec<_> = members.iter().filter_map(tensor).collect();
            choose::fraction(scheme, kind, method, &tensors)
        };
        let useful = || masks.largest_useful(&members).map(|most| choose::holding(scheme, kind, most));
        let masked = if kind == Kind::Activation && given.is_none() { useful() } else { None };
        let fraction = given.unwrap_or_else(choose);
        let fraction = masked.map_or(fraction, |finer| finer.max(fraction));
        members.iter().for_each(|&id| quantization.set(id, kind, fraction));
        members.iter().filter(|_| masked.is_some()).for_each(|&id| quantization.mask(id));
        members.iter().filter(|&&id| masks.is_bound(id)).for_each(|&id| quantization.mask(id));
    }
    graph.nodes.iter().for_each(|node| quantization.reach(graph, node));
    quantization
}

impl Quantization {
    /// Changes the fraction lengths of the node's constants so that the shifts of its results are
    /// legal.
    fn reach(&mut self, graph: &Graph, node: &Node) {
        let Role::Linear { x } = role(graph, node) else { return };
        let operand = |place: usize| node.inputs.get(place).copied();
        let result = node.outputs.first().and_then(|&id| self.fraction(id));
        let (Some(from), Some(to)) = (operand(x).and_then(|id| self.fraction(id)), result) else { return };
        let (least, most) = (*self.scheme.shifts.start(), *self.scheme.shifts.end());
        for (place, id) in node.inputs.iter().copied().enumerate().filter(|&(place, _)| place != x) {
            let (Some(fraction), Some(kind)) = (self.fraction(id), self.kind(id)) else { continue };
            let operand = if kind == Kind::Bias || place > 1 { 0 } else { from };
            // The shift decreases as the fraction length increases.
            let shift = self.scheme.product_shift(operand, fraction, to);
            let legal = shift.clamp(least, most.max(least));
            self.set(id, kind, fraction + shift - legal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_round_half_up_and_saturate() {
        let scheme = Scheme::default();
        for (x, fraction, expected) in
            [(-0.5, 0, 0), (-1.5, 0, -1), (0.5, 0, 1), (0.3, 4, 5), (1e30, 0, 127), (-1e30, 0, -128)]
        {
            assert_eq!(scheme.integer(x, fraction, 8), expected, "{x} with {fraction}");
        }
        assert_eq!(scheme.integer(f32::NAN, 3, 8), 0);
        let away = Scheme { rounding: Rounding::HalfAway, ..Scheme::default() };
        let even = Scheme { rounding: Rounding::HalfEven, ..Scheme::default() };
        assert_eq!((away.integer(-1.5, 0, 8), even.integer(-2.5, 0, 8)), (-2, -2));
    }

    /// Worked example of the specification of an accelerator for quantized networks, in section
    /// 5.4.
    #[test]
    fn shifts_are_those_of_the_specification() {
        let scheme = Scheme::default();
        assert_eq!(scheme.product_shift(5, 7, 4), 4 + 8 - 5 - 7);
        assert_eq!(scheme.bias_shift(10, 4), 4 + 8 - 10);
    }
}
