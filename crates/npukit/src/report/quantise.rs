//! [`Report`]: what came of a quantisation.

use serde::Serialize;

/// How a tensor is held, and what it loses by that over the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QuantisedTensor {
    /// The value of the compiled graph.
    pub name: String,
    /// `activation`, `weights` or `bias`.
    pub kind: &'static str,
    /// Bits of its integers.
    pub bits: u32,
    /// Integers stand for `integer * 2^-fraction`.
    pub fraction: i32,
    /// Smallest element.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f32>"))]
    pub minimum: f32,
    /// Largest element.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f32>"))]
    pub maximum: f32,
    /// Share of elements beyond the integers, 0 to 1.
    pub saturated: f64,
    /// Share of elements that are not 0, but whose integer is, 0 to 1.
    pub underflowed: f64,
    /// Bits that its integers take, the sign's with it.
    pub bits_used: u32,
    /// Root of the mean squared error by that of the mean squared element.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub relative_rms_error: f64,
    /// The same as a signal-to-noise ratio; none without errors.
    pub signal_to_noise_db: Option<f64>,
}

impl QuantisedTensor {
    /// What its user should know of: nothing is left of a tensor that is not zero.
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

/// What came of a quantisation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// How fraction lengths were chosen, as on the command line.
    pub method: String,
    /// Why that method.
    pub reason: String,
    /// The methods that were tried, when nobody named one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Whether values between layers have other scales than in the model, by its weights: they fill their integers, or the
    /// weights of neighboring channels are alike in size.
    pub rescaled: bool,
    /// Samples looked at.
    pub samples: usize,
    /// Whether the samples were made up, because none were given.
    pub made_up: bool,
    /// Whether the samples are inputs of the run itself, because no others were given.
    pub own: bool,
    /// Tensors in the order of the graph, each where it is read or made first.
    pub tensors: Vec<QuantisedTensor>,
    /// What its user should know of.
    pub warnings: Vec<String>,
}

/// A method that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Candidate {
    /// As on the command line. Behind it `, filled` where values between layers fill their integers, and `, equalised`
    /// where weights of channels are alike in size.
    pub method: String,
    /// Root of the mean squared error of the outputs by that of their mean squared elements, over the samples;
    /// the mean of the squares of all outputs. The network is simulated with its tensors
    /// rounded, or run on the machine, where its integers are narrow and that does not take long.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<f64>"))]
    pub output_error: f64,
}
