//! [`Comparison`]: how far outputs are apart, and whether they tell anything of the network.

use serde::Serialize;

/// How far two sets of outputs are apart.
///
/// Numbers that are not finite are `null` in JSON: the largest difference is where either side has one, unless both
/// have the same infinity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Comparison {
    /// Largest absolute difference; NaN where an output of either is NaN.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub max_abs_error: f64,
    /// Root of the mean squared difference.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub rms_error: f64,
    /// The largest difference as a share of the range of the float output, from its smallest to its largest element;
    /// of several outputs the largest share. None when no output has a range.
    pub relative_error: Option<f64>,
    /// Mean square of the float output by that of the difference, in decibels; of several outputs the least. None
    /// without differences.
    pub signal_to_noise_db: Option<f64>,
    /// The same, under its short name.
    pub snr_db: Option<f64>,
    /// Share of positions whose largest class is that of the float output, 0 to 1; none when no output looks like
    /// classes.
    pub argmax_agree: Option<f64>,
    /// Whether every output is nearer to the float one than the mean of the float one is: without that, the program
    /// tells nothing of the network.
    pub informative: bool,
}
