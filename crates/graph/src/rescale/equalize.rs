//! Power-of-two scaling between the channels of neighboring layers: [`equalize`].
//!
//! If one number format serves a whole tensor, a channel with small weights has fewer significant
//! bits than its neighbors. Channel `c` between two layers may be divided by `2^k` in the first
//! layer if the weights of the second for `c` are multiplied by `2^k`. With `k` half the difference
//! of the logarithms, both get the same magnitude.
//!
//! Source: Nagel, van Baalen, Blankevoort and Welling, "Data-free quantization through weight
//! equalization and bias correction", 2019; there with any factor.

use super::channels::{Group, Weights, groups};
use crate::ir::Graph;
use crate::pass::PassError;

/// Number of passes over all groups: changing one group may affect the next one.
const SWEEPS: usize = 3;

/// Largest exponent by which a channel is scaled relative to the others.
const MAX: f64 = 12.0;

/// Returns a graph whose layers have weights of similar magnitude in each channel between them.
///
/// It computes the same in real arithmetic, and has the same nodes; values between changed layers
/// are named `NAME/equalized`. `None` if no channel changes.
///
/// # Errors
///
/// [`PassError`] if the rewritten graph is invalid, which is a bug in npukit.
pub fn equalize(graph: &Graph) -> Result<Option<Graph>, PassError> {
    let groups = groups(graph);
    let (mut graph, mut changed) = (graph.clone(), vec![false; groups.len()]);
    for _ in 0..SWEEPS {
        for (group, changed) in groups.iter().zip(&mut changed) {
            let Some(powers) = powers(group, &graph) else { continue };
            group.divide(&mut graph, |channel| f64::from(powers[channel]).exp2());
            *changed = true;
        }
    }
    let touched = groups.iter().zip(&changed).filter(|(_, changed)| **changed);
    touched.for_each(|(group, _)| group.rename(&mut graph, "/equalized"));
    graph.validate()?;
    Ok(changed.contains(&true).then_some(graph))
}

/// Returns the exponent of each channel; `None` if all are 0.
fn powers(group: &Group, graph: &Graph) -> Option<Vec<i32>> {
    let count = group.gives.first()?.count;
    let largest = |layers: &[Weights]| {
        let mut largest = vec![0f32; count];
        layers.iter().for_each(|weights| weights.note_largest(graph, &mut largest));
        largest
    };
    let wanted = |(gives, takes): (f32, f32)| {
        let known = gives > 0.0 && takes > 0.0;
        known.then(|| (f64::from(gives).log2() - f64::from(takes).log2()) / 2.0)
    };
    let pairs = largest(&group.gives).into_iter().zip(largest(&group.takes));
    let wanted: Vec<Option<f64>> = pairs.map(wanted).collect();
    let known: Vec<f64> = wanted.iter().flatten().copied().collect();
    // The mean is subtracted: a common factor of all channels is the scale of the whole tensor.
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    let power = |wanted: Option<f64>| (wanted.unwrap_or(mean) - mean).clamp(-MAX, MAX).round() as i32;
    let powers: Vec<i32> = wanted.into_iter().map(power).collect();
    powers.iter().any(|&power| power != 0).then_some(powers)
}
