//! FPGA area of an instance.

use npukit_target::{Area, block_rams};

use crate::config::Config;
use crate::config::datatype::DataType;

/// Words of the feature buffer and of the partial-sum buffer, with 64 elements each (specification,
/// 3.2).
pub(crate) const PIXELS: u64 = 2048;
/// Elements per word of these buffers.
pub(crate) const CHANNELS: u64 = 64;
/// Words of the weight buffer, with 1024 weights each (specification, 8.1).
pub(crate) const SLICES: u64 = 64;
/// Weights per word of the weight buffer.
pub(crate) const WEIGHTS: u64 = 1024;
/// Copies of a buffer that is filled while it is read.
const BANKS: f64 = 2.0;
/// Explanation of the figures for reports.
const BASIS: &str = "estimate by formula, no synthesis has run: two 8-bit or four 4-bit products per DSP slice, feature \
                     and weight buffers doubled, partial sums single; instruction memory is not included";

/// Returns the area of multipliers and buffers according to the published description
/// (specification, 8.1): 512 DSP slices for 1024 products of 8 bits.
pub fn area(config: &Config) -> Area {
    let types = &config.types;
    let features = block_rams(PIXELS, CHANNELS * bits(types.itype), false);
    let weights = block_rams(SLICES, WEIGHTS * bits(types.ktype), false);
    let sums = block_rams(PIXELS, CHANNELS * bits(types.otype), false);
    let products = products(types.itype, types.ktype);
    Area {
        dsp: products.map(|products| (f64::from(config.timing.macs_per_cycle) / products).ceil()),
        bram: Some(BANKS * (features + weights) + sums),
        basis: BASIS.to_owned(),
        ..Area::default()
    }
}

/// Returns the bits per element of a buffer.
fn bits(element: DataType) -> u64 {
    element.fixed().map_or(8 * element.size_bytes(), |fixed| fixed.width()).into()
}

/// Returns the products per DSP slice and cycle; `None` for floats.
fn products(features: DataType, weights: DataType) -> Option<f64> {
    let (features, weights) = (features.fixed()?, weights.fixed()?);
    Some(match features.width().max(weights.width()) {
        0..=4 => 4.0,
        5..=8 => 2.0,
        _ => 1.0,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_published_machine_has_512_slices_and_fits_its_part() {
        let mut config = Config::preset("reference").unwrap();
        let reference = area(&config);
        // An XC7K325T has 840 DSP slices and 445 block RAMs.
        assert_eq!(reference.dsp, Some(512.0));
        assert!(reference.bram.unwrap() <= 445.0, "{reference:?}");
        config.types.ktype = DataType::INT16;
        assert_eq!(area(&config).dsp, Some(1024.0));
        assert!(area(&config).bram > reference.bram);
    }
}
