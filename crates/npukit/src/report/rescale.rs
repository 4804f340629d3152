//! [`Report`]: what came of a calibration.

use npukit_base::counted;
use serde::Serialize;

use super::comparison::Comparison;

/// How a program did on the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Measured {
    /// Results that did not fit the number format.
    pub saturations: u64,
    /// Elements of inputs that did not.
    pub saturated_inputs: u64,
    /// Constants that did not; none when the target does not say.
    pub saturated_constants: Option<u64>,
    /// Against the float evaluator.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Measured {
    /// Everything inside the network that did not fit.
    pub(crate) fn unfit(&self) -> u64 {
        // Default: a target that counts none has no constants that saturate.
        self.saturations + self.saturated_inputs + self.saturated_constants.unwrap_or(0)
    }

    /// Whether it is worth its program: less is lost at the ends of the range and no more elsewhere, or the outputs
    /// are a good deal nearer to float.
    pub(crate) fn is_gain_over(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.comparison.rms_error, other.comparison.rms_error);
        match self.unfit().cmp(&other.unfit()) {
            std::cmp::Ordering::Less => ours <= theirs,
            std::cmp::Ordering::Equal => ours < GOOD_DEAL * theirs,
            // What saturates on a few samples saturates further on others.
            std::cmp::Ordering::Greater => ours < MUCH * theirs,
        }
    }

    /// Whether it is to be preferred among rescaled programs: the one that is a good deal nearer to float, else the
    /// one that saturates less.
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.comparison.rms_error, other.comparison.rms_error);
        if ours < GOOD_DEAL * theirs || theirs < GOOD_DEAL * ours {
            return ours < theirs;
        }
        self.unfit() < other.unfit() || (self.unfit() == other.unfit() && ours < theirs)
    }

    /// Whether the outputs leave something to be wished for that more bits could give.
    pub(crate) fn is_poor(&self) -> bool {
        let Comparison { relative_error, signal_to_noise_db, informative, .. } = self.comparison;
        !informative
            || relative_error.is_some_and(|share| share > GOOD_SHARE)
            || signal_to_noise_db.is_some_and(|decibels| decibels < GOOD_DB)
    }
}

/// Parts of the RMS difference that are worth another program, and one that saturates more.
const GOOD_DEAL: f64 = 0.75;

const MUCH: f64 = 0.25;

/// Outputs with a largest difference of no more than this share of their range, and this number of decibels
/// above the differences, are left as they are.
const GOOD_SHARE: f64 = 0.02;

const GOOD_DB: f64 = 30.0;

/// A layer whose results are stored divided by a power of two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LayerExponent {
    /// The layer.
    pub layer: String,
    /// What it holds is `value / 2^exponent`.
    pub exponent: i32,
}

/// What came of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Whether the program is a rescaled one.
    pub applied: bool,
    /// Why, in a sentence.
    pub reason: String,
    /// Samples looked at.
    pub samples: usize,
    /// How many times the ranges seen were made to fit; none when nothing was tried.
    pub margin: Option<f64>,
    /// Layers whose exponent is not 0.
    pub layers: Vec<LayerExponent>,
    /// The program without rescaling, on the samples.
    pub before: Measured,
    /// The best one with it; none when there is none.
    pub after: Option<Measured>,
    /// Whether that one has the channels of neighbouring layers made alike.
    pub equalised: bool,
    /// Whether in that one operands of products lend bits to the weights.
    pub balanced: bool,
    /// Programs compiled and run to find it.
    pub tried: usize,
    /// Where the chosen program saturates on the samples, and why.
    pub remaining: Vec<Remaining>,
}

/// Results of a layer, or elements of an input, that still do not fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Remaining {
    /// The layer, or the input.
    pub layer: String,
    /// Whether it is an input.
    pub is_input: bool,
    /// Results that saturate, over all samples; of inputs, those of all.
    pub count: u64,
    /// The values of the compiled graph that the layer ends in.
    pub values: Vec<String>,
    /// The largest magnitude of them in float, as it would be stored; none when it is not known.
    pub magnitude: Option<f64>,
    /// Why, in a sentence.
    pub reason: String,
}

impl Remaining {
    /// The same as a sentence.
    pub(crate) fn warning(&self) -> String {
        let Self { layer, count, reason, .. } = self;
        let verb = if *count == 1 { "saturates" } else { "saturate" };
        if self.is_input {
            return format!("{} of inputs still {verb}: {reason}", counted(*count, "element"));
        }
        format!("{} of layer `{layer}` still {verb}: {reason}", counted(*count, "result"))
    }
}
