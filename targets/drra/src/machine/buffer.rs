//! [`Buffer`]: rows outside the fabric.

use std::collections::BTreeMap;

use npukit_target::UninitMemory;
use npukit_target::sim::garbage;

use crate::config::fabric::Row;
use crate::machine::exec::word::Word;
use crate::machine::fault::FaultKind;

/// Input or output buffer. Every column has access to the same rows.
#[derive(Clone, Debug)]
pub struct Buffer<W = i16> {
    name: &'static str,
    depth: usize,
    rows: Vec<Row<W>>,
    written: Vec<bool>,
    /// Content of unwritten rows.
    unset: UninitMemory,
}

impl<W: Word> Buffer<W> {
    /// Creates an unwritten buffer, which reads as zeros.
    pub const fn new(name: &'static str, depth: usize) -> Self {
        Self { name, depth, rows: Vec::new(), written: Vec::new(), unset: UninitMemory::Zero }
    }

    /// Marks every row as unwritten, and sets the content of unwritten rows.
    pub fn unset(&mut self, unset: UninitMemory) {
        self.clear();
        self.unset = unset;
    }

    /// Whether a row was written.
    pub fn is_written(&self, row: usize) -> bool {
        // Default: rows after the last written one are not stored.
        self.written.get(row).copied().unwrap_or(false)
    }

    /// Returns a row; an unwritten one has the content set by [`Self::unset`].
    ///
    /// # Errors
    ///
    /// The row is outside the buffer.
    pub fn read(&self, row: usize) -> Result<Row<W>, FaultKind> {
        self.check(row)?;
        Ok(match (self.rows.get(row), self.unset) {
            (Some(values), _) if self.is_written(row) => *values,
            (_, UninitMemory::Garbage(seed)) => {
                let mut next = garbage(seed.wrapping_add(row as u64));
                std::array::from_fn(|_| W::garbage(next()))
            }
            _ => Row::default(),
        })
    }

    /// Returns rows for writing. All of them count as written.
    ///
    /// # Errors
    ///
    /// A row is outside the buffer.
    pub fn rows_mut(&mut self, rows: std::ops::Range<usize>) -> Result<&mut [Row<W>], FaultKind> {
        if let Some(last) = rows.clone().last() {
            self.check(last)?;
        }
        if rows.end > self.rows.len() {
            self.rows.resize(rows.end, Row::default());
            self.written.resize(rows.end, false);
        }
        self.written[rows.clone()].fill(true);
        Ok(&mut self.rows[rows])
    }

    /// Writes a row.
    ///
    /// # Errors
    ///
    /// The row is outside the buffer.
    pub fn write(&mut self, row: usize, values: Row<W>) -> Result<(), FaultKind> {
        self.check(row)?;
        if row >= self.rows.len() {
            self.rows.resize(row + 1, Row::default());
            self.written.resize(row + 1, false);
        }
        (self.rows[row], self.written[row]) = (values, true);
        Ok(())
    }

    /// Returns the rows that were written.
    pub fn image(&self) -> BTreeMap<u32, Row<W>> {
        let rows = (0..).zip(&self.rows).zip(&self.written);
        rows.filter(|(_, written)| **written).map(|((number, row), _)| (number, *row)).collect()
    }

    /// Returns the words of all rows up to the last written one, row by row.
    pub fn words(&self) -> &[W] {
        self.rows.as_flattened()
    }

    /// Marks every row as unwritten.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.written.clear();
    }

    const fn check(&self, row: usize) -> Result<(), FaultKind> {
        if row < self.depth {
            return Ok(());
        }
        Err(FaultKind::Buffer { row, buffer: self.name, depth: self.depth })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::program::binary::Image;

    #[test]
    fn rows_that_nobody_wrote_hold_what_was_asked_for() {
        let mut buffer = Buffer::new("input", 8);
        buffer.write(3, [7; 16]).unwrap();
        assert_eq!((buffer.read(3), buffer.read(2)), (Ok([7; 16]), Ok([0; 16])));
        assert!(buffer.is_written(3) && !buffer.is_written(2) && !buffer.is_written(4));
        assert!(buffer.read(8).is_err() && buffer.write(8, [0; 16]).is_err());
        buffer.unset(UninitMemory::Garbage(5));
        assert_eq!(buffer.image(), Image::new(), "forgotten");
        buffer.write(3, [7; 16]).unwrap();
        // Unwritten rows below a written row have the same kind of content as rows above, and all
        // rows differ.
        let (below, above) = (buffer.read(2).unwrap(), buffer.read(4).unwrap());
        assert!(below != [0; 16] && above != [0; 16] && below != above);
        assert_eq!((buffer.read(2), buffer.read(3)), (Ok(below), Ok([7; 16])));
        buffer.clear();
        assert!(!buffer.is_written(3));
        assert_ne!(buffer.read(3), Ok([7; 16]));
    }
}
