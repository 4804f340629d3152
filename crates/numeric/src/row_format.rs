//! Formats of the rows of weights in language model files: [`RowFormat`].
//!
//! Source: `ggml-common.h` and `ggml-quants.c` of llama.cpp, which define the layouts of blocks and
//! the order of the roundings. All numbers are little-endian.

use crate::SmallFloat;

/// Format of a row of weights: a number of elements in a block of bytes, repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowFormat {
    /// 32-bit floats.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// 32 integers of 8 bits and a scale.
    Q8_0,
    /// 32 integers from -8 to 7 and a scale.
    Q4_0,
    /// 32 integers from 0 to 15, a scale and a minimum.
    Q4_1,
    /// 32 integers from -16 to 15 and a scale.
    Q5_0,
    /// 32 integers from 0 to 31, a scale and a minimum.
    Q5_1,
    /// 256 integers from 0 to 15; each 32 have a scale and a minimum of 6 bits.
    Q4K,
    /// 256 integers from 0 to 31; each 32 have a scale and a minimum of 6 bits.
    Q5K,
    /// 256 integers from -32 to 31; each 16 have a scale of 8 bits.
    Q6K,
}

/// Codes of 32 elements: an element is `code * scale + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codes {
    /// Factor of the codes.
    pub scale: f32,
    /// Number added to each element.
    pub offset: f32,
    /// Codes from -8 to 7.
    pub codes: [i8; 32],
}

impl RowFormat {
    /// All formats.
    pub const ALL: [Self; 11] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q8_0,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
    ];

    /// Returns the name of the format in GGUF files.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Q8_0 => "Q8_0",
            Self::Q4_0 => "Q4_0",
            Self::Q4_1 => "Q4_1",
            Self::Q5_0 => "Q5_0",
            Self::Q5_1 => "Q5_1",
            Self::Q4K => "Q4_K",
            Self::Q5K => "Q5_K",
            Self::Q6K => "Q6_K",
        }
    }

    /// Returns the number of elements of a block.
    pub fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q8_0 | Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 => 32,
            Self::Q4K | Self::Q5K | Self::Q6K => 256,
        }
    }

    /// Returns the number of bytes of a block.
    pub fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q8_0 => 34,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    /// Returns the number of bytes of a row of `columns` elements; `None` if the row is not a whole
    /// number of blocks, or too large.
    pub fn row_bytes(self, columns: usize) -> Option<usize> {
        let whole = columns.is_multiple_of(self.block());
        whole.then(|| (columns / self.block()).checked_mul(self.block_bytes())).flatten()
    }

    /// Whether a row consists of 4-bit codes with a scale per 32 elements, see [`Self::codes`].
    pub fn has_codes(self) -> bool {
        matches!(self, Self::Q4_0 | Self::Q4_1 | Self::Q4K)
    }

    /// Returns the codes of each 32 elements of a row; `None` for a format without them.
    pub fn codes(self, bytes: &[u8]) -> Option<Vec<Codes>> {
        match self {
            Self::Q4_0 => Some(bytes.as_chunks().0.iter().map(codes_of_q4_0).collect()),
            Self::Q4_1 => Some(bytes.as_chunks().0.iter().map(codes_of_q4_1).collect()),
            Self::Q4K => Some(bytes.as_chunks().0.iter().flat_map(codes_of_q4_k).collect()),
            _ => None,
        }
    }

    /// Returns the places of the binary16 numbers in a block: scales and minimums.
    fn halves(self) -> &'static [usize] {
        match self {
            Self::F32 | Self::Bf16 => &[],
            Self::F16 | Self::Q8_0 | Self::Q4_0 | Self::Q5_0 => &[0],
            Self::Q4_1 | Self::Q5_1 | Self::Q4K | Self::Q5K => &[0, 2],
            Self::Q6K => &[208],
        }
    }

    /// Returns the first element of a row that is NaN or infinite or, in a format with larger
    /// blocks, the first element of the first block with such a number; `None` if all elements are
    /// finite.
    pub fn first_not_finite(self, row: &[u8]) -> Option<usize> {
        let block = match self {
            Self::F32 => find(row, |[.., a, b]: &[u8; 4]| b & 0x7F == 0x7F && a & 0x80 == 0x80),
            Self::Bf16 => find(row, |[a, b]: &[u8; 2]| b & 0x7F == 0x7F && a & 0x80 == 0x80),
            Self::F16 => find(row, |[_, b]: &[u8; 2]| b & 0x7C == 0x7C),
            _ => row
                .chunks_exact(self.block_bytes())
                .position(|block| self.halves().iter().any(|&place| block[place + 1] & 0x7C == 0x7C)),
        };
        Some(block? * self.block())
    }

    /// Converts the blocks of a row to floats. `out` has the block's number of elements for each
    /// block of `bytes`; bytes or elements beyond the shorter of them are ignored.
    pub fn decode(self, bytes: &[u8], out: &mut [f32]) {
        match self {
            Self::F32 => {
                each(bytes, out, |bytes: &[u8; 4], out: &mut [f32; 1]| out[0] = f32::from_le_bytes(*bytes))
            }
            Self::F16 => each(bytes, out, |bytes: &[u8; 2], out: &mut [f32; 1]| out[0] = half(*bytes)),
            Self::Bf16 => each(bytes, out, |bytes: &[u8; 2], out: &mut [f32; 1]| {
                out[0] = f32::from_le_bytes([0, 0, bytes[0], bytes[1]]);
            }),
            Self::Q8_0 => each(bytes, out, q8_0),
            Self::Q4_0 => each(bytes, out, q4_0),
            Self::Q4_1 => each(bytes, out, q4_1),
            Self::Q5_0 => each(bytes, out, q5_0),
            Self::Q5_1 => each(bytes, out, q5_1),
            Self::Q4K => each(bytes, out, q4_k),
            Self::Q5K => each(bytes, out, q5_k),
            Self::Q6K => each(bytes, out, q6_k),
        }
    }
}

/// Returns the index of the first block with a property.
fn find<const B: usize>(row: &[u8], has: impl Fn(&[u8; B]) -> bool) -> Option<usize> {
    let blocks = row.as_chunks().0;
    // Without an early exit, this becomes vector code; few rows are searched again.
    let any = blocks.iter().fold(false, |any, block| any | has(block));
    if any { blocks.iter().position(has) } else { None }
}

/// Calls `decode` for each block of `B` bytes and its `N` elements.
fn each<const B: usize, const N: usize>(
    bytes: &[u8],
    out: &mut [f32],
    decode: impl Fn(&[u8; B], &mut [f32; N]),
) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        decode(block, out);
    }
}

/// Returns the value of a binary16 number. [`SmallFloat::F16`] is the literal conversion.
fn half(bytes: [u8; 2]) -> f32 {
    let code = u16::from_le_bytes(bytes);
    let (sign, magnitude) = (u32::from(code & 0x8000) << 16, u32::from(code & 0x7FFF));
    if magnitude >= 0x7C00 {
        return SmallFloat::F16.decode(code);
    }
    // The product is exact and restores the exponent's bias, also of subnormal numbers.
    let value = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(value.to_bits() | sign)
}

fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let scale = half([block[0], block[1]]);
    for (out, &code) in out.iter_mut().zip(&block[2..]) {
        *out = f32::from(code as i8) * scale;
    }
}

/// Byte `j` of `codes` has the low bits of elements `j` and `j + 16`.
fn nibbles(codes: &[u8], out: &mut [f32; 32], value: impl Fn(u8, usize) -> f32) {
    let (low, high) = out.split_at_mut(16);
    for (j, (&byte, (low, high))) in codes.iter().zip(low.iter_mut().zip(high)).enumerate() {
        *low = value(byte & 15, j);
        *high = value(byte >> 4, j + 16);
    }
}

/// Returns the nibbles of 16 bytes, less 8, in the order of the elements.
fn centered(bytes: &[u8]) -> [i8; 32] {
    std::array::from_fn(|index| (bytes[index % 16] >> (index / 16 * 4) & 15) as i8 - 8)
}

fn codes_of_q4_0(block: &[u8; 18]) -> Codes {
    Codes { scale: half([block[0], block[1]]), offset: 0.0, codes: centered(&block[2..]) }
}

fn codes_of_q4_1(block: &[u8; 20]) -> Codes {
    let (scale, minimum) = (half([block[0], block[1]]), half([block[2], block[3]]));
    Codes { scale, offset: minimum + 8.0 * scale, codes: centered(&block[4..]) }
}

fn codes_of_q4_k(block: &[u8; 144]) -> [Codes; 8] {
    let (scale, minimum) = (half([block[0], block[1]]), half([block[2], block[3]]));
    std::array::from_fn(|group| {
        let (own_scale, own_minimum) = scale_and_minimum(&block[4..16], group);
        let scale = scale * own_scale;
        let (bytes, shift) = (&block[16 + 32 * (group / 2)..], 4 * (group % 2));
        let codes = std::array::from_fn(|index| (bytes[index] >> shift & 15) as i8 - 8);
        Codes { scale, offset: 8.0 * scale - minimum * own_minimum, codes }
    })
}

fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let scale = half([block[0], block[1]]);
    nibbles(&block[2..], out, |code, _| (f32::from(code) - 8.0) * scale);
}

fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (scale, minimum) = (half([block[0], block[1]]), half([block[2], block[3]]));
    nibbles(&block[4..], out, |code, _| f32::from(code) * scale + minimum);
}

/// Returns the fifth bit of element `index`, as 0 or 16.
fn fifth([a, b, c, d]: [u8; 4], index: usize) -> u8 {
    ((u32::from_le_bytes([a, b, c, d]) >> index & 1) as u8) << 4
}

fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let (scale, high) = (half([block[0], block[1]]), [block[2], block[3], block[4], block[5]]);
    nibbles(&block[6..], out, |code, index| (f32::from(code | fifth(high, index)) - 16.0) * scale);
}

fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (scale, minimum) = (half([block[0], block[1]]), half([block[2], block[3]]));
    let high = [block[4], block[5], block[6], block[7]];
    nibbles(&block[8..], out, |code, index| f32::from(code | fifth(high, index)) * scale + minimum);
}

/// Returns the scale and the minimum of group `group` of 32 elements, packed as 6 bits each.
fn scale_and_minimum(packed: &[u8], group: usize) -> (f32, f32) {
    let (scale, minimum) = if group < 4 {
        (packed[group] & 63, packed[group + 4] & 63)
    } else {
        let low = packed[group + 4];
        (low & 15 | packed[group - 4] >> 6 << 4, low >> 4 | packed[group] >> 6 << 4)
    };
    (f32::from(scale), f32::from(minimum))
}

/// Decodes the 8 groups of a block whose codes have 4 bits in `codes`, and a fifth from `high`.
fn groups(block: &[u8], codes: &[u8], out: &mut [f32; 256], high: impl Fn(usize, usize) -> u8) {
    let (scale, minimum) = (half([block[0], block[1]]), half([block[2], block[3]]));
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (own_scale, own_minimum) = scale_and_minimum(&block[4..16], group);
        let (scale, minimum) = (scale * own_scale, minimum * own_minimum);
        let shift = 4 * (group % 2);
        for (index, (out, &byte)) in out.iter_mut().zip(&codes[32 * (group / 2)..]).enumerate() {
            *out = scale * f32::from(byte >> shift & 15 | high(group, index)) - minimum;
        }
    }
}

fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    groups(block, &block[16..], out, |_, _| 0);
}

fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    groups(block, &block[48..], out, |group, index| (block[16 + index] >> group & 1) << 4);
}

fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let scale = half([block[208], block[209]]);
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (half, quarter) = (group / 4, group % 4);
        let low = &low[64 * half + 32 * (quarter % 2)..];
        let high = &high[32 * half..];
        for (index, (out, (&low, &high))) in out.iter_mut().zip(low.iter().zip(high)).enumerate() {
            let code = low >> (4 * (quarter / 2)) & 15 | (high >> (2 * quarter) & 3) << 4;
            let own_scale = f32::from(scales[2 * group + index / 16] as i8);
            *out = scale * own_scale * (f32::from(code) - 32.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    #[test]
    fn halves_are_converted_as_the_literal_conversion_does() {
        for code in 0..=u16::MAX {
            let (fast, literal) = (half(code.to_le_bytes()), SmallFloat::F16.decode(code));
            assert_eq!(fast.to_bits(), literal.to_bits(), "{code:#x}");
        }
    }

    /// Codes with their scales and offsets are the decoded elements, up to the rounding of offsets.
    #[test]
    fn codes_are_the_elements() {
        let mut bytes = SplitMix64::new(7);
        for format in RowFormat::ALL {
            let mut row: Vec<u8> = (0..4 * format.block_bytes()).map(|_| bytes.bits() as u8).collect();
            // Scales and minima are finite halves.
            row.chunks_exact_mut(format.block_bytes()).filter(|_| format.has_codes()).for_each(|block| {
                (block[1], block[3]) = (block[1] & 0x3F, block[3] & 0x3F);
            });
            let mut elements = vec![0.0; 4 * format.block()];
            format.decode(&row, &mut elements);
            let Some(codes) = format.codes(&row) else {
                assert!(!format.has_codes(), "{format:?}");
                continue;
            };
            assert_eq!(codes.len() * 32, elements.len(), "{format:?}");
            for (group, elements) in codes.iter().zip(elements.as_chunks::<32>().0) {
                let size = 8.0 * group.scale.abs() + group.offset.abs();
                for (&code, element) in group.codes.iter().zip(elements) {
                    let found = f32::from(code) * group.scale + group.offset;
                    assert!((found - element).abs() <= 1e-6 * size, "{format:?}: {found} {element}");
                }
            }
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_found() {
        for format in RowFormat::ALL {
            let (bytes, elements) = (format.block_bytes(), format.block());
            let row: Vec<u8> = (0..3 * bytes).map(|index| index as u8 & 0x3B).collect();
            assert_eq!(format.first_not_finite(&row), None, "{format:?}");
            let halves = format.halves().to_vec();
            let (places, numbers) = match halves.is_empty() {
                true => (vec![bytes - 2], [0x7FC0_u16, 0xFF80]),
                false => (halves, [0x7E00, 0xFC00]),
            };
            for (place, number) in places.iter().flat_map(|&place| numbers.map(|number| (place, number))) {
                let mut row = row.clone();
                row[bytes + place..][..2].copy_from_slice(&number.to_le_bytes());
                assert_eq!(format.first_not_finite(&row), Some(elements), "{format:?} {place}");
                let mut floats = vec![0.0; 3 * elements];
                format.decode(&row, &mut floats);
                assert!(floats[..elements].iter().all(|float| float.is_finite()), "{format:?}");
                assert!(!floats[elements..2 * elements].iter().all(|float| float.is_finite()), "{format:?}");
            }
        }
    }

    #[test]
    fn rows_are_whole_blocks() {
        for format in RowFormat::ALL {
            assert_eq!(format.row_bytes(2 * format.block()), Some(2 * format.block_bytes()), "{format:?}");
            assert_eq!(format.row_bytes(format.block() + 1).is_some(), format.block() == 1, "{format:?}");
        }
        assert_eq!(RowFormat::F32.row_bytes(usize::MAX), None);
    }
}
