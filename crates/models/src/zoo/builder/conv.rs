//! Convolutions.

use super::pool::Window;
use super::{Builder, Value, integer};
use crate::zoo::random::Random;
use crate::zoo::spread::Spread;

/// Standard deviation of biases, relative to that of the values.
const BIAS: f64 = 0.1;

/// A convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv {
    pub(crate) filters: usize,
    pub(crate) window: Window,
    pub(crate) groups: usize,
    /// Whether it has a bias; a convolution without bias is followed by a normalization.
    pub(crate) bias: bool,
    /// Standard deviation of its results.
    pub(crate) deviation: f64,
}

impl Conv {
    /// Creates a convolution with a bias.
    pub(crate) const fn new(filters: usize, window: Window) -> Self {
        Self { filters, window, groups: 1, bias: true, deviation: 1.0 }
    }

    pub(crate) const fn without_bias(self) -> Self {
        Self { bias: false, ..self }
    }

    pub(crate) const fn with_deviation(self, deviation: f64) -> Self {
        Self { deviation, ..self }
    }

    /// Creates a convolution with one filter for each of `channels`.
    pub(crate) const fn depthwise(channels: usize, window: Window) -> Self {
        Self { groups: channels, ..Self::new(channels, window) }
    }
}

impl Builder {
    /// Adds a convolution with results of the requested deviation, 1 by default. A bias brings
    /// their mean to 0: it compensates the contribution of the input's mean to each filter. Without
    /// a bias, the normalization after it does.
    pub(crate) fn conv(&mut self, x: &Value, conv: Conv) -> Value {
        let Conv { filters, window, groups, bias, deviation } = conv;
        let name = self.name("Conv");
        let shape = window.shape(x, filters);
        let channels = x.size(1) / groups;
        let [kh, kw] = window.kernel;
        let product = channels as u64 * shape.iter().take(2).product::<usize>() as u64;
        self.count(product * window.taps(x), product * window.padded_taps(x));
        let mut sums = vec![0.0; filters];
        let spread = Spread { mean: 0.0, variance: deviation * deviation };
        let gain = spread.variance / x.spread.variance;
        let draw = |random: &mut Random, _| drawn(random, channels * kh * kw, gain, &mut sums);
        let weights = self.weights(format!("{name}.weight"), &[filters, channels, kh, kw], draw);
        let offsets: Vec<f64> = sums.iter().map(|sum| sum * x.spread.mean).collect();
        let mut attributes = window.attributes();
        attributes.push(integer("group", groups as i64));
        if !bias {
            let value = self.node(name, "Conv", &[&x.name, &weights], attributes, (shape, spread));
            return Value { offsets, ..value };
        }
        let bias = self.bias(&name, &offsets);
        self.node(name, "Conv", &[&x.name, &weights, &bias], attributes, (shape, spread))
    }

    /// Adds a bias that compensates `offsets`, plus a small random part, and returns its name.
    pub(super) fn bias(&mut self, node: &str, offsets: &[f64]) -> String {
        let draw = |random: &mut Random, _| {
            offsets.iter().map(|offset| (BIAS * random.normal() - offset) as f32).collect()
        };
        self.weights(format!("{node}.bias"), &[offsets.len()], draw)
    }

    pub(super) fn count(&mut self, macs: u64, padded_macs: u64) {
        self.counts.macs += macs;
        self.counts.padded_macs += padded_macs;
        self.counts.layers += 1;
    }
}

/// Returns filters of `fan_in` weights, one for each of `sums`, scaled so that the variance of
/// their results is `gain` times that of their inputs. As in He and others, 2015, but with the
/// input's variance tracked instead of assumed. Stores the sums of their weights in `sums`.
pub(super) fn drawn(random: &mut Random, fan_in: usize, gain: f64, sums: &mut [f64]) -> Vec<f32> {
    let mut weights = Vec::with_capacity(fan_in * sums.len());
    for sum in sums {
        let filter: Vec<f64> = (0..fan_in).map(|_| random.normal()).collect();
        let squares: f64 = filter.iter().map(|weight| weight * weight).sum();
        let scale = (gain / squares).sqrt();
        *sum = scale * filter.iter().sum::<f64>();
        weights.extend(filter.iter().map(|weight| (scale * weight) as f32));
    }
    weights
}
