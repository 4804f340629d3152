//! [`Buffer`]: the rows outside the fabric.

use crate::binary::Image;
use crate::fabric::Row;
use crate::fault::FaultKind;

/// The input or the output buffer. Every column sees the same rows.
#[derive(Clone, Debug)]
pub struct Buffer {
    name: &'static str,
    depth: usize,
    rows: Vec<Row>,
    written: Vec<bool>,
}

impl Buffer {
    /// A buffer of zeros.
    pub const fn new(name: &'static str, depth: usize) -> Self {
        Self { name, depth, rows: Vec::new(), written: Vec::new() }
    }

    /// A row; zero when it was not written. Errors: beyond the depth.
    pub fn read(&self, row: usize) -> Result<Row, FaultKind> {
        self.check(row)?;
        Ok(self.rows.get(row).copied().unwrap_or_default())
    }

    /// Writes a row. Errors: beyond the depth.
    pub fn write(&mut self, row: usize, values: Row) -> Result<(), FaultKind> {
        self.check(row)?;
        if row >= self.rows.len() {
            self.rows.resize(row + 1, Row::default());
            self.written.resize(row + 1, false);
        }
        if let Some((place, written)) = self.rows.get_mut(row).zip(self.written.get_mut(row)) {
            (*place, *written) = (values, true);
        }
        Ok(())
    }

    /// The rows that were written.
    pub fn image(&self) -> Image {
        let rows = (0..).zip(&self.rows).zip(&self.written);
        rows.filter(|(_, written)| **written).map(|((number, row), _)| (number, *row)).collect()
    }

    /// Forgets every row.
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
