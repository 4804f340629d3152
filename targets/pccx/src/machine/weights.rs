//! [`WeightImage`]: a matrix of 4-bit weights in the layout of host memory, with a scale per row.
//! Source: specification 4.4.4.

use npukit_numeric::{BLOCK, WEIGHT_BLOCK_BYTES};
use thiserror::Error;

/// Bytes of an image's header: N, K, flags, reserved.
const HEADER_BYTES: usize = 16;
/// Flag of an image with scales.
const HAS_SCALES: u32 = 1;
/// Largest N and K: the maximum of a constant entry.
const LARGEST: usize = u16::MAX as usize;

/// N rows of K 4-bit weights.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightImage {
    n: usize,
    k: usize,
    /// Rows of whole beats; weight `i` of a row is nibble `i`.
    rows: Vec<u8>,
    scales: Option<Vec<f32>>,
}

/// Error in a weight image.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WeightError {
    /// A dimension exceeds the range of a constant entry.
    #[error("{what} of the weights is {value}: legal are 1 to {LARGEST}")]
    Dimension {
        /// Name of the dimension: `N` or `K`.
        what: &'static str,
        /// Value that was given.
        value: usize,
    },
    /// The number of weights or scales does not match N and K.
    #[error("there are {have} {what}: {n} rows of {k} need {need}")]
    Count {
        /// Kind of data: weights, bytes of rows, or scales.
        what: &'static str,
        /// Number of items given.
        have: usize,
        /// Number of items required.
        need: usize,
        /// Number of rows.
        n: usize,
        /// Number of columns.
        k: usize,
    },
    /// A weight exceeds 4 bits.
    #[error("weight {column} of row {row} is {value}: legal are -8 to 7")]
    Weight {
        /// Row of the weight.
        row: usize,
        /// Column of the weight.
        column: usize,
        /// Value of the weight.
        value: i8,
    },
    /// The image ends too early.
    #[error("byte {offset:#x}: {what} needs {need} bytes, but only {have} are left")]
    Short {
        /// Offset of the incomplete part.
        offset: usize,
        /// Name of the incomplete part.
        what: &'static str,
        /// Number of bytes left in the file.
        have: usize,
        /// Number of bytes that the part needs.
        need: usize,
    },
    /// Flags or reserved bytes are invalid.
    #[error("byte {offset:#x}: {what} is {value:#x}: legal are {legal}")]
    Header {
        /// Offset of the field in the file.
        offset: usize,
        /// Name of the field.
        what: &'static str,
        /// Value of the field.
        value: u32,
        /// Description of the legal values.
        legal: &'static str,
    },
    /// The padding at the end of a row is not zero.
    #[error("byte {offset:#x}: the padding of row {row} is not 0")]
    Padding {
        /// Offset of the padding in the file.
        offset: usize,
        /// Row that ends with it.
        row: usize,
    },
}

/// Returns the bytes of a row of `k` weights.
pub(crate) const fn row_bytes(k: usize) -> usize {
    k.div_ceil(BLOCK) * WEIGHT_BLOCK_BYTES
}

fn dimension(what: &'static str, value: usize) -> Result<(), WeightError> {
    if (1..=LARGEST).contains(&value) { Ok(()) } else { Err(WeightError::Dimension { what, value }) }
}

impl WeightImage {
    /// Returns an image of `weights`, row by row, with values of -8 to 7.
    ///
    /// # Errors
    /// [`WeightError::Dimension`] for an illegal dimension; [`WeightError::Count`] if the number of
    /// weights or scales does not match; [`WeightError::Weight`] for the first weight outside -8 to
    /// 7.
    pub fn new(n: usize, k: usize, weights: &[i8], scales: Option<Vec<f32>>) -> Result<Self, WeightError> {
        dimension("N", n)?;
        dimension("K", k)?;
        if weights.len() != n * k {
            return Err(WeightError::Count { what: "weights", have: weights.len(), need: n * k, n, k });
        }
        let mut image = Self::with_rows(n, k, vec![0; n * row_bytes(k)], scales)?;
        for (row, weights) in weights.chunks_exact(k).enumerate() {
            let wrong = weights.iter().position(|value| !(-8..=7).contains(value));
            if let Some(column) = wrong {
                return Err(WeightError::Weight { row, column, value: weights[column] });
            }
            image.set_row(row, weights);
        }
        Ok(image)
    }

    /// Returns an image of packed rows, each of whole beats of 16 bytes. Nibbles after K must be 0,
    /// as [`WeightImage::read`] requires, for the machine to ignore them.
    ///
    /// # Errors
    /// [`WeightError::Dimension`] for an illegal dimension; [`WeightError::Count`] if the number of
    /// rows or scales does not match.
    pub fn with_rows(
        n: usize,
        k: usize,
        rows: Vec<u8>,
        scales: Option<Vec<f32>>,
    ) -> Result<Self, WeightError> {
        dimension("N", n)?;
        dimension("K", k)?;
        let count = |what, have, need| {
            if have == need { Ok(()) } else { Err(WeightError::Count { what, have, need, n, k }) }
        };
        count("bytes of rows", rows.len(), n * row_bytes(k))?;
        if let Some(scales) = &scales {
            count("scales", scales.len(), n)?;
        }
        Ok(Self { n, k, rows, scales })
    }

    /// Returns an image of packed rows; nibbles after K are replaced by 0.
    ///
    /// # Errors
    /// The errors of [`WeightImage::with_rows`].
    pub fn with_any_padding(
        n: usize,
        k: usize,
        rows: Vec<u8>,
        scales: Option<Vec<f32>>,
    ) -> Result<Self, WeightError> {
        let mut image = Self::with_rows(n, k, rows, scales)?;
        for row in image.rows.chunks_exact_mut(row_bytes(k)) {
            let (whole, odd) = (k / 2, k % 2);
            if let Some(byte) = row.get_mut(whole).filter(|_| odd == 1) {
                *byte &= 0xF;
            }
            row.iter_mut().skip(whole + odd).for_each(|byte| *byte = 0);
        }
        Ok(image)
    }

    /// Returns rows and scales, if any, in the layout that MEMCPY brings to L2: whole words of 16
    /// bytes.
    pub fn words(&self) -> Vec<u8> {
        let scales = self.scales.iter().flatten().flat_map(|scale| scale.to_le_bytes());
        let mut bytes: Vec<u8> = self.rows.iter().copied().chain(scales).collect();
        bytes.resize(bytes.len().next_multiple_of(WEIGHT_BLOCK_BYTES), 0);
        bytes
    }

    /// Returns the bytes of the rows of `n` times `k` weights.
    pub fn size_of(n: usize, k: usize) -> u64 {
        (n as u64).saturating_mul(row_bytes(k) as u64)
    }

    /// Returns an image of zeros without scales.
    ///
    /// # Errors
    /// [`WeightError::Dimension`] for an illegal dimension.
    pub fn zeros(n: usize, k: usize) -> Result<Self, WeightError> {
        dimension("N", n)?;
        dimension("K", k)?;
        Self::with_rows(n, k, vec![0; n * row_bytes(k)], None)
    }

    /// Returns `count` rows starting at `first`, with their scales; `None` if they do not exist.
    pub fn part(&self, first: usize, count: usize) -> Option<Self> {
        let end = first.checked_add(count).filter(|&end| count > 0 && end <= self.n)?;
        let pitch = row_bytes(self.k);
        let scales = self.scales.as_ref().map(|scales| scales[first..end].to_vec());
        Some(Self { n: count, k: self.k, rows: self.rows[first * pitch..end * pitch].to_vec(), scales })
    }

    /// Writes weights to a row, starting at its first column; only the low 4 bits of each are used.
    pub fn set_row(&mut self, row: usize, weights: &[i8]) {
        let start = row.saturating_mul(row_bytes(self.k));
        let Some(bytes) = self.rows.get_mut(start..).and_then(|rest| rest.get_mut(..row_bytes(self.k)))
        else {
            return;
        };
        weights.iter().take(self.k).enumerate().for_each(|(column, &weight)| put(bytes, column, weight));
    }

    /// Returns the image with a scale for each row, or without scales if `scales` is empty.
    #[must_use]
    pub fn with_scales(mut self, scales: Vec<f32>) -> Self {
        self.scales = (scales.len() == self.n).then_some(scales);
        self
    }

    /// Returns the number of rows (outputs).
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of columns (inputs).
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Returns the packed rows.
    pub fn rows(&self) -> &[u8] {
        &self.rows
    }

    /// Returns the scale of each row.
    pub fn scales(&self) -> Option<&[f32]> {
        self.scales.as_deref()
    }

    /// Returns weight `column` of `row`; `None` outside the matrix.
    pub fn weight(&self, row: usize, column: usize) -> Option<i8> {
        if row >= self.n || column >= self.k {
            return None;
        }
        let pair = self.rows.get(row * row_bytes(self.k) + column / 2)?;
        lanes(std::slice::from_ref(pair)).nth(column % 2)
    }

    /// Returns the bytes of the rows, as a GEMV or GEMM streams them.
    pub fn stream_bytes(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Returns the bytes of the image.
    pub fn size_bytes(&self) -> usize {
        HEADER_BYTES + self.rows.len() + self.scales.as_ref().map_or(0, |scales| 4 * scales.len())
    }

    /// Appends the bytes of the image.
    pub fn write(&self, out: &mut Vec<u8>) {
        let flags = if self.scales.is_some() { HAS_SCALES } else { 0 };
        for field in [self.n as u32, self.k as u32, flags, 0] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&self.rows);
        out.extend(self.scales.iter().flatten().flat_map(|scale| scale.to_le_bytes()));
    }

    /// Reads the image that starts at `offset` of `bytes`; also returns its end.
    ///
    /// # Errors
    /// [`WeightError::Short`] for an incomplete image; [`WeightError::Dimension`] and
    /// [`WeightError::Header`] for an invalid header; [`WeightError::Padding`] for padding that is
    /// not 0.
    pub fn read(bytes: &[u8], offset: usize) -> Result<(Self, usize), WeightError> {
        let header = part(bytes, offset, HEADER_BYTES, "the header of a weight image")?;
        let field = |i: usize| {
            let field = header.get(4 * i..).and_then(|rest| rest.first_chunk()).copied();
            field.map_or(0, u32::from_le_bytes)
        };
        let (n, k, flags) = (field(0) as usize, field(1) as usize, field(2));
        dimension("N", n)?;
        dimension("K", k)?;
        if flags & !HAS_SCALES != 0 {
            let offset = offset + 8;
            return Err(WeightError::Header {
                offset,
                what: "flags",
                value: flags,
                legal: "0 and 1 (scales)",
            });
        }
        if field(3) != 0 {
            let offset = offset + 12;
            return Err(WeightError::Header { offset, what: "reserved", value: field(3), legal: "0" });
        }
        let at = offset + HEADER_BYTES;
        let rows = part(bytes, at, n * row_bytes(k), "the rows of a weight image")?;
        check_padding(rows, k, at)?;
        let at = at + rows.len();
        let scales = match flags & HAS_SCALES {
            0 => None,
            _ => Some(part(bytes, at, 4 * n, "the scales of a weight image")?),
        };
        let end = at + scales.map_or(0, <[u8]>::len);
        let scales = scales
            .map(|scales| scales.as_chunks().0.iter().map(|&scale| f32::from_le_bytes(scale)).collect());
        Ok((Self { n, k, rows: rows.to_vec(), scales }, end))
    }
}

/// Writes the low 4 bits of a weight to a packed row.
pub(crate) fn put(row: &mut [u8], column: usize, weight: i8) {
    let (byte, shift) = (&mut row[column / 2], column % 2 * 4);
    *byte = *byte & !(0xF << shift) | (weight as u8 & 0xF) << shift;
}

/// Returns the values of packed nibbles: lane `i` is nibble `i`, in two's complement (specification
/// 3.3).
pub fn lanes(bytes: &[u8]) -> impl Iterator<Item = i8> + '_ {
    bytes.iter().flat_map(|&byte| [((byte << 4) as i8) >> 4, (byte as i8) >> 4])
}

fn part<'a>(
    bytes: &'a [u8],
    offset: usize,
    need: usize,
    what: &'static str,
) -> Result<&'a [u8], WeightError> {
    // Default: no bytes are left after the end, which is reported below.
    let left = bytes.get(offset..).unwrap_or_default();
    left.get(..need).ok_or(WeightError::Short { offset, what, have: left.len(), need })
}

fn check_padding(rows: &[u8], k: usize, offset: usize) -> Result<(), WeightError> {
    for (row, bytes) in rows.chunks_exact(row_bytes(k)).enumerate() {
        if lanes(bytes).skip(k).any(|weight| weight != 0) {
            return Err(WeightError::Padding { offset: offset + row * row_bytes(k), row });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn image() -> WeightImage {
        let weights: Vec<i8> = (0..3 * 40).map(|i| (i * 7 % 16) as i8 - 8).collect();
        WeightImage::new(3, 40, &weights, Some(vec![0.5, -1.0, 2.0])).unwrap()
    }

    #[test]
    fn images_survive_their_bytes() {
        let mut bytes = vec![9; 5];
        image().write(&mut bytes);
        assert_eq!(bytes.len(), 5 + image().size_bytes());
        assert_eq!(WeightImage::read(&bytes, 5).unwrap(), (image(), bytes.len()));
        assert_eq!(
            (image().weight(2, 39), image().weight(3, 0), image().weight(0, 40)),
            (Some(-7), None, None)
        );
        assert_eq!(image().stream_bytes(), 3 * 32);
    }

    #[test]
    fn every_cut_and_flipped_header_is_an_error_or_an_image() {
        let mut bytes = Vec::new();
        image().write(&mut bytes);
        for end in 0..bytes.len() {
            assert!(matches!(WeightImage::read(&bytes[..end], 0), Err(WeightError::Short { .. })), "{end}");
        }
        let changed = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            WeightImage::read(&bytes, 0).unwrap_err()
        };
        assert_eq!(
            changed(8, 3),
            WeightError::Header { offset: 8, what: "flags", value: 3, legal: "0 and 1 (scales)" }
        );
        assert!(matches!(changed(12, 1), WeightError::Header { offset: 12, .. }));
        assert_eq!(changed(0, 0), WeightError::Dimension { what: "N", value: 0 });
        assert_eq!(changed(7, 1), WeightError::Dimension { what: "K", value: (1 << 24) + 40 });
        assert_eq!(changed(16 + 32 + 20, 1), WeightError::Padding { offset: 48, row: 1 });
    }

    #[test]
    fn wrong_counts_are_named() {
        assert!(matches!(WeightImage::new(2, 3, &[0; 5], None), Err(WeightError::Count { need: 6, .. })));
        assert!(matches!(WeightImage::new(1, 1, &[8], None), Err(WeightError::Weight { value: 8, .. })));
        assert!(matches!(
            WeightImage::new(1, 1, &[1], Some(vec![])),
            Err(WeightError::Count { need: 1, .. })
        ));
        assert!(WeightImage::new(usize::MAX, usize::MAX, &[], None).is_err());
    }
}
