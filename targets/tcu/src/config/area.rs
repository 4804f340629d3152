//! What an instance takes of an FPGA.

use npukit_numeric::{FixedFormat, NumberFormat};
use npukit_target::{Area, block_rams};

use crate::config::Config;

/// Bits of the factors that a DSP slice multiplies: 18 of the narrower one.
const FACTOR_BITS: u32 = 18;
/// What the figures are.
const BASIS: &str = "estimate by formula, no synthesis has run: a multiplier in each cell of the array and in each lane of the \
                     SIMD unit, local memory and accumulators in block RAMs";

/// Multipliers and memories by the architecture: a cell of the array multiplies, and so does a lane of the SIMD unit; local
/// memory has two ports that read and write, the accumulators one of each.
pub fn area(config: &Config) -> Area {
    let NumberFormat::Fixed(FixedFormat { width, .. }) = config.data_type.format() else {
        // What a multiplier of floats takes is another matter.
        return Area { bram: Some(memories(config, 32)), basis: BASIS.to_owned(), ..Area::default() };
    };
    let slices = width.div_ceil(FACTOR_BITS).pow(2) as f64;
    let lanes = config.array_size as f64;
    let dsp = Some(slices * (lanes * lanes + lanes));
    Area { dsp, bram: Some(memories(config, width.into())), basis: BASIS.to_owned(), ..Area::default() }
}

fn memories(config: &Config, scalar_bits: u64) -> f64 {
    let bits = config.array_size as u64 * scalar_bits;
    block_rams(config.local_depth, bits, true) + block_rams(config.accumulator_depth, bits, false)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::DataType;

    /// The published instances fit their boards' parts: DSP slices and block RAMs of their data sheets. Those of the Ultra96
    /// keep local memory partly in registers of another kind, which is not told.
    #[test]
    fn published_instances_fit_their_boards() {
        for (name, dsp, bram) in
            [("pynqz1", 220.0, 140.0), ("artya7100t", 240.0, 135.0), ("ultra96v2", 360.0, 216.0)]
        {
            let area = area(&Config::preset(name).unwrap());
            assert!(area.dsp.unwrap() <= dsp && area.bram.unwrap() <= bram, "{name}: {area:?}");
        }
    }

    #[test]
    fn wide_numbers_take_more_slices() {
        let config = Config::preset("pynqz1").unwrap();
        let dsp = |data_type| area(&Config { data_type, ..config.clone() }).dsp;
        assert_eq!(dsp(DataType::Fp16Bp8), Some(72.0));
        assert_eq!(dsp(DataType::Fp18Bp10), Some(72.0));
        assert_eq!(dsp(DataType::Fp32Bp16), Some(288.0));
        assert_eq!(dsp(DataType::Float32), None);
    }
}
