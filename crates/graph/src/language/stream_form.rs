//! [`Streams`]: several values of a token between layers, as Gemma 3N has them.

use crate::special::erf;

/// Properties of a model with several values of a token between layers.
///
/// A layer predicts all streams, computes attention, a low-rank branch and the feed-forward part
/// for the active one, and corrects all streams by the result. Then all streams but the first
/// receive an input of the layer, which a token has in addition to its embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct Streams {
    /// Number of streams.
    pub count: usize,
    /// Index of the stream for which a layer computes attention.
    pub active: usize,
    /// Whether the active stream is multiplied by a learned vector before it meets the layer's
    /// input.
    pub scales_active: bool,
    /// Number of features inside the low-rank branch.
    pub low_rank: usize,
    /// Number of features of a layer's input.
    pub input: usize,
    /// Number of tokens that have inputs of layers; others have the inputs of token 0.
    pub input_vocabulary: usize,
    /// Number of layers, from the first, that compute keys and values. Later ones read the keys and
    /// values of the last such layer with the same window and rotation.
    pub kv_layers: usize,
    /// Number of standard deviations above the mean that a gate must exceed, for each layer; `None`
    /// without a limit.
    pub gate_deviations: Vec<Option<f32>>,
}

/// Returns the number of standard deviations above the mean that a share of normally distributed
/// values does not exceed. The share is between 0 and 1.
pub fn normal_quantile(share: f64) -> f64 {
    let below = |x: f64| 0.5 * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2));
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if below(middle) < share { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of printed tables of the normal distribution.
    #[test]
    fn quantiles_are_those_of_tables() {
        let table = [(0.5, 0.0), (0.95, 1.644_853_627), (0.7, 0.524_400_513), (0.01, -2.326_347_874)];
        for (share, expected) in table {
            let found = normal_quantile(share);
            assert!((found - expected).abs() < 1e-8, "{share}: {found}");
        }
    }
}
