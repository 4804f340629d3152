//! [`Report`]: guaranteed bounds of errors and saturation, for all inputs within their ranges.

use serde::Serialize;

/// Bounds of errors and saturation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Description of the inputs' ranges.
    pub inputs: String,
    /// Number of boxes of inputs for which bounds were computed.
    pub boxes: usize,
    /// Whether errors are relative to the model's constants, rather than to the machine's rounded
    /// constants.
    pub against_model: bool,
    /// Bounds by output.
    pub outputs: Vec<OutputReport>,
    /// Number of inputs that were run on the machine and in float: samples, random inputs within
    /// the ranges, and for each range the inputs at which its bounds are reached.
    pub observed_inputs: usize,
    /// Reason why no inputs were run; null if some were, or if there were none to run.
    pub not_run: Option<String>,
    /// Whether every observed error is within its bound; null if none was observed.
    pub holds: Option<bool>,
    /// Whether no result can saturate, for any input within the ranges.
    pub cannot_saturate: bool,
    /// Results that may saturate, in the order of the instructions.
    pub saturations: Vec<SaturationReport>,
    /// Number of boxes for which the argmax of the first output is the same for all inputs, in real
    /// arithmetic and on the machine.
    pub decided: usize,
    /// Number of such boxes for any direction of rounding; null if not requested.
    pub decided_any_rounding: Option<usize>,
}

/// Bounds of an output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputReport {
    /// Name of the output.
    pub name: String,
    /// Operator of the first host step after the bounded value; null if the output itself is
    /// bounded.
    pub before: Option<String>,
    /// Upper bound of the error of an element relative to real arithmetic, for any input within the
    /// ranges; null if unknown.
    pub certified: Option<f64>,
    /// Upper bound of the error for any direction of rounding; null if unknown or not requested.
    pub certified_any_rounding: Option<f64>,
    /// Largest error among the inputs that were run; null if there were none.
    pub observed: Option<f64>,
    /// Ratio of the certified to the observed error.
    pub slack: Option<f64>,
    /// Lower bound of the output in real arithmetic; null if unknown.
    pub least: Option<f64>,
    /// Upper bound of the output in real arithmetic; null if unknown.
    pub largest: Option<f64>,
}

/// Result that may saturate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SaturationReport {
    /// Index of the instruction; null for inputs.
    pub instruction: Option<usize>,
    /// Layer of the instruction; null if unknown.
    pub layer: Option<String>,
    /// Index of the lane, from 0.
    pub lane: usize,
    /// Largest distance below the smallest number; null if unknown.
    pub below: Option<f64>,
    /// Largest distance above the largest number; null if unknown.
    pub above: Option<f64>,
}

impl Report {
    /// Returns a sentence for each layer with results that may saturate, with the largest excess.
    pub fn layers(&self) -> Vec<String> {
        let mut layers: Vec<(&str, f64, f64)> = Vec::new();
        for saturation in &self.saturations {
            // Default: inputs, and programs without layers, have no name.
            let name = saturation.layer.as_deref().unwrap_or("");
            // Default: an unknown excess is unbounded.
            let [below, above] =
                [saturation.below, saturation.above].map(|beyond| beyond.unwrap_or(f64::INFINITY));
            match layers.iter_mut().find(|(other, ..)| *other == name) {
                Some(layer) => (layer.1, layer.2) = (layer.1.max(below), layer.2.max(above)),
                None => layers.push((name, below, above)),
            }
        }
        let sentence = |(name, below, above): (&str, f64, f64)| {
            let name =
                if name.is_empty() { "inputs, or an unnamed layer".to_owned() } else { format!("`{name}`") };
            format!("{name}, {above:.4} above the largest number, {below:.4} below the smallest")
        };
        layers.into_iter().map(sentence).collect()
    }
}
