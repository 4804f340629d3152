//! [`Area`]: FPGA resources of an instance.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// FPGA resources of an instance on AMD's 7 series or UltraScale+; null if the target does not
/// estimate them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Area {
    /// Number of DSP slices.
    pub dsp: Option<f64>,
    /// Number of 36-kbit block RAMs.
    pub bram: Option<f64>,
    /// Number of 288-kbit UltraRAMs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uram: Option<f64>,
    /// Number of six-input lookup tables.
    pub lut: Option<f64>,
    /// Origin of the figures: `estimate` and its method, or the synthesis that reported them.
    pub basis: String,
}

/// Shapes of an 18-kbit half block RAM: words, and bits per word. The first shape has one write
/// port and one read port. Two adjacent halves form a whole one.
const HALVES: [(u64, u64); 6] = [(512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1)];

impl Area {
    /// Returns the figure called `name`.
    pub fn value(&self, name: &str) -> Option<f64> {
        match name {
            "dsp" => self.dsp,
            "bram" => self.bram,
            "uram" => self.uram,
            "lut" => self.lut,
            _ => None,
        }
    }

    /// Returns the known figures by name.
    pub fn values(&self) -> impl Iterator<Item = (String, Value)> + use<> {
        let all = [("dsp", self.dsp), ("bram", self.bram), ("uram", self.uram), ("lut", self.lut)];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))))
    }
}

/// Returns the number of 36-kbit block RAMs, in halves, for a memory of `words` words of `bits`
/// bits in the best shape. If `is_dual`, both ports can read and write.
///
/// Source: AMD UG473 and UG573, the shapes of RAMB18.
pub fn block_rams(words: u64, bits: u64, is_dual: bool) -> f64 {
    let shapes = HALVES.iter().skip(usize::from(is_dual));
    let halves = shapes.map(|(deep, wide)| words.div_ceil(*deep) * bits.div_ceil(*wide)).min();
    // Default: never used, the list of shapes is not empty.
    halves.unwrap_or(0) as f64 / 2.0
}

/// Returns the number of UltraRAMs for a memory of `words` words of `bits` bits.
///
/// Source: AMD UG573, 4096 words of 72 bits.
pub const fn ultra_rams(words: u64, bits: u64) -> f64 {
    (words.div_ceil(4096) * bits.div_ceil(72)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_take_the_best_shape() {
        for (words, bits, is_dual, wanted) in [
            (512, 72, false, 1.0),
            (512, 72, true, 2.0),
            (1024, 36, true, 1.0),
            (512, 36, false, 0.5),
            (1025, 36, true, 2.0),
            (20480, 256, true, 145.0),
            (32768, 1, true, 1.0),
            (0, 16, false, 0.0),
        ] {
            assert_eq!(block_rams(words, bits, is_dual), wanted, "{words} words of {bits} bits");
        }
    }
}
