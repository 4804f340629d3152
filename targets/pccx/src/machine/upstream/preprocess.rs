//! Conversion of BF16 activations to 27-bit fixed-point numbers with a shared exponent: [`align`].

/// Fraction bits below the significand's eight.
const FRACTION: u32 = 12;
/// Bits that the projection to 8 bits drops.
const DROPPED: u32 = 13;

/// A block as the circuits align it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aligned {
    /// Largest biased exponent in the block.
    pub emax: u8,
    /// Signed values of 27 bits.
    pub fixed27: Vec<i32>,
}

/// Aligns a block. Subnormals are kept, without hidden bit.
pub fn align(block: &[u16]) -> Aligned {
    let exponent = |bits: u16| (bits >> 7) as u8;
    // Default: a block without values has nothing to align.
    let emax = block.iter().map(|&bits| exponent(bits)).max().unwrap_or(0);
    let fixed = |&bits: &u16| {
        let hidden = if exponent(bits) == 0 { 0 } else { 128 };
        let significand = hidden + i32::from(bits & 0x7F);
        let shift = u32::from(emax - exponent(bits));
        // Default: a shift by the register's width or more leaves no bit.
        let magnitude = (significand << FRACTION).checked_shr(shift).unwrap_or(0);
        if bits >> 15 == 1 { -magnitude } else { magnitude }
    };
    Aligned { emax, fixed27: block.iter().map(fixed).collect() }
}

/// Projects to 8 bits like the published testbench: truncates toward zero, with a magnitude of at
/// most 127.
pub fn project(fixed27: i32) -> i8 {
    let magnitude = (fixed27.unsigned_abs() >> DROPPED).min(127) as i8;
    if fixed27 < 0 { -magnitude } else { magnitude }
}
