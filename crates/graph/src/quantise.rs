//! Post-training quantisation with a power of two for each tensor: [`quantise`] gives a [`Quantisation`].
//!
//! A tensor with fraction length `F` is held as integers, each standing for `integer * 2^-F`. An
//! accelerator says in a [`Scheme`] how wide its integers are and what its shifts express; samples say
//! in [`Distributions`] how large values become, and a [`Method`] makes fraction lengths of that. Values that
//! operators move, compare or add have one in common. [`Losses`] tell what each tensor loses by it, and
//! [`simulate`] what the whole network does.
//!
//! | module | is |
//! |---|---|
//! | `distribution` | where the elements of each value lie, from samples |
//! | `sharing` | what each value is for, and which have one fraction length |
//! | `choose` | a fraction length for tensors that share it |
//! | `measure` | what each tensor loses |
//! | `fill` | values between layers scaled so that they fill their integers |
//! | `masks` | numbers that stand for nothing |
//! | `lift` | networks that pass through integers on their way, as float networks with scales |
//! | `signs` | which values are never below zero |
//! | `stated` | fraction lengths of scales that the model itself gives |
//! | `simulate` | the network with its tensors rounded |
//! | [`rows`] | weights of 4 bits with a scale for each row, for targets that want those |

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
use npukit_numeric::quantised;

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

/// What a tensor is for; widths differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An input of the graph, a result of a node, or a constant that meets such a value in a sum or concatenation.
    Activation,
    /// A constant that values are multiplied by.
    Weight,
    /// A constant that is added to sums of products.
    Bias,
}

/// The integers of an accelerator, and what its shifts express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Bits of activations, 2 to 32.
    pub activations: u32,
    /// Bits of weights, 2 to 32.
    pub weights: u32,
    /// Bits of biases, 2 to 32.
    pub biases: u32,
    /// Bits of sums of products before they become activations: their largest value stands for the
    /// activations' largest, so that `partial_sums - activations` bits are dropped at the end.
    pub partial_sums: u32,
    /// Legal shifts of products and biases; see [`Scheme::product_shift`].
    pub shifts: RangeInclusive<i32>,
    /// How constants and inputs are rounded.
    pub rounding: Rounding,
}

impl Default for Scheme {
    /// Activations and weights of 8 bits, biases and partial sums of 16, shifts of 8 bits.
    fn default() -> Self {
        let (activations, weights, biases, partial_sums) = (8, 8, 16, 16);
        let (shifts, rounding) = (-128..=127, Rounding::HalfUp);
        Self { activations, weights, biases, partial_sums, shifts, rounding }
    }
}

impl Scheme {
    /// Bits of a kind of tensor.
    pub fn bits(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Activation => self.activations,
            Kind::Weight => self.weights,
            Kind::Bias => self.biases,
        }
    }

    /// The exponent of two by which a sum of products of integers is multiplied to become a partial sum of
    /// a result with fraction length `y`, when the operands have `x` and `w`.
    pub fn product_shift(&self, x: i32, w: i32, y: i32) -> i32 {
        y + self.dropped() - x - w
    }

    /// The same for a bias of fraction length `b`.
    pub fn bias_shift(&self, b: i32, y: i32) -> i32 {
        y + self.dropped() - b
    }

    /// Bits between partial sums and activations.
    fn dropped(&self) -> i32 {
        self.partial_sums as i32 - self.activations as i32
    }

    /// The integer of `bits` bits that stands for `x` with fraction length `fraction`; saturates. NaN is 0.
    pub fn integer(&self, x: f32, fraction: i32, bits: u32) -> i32 {
        quantised(x.into(), fraction, bits, self.rounding).value as i32
    }

    /// The real number that the integer for `x` stands for.
    fn nearest(&self, x: f64, fraction: i32, bits: u32) -> f64 {
        quantised(x, fraction, bits, self.rounding).value * 2f64.powi(-fraction)
    }

    /// Whether `x` is beyond the integers after rounding.
    fn saturates(&self, x: f64, fraction: i32, bits: u32) -> bool {
        quantised(x, fraction, bits, self.rounding).is_saturated
    }
}

/// A tensor's fraction length and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    kind: Kind,
    fraction: i32,
    /// Whether what is beyond the integers is a mask: it is as good as the last of them.
    is_masked: bool,
}

/// How the tensors of one graph are held as integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantisation {
    /// Widths of weights, activations and sums, and the shifts between them.
    pub scheme: Scheme,
    /// By [`ValueId`].
    held: Vec<Option<Held>>,
}

impl Quantisation {
    /// A scheme before any tensor is quantised.
    pub fn new(scheme: Scheme) -> Self {
        Self { scheme, held: Vec::new() }
    }

    /// Holds value `id` with the fraction length `fraction`.
    pub fn set(&mut self, id: ValueId, kind: Kind, fraction: i32) {
        let index = id.0 as usize;
        if self.held.len() <= index {
            self.held.resize(index + 1, None);
        }
        let is_masked = self.held[index].is_some_and(|held| held.is_masked);
        self.held[index] = Some(Held { kind, fraction, is_masked });
    }

    /// Takes what is beyond the integers of value `id` for masks.
    fn mask(&mut self, id: ValueId) {
        if let Some(Some(held)) = self.held.get_mut(id.0 as usize) {
            held.is_masked = true;
        }
    }

    fn held(&self, id: ValueId) -> Option<Held> {
        self.held.get(id.0 as usize).copied().flatten()
    }

    /// The fraction length `F` of a value: its integers stand for `integer * 2^-F`. None of one that is no
    /// float, and of a constant that nothing multiplies by or adds.
    pub fn fraction(&self, id: ValueId) -> Option<i32> {
        self.held(id).map(|held| held.fraction)
    }

    /// Whether elements of the value that are beyond its integers are masks: these saturate, and nothing is lost.
    pub fn is_masked(&self, id: ValueId) -> bool {
        self.held(id).is_some_and(|held| held.is_masked)
    }

    /// What a value is for.
    pub fn kind(&self, id: ValueId) -> Option<Kind> {
        self.held(id).map(|held| held.kind)
    }

    /// Bits of a value's integers.
    pub fn bits(&self, id: ValueId) -> Option<u32> {
        self.held(id).map(|held| self.scheme.bits(held.kind))
    }

    /// The integers that stand for `values` of the tensor `id`; none when it is not quantised.
    pub fn integers(&self, id: ValueId, values: &[f32]) -> Option<Vec<i32>> {
        let (fraction, bits) = (self.fraction(id)?, self.bits(id)?);
        Some(values.iter().map(|&x| self.scheme.integer(x, fraction, bits)).collect())
    }

    /// The integers of a constant, row-major; none when it is not a quantised one.
    pub fn constant(&self, graph: &Graph, id: ValueId) -> Option<Vec<i32>> {
        self.integers(id, graph.constant(id)?.as_f32()?)
    }
}

/// Chooses fraction lengths for a valid graph. `stated` are those known beforehand; see [`stated_fractions`].
///
/// Values that share a fraction length and are given several get the least, with which all of them fit. Where
/// the shifts do not reach, weights and biases give way.
pub fn quantise(
    graph: &Graph,
    seen: &Distributions,
    scheme: &Scheme,
    method: Method,
    stated: &BTreeMap<ValueId, i32>,
) -> Quantisation {
    quantise_without(graph, &BTreeSet::new(), seen, scheme, method, stated)
}

/// As [`quantise`], where `host` are nodes that are computed in floats, away from the accelerator: what they move,
/// compare or add need not have one fraction length.
pub fn quantise_without(
    graph: &Graph,
    host: &BTreeSet<NodeId>,
    seen: &Distributions,
    scheme: &Scheme,
    method: Method,
    stated: &BTreeMap<ValueId, i32>,
) -> Quantisation {
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
    let mut quantisation = Quantisation::new(scheme.clone());
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
        members.iter().for_each(|&id| quantisation.set(id, kind, fraction));
        members.iter().filter(|_| masked.is_some()).for_each(|&id| quantisation.mask(id));
        members.iter().filter(|&&id| masks.is_bound(id)).for_each(|&id| quantisation.mask(id));
    }
    graph.nodes.iter().for_each(|node| quantisation.reach(graph, node));
    quantisation
}

impl Quantisation {
    /// Changes the fraction lengths of the node's constants so that shifts express its results.
    fn reach(&mut self, graph: &Graph, node: &Node) {
        let Role::Linear { x } = role(graph, node) else { return };
        let operand = |place: usize| node.inputs.get(place).copied();
        let result = node.outputs.first().and_then(|&id| self.fraction(id));
        let (Some(from), Some(to)) = (operand(x).and_then(|id| self.fraction(id)), result) else { return };
        let (least, most) = (*self.scheme.shifts.start(), *self.scheme.shifts.end());
        for (place, id) in node.inputs.iter().copied().enumerate().filter(|&(place, _)| place != x) {
            let (Some(fraction), Some(kind)) = (self.fraction(id), self.kind(id)) else { continue };
            let operand = if kind == Kind::Bias || place > 1 { 0 } else { from };
            // The shift falls as the fraction length rises.
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

    /// The worked relation of the specification of an accelerator for quantised networks, in 5.4.
    #[test]
    fn shifts_are_those_of_the_specification() {
        let scheme = Scheme::default();
        assert_eq!(scheme.product_shift(5, 7, 4), 4 + 8 - 5 - 7);
        assert_eq!(scheme.bias_shift(10, 4), 4 + 8 - 10);
    }
}
