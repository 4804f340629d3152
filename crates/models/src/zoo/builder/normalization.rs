//! Normalizations.

use super::{Builder, Value, float, integer};
use crate::zoo::random::Random;
use crate::zoo::spread::Spread;

/// Standard deviation of the addends of a normalization.
const SHIFT: f64 = 0.2;
/// Largest deviation of its factors from 1.
const SCALE: f64 = 0.2;
/// Relative deviation of running statistics from the true ones.
const DRIFT: f64 = 0.1;

fn scales(deviation: f64) -> impl Fn(&mut Random, usize) -> Vec<f32> {
    let scale = move |random: &mut Random| deviation * random.uniform(1.0 - SCALE, 1.0 + SCALE);
    move |random, count| (0..count).map(|_| scale(random) as f32).collect()
}

fn shifts(deviation: f64) -> impl Fn(&mut Random, usize) -> Vec<f32> {
    let shift = move |random: &mut Random| deviation * SHIFT * random.normal();
    move |random, count| (0..count).map(|_| shift(random) as f32).collect()
}

impl Builder {
    /// Adds a BatchNormalization whose statistics are close to those expected of `x`.
    pub(crate) fn batch_norm(&mut self, x: &Value, epsilon: f32) -> Value {
        self.batch_norm_to(1.0, x, epsilon)
    }

    /// Like `batch_norm`, with results of the given deviation instead of 1.
    pub(crate) fn batch_norm_to(&mut self, deviation: f64, x: &Value, epsilon: f32) -> Value {
        let name = self.name("BatchNormalization");
        let channels = [x.size(1)];
        let Spread { mean, variance } = x.spread;
        let mean_of = |channel: usize| x.offsets.get(channel).copied().unwrap_or(mean);
        let means = |random: &mut Random, count| {
            let drift = DRIFT * variance.sqrt();
            (0..count).map(|channel| (mean_of(channel) + drift * random.normal()) as f32).collect()
        };
        let variances = |random: &mut Random, count| {
            (0..count).map(|_| (variance * random.uniform(1.0 - DRIFT, 1.0 + DRIFT)) as f32).collect()
        };
        let operands = [
            self.weights(format!("{name}.scale"), &channels, scales(deviation)),
            self.weights(format!("{name}.bias"), &channels, shifts(deviation)),
            self.statistics(format!("{name}.mean"), &channels, means),
            self.statistics(format!("{name}.var"), &channels, variances),
        ];
        let [scale, bias, mean, var] = &operands;
        let inputs = [&x.name[..], scale, bias, mean, var];
        // The variance of uniform numbers is a third of their bound squared.
        let drawn = 1.0 + SHIFT * SHIFT + SCALE * SCALE / 3.0;
        let result = (x.shape.clone(), Spread { mean: 0.0, variance: deviation * deviation * drawn });
        self.node(name, "BatchNormalization", &inputs, vec![float("epsilon", epsilon)], result)
    }

    /// Adds a LayerNormalization over the last axis.
    pub(crate) fn layer_norm(&mut self, x: &Value) -> Value {
        let name = self.name("LayerNormalization");
        let features = [x.size(x.shape.len().saturating_sub(1))];
        let scale = self.weights(format!("{name}.scale"), &features, scales(1.0));
        let bias = self.weights(format!("{name}.bias"), &features, shifts(1.0));
        let attributes = vec![integer("axis", -1), float("epsilon", 1e-5)];
        let result = (x.shape.clone(), Spread::UNIT);
        self.node(name, "LayerNormalization", &[&x.name, &scale, &bias], attributes, result)
    }
}
