//! Quantization of activations for the engines: 8-bit block floating point. Source: specification
//! 4.4.1.

use npukit_numeric::BLOCK;

use crate::machine::bf16::exponent;

/// Exponent of infinities and NaNs.
const SPECIAL: u8 = 255;
/// Difference of the block's exponent to that of its scale: the bias, and six bits of a 7-bit
/// magnitude below 1.
const SCALE_BIAS: i32 = 133;

/// Quantized row of activations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantized {
    /// Values of -127 to 127, in blocks of 32; the last block may be shorter.
    pub values: Vec<i8>,
    /// Largest biased exponent of each block: a value represents value times 2^(exponent - 133).
    pub exponents: Vec<u8>,
}

impl Quantized {
    /// Whether a value is infinite or NaN, so that all results of the row are NaN.
    pub fn is_special(&self) -> bool {
        self.exponents.contains(&SPECIAL)
    }

    /// Returns the scale of each block; meaningless for a block with infinities or NaNs.
    pub fn scales(&self) -> Vec<f32> {
        // The power is computed in f64 because 2^-133 is subnormal in f32.
        let scale = |&exponent: &u8| 2.0_f64.powi(i32::from(exponent) - SCALE_BIAS) as f32;
        self.exponents.iter().map(scale).collect()
    }
}

/// Quantizes a row of BF16 patterns: truncates toward zero; subnormals are zeros.
///
/// Source: specification, section 4.4.1.
pub fn quantize(row: &[u16]) -> Quantized {
    let mut quantized = Quantized { values: Vec::with_capacity(row.len()), exponents: Vec::new() };
    for block in row.chunks(BLOCK) {
        let largest = block.iter().map(|&bits| exponent(bits)).max().expect("chunks are not empty");
        quantized.exponents.push(largest);
        quantized.values.extend(block.iter().map(|&bits| align(bits, largest)));
    }
    quantized
}

/// Returns the quantized value in a block with the largest exponent `largest`.
fn align(bits: u16, largest: u8) -> i8 {
    let exponent = exponent(bits);
    let shift = u32::from(largest - exponent);
    if exponent == 0 || shift >= 27 {
        return 0;
    }
    let significand = 128 + u32::from(bits & 0x7F);
    let magnitude = (((significand << 12) >> shift) >> 13).min(127) as i8;
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}
