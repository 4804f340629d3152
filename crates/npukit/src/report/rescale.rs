//! [`Report`]: the result of a calibration.

use npukit_base::counted;
use serde::Serialize;

use super::comparison::Comparison;

/// Errors of a program on the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Measured {
    /// Number of results that saturated.
    pub saturations: u64,
    /// Number of elements of inputs that saturated.
    pub saturated_inputs: u64,
    /// Number of constants that saturated; `None` if the target does not report it.
    pub saturated_constants: Option<u64>,
    /// Difference from the float reference.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Measured {
    /// Returns the number of values inside the network that saturated.
    pub(crate) fn unfit(&self) -> u64 {
        // Default: a target that does not report constants has none that saturate.
        self.saturations + self.saturated_inputs + self.saturated_constants.unwrap_or(0)
    }

    /// Whether it is worth using: less saturates and errors are not larger, or errors are much
    /// smaller.
    pub(crate) fn is_gain_over(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.comparison.rms_error, other.comparison.rms_error);
        match self.unfit().cmp(&other.unfit()) {
            std::cmp::Ordering::Less => ours <= theirs,
            std::cmp::Ordering::Equal => ours < GOOD_DEAL * theirs,
            // Values that saturate on a few samples saturate further on others.
            std::cmp::Ordering::Greater => ours < MUCH * theirs,
        }
    }

    /// Whether it is better among rescaled programs: its errors are much smaller, or else it
    /// saturates less.
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.comparison.rms_error, other.comparison.rms_error);
        if ours < GOOD_DEAL * theirs || theirs < GOOD_DEAL * ours {
            return ours < theirs;
        }
        self.unfit() < other.unfit() || (self.unfit() == other.unfit() && ours < theirs)
    }

    /// Whether the outputs are so inaccurate that more bits could help.
    pub(crate) fn is_poor(&self) -> bool {
        let Comparison { relative_error, signal_to_noise_db, informative, .. } = self.comparison;
        !informative
            || relative_error.is_some_and(|share| share > GOOD_SHARE)
            || signal_to_noise_db.is_some_and(|decibels| decibels < GOOD_DB)
    }
}

/// Ratios of RMS errors below which another program is worth it, and below which more saturation is
/// acceptable.
const GOOD_DEAL: f64 = 0.75;

const MUCH: f64 = 0.25;

/// Outputs are accurate enough if the largest difference is at most this share of their range, and
/// the signal-to-noise ratio is at least this number of decibels.
const GOOD_SHARE: f64 = 0.02;

const GOOD_DB: f64 = 30.0;

/// Layer whose results are stored divided by a power of two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LayerExponent {
    /// Name of the layer.
    pub layer: String,
    /// Exponent: stored values are `value / 2^exponent`.
    pub exponent: i32,
}

/// Result of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Whether the program is rescaled.
    pub applied: bool,
    /// Reason, in a sentence.
    pub reason: String,
    /// Number of samples used.
    pub samples: usize,
    /// Factor by which the observed ranges were made to fit; `None` if nothing was tried.
    pub margin: Option<f64>,
    /// Layers with a nonzero exponent.
    pub layers: Vec<LayerExponent>,
    /// Errors of the program without rescaling.
    pub before: Measured,
    /// Errors of the best rescaled program, if one was found.
    pub after: Option<Measured>,
    /// Whether the best rescaled program has equalized channels of adjacent layers.
    pub equalized: bool,
    /// Whether operands of products lend bits to the weights in the best rescaled program.
    pub balanced: bool,
    /// Number of programs compiled and run to find it.
    pub tried: usize,
    /// Where the chosen program saturates on the samples, and why.
    pub remaining: Vec<Remaining>,
}

/// Results of a layer, or elements of an input, that still do not fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Remaining {
    /// Name of the layer, or of the input.
    pub layer: String,
    /// Whether it is an input.
    pub is_input: bool,
    /// Number of results that saturate, over all samples; for an input, the number for all inputs.
    pub count: u64,
    /// Names in the compiled graph of the values that the layer computes.
    pub values: Vec<String>,
    /// Largest magnitude of these values in float, as it would be stored; `None` if unknown.
    pub magnitude: Option<f64>,
    /// Reason, in a sentence.
    pub reason: String,
}

impl Remaining {
    /// Returns a warning as a sentence.
    pub(crate) fn warning(&self) -> String {
        let Self { layer, count, reason, .. } = self;
        let verb = if *count == 1 { "saturates" } else { "saturate" };
        if self.is_input {
            return format!("{} of inputs still {verb}: {reason}", counted(*count, "element"));
        }
        format!("{} of layer `{layer}` still {verb}: {reason}", counted(*count, "result"))
    }
}
