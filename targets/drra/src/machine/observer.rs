//! [`Observer`]: what follows the events of a run.

use crate::isa::op::Op;
use crate::machine::state::Ports;

/// An access to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// When.
    pub cycle: u64,
    /// The output buffer is written; the input buffer is read.
    pub is_write: bool,
    /// Column whose port it is.
    pub col: usize,
    /// Row of the buffer.
    pub row: usize,
}

/// Words of a memory of a cell, in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// When.
    pub cycle: u64,
    /// The cell.
    pub cell: usize,
    /// First slot of the memory.
    pub slot: u8,
    /// The first word; rows are one after the other.
    pub word: usize,
    /// How many words.
    pub words: usize,
    /// What is done with them.
    pub how: How,
}

/// What is done with words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// They are read one by one, for who computes.
    Read,
    /// Their row is taken in elsewhere. It may have words that nobody wrote, as long as nobody reads them there.
    Carry,
    /// They are written.
    Write,
}

/// Follows the events of a run. Cells are numbers in the fabric's order.
pub trait Observer {
    /// Whether it wants events.
    fn is_on(&self) -> bool {
        true
    }

    /// A cell executes an instruction.
    fn issue(&mut self, _cycle: u64, _cell: usize, _pc: usize, _op: &Op) {}

    /// A port has an address.
    fn address(&mut self, _cycle: u64, _cell: usize, _slot: u8, _port: u8, _address: u32) {}

    /// A buffer is read or written.
    fn access(&mut self, _access: Access) {}

    /// Whether it wants to know of words.
    fn follows_words(&self) -> bool {
        false
    }

    /// Words of a memory are read or written, all reads of a cycle first.
    fn touch(&mut self, _touch: Touch) {}
}

/// Follows nothing.
impl Observer for () {
    fn is_on(&self) -> bool {
        false
    }
}

/// Remembers accesses.
impl Observer for Vec<Access> {
    fn access(&mut self, access: Access) {
        self.push(access);
    }
}

/// Tells of the addresses of a cell.
pub(super) fn report_addresses(observer: &mut impl Observer, cycle: u64, cell: usize, ports: &Ports) {
    let numbers = (0..64_u8).filter(|number| ports.emitted >> number & 1 == 1);
    for number in numbers {
        observer.address(cycle, cell, number / 4, number % 4, ports.current(number.into()));
    }
}
