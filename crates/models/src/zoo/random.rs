//! [`Random`]: pseudorandom numbers that depend only on a seed and a name.

use npukit_numeric::SplitMix64;

/// Random numbers of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    /// Creates the numbers of `name` for `seed`: a tensor's numbers do not depend on other tensors.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Self(SplitMix64::new(SplitMix64::new(seed).bits() ^ hash))
    }

    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Returns a number from `low` (inclusive) to `high` (exclusive).
    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.0.between(low, high)
    }

    /// Returns a nearly normal number with mean 0 and variance 1: the sum of four 16-bit numbers.
    /// This is fast for millions of weights, and no number exceeds 3.5 in magnitude.
    pub(crate) fn normal(&mut self) -> f64 {
        let bits = self.bits();
        let sum: u64 = (0..4).map(|part| bits >> (16 * part) & 0xffff).sum();
        // A sum of four has mean 2 * 65535 and variance 4 * (65536^2 - 1) / 12.
        (sum as f64 - 131_070.0) / (65_536.0 / 3.0f64.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let mut random = Random::new(1, "x");
        let values: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.01, "{mean} {variance}");
    }

    #[test]
    fn numbers_follow_seed_and_name() {
        // The first output of the published generator for seed 0.
        assert_eq!(Random(SplitMix64::new(0)).bits(), 0xe220_a839_7b1d_cdaf);
        let first = |seed, name| Random::new(seed, name).bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert!(first(1, "a") != first(1, "b") && first(1, "a") != first(2, "a"));
    }
}
