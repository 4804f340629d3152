//! FPGA resources of an instance.

use npukit_numeric::{FixedFormat, NumberFormat};
use npukit_target::{Area, block_rams};

use crate::config::Config;

/// Width of the factors that a DSP slice multiplies: 18 bits for the narrower one.
const FACTOR_BITS: u32 = 18;
/// Origin of the figures.
const BASIS: &str = "estimate by formula without synthesis: a multiplier in each cell of the array and in each lane of the \
                     SIMD unit, local memory and accumulators in block RAMs";

/// Estimates multipliers and memories from the architecture. Each cell of the array and each lane
/// of the SIMD unit has a multiplier. Local memory has two read-write ports; the accumulators have
/// one write port and one read port.
pub fn area(config: &Config) -> Area {
    let NumberFormat::Fixed(FixedFormat { width, .. }) = config.data_type.format() else {
        // npukit has no estimate for the resources of a floating-point multiplier.
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
    use npukit_target::ultra_rams;

    use super::*;
    use crate::config::DataType;

    /// The published instances fit the DSP slices and block RAMs of their boards' data sheets.
    /// Ultra96 instances keep local memory partly in another kind of memory, which the estimate
    /// does not include.
    #[test]
    fn published_instances_fit_their_boards() {
        for (name, dsp, bram) in
            [("pynqz1", 220.0, 140.0), ("artya7100t", 240.0, 135.0), ("ultra96v2", 360.0, 216.0)]
        {
            let area = area(&Config::preset(name).unwrap());
            assert!(area.dsp.unwrap() <= dsp && area.bram.unwrap() <= bram, "{name}: {area:?}");
        }
    }

    /// Boards without a published instance fit their FPGAs. Block RAMs have 36 kbit; two of the
    /// ECP5's have 18 kbit each. Sources: AMD DS190 (XC7Z020), AMD DS987 (K26), Lattice
    /// FPGA-DS-02012 (LFE5U-85).
    #[test]
    fn chosen_instances_fit_their_boards() {
        for (name, dsp, bram) in
            [("pynqz2", 220.0, 140.0), ("artyz720", 220.0, 140.0), ("ulx3s_85f", 156.0, 208.0 / 2.0)]
        {
            let area = area(&Config::preset(name).unwrap());
            assert!(area.dsp.unwrap() <= dsp && area.bram.unwrap() <= bram, "{name}: {area:?}");
        }
        let kv260 = Config::preset("kv260").unwrap();
        assert!(area(&kv260).dsp.unwrap() <= 1248.0);
        assert_eq!(ultra_rams(kv260.local_depth, kv260.vector_bits()), 48.0, "of 64 UltraRAMs");
        assert_eq!(
            block_rams(kv260.accumulator_depth, kv260.vector_bits(), false),
            114.0,
            "of 144 block RAMs"
        );
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
