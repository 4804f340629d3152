//! [`Area`]: what an instance takes of an FPGA.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an instance takes of an FPGA of AMD's 7 series or UltraScale+, as far as a model of its target tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Area {
    /// DSP slices.
    pub dsp: Option<f64>,
    /// Block RAMs of 36 kbit.
    pub bram: Option<f64>,
    /// UltraRAMs of 288 kbit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uram: Option<f64>,
    /// Lookup tables of six inputs.
    pub lut: Option<f64>,
    /// What the figures are: `estimate` and by what, or of which synthesis.
    pub basis: String,
}

/// Shapes of half a block RAM, of 18 kbit: words, and bits of each. The first has one port that writes and one that
/// reads; two halves beside each other are a whole one.
const HALVES: [(u64, u64); 6] = [(512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1)];

impl Area {
    /// The figure called `name`.
    pub fn value(&self, name: &str) -> Option<f64> {
        match name {
            "dsp" => self.dsp,
            "bram" => self.bram,
            "uram" => self.uram,
            "lut" => self.lut,
            _ => None,
        }
    }

    /// The figures that are known, by name.
    pub fn values(&self) -> impl Iterator<Item = (String, Value)> + use<> {
        let all = [("dsp", self.dsp), ("bram", self.bram), ("uram", self.uram), ("lut", self.lut)];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))))
    }
}

/// Block RAMs of 36 kbit for a memory of `words` words of `bits` bits, in halves, in the best shape. Of a memory that
/// `is_dual` both ports read or write.
///
/// Source: AMD UG473 and UG573, the shapes of RAMB18.
pub fn block_rams(words: u64, bits: u64, is_dual: bool) -> f64 {
    let shapes = HALVES.iter().skip(usize::from(is_dual));
    let halves = shapes.map(|(deep, wide)| words.div_ceil(*deep) * bits.div_ceil(*wide)).min();
    // Default: there are shapes.
    halves.unwrap_or(0) as f64 / 2.0
}

/// UltraRAMs for a memory of `words` words of `bits` bits.
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
