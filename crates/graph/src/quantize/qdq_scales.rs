//! Fraction lengths from the scales that the model specifies: [`stated_fractions`]. [`restated`]
//! lists the tensors that got another scale.

use std::collections::{BTreeMap, BTreeSet};

use super::choose::{self, FRACTIONS, Tensor};
use super::sharing::Sharing;
use super::{Kind, Method, Quantization, Scheme};
use crate::ir::{Graph, NodeId, ValueId};
use crate::op::{Clip, Op};
use crate::qdq_scales::QdqScales;
use crate::stated::moves;

/// Returns the fraction lengths that [`Graph::scales`] imply.
///
/// A power of two whose integers fit is kept. Any other scale is replaced by the smallest power of
/// two that holds all values: the elements of a constant, or all numbers that an activation's
/// integers represent.
pub fn stated_fractions(graph: &Graph, scheme: &Scheme) -> BTreeMap<ValueId, i32> {
    let kinds = Sharing::new(graph, &BTreeSet::new()).kinds;
    let bounds = Bounds { graph, producers: graph.producers() };
    let fraction = |(&id, stated): (&ValueId, &QdqScales)| {
        let kind = kinds.get(id.0 as usize).copied().flatten()?;
        let limit = match graph.constant(id) {
            Some(constant) => {
                choose::fraction(scheme, kind, Method::MinMax, &[Tensor::Constant(constant.as_f32()?)])
            }
            None => largest_for(scheme, kind, bounds.of(id, stated)),
        };
        Some((id, stated.fraction().map_or(limit, |own| own.clamp(FRACTIONS.0, limit))))
    };
    graph.scales.iter().filter_map(fraction).collect()
}

/// Integer ranges of a model that uses only part of its types' ranges, for example 4 bits stored in
/// bytes.
struct Bounds<'a> {
    graph: &'a Graph,
    producers: Vec<Option<NodeId>>,
}

impl Bounds<'_> {
    /// Returns the smallest and the largest real number of a value with quantization parameters
    /// `stated`.
    fn of(&self, id: ValueId, stated: &QdqScales) -> [f64; 2] {
        let [least, largest] = stated.range();
        let clipped = self.clipped(id).filter(|_| stated.is_uniform());
        let Some([low, high]) = clipped else { return [least, largest] };
        let (scale, zero) = (f64::from(stated.scales[0]), stated.zero_points[0] as f64);
        let real = |integer: f32| (f64::from(integer) - zero) * scale;
        [least.max(real(low)), largest.min(real(high))]
    }

    /// Returns the limits of the Clip that produces the integers of a DequantizeLinear.
    fn clipped(&self, id: ValueId) -> Option<[f32; 2]> {
        let producer = |id: ValueId| Some(self.graph.node((*self.producers.get(id.0 as usize)?)?));
        let dequantize = producer(id).filter(|node| matches!(node.op, Op::DequantizeLinear(_)))?;
        let mut integers = *dequantize.inputs.first()?;
        while let Some(node) =
            producer(integers).filter(|node| moves(&node.op) || matches!(node.op, Op::Cast(_)))
        {
            integers = *node.inputs.first()?;
        }
        match producer(integers)?.op {
            Op::Clip(Clip { min, max }) if min < max => Some([min, max]),
            _ => None,
        }
    }
}

/// Whether `stated` determines the fraction lengths of all activations, so that samples have no
/// effect. `host` are the nodes that are computed in floats.
pub fn is_settled(graph: &Graph, stated: &BTreeMap<ValueId, i32>, host: &BTreeSet<NodeId>) -> bool {
    let Sharing { kinds, classes, .. } = Sharing::new(graph, host);
    let settled: BTreeSet<usize> =
        stated.keys().filter_map(|id| classes.get(id.0 as usize).copied()).collect();
    let mut activations = kinds.iter().zip(&classes).filter(|(kind, _)| **kind == Some(Kind::Activation));
    activations.all(|(_, class)| settled.contains(class))
}

/// Returns the largest fraction length with which every real number of the range is at most half a
/// step from an integer.
fn largest_for(scheme: &Scheme, kind: Kind, range: [f64; 2]) -> i32 {
    let bits = scheme.bits(kind);
    let fits = |fraction: i32| {
        let half_step = 0.5 * 2f64.powi(-fraction);
        range.iter().all(|&x| (x - scheme.nearest(x, fraction, bits)).abs() <= half_step)
    };
    (FRACTIONS.0..=FRACTIONS.1).rev().find(|&fraction| fits(fraction)).unwrap_or(FRACTIONS.0)
}

/// A tensor whose scale differs from the model's.
#[derive(Clone, Debug, PartialEq)]
pub struct Restated {
    /// Scales that the model specifies.
    pub stated: QdqScales,
    /// Actual fraction length.
    pub fraction: i32,
}

impl std::fmt::Display for Restated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { stated, fraction } = self;
        let scale = 2f64.powi(-fraction);
        write!(f, "`{}`: the model's {stated} becomes 2^{} = {scale}", stated.name, -fraction)
    }
}

/// Returns the tensors whose scales differ from the model's, in the order of the
/// values.
pub fn restated(graph: &Graph, quantization: &Quantization) -> Vec<Restated> {
    let changed = |(&id, stated): (&ValueId, &QdqScales)| {
        let fraction = quantization.fraction(id).filter(|&taken| stated.fraction() != Some(taken))?;
        Some(Restated { stated: stated.clone(), fraction })
    };
    graph.scales.iter().filter_map(changed).collect()
}
