//! Raw fixed-point values as little-endian bytes, as accelerators keep them in memories and files.

use thiserror::Error;

use crate::format::FixedFormat;

/// Bytes that are no whole number of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{bytes} bytes are no whole number of {scalar}-byte scalars: {} are left over", bytes % scalar)]
pub struct PartialScalar {
    /// Bytes given.
    pub bytes: usize,
    /// Bytes of a scalar.
    pub scalar: usize,
}

/// Refuses bytes that end inside a scalar.
///
/// Errors: [`PartialScalar`].
pub fn whole_scalars(bytes: &[u8], scalar: usize) -> Result<std::slice::ChunksExact<'_, u8>, PartialScalar> {
    let chunks = bytes.chunks_exact(scalar);
    if chunks.remainder().is_empty() { Ok(chunks) } else { Err(PartialScalar { bytes: bytes.len(), scalar }) }
}

impl FixedFormat {
    /// Bytes of a scalar: the smallest of 1, 2 and 4 that hold `width` bits.
    pub const fn size_bytes(self) -> usize {
        match self.width {
            0..=8 => 1,
            9..=16 => 2,
            _ => 4,
        }
    }

    /// Two's complement, little-endian; bits above `width` are 0, also of negative values.
    pub fn to_bytes(self, raw: &[i32]) -> Vec<u8> {
        let mask = u32::MAX >> (32 - self.width);
        let size = self.size_bytes();
        raw.iter().flat_map(|&v| (v as u32 & mask).to_le_bytes().into_iter().take(size)).collect()
    }

    /// The inverse of [`FixedFormat::to_bytes`]; bits above `width` are ignored.
    ///
    /// Errors: [`PartialScalar`] when the bytes end inside a scalar.
    pub fn from_bytes(self, bytes: &[u8]) -> Result<Vec<i32>, PartialScalar> {
        let scalars = whole_scalars(bytes, self.size_bytes())?;
        let word = |b: &[u8]| b.iter().rev().fold(0, |word: u32, &byte| word << 8 | u32::from(byte));
        Ok(scalars.map(|b| self.wrap(word(b) as i32)).collect())
    }
}
