//! Fraction lengths of what the model itself states: [`stated_fractions`], and [`restated`] for what became of it.

use std::collections::{BTreeMap, BTreeSet};

use super::choose::{self, FRACTIONS, Tensor};
use super::sharing::Sharing;
use super::{Kind, Method, Quantisation, Scheme};
use crate::ir::{Graph, ValueId};
use crate::qdq_scales::QdqScales;

/// The fraction lengths that [`Graph::scales`] ask for.
///
/// A power of two whose integers fit is kept. In place of any other scale comes the least power of two that
/// holds what there is to hold: the elements of a constant, all that an activation's integers stand for.
pub fn stated_fractions(graph: &Graph, scheme: &Scheme) -> BTreeMap<ValueId, i32> {
    let kinds = Sharing::new(graph).kinds;
    let fraction = |(&id, stated): (&ValueId, &QdqScales)| {
        let kind = kinds.get(id.0 as usize).copied().flatten()?;
        let limit = match graph.constant(id) {
            Some(constant) => {
                choose::fraction(scheme, kind, Method::MinMax, &[Tensor::Constant(constant.as_f32()?)])
            }
            None => largest_for(scheme, kind, stated.range()),
        };
        Some((id, stated.fraction().map_or(limit, |own| own.clamp(FRACTIONS.0, limit))))
    };
    graph.scales.iter().filter_map(fraction).collect()
}

/// Whether all activations get their fraction lengths from `stated`, so that samples do not count.
pub fn is_settled(graph: &Graph, stated: &BTreeMap<ValueId, i32>) -> bool {
    let Sharing { kinds, classes, .. } = Sharing::new(graph);
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
