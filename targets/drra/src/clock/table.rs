//! [`Table`]: activity of every cell in each cycle, as text.
//!
//! ```text
//! cycle  cell    instruction                       addresses
//!     4  (0, 0)  act(ports=5, param=1)
//!     5  (0, 0)  route(slot=0, source=2, ...)      iosram_top 1 input_buffer 0, iosram_top 1 sram_write 0
//! ```

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{port_name, text_of};
use crate::config::fabric::Fabric;
use crate::isa::op::Op;
use crate::machine::Observer;

/// Width of the instruction column; longer instructions shift the addresses.
const WIDTH: usize = 52;

/// Writer of the table.
pub(crate) struct Table<'a, W: Write> {
    fabric: &'a Fabric,
    out: W,
    cycle: u64,
    /// Activity of the current cycle, by cell.
    cells: BTreeMap<usize, Doing>,
    error: Option<io::Error>,
}

#[derive(Default)]
struct Doing {
    instruction: String,
    addresses: Vec<String>,
}

impl<'a, W: Write> Table<'a, W> {
    /// Creates a table and writes its header.
    ///
    /// # Errors
    ///
    /// `out` cannot be written.
    pub fn new(fabric: &'a Fabric, mut out: W) -> io::Result<Self> {
        writeln!(out, "{:>9}  {:<9} {:<WIDTH$} addresses", "cycle", "cell", "instruction")?;
        Ok(Self { fabric, out, cycle: 0, cells: BTreeMap::new(), error: None })
    }

    /// Writes the last row.
    ///
    /// # Errors
    ///
    /// The first write error of `out`.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush(self.cycle);
        self.error.map_or(Ok(()), Err)?;
        self.out.flush()
    }

    /// Returns the activity of a cell in `cycle`, after writing earlier cycles.
    fn cell(&mut self, cycle: u64, cell: usize) -> &mut Doing {
        if cycle != self.cycle {
            self.flush(cycle);
        }
        self.cells.entry(cell).or_default()
    }

    fn flush(&mut self, next: u64) {
        let result = self.write();
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
        self.cells.clear();
        self.cycle = next;
    }

    fn write(&mut self) -> io::Result<()> {
        let mut cycle = self.cycle.to_string();
        for (&cell, doing) in &self.cells {
            let place = self.fabric.place(cell).to_string();
            let addresses = doing.addresses.join(", ");
            let line = format!("{cycle:>9}  {place:<9} {:<WIDTH$} {addresses}", doing.instruction);
            writeln!(self.out, "{}", line.trim_end())?;
            cycle.clear();
        }
        Ok(())
    }
}

impl<W: Write> Observer for Table<'_, W> {
    fn issue(&mut self, cycle: u64, cell: usize, _pc: usize, op: &Op) {
        self.cell(cycle, cell).instruction = text_of(&self.fabric.cells[cell], op);
    }

    fn address(&mut self, cycle: u64, cell: usize, slot: u8, port: u8, address: u32) {
        let name = port_name(&self.fabric.cells[cell], slot, port);
        self.cell(cycle, cell).addresses.push(format!("{name} {address}"));
    }
}
