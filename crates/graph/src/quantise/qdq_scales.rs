//! Fraction lengths of what the model itself states: [`stated_fractions`], and [`restated`] for what became of it.

use std::collections::{BTreeMap, BTreeSet};

use super::choose::{self, FRACTIONS, Tensor};
use super::sharing::Sharing;
use super::{Kind, Method, Quantisation, Scheme};
use crate::ir::{Graph, NodeId, ValueId};
use crate::op::{Clip, Op};
use crate::qdq_scales::QdqScales;
use crate::stated::moves;

/// The fraction lengths that [`Graph::scales`] ask for.
///
/// A power of two whose integers fit is kept. In place of any other scale comes the least power of two that
/// holds what there is to hold: the elements of a constant, all that an activation's integers stand for.
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

/// What the integers of a model are, where it uses only some of those that their type has: of 4 bits held in bytes, say.
struct Bounds<'a> {
    graph: &'a Graph,
    producers: Vec<Option<NodeId>>,
}

impl Bounds<'_> {
    /// The least and the largest real number that a value stated to be that may be.
    fn of(&self, id: ValueId, stated: &QdqScales) -> [f64; 2] {
        let [least, largest] = stated.range();
        let clipped = self.clipped(id).filter(|_| stated.is_uniform());
        let Some([low, high]) = clipped else { return [least, largest] };
        let (scale, zero) = (f64::from(stated.scales[0]), stated.zero_points[0] as f64);
        let real = |integer: f32| (f64::from(integer) - zero) * scale;
        [least.max(real(low)), largest.min(real(high))]
    }

    /// The bounds of the Clip that gives the integers which a DequantizeLinear takes.
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

/// Whether all activations get their fraction lengths from `stated`, so that samples do not count. `host` are the
/// nodes that are computed in floats.
pub fn is_settled(graph: &Graph, stated: &BTreeMap<ValueId, i32>, host: &BTreeSet<NodeId>) -> bool {
    let Sharing { kinds, classes, .. } = Sharing::new(graph, host);
    let settled: BTreeSet<usize> =
        stated.keys().filter_map(|id| classes.get(id.0 as usize).copied()).collect();
    let mut activations = kinds.iter().zip(&classes).filter(|(kind, _)| **kind == Some(Kind::Activation));
    activations.all(|(_, class)| settled.contains(class))
}

/// The largest fraction length with which no real number of the range is further than half a step from an integer.
fn largest_for(scheme: &Scheme, kind: Kind, range: [f64; 2]) -> i32 {
    let bits = scheme.bits(kind);
    let fits = |fraction: i32| {
        let half_step = 0.5 * 2f64.powi(-fraction);
        range.iter().all(|&x| (x - scheme.nearest(x, fraction, bits)).abs() <= half_step)
    };
    (FRACTIONS.0..=FRACTIONS.1).rev().find(|&fraction| fits(fraction)).unwrap_or(FRACTIONS.0)
}

/// A tensor that is not held as the model says.
#[derive(Clone, Debug, PartialEq)]
pub struct Restated {
    /// The scales that the model states.
    pub stated: QdqScales,
    /// The fraction length it has.
    pub fraction: i32,
}

impl std::fmt::Display for Restated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { stated, fraction } = self;
        let scale = 2f64.powi(-fraction);
        write!(f, "`{}`: the model's {stated} becomes 2^{} = {scale}", stated.name, -fraction)
    }
}

/// The tensors whose scales are not those that the model states, in the order of the values.
pub fn restated(graph: &Graph, quantisation: &Quantisation) -> Vec<Restated> {
    let changed = |(&id, stated): (&ValueId, &QdqScales)| {
        let fraction = quantisation.fraction(id).filter(|&taken| stated.fraction() != Some(taken))?;
        Some(Restated { stated: stated.clone(), fraction })
    };
    graph.scales.iter().filter_map(changed).collect()
}
