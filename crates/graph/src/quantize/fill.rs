//! [`fill`]: scaling of values between layers so that they fill their integers.

use super::sharing::hidden;
use super::{Distributions, Kind, Scheme};
use crate::ir::{Graph, ValueId};
use crate::pass::PassError;
use crate::rescale::channels::{Group, groups};

/// Factors closer to 1 are not applied.
const LEAST: f64 = 1.0001;

/// Returns a graph whose values between layers are multiplied by 1 to 2, so that the largest value
/// becomes the largest integer. The largest value is the one that the model specifies, otherwise
/// the largest observed one. The weights of the layers before and after compensate the factor.
///
/// The new graph has the same nodes, and computes the same function except for rounding; scaled
/// values are named `NAME/filled`. `None` if no value changes.
///
/// # Errors
///
/// [`PassError`] if the rewritten graph is invalid, which is a bug in npukit.
pub fn fill(graph: &Graph, seen: &Distributions, scheme: &Scheme) -> Result<Option<Graph>, PassError> {
    let (hidden, mut filled, mut is_changed) = (hidden(graph), graph.clone(), false);
    let largest = f64::from((1u32 << (scheme.bits(Kind::Activation) - 1)) - 1);
    for group in groups(graph) {
        let shown: Vec<ValueId> = group.values.iter().copied().filter(|id| !hidden[id.0 as usize]).collect();
        let most = most(graph, seen, &shown);
        let factor = largest * (most / largest).log2().ceil().exp2() / most;
        if !(LEAST..2.0).contains(&factor) {
            continue;
        }
        group.divide(&mut filled, |_| 1.0 / factor);
        restate(&mut filled, &group, factor as f32);
        group.rename(&mut filled, "/filled");
        is_changed = true;
    }
    filled.validate()?;
    Ok(is_changed.then_some(filled))
}

/// Returns the largest magnitude of values, as specified by the model or, if it specifies none, as
/// observed.
fn most(graph: &Graph, seen: &Distributions, values: &[ValueId]) -> f64 {
    let largest = |ranges: Vec<[f64; 2]>| ranges.into_iter().flatten().map(f64::abs).reduce(f64::max);
    let stated = values.iter().filter_map(|id| Some(graph.scales.get(id)?.range())).collect();
    let observed = || values.iter().filter_map(|&id| Some(seen.get(id)?.extremes())).collect();
    // Default: 0 for an empty list.
    largest(stated).or_else(|| largest(observed())).unwrap_or(0.0)
}

/// Multiplies the scales that the model specifies for the values, and drops the scales of weights,
/// which have changed.
fn restate(graph: &mut Graph, group: &Group, factor: f32) {
    for weights in group.gives.iter().chain(&group.adds).chain(&group.takes) {
        graph.scales.remove(&weights.id);
    }
    for id in &group.values {
        if let Some(stated) = graph.scales.get_mut(id) {
            stated.scales = stated.scales.map(|scale| scale * factor);
        }
    }
}
