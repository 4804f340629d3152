//! [`Spread`]: mean and variance of values, tracked from layer to layer.

use std::f64::consts::PI;

/// Expected mean and variance of a tensor's values, if inputs are noise and values between layers
/// are normally distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Spread {
    /// Target of convolutions and normalizations.
    pub(crate) const UNIT: Self = Self { mean: 0.0, variance: 1.0 };

    /// Uniform from `-1` to `1`: the inputs of all networks.
    pub(crate) const INPUT: Self = Self { mean: 0.0, variance: 1.0 / 3.0 };

    /// Returns the spread of `x` where it is positive, and `slope * x` elsewhere.
    pub(crate) fn rectified(self, slope: f64) -> Self {
        let (positive, negative) = (self.positive(), Self { mean: -self.mean, ..self }.positive());
        let mean = positive.0 - slope * negative.0;
        Self { mean, variance: positive.1 + slope * slope * negative.1 - mean * mean }
    }

    /// Returns mean and mean square of `max(0, x)` for a normal `x`.
    fn positive(self) -> (f64, f64) {
        let deviation = self.variance.sqrt();
        let z = self.mean / deviation;
        let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        // The distribution function in the form of Gelu's approximation.
        let below = 0.5 * (1.0 + ((2.0 / PI).sqrt() * (z + 0.044_715 * z.powi(3))).tanh());
        let mean = self.mean * below + deviation * density;
        (mean, (self.mean * self.mean + self.variance) * below + self.mean * deviation * density)
    }

    /// Returns the spread of the largest of `count` values, by the order statistics of the normal
    /// distribution. A positive mean is taken as a sign that the values were rectified before.
    pub(crate) fn largest_of(self, count: usize) -> Self {
        let (mean, variance) = match count {
            0 | 1 => return self,
            2..=4 => (1.029, 0.492),
            _ => (1.485, 0.357),
        };
        // As wide as before the rectification.
        let kept = if self.mean > 0.0 { Self::UNIT.rectified(0.0).variance } else { 1.0 };
        let before = self.variance / kept;
        Self { mean: mean * before.sqrt(), variance: variance * before }
    }

    /// Returns the spread of the mean of `count` values, between that of independent and that of
    /// equal values.
    pub(crate) fn mean_of(self, count: usize) -> Self {
        Self { variance: self.variance / (count as f64).sqrt(), ..self }
    }

    /// Returns the spread of the sum of two values.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { mean: self.mean + other.mean, variance: self.variance + other.variance }
    }

    /// Returns the spread of the concatenation of `count` values and `other_count` values.
    pub(crate) fn beside(self, count: usize, other: Self, other_count: usize) -> Self {
        let share = count as f64 / (count + other_count) as f64;
        let mix = |a: f64, b: f64| share * a + (1.0 - share) * b;
        let mean = mix(self.mean, other.mean);
        let square = |spread: Self| spread.variance + spread.mean * spread.mean;
        Self { mean, variance: mix(square(self), square(other)) - mean * mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectified_normal_is_as_known() {
        // Half of the square remains, and the mean is that of the half-normal distribution, halved.
        let Spread { mean, variance } = Spread::UNIT.rectified(0.0);
        assert!((mean - 0.398_942).abs() < 1e-6 && (variance + mean * mean - 0.5).abs() < 1e-9);
        // Far from 0 the rectifier has no effect.
        let far = Spread { mean: 5.0, variance: 1.0 };
        let Spread { mean, variance } = far.rectified(0.0);
        assert!((mean - 5.0).abs() < 1e-3 && (variance - 1.0).abs() < 1e-2, "{mean} {variance}");
        let Spread { mean, variance } = far.rectified(1.0);
        assert!((mean - 5.0).abs() < 1e-9 && (variance - 1.0).abs() < 1e-9, "{mean} {variance}");
    }
}
