//! [`Rotation`]: frequencies of the rotations that encode positions.
//!
//! Source: `modeling_rope_utils.py` of transformers, and the papers that it names.

use std::f64::consts::PI;

use crate::decoder::DecoderError;
use crate::decoder::config::refuse;

/// Rotation of pairs of features: pair `i` at position `p` is rotated by `p` times a frequency.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    /// Base of the frequencies: that of pair `i` is `theta^(-2 i / features)` before scaling.
    pub theta: f64,
    /// Number of features of a head that are rotated, the first ones; even.
    pub features: usize,
    /// Changes of the frequencies for longer texts.
    pub scaling: Scaling,
}

/// Changes of the frequencies for texts that are longer than the training's texts.
#[derive(Clone, Debug, PartialEq)]
pub enum Scaling {
    /// No change.
    None,
    /// All frequencies are divided by a factor.
    Linear {
        /// Divisor.
        factor: f64,
    },
    /// The base grows with the length of a text beyond `context`.
    Dynamic {
        /// Growth per length.
        factor: f64,
        /// Longest text without a change.
        context: usize,
    },
    /// Low frequencies are divided by a factor, high ones are not, with a transition in between.
    Llama3 {
        /// Divisor of low frequencies.
        factor: f64,
        /// Number of periods within `context` below which a frequency is low.
        low: f64,
        /// Number of periods within `context` above which a frequency is high.
        high: f64,
        /// Length of the training's texts.
        context: f64,
    },
    /// Like `Llama3`, with a transition along the pairs. Rotated values are also scaled.
    Yarn {
        /// Divisor of low frequencies.
        factor: f64,
        /// Factor of the rotated values.
        magnitude: f64,
        /// Number of periods within `context` above which a frequency is high.
        fast: f64,
        /// Number of periods within `context` below which a frequency is low.
        slow: f64,
        /// Whether the transition begins and ends at whole pairs.
        truncate: bool,
        /// Length of the training's texts.
        context: f64,
    },
    /// Each frequency has a divisor of its own, and another one beyond `context`.
    Long {
        /// Divisors up to a length of `context`.
        short: Vec<f64>,
        /// Divisors beyond.
        long: Vec<f64>,
        /// Factor of the rotated values.
        magnitude: f64,
        /// Length of the training's texts.
        context: usize,
    },
    /// Each frequency has a divisor of its own.
    Divisors(Vec<f64>),
}

impl Rotation {
    /// Checks that a head of `head` features can be rotated, with positive numbers.
    pub(super) fn check(&self, head: usize) -> Result<(), DecoderError> {
        let (features, pairs) = (self.features, self.features / 2);
        let wrong = features == 0 || !features.is_multiple_of(2) || features > head;
        refuse(wrong, "rotated features", &features, || format!("even, 2 to {head}"))?;
        let positive = |found: f64| {
            let wrong = !(found > 0.0 && found.is_finite());
            refuse(wrong, "a number of the rotation", &found, || "a positive number".to_owned())
        };
        let divisors = |divisors: &[f64]| {
            let found = divisors.len();
            refuse(found != pairs, "frequency divisors", &found, || pairs.to_string())?;
            divisors.iter().copied().try_for_each(positive)
        };
        positive(self.theta)?;
        positive(self.magnitude())?;
        match &self.scaling {
            Scaling::None => Ok(()),
            Scaling::Linear { factor } => positive(*factor),
            Scaling::Dynamic { factor, context } => {
                [*factor, *context as f64].into_iter().try_for_each(positive)
            }
            Scaling::Llama3 { factor, low, high, context } => {
                [*factor, *low, *high, *context, high - low].into_iter().try_for_each(positive)
            }
            Scaling::Yarn { factor, fast, slow, context, .. } => {
                [*factor, *fast, *slow, *context].into_iter().try_for_each(positive)
            }
            Scaling::Long { short, long, .. } => divisors(short).and_then(|()| divisors(long)),
            Scaling::Divisors(all) => divisors(all),
        }
    }

    /// Whether texts of these two lengths have different rotations.
    pub(super) fn differs(&self, before: usize, after: usize) -> bool {
        match self.scaling {
            Scaling::Dynamic { context, .. } => before.max(context) != after.max(context),
            Scaling::Long { context, .. } => (before > context) != (after > context),
            _ => false,
        }
    }

    /// Returns the factor of rotated values.
    pub(super) fn magnitude(&self) -> f64 {
        match self.scaling {
            Scaling::Yarn { magnitude, .. } | Scaling::Long { magnitude, .. } => magnitude,
            _ => 1.0,
        }
    }

    /// Returns the frequency of each pair in a text of `length` tokens, in radians per position.
    pub(super) fn frequencies(&self, length: usize) -> Vec<f64> {
        let pairs = self.features / 2;
        let own = |theta: f64| -> Vec<f64> {
            (0..pairs).map(|pair| theta.powf(-2.0 * pair as f64 / self.features as f64)).collect()
        };
        let divided = |by: &[f64]| own(self.theta).iter().zip(by).map(|(own, by)| own / by).collect();
        match &self.scaling {
            Scaling::None => own(self.theta),
            Scaling::Linear { factor } => divided(&vec![*factor; pairs]),
            Scaling::Dynamic { factor, context } => {
                let growth = factor * (length.max(*context) as f64 / *context as f64) - (factor - 1.0);
                // A single pair has frequency 1, whatever the base is.
                let exponent = self.features as f64 / (self.features as f64 - 2.0);
                if pairs == 1 { own(self.theta) } else { own(self.theta * growth.powf(exponent)) }
            }
            Scaling::Llama3 { factor, low, high, context } => {
                let scaled = |own: f64| {
                    let periods = own * context / (2.0 * PI);
                    let share = ((periods - low) / (high - low)).clamp(0.0, 1.0);
                    share * own + (1.0 - share) * own / factor
                };
                own(self.theta).into_iter().map(scaled).collect()
            }
            Scaling::Yarn { factor, fast, slow, truncate, context, .. } => {
                let [from, to] = self.transition(*fast, *slow, *truncate, *context);
                let scaled = |(pair, own): (usize, f64)| {
                    let low = ((pair as f64 - from) / (to - from)).clamp(0.0, 1.0);
                    (1.0 - low) * own + low * own / factor
                };
                own(self.theta).into_iter().enumerate().map(scaled).collect()
            }
            Scaling::Long { short, long, context, .. } => {
                divided(if length > *context { long } else { short })
            }
            Scaling::Divisors(divisors) => divided(divisors),
        }
    }

    /// Returns the first and the last pair of the transition from high to low frequencies.
    fn transition(&self, fast: f64, slow: f64, truncate: bool, context: f64) -> [f64; 2] {
        let size = self.features as f64;
        // Pair whose frequency has this number of periods within the context.
        let pair = |periods: f64| size * (context / (periods * 2.0 * PI)).ln() / (2.0 * self.theta.ln());
        let (from, to) = (pair(fast), pair(slow));
        let (from, to) = if truncate { (from.floor(), to.ceil()) } else { (from, to) };
        let (from, to) = (from.max(0.0), to.min(size - 1.0));
        [from, if from == to { to + 0.001 } else { to }]
    }
}
