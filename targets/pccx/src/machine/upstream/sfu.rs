//! Special-function unit of the circuits: one function per CVO function, on BF16 patterns.
//!
//! The arithmetic is that of the circuits: no rounding, no subnormals, infinities or NaNs, and
//! exponents wrap.

/// Returns the 8-bit significand, hidden bit included.
fn significand(bits: u16) -> u32 {
    128 | u32::from(bits & 0x7F)
}

fn exponent(bits: u16) -> u32 {
    u32::from(bits >> 7 & 0xFF)
}

fn is_zero(bits: u16) -> bool {
    bits & 0x7FFF == 0
}

/// Returns a pattern of a sign bit in place, and the low bits of exponent and fraction.
fn pattern(sign: u16, exponent: u32, fraction: u32) -> u16 {
    sign | ((exponent & 0xFF) << 7) as u16 | (fraction & 0x7F) as u16
}

/// Multiplies and truncates; zero has no sign.
fn multiply(a: u16, b: u16) -> u16 {
    if is_zero(a) || is_zero(b) {
        return 0;
    }
    let product = significand(a) * significand(b);
    let carry = product >> 15;
    let exponent = (exponent(a) + exponent(b) + carry).wrapping_sub(127);
    pattern((a ^ b) & 0x8000, exponent, product >> (7 + carry))
}

/// Adds and truncates. The hidden bit is searched one position too high, so that sums without a
/// carry are halved.
fn add(a: u16, b: u16) -> u16 {
    if is_zero(a) {
        return b;
    }
    if is_zero(b) {
        return a;
    }
    let larger = exponent(a).max(exponent(b));
    // Default: a shift by the register's width or more leaves no bit.
    let aligned = |bits: u16| significand(bits).checked_shr(larger - exponent(bits)).unwrap_or(0);
    let (x, y) = (aligned(a), aligned(b));
    let (sign, sum) = match (a & 0x8000 == b & 0x8000, x >= y) {
        (true, _) => (a & 0x8000, x + y),
        (false, true) => (a & 0x8000, x - y),
        (false, false) => (b & 0x8000, y - x),
    };
    match sum {
        0 => 0,
        1..256 => pattern(sign, larger.wrapping_sub(1), sum >> 1),
        _ => pattern(sign, larger, sum >> 2),
    }
}

/// Returns the initial approximation of a reciprocal: negated exponent and fraction.
fn reciprocal_seed(bits: u16) -> u16 {
    pattern(bits & 0x8000, 254_u32.wrapping_sub(exponent(bits)), 127 - (u32::from(bits & 0x7F) >> 1))
}

/// Computes EXP. For most arguments, the fixed-point argument with 14 fraction bits is shifted out
/// of its 16 bits. The fraction of the power of two is not corrected: its correction, a square
/// shifted down by the width in which it is computed, is always 0.
pub fn exp(bits: u16) -> u16 {
    const LOG2_E: i32 = 0xB8;
    let shift = exponent(bits) as i32 - 127;
    let significand = significand(bits) << 7;
    let magnitude = match shift {
        _ if exponent(bits) == 0 => 0,
        8.. => 0x7FFF,
        -7..8 => significand << (shift + 7) & 0xFFFF,
        // Default: a shift by the register's width or more leaves no bit.
        _ => significand.checked_shr(-(shift + 7) as u32).unwrap_or(0),
    };
    // The circuit applies the sign to a 16-bit number.
    let fixed = i32::from(if bits >> 15 == 1 { (magnitude as i16).wrapping_neg() } else { magnitude as i16 });
    let scaled = fixed * LOG2_E;
    let whole = (scaled >> 14) as u32 & 0x1FF;
    let fraction = (scaled >> 7) as u32 & 0x7F;
    let exponent = (127 + whole) & 0x1FF;
    match (exponent, whole >> 8) {
        (0 | 256.., 0) => 0x7F80,
        (0 | 256.., _) => 0,
        _ => pattern(0, exponent, fraction),
    }
}

/// Computes SQRT. The exponent is halved as unsigned, and corrections of the fraction are lost in
/// 9-bit sums.
pub fn sqrt(bits: u16) -> u16 {
    let unbiased = exponent(bits).wrapping_sub(127) & 0xFF;
    let k = u32::from(bits & 0x7F);
    let fraction = if unbiased & 1 == 1 { 53 + (((k * 91) & 0x1FF) >> 7) } else { k >> 1 };
    pattern(0, 127 + (unbiased >> 1), fraction)
}

/// Computes RECIP: one Newton step from the initial approximation, with `add`'s defect.
pub fn recip(bits: u16) -> u16 {
    const TWO: u16 = 0x4000;
    let size = bits & 0x7FFF;
    let seed = reciprocal_seed(size);
    let correction = add(TWO, multiply(size, seed) | 0x8000);
    multiply(bits & 0x8000 | seed, correction & 0x7FFF)
}

/// Computes SCALE: each element times the scalar, or times the approximate reciprocal of the
/// scalar.
pub fn scale(scalar: u16, vector: &[u16], recip_scale: bool) -> Vec<u16> {
    let factor = if recip_scale { reciprocal_seed(scalar) } else { scalar };
    vector.iter().map(|&element| multiply(element, factor)).collect()
}

/// Computes REDUCE_SUM: the sum in order, with `add`'s defect.
pub fn reduce_sum(vector: &[u16]) -> u16 {
    vector.iter().fold(0, |sum, &element| add(sum, element))
}

/// Computes SIN and COS of an angle with 14 rotations in fixed point with 12 fraction bits. Most
/// angles are shifted out of their 16 bits, and angles are not reduced to a quarter turn.
pub fn sin_cos(angle: u16) -> (u16, u16) {
    const ANGLES: [i16; 14] = [0xC91, 0x76B, 0x3EB, 0x1FD, 0x100, 0x80, 0x40, 0x20, 0x10, 8, 4, 2, 1, 1];
    const GAIN: i16 = 0x9B8;
    let (mut x, mut y, mut z) = (GAIN, 0_i16, fixed_angle(angle));
    for (i, rotation) in ANGLES.into_iter().enumerate() {
        let (dx, dy) = (y >> i, x >> i);
        if z >= 0 {
            (x, y, z) = (x.wrapping_sub(dx), y.wrapping_add(dy), z.wrapping_sub(rotation));
        } else {
            (x, y, z) = (x.wrapping_add(dx), y.wrapping_sub(dy), z.wrapping_add(rotation));
        }
    }
    (of_fixed(y), of_fixed(x))
}

/// Converts an angle to fixed point with 12 fraction bits, keeping only 16 bits.
fn fixed_angle(angle: u16) -> i16 {
    let shift = exponent(angle) as i32 - 122;
    let significand = significand(angle) << 7;
    let magnitude = match shift {
        _ if exponent(angle) == 0 => 0,
        15.. => 0x7FFF,
        0..15 => significand << shift & 0xFFFF,
        -7..0 => significand >> -shift,
        _ => 0,
    };
    if angle >> 15 == 1 { (magnitude as i16).wrapping_neg() } else { magnitude as i16 }
}

/// Converts a fixed-point number with 12 fraction bits to a pattern, truncated.
fn of_fixed(value: i16) -> u16 {
    let magnitude = u32::from(value.unsigned_abs()) & 0x7FFF;
    let Some(leading) = magnitude.checked_ilog2() else { return 0 };
    let fraction = if leading >= 7 { magnitude >> (leading - 7) } else { magnitude << (7 - leading) };
    pattern(if value < 0 { 0x8000 } else { 0 }, 127 + leading - 12, fraction)
}
