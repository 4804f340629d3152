//! [`Counts`]: active cycles of ports, and cycles of instructions by mnemonic.

use std::collections::BTreeMap;

use crate::config::component::Component;
use crate::config::fabric::Fabric;
use crate::isa::op::Op;
use crate::machine::Observer;
use crate::machine::exec::rf::WORD_READ;

/// Sums over a run.
#[derive(Clone, Debug)]
pub(crate) struct Counts<'a> {
    fabric: &'a Fabric,
    /// Cycles with an address, by cell and `4 * slot + port`.
    pub ports: BTreeMap<(usize, usize), u64>,
    /// Number of executed instructions and their cycles, by mnemonic.
    pub kinds: BTreeMap<&'static str, (usize, u64)>,
    /// Cycles in which the dpus of a cell received words, by cell.
    pub computing: BTreeMap<usize, u64>,
    last_read: BTreeMap<usize, u64>,
}

impl<'a> Counts<'a> {
    pub fn new(fabric: &'a Fabric) -> Self {
        let (ports, kinds) = (BTreeMap::new(), BTreeMap::new());
        Self { fabric, ports, kinds, computing: BTreeMap::new(), last_read: BTreeMap::new() }
    }
}

impl Observer for Counts<'_> {
    fn issue(&mut self, _cycle: u64, _cell: usize, _pc: usize, op: &Op) {
        let cycles = match op {
            Op::Wait { cycle, .. } => u64::from(*cycle) + 1,
            _ => 1,
        };
        let kind = self.kinds.entry(op.mnemonic()).or_default();
        *kind = (kind.0 + 1, kind.1 + cycles);
    }

    fn address(&mut self, cycle: u64, cell: usize, slot: u8, port: u8, _address: u32) {
        *self.ports.entry((cell, usize::from(4 * slot + port))).or_default() += 1;
        let component = self.fabric.cells.get(cell).and_then(|cell| cell.component_at(slot));
        if component == Some(Component::Rf)
            && port == WORD_READ
            && self.last_read.insert(cell, cycle) != Some(cycle)
        {
            *self.computing.entry(cell).or_default() += 1;
        }
    }
}
