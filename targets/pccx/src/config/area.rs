//! FPGA resources of an instance.

use npukit_target::{Area, block_rams, ultra_rams};

use crate::config::{Config, WORD_BYTES};

/// Words of the weight FIFO of each port (specification, 3.1).
const FIFO_WORDS: u64 = 4096;
/// Number of ports with a FIFO.
const FIFOS: f64 = 4.0;
/// Words and bits of the level-1 memory of feature maps.
const FEATURES: (u64, u64) = (2048, 27);
/// Words and bits of the result FIFO of functions.
const RESULTS: (u64, u64) = (2048, 16);
/// Bits of a word of L2 and of the FIFOs.
const WORD_BITS: u64 = 8 * WORD_BYTES as u64;
/// Products of a cell of the matrix core per cycle: two share a DSP slice (specification, 3.1).
const PRODUCTS: u64 = 2;
/// Basis of the figures.
const BASIS: &str = "estimate by formula: a slice for each cell of the matrix core and for each adder of the first level of the vector \
                     core, L2 in UltraRAM, FIFOs and feature maps in block RAM. The published route, whose two cores were \
                     optimized away, has 56 UltraRAMs and 81 block RAMs where this gives 56 and 62.5";

/// Estimates multipliers and memories from the published description of the machine (specification,
/// 3.1 and 6.3).
pub fn area(config: &Config) -> Area {
    let (gemm, gemv) = (&config.timing.gemm, &config.timing.gemv);
    let adders = gemv.lanes * gemv.lane_width.div_ceil(2);
    let small = [FEATURES, RESULTS].map(|(words, bits)| block_rams(words, bits, false));
    Area {
        dsp: Some(((gemm.rows * gemm.columns).div_ceil(PRODUCTS) + adders) as f64),
        bram: Some(FIFOS * block_rams(FIFO_WORDS, WORD_BITS, false) + small.iter().sum::<f64>()),
        uram: Some(ultra_rams(config.l2_words.into(), WORD_BITS)),
        basis: BASIS.to_owned(),
        ..Area::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// The part, an XCK26, has 1,248 DSP slices, 144 block RAMs and 64 UltraRAMs; the published
    /// route reports 56 UltraRAMs.
    #[test]
    fn the_published_machine_fits_its_part() {
        let area = area(&Config::preset("reference").unwrap());
        assert_eq!((area.dsp, area.uram, area.bram), (Some(1088.0), Some(56.0), Some(62.5)));
    }
}
