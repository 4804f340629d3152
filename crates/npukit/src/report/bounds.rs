//! [`Report`]: what is known of errors and saturation, for all inputs of their ranges.

use serde::Serialize;

/// What is known of errors.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// What inputs may be, in words.
    pub inputs: String,
    /// Boxes of inputs that the program was run on.
    pub boxes: usize,
    /// Whether errors are against the model's constants; if not, against those that the machine has.
    pub against_model: bool,
    /// By output.
    pub outputs: Vec<OutputReport>,
    /// Inputs that were run on the machine and in floats: samples, those drawn from the ranges, and for each range those that
    /// its bounds point to.
    pub observed_inputs: usize,
    /// Whether no error that was observed is above its bound; null when none was observed.
    pub holds: Option<bool>,
    /// Whether no result can saturate, for any input of the ranges.
    pub cannot_saturate: bool,
    /// Results that may saturate, in the order of the instructions.
    pub saturations: Vec<SaturationReport>,
    /// Boxes for all inputs of which the first output has its largest element in the same place, in real arithmetic and on
    /// the machine.
    pub decided: usize,
    /// The same, whichever way each result is rounded; null where it was not asked for.
    pub decided_any_rounding: Option<usize>,
}

/// What is known of an output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputReport {
    /// Its name.
    pub name: String,
    /// No element is further from real arithmetic, for any input of the ranges; null where nothing is known.
    pub certified: Option<f64>,
    /// The same, whichever way each result is rounded; null where nothing is known, or it was not asked for.
    pub certified_any_rounding: Option<f64>,
    /// The largest error of the inputs that were run; null where none was.
    pub observed: Option<f64>,
    /// How many times the observed error the certified one is.
    pub slack: Option<f64>,
    /// The least number that real arithmetic may have; null where nothing is known.
    pub least: Option<f64>,
    /// The largest.
    pub largest: Option<f64>,
}

/// A result that may saturate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SaturationReport {
    /// The instruction; null for inputs.
    pub instruction: Option<usize>,
    /// Its layer, where that is known.
    pub layer: Option<String>,
    /// The lane.
    pub lane: usize,
    /// How far below the smallest number it may be; null where nothing is known.
    pub below: Option<f64>,
    /// How far above the largest.
    pub above: Option<f64>,
}

impl Report {
    /// For each layer with results that may saturate a sentence with the most that they may be beyond the range.
    pub fn layers(&self) -> Vec<String> {
        let mut layers: Vec<(&str, f64, f64)> = Vec::new();
        for saturation in &self.saturations {
            // Default: inputs and programs without layers have no name.
            let name = saturation.layer.as_deref().unwrap_or("");
            // Default: what nobody knows is without end.
            let [below, above] =
                [saturation.below, saturation.above].map(|beyond| beyond.unwrap_or(f64::INFINITY));
            match layers.iter_mut().find(|(other, ..)| *other == name) {
                Some(layer) => (layer.1, layer.2) = (layer.1.max(below), layer.2.max(above)),
                None => layers.push((name, below, above)),
            }
        }
        let sentence = |(name, below, above): (&str, f64, f64)| {
            let name = if name.is_empty() {
                "inputs, or a layer without a name".to_owned()
            } else {
                format!("`{name}`")
            };
            format!("{name}, {above:.4} above the largest number, {below:.4} below the smallest")
        };
        layers.into_iter().map(sentence).collect()
    }
}
