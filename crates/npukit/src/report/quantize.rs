//! [`Report`]: the result of a quantization.

use serde::Serialize;

/// Number format of a tensor, and its errors over the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QuantizedTensor {
    /// Name of the value in the compiled graph.
    pub name: String,
    /// Kind: `activation`, `weights` or `bias`.
    pub kind: &'static str,
    /// Width of its integers in bits.
    pub bits: u32,
    /// Number of fraction bits: an integer represents `integer * 2^-fraction`.
    pub fraction: i32,
    /// Smallest element in float.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f32>"))]
    pub minimum: f32,
    /// Largest element in float.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f32>"))]
    pub maximum: f32,
    /// Share of elements outside the range of the integers, 0 to 1.
    pub saturated: f64,
    /// Share of nonzero elements that are rounded to 0, 0 to 1.
    pub underflowed: f64,
    /// Number of bits that its integers use, including the sign.
    pub bits_used: u32,
    /// Root mean square of the error, relative to that of the elements.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub relative_rms_error: f64,
    /// Signal-to-noise ratio in decibels; `None` without errors.
    pub signal_to_noise_db: Option<f64>,
}

impl QuantizedTensor {
    /// Returns a warning if a nonzero tensor is rounded to 0 entirely.
    pub(crate) fn warning(&self) -> Option<String> {
        let vanishes = self.bits_used == 0 && self.underflowed > 0.0;
        vanishes.then(|| {
            let Self { name, minimum, maximum, bits, fraction, .. } = self;
            format!(
                "`{name}` underflows completely: its numbers, {minimum} to {maximum}, are less than half a step of its \
                 {bits}-bit integers, 2^{}, and all become 0; values that are moved, compared or added share a step: \
                 make the largest of them smaller, or use wider integers",
                -fraction
            )
        })
    }
}

/// Result of a quantization.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Method of choosing fraction lengths, as on the command line.
    pub method: String,
    /// Reason for the method.
    pub reason: String,
    /// Methods that were tried, if none was named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Whether values between layers have other scales than in the model: they fill their integers,
    /// or the weights of adjacent channels are equalized.
    pub rescaled: bool,
    /// Number of samples used.
    pub samples: usize,
    /// Whether the samples were generated, because none were given.
    pub made_up: bool,
    /// Whether the samples are inputs of the run itself, because no others were given.
    pub own: bool,
    /// Tensors in the order of the graph, where they are first read or computed.
    pub tensors: Vec<QuantizedTensor>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Method that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Candidate {
    /// Name as on the command line. The suffix `, filled` means that values between layers fill
    /// their integers; `, equalized` means that the weights of channels have similar magnitudes.
    pub method: String,
    /// Root mean square of the outputs' error, relative to that of the outputs, over the samples
    /// and all outputs. The network is simulated with rounded tensors. If the machine has narrow
    /// integers and it does not take long, the network is run on the machine instead.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub output_error: f64,
}
