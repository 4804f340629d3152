//! [`Observer`]: callbacks for the events of a run.

use crate::isa::op::Op;
use crate::machine::state::Ports;

/// Access to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Cycle of the access.
    pub cycle: u64,
    /// Whether the output buffer is written; otherwise the input buffer is read.
    pub is_write: bool,
    /// Column of the port.
    pub col: usize,
    /// Row of the buffer.
    pub row: usize,
}

/// Access to words of a cell's memory in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Cycle of the access.
    pub cycle: u64,
    /// Index of the cell.
    pub cell: usize,
    /// First slot of the memory.
    pub slot: u8,
    /// Index of the first word; rows follow each other.
    pub word: usize,
    /// Number of words.
    pub words: usize,
    /// Kind of access.
    pub how: How,
}

/// Kind of access to words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Words are read one by one, for computation.
    Read,
    /// A row is copied elsewhere. It may have unwritten words, as long as these are not read later.
    Carry,
    /// Words are written.
    Write,
}

/// Receives the events of a run. Cells are indices in fabric order.
pub trait Observer {
    /// Whether it receives events other than touches.
    fn is_on(&self) -> bool {
        true
    }

    /// A cell executes an instruction.
    fn issue(&mut self, _cycle: u64, _cell: usize, _pc: usize, _op: &Op) {}

    /// A port has an address.
    fn address(&mut self, _cycle: u64, _cell: usize, _slot: u8, _port: u8, _address: u32) {}

    /// A buffer is read or written.
    fn access(&mut self, _access: Access) {}

    /// Whether it receives touches.
    fn follows_words(&self) -> bool {
        false
    }

    /// Words of a memory are read or written. All reads of a cycle come first.
    fn touch(&mut self, _touch: Touch) {}
}

/// Ignores all events.
impl Observer for () {
    fn is_on(&self) -> bool {
        false
    }
}

/// Records buffer accesses.
impl Observer for Vec<Access> {
    fn access(&mut self, access: Access) {
        self.push(access);
    }
}

/// Reports the addresses of a cell.
pub(super) fn report_addresses(observer: &mut impl Observer, cycle: u64, cell: usize, ports: &Ports) {
    let numbers = (0..64_u8).filter(|number| ports.emitted >> number & 1 == 1);
    for number in numbers {
        observer.address(cycle, cell, number / 4, number % 4, ports.current(number.into()));
    }
}
