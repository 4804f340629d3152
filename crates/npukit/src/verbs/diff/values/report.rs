//! [`Report`]: what is said of two sides.

use serde::Serialize;

use crate::compare::traced::TensorKind;
use crate::compare::traced::machine::Instructions;

/// How two sides differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The first side: what the second is held against.
    pub before: SideReport,
    /// The second side.
    pub after: SideReport,
    /// Samples compared; of two files all that is in them counts as one.
    pub samples: usize,
    /// Tensors that both sides have, in the order of layers.
    pub tensors: Vec<TensorReport>,
    /// Elements that are the same on both sides.
    pub same: u64,
    /// Where they differ first; none where they nowhere do.
    pub first_difference: Option<Difference>,
    /// The first tensor that differs by more than rounding explains; none where there is none, and where no bound is known.
    pub parts_at: Option<Parting>,
    /// Tensors that the first side has alone.
    pub only_before: Vec<String>,
    /// Those that the second has alone.
    pub only_after: Vec<String>,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// Why this is not a success, a sentence each.
    pub failures: Vec<String>,
    /// Of everything.
    pub seconds: f64,
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SideReport {
    /// As it was named.
    pub name: String,
    /// `float`, `machine`, `artifact`, `arrays` or `memory`.
    pub kind: String,
    /// Target and instance of a program.
    pub target: Option<String>,
}

/// Whether rounding explains how a tensor differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Explanation {
    /// It does not differ.
    Same,
    /// Every element is within what rounding allows on the operands at hand.
    Rounding,
    /// Values of the layer did not fit the number format.
    Saturation,
    /// Elements are beyond what rounding allows.
    BeyondRounding,
    /// No bound is known: an operator may be an approximation, operands were not kept, or the number format has no steps.
    NoBound,
}

/// How a tensor differs. Numbers that are not finite are `null` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TensorReport {
    /// Name in the model.
    pub name: String,
    /// The layer that ends in it, of the side that knows layers.
    pub layer: Option<String>,
    /// What it is to the network.
    pub kind: TensorKind,
    /// Shape of a sample.
    pub shape: Vec<usize>,
    /// Elements compared, over all samples.
    pub elements: u64,
    /// Elements that differ.
    pub differing: u64,
    /// Whether the machine's integers were compared, as the other side has nothing else.
    pub is_in_integers: bool,
    /// Largest difference.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub max_abs_error: f64,
    /// Root of the mean squared difference.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub rms_error: f64,
    /// The largest difference as a share of the range of the first side; none without a range.
    pub relative_error: Option<f64>,
    /// Mean square of the first side by that of the difference, in decibels; none without differences.
    pub signal_to_noise_db: Option<f64>,
    /// Pearson's correlation of both sides; none where one does not vary.
    pub correlation: Option<f64>,
    /// Whether rounding explains it.
    pub explanation: Explanation,
    /// The largest error of its own layer that rounding explains, of the sides that round; none unless all of them have one.
    pub rounding_bound: Option<f64>,
    /// Elements of its layer whose own error is larger than that at their place.
    pub beyond_rounding: u64,
    /// Values of its layer that did not fit the number format.
    pub saturations: u64,
    /// The instructions of its layer.
    pub instructions: Option<Instructions>,
    /// Where it differs first.
    pub first: Option<Difference>,
    /// Where it differs most.
    pub worst: Option<Difference>,
}

/// An element that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Difference {
    /// The tensor.
    pub tensor: String,
    /// The layer that ends in it.
    pub layer: Option<String>,
    /// The sample, from 0.
    pub sample: usize,
    /// Its index in the sample, by axis.
    pub index: Vec<usize>,
    /// What the axes are, where that is known: `batch`, `channel`, `row`, `column`.
    pub axes: Option<Vec<String>>,
    /// On the first side.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub before: f64,
    /// On the second.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub after: f64,
    /// The instruction that writes it last, where the program knows.
    pub instruction: Option<usize>,
    /// That instruction as text.
    pub instruction_text: Option<String>,
}

/// The first tensor that rounding does not explain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Parting {
    /// The tensor.
    pub tensor: String,
    /// The layer that ends in it.
    pub layer: Option<String>,
    /// Why.
    pub why: Explanation,
}
