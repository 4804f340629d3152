//! Conversion of scalars to and from the bytes of `.tdata` files and DRAM (specification 5.1).
//!
//! Fixed-point formats are little-endian two's complement. FP18BP10 is stored in four bytes, with
//! zeros above its 18 bits even for negative numbers. Only FLOAT32 is big-endian, as Tensil writes
//! it.

use crate::config::DataType;

/// Mask of the bits of FP18BP10 that hold its value.
const FP18_MASK: u32 = 0x3_FFFF;

/// Bytes that end inside a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes are not a whole number of {scalar}-byte scalars: {} are left over", bytes % scalar)]
pub struct PartialScalar {
    /// Number of bytes given.
    pub bytes: usize,
    /// Bytes per scalar.
    pub scalar: usize,
}

/// Converts raw scalars to bytes.
pub fn raw_to_bytes(data_type: DataType, raw: &[i32]) -> Vec<u8> {
    match data_type {
        DataType::Fp8Bp4 => raw.iter().map(|&v| v as u8).collect(),
        DataType::Fp16Bp8 => raw.iter().flat_map(|&v| (v as u16).to_le_bytes()).collect(),
        DataType::Fp18Bp10 => raw.iter().flat_map(|&v| (v as u32 & FP18_MASK).to_le_bytes()).collect(),
        DataType::Fp32Bp16 => raw.iter().flat_map(|&v| v.to_le_bytes()).collect(),
        DataType::Float32 => raw.iter().flat_map(|&v| v.to_be_bytes()).collect(),
    }
}

/// Converts bytes to raw scalars; only the low 18 bits of FP18BP10 are used.
///
/// # Errors
///
/// [`PartialScalar`] if the bytes end inside a scalar.
pub fn raw_from_bytes(data_type: DataType, bytes: &[u8]) -> Result<Vec<i32>, PartialScalar> {
    match data_type {
        DataType::Fp8Bp4 => scalars(bytes, |[b]| i32::from(b as i8)),
        DataType::Fp16Bp8 => scalars(bytes, |b: [u8; 2]| i32::from(i16::from_le_bytes(b))),
        DataType::Fp18Bp10 => scalars(bytes, |b: [u8; 4]| i32::from_le_bytes(b) << 14 >> 14),
        DataType::Fp32Bp16 => scalars(bytes, i32::from_le_bytes),
        DataType::Float32 => scalars(bytes, i32::from_be_bytes),
    }
}

fn scalars<const SIZE: usize>(
    bytes: &[u8],
    scalar: impl Fn([u8; SIZE]) -> i32,
) -> Result<Vec<i32>, PartialScalar> {
    match bytes.as_chunks() {
        (chunks, []) => Ok(chunks.iter().map(|&chunk| scalar(chunk)).collect()),
        _ => Err(PartialScalar { bytes: bytes.len(), scalar: SIZE }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_the_format() {
        assert_eq!(raw_to_bytes(DataType::Fp8Bp4, &[-1, 7]), [0xff, 7]);
        assert_eq!(raw_to_bytes(DataType::Fp16Bp8, &[-2]), [0xfe, 0xff]);
        assert_eq!(raw_to_bytes(DataType::Fp18Bp10, &[-1]), [0xff, 0xff, 0x03, 0x00]);
        assert_eq!(raw_to_bytes(DataType::Float32, &[1f32.to_bits() as i32]), [0x3f, 0x80, 0, 0]);
    }

    #[test]
    fn bytes_come_back() {
        let raws = [0, 1, -1, 127, -128];
        for data_type in DataType::ALL {
            let bytes = raw_to_bytes(data_type, &raws);
            assert_eq!(raw_from_bytes(data_type, &bytes), Ok(raws.to_vec()), "{data_type:?}");
        }
    }

    #[test]
    fn half_a_scalar_is_refused() {
        assert!(raw_from_bytes(DataType::Float32, &[0; 5]).is_err());
        assert!(raw_from_bytes(DataType::Fp16Bp8, &[0; 5]).is_err());
    }
}
