//! [`Comparison`]: the difference between two sets of outputs, and whether the outputs carry
//! information.

use serde::Serialize;

/// Difference between two sets of outputs.
///
/// Numbers that are not finite are `null` in JSON. The largest difference is not finite if either
/// side has such a number, unless both have the same infinity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Comparison {
    /// Largest absolute difference; NaN if an output of either side is NaN.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub max_abs_error: f64,
    /// Root mean square of the differences.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub rms_error: f64,
    /// Largest difference as a share of the float output's range, from its smallest to its largest
    /// element. Largest share of all outputs; `None` if no output has a range.
    pub relative_error: Option<f64>,
    /// Mean square of the float output divided by the mean square of the difference, in decibels.
    /// Lowest of all outputs; `None` without differences.
    pub signal_to_noise_db: Option<f64>,
    /// Signal-to-noise ratio in decibels, under its short name; equals `signal_to_noise_db`.
    pub snr_db: Option<f64>,
    /// Share of positions whose argmax agrees with the float output, 0 to 1; `None` if no output
    /// looks like classes.
    pub argmax_agree: Option<f64>,
    /// Whether every output is closer to the float output than the float output's mean is. If not,
    /// the outputs carry no information about the network.
    pub informative: bool,
}
