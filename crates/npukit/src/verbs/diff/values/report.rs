//! [`Report`]: the comparison of two sides.

use serde::Serialize;

use crate::compare::traced::TensorKind;
use crate::compare::traced::machine::Instructions;

/// Differences between two sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// First side, the reference.
    pub before: SideReport,
    /// Second side, which is compared with the first.
    pub after: SideReport,
    /// Number of samples compared; two files are one sample.
    pub samples: usize,
    /// Tensors that both sides have, in the order of layers.
    pub tensors: Vec<TensorReport>,
    /// Number of elements that are equal on both sides.
    pub same: u64,
    /// First difference, if any.
    pub first_difference: Option<Difference>,
    /// First tensor that differs by more than rounding explains; `None` if there is none, or if no
    /// bound is known.
    pub parts_at: Option<Parting>,
    /// Tensors that only the first side has.
    pub only_before: Vec<String>,
    /// Tensors that only the second side has.
    pub only_after: Vec<String>,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Reasons why the comparison failed, one sentence each.
    pub failures: Vec<String>,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SideReport {
    /// Name as given.
    pub name: String,
    /// Kind: `float`, `machine`, `artifact`, `arrays` or `memory`.
    pub kind: String,
    /// Target and instance of a program.
    pub target: Option<String>,
}

/// Explanation of a tensor's difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Explanation {
    /// Both sides are equal.
    Same,
    /// Every element is within the rounding bound on the side's operands.
    Rounding,
    /// Values of the layer saturated.
    Saturation,
    /// Elements exceed the rounding bound.
    BeyondRounding,
    /// No bound is known: an operator may be an approximation, operands were not stored, or the
    /// number format has no fixed step.
    NoBound,
}

/// Difference of a tensor. Numbers that are not finite are `null` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TensorReport {
    /// Name in the model.
    pub name: String,
    /// Layer that computes it, on the side that knows layers.
    pub layer: Option<String>,
    /// Role in the network.
    pub kind: TensorKind,
    /// Shape of a sample.
    pub shape: Vec<usize>,
    /// Number of elements compared, over all samples.
    pub elements: u64,
    /// Number of elements that differ.
    pub differing: u64,
    /// Whether the machine's integers were compared, because the other side has only integers.
    pub is_in_integers: bool,
    /// Largest absolute difference.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub max_abs_error: f64,
    /// Root mean square of the differences.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub rms_error: f64,
    /// Largest difference as a share of the first side's range; `None` if the range is empty.
    pub relative_error: Option<f64>,
    /// Mean square of the first side divided by the mean square of the difference, in decibels;
    /// `None` without differences.
    pub signal_to_noise_db: Option<f64>,
    /// Pearson correlation of both sides; `None` if one is constant.
    pub correlation: Option<f64>,
    /// Whether rounding explains the difference.
    pub explanation: Explanation,
    /// Largest error of its own layer that rounding explains, over the sides that round; `None`
    /// unless all of them have a bound.
    pub rounding_bound: Option<f64>,
    /// Number of elements whose own error exceeds the bound for that element.
    pub beyond_rounding: u64,
    /// Number of values of its layer that saturated.
    pub saturations: u64,
    /// Instructions of its layer.
    pub instructions: Option<Instructions>,
    /// First element that differs.
    pub first: Option<Difference>,
    /// Element that differs most.
    pub worst: Option<Difference>,
}

/// Element that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Difference {
    /// Name of the tensor.
    pub tensor: String,
    /// Layer that computes it.
    pub layer: Option<String>,
    /// Index of the sample, from 0.
    pub sample: usize,
    /// Index in the sample, by axis.
    pub index: Vec<usize>,
    /// Names of the axes, if known: `batch`, `channel`, `row`, `column`.
    pub axes: Option<Vec<String>>,
    /// Value on the first side.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub before: f64,
    /// Value on the second side.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub after: f64,
    /// Index of the last instruction that writes it, if known.
    pub instruction: Option<usize>,
    /// Text of that instruction.
    pub instruction_text: Option<String>,
}

/// First tensor whose difference rounding does not explain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Parting {
    /// Name of the tensor.
    pub tensor: String,
    /// Layer that computes it.
    pub layer: Option<String>,
    /// Reason.
    pub why: Explanation,
}
