//! [`Counts`]: active cycles of ports, cycles of instructions by mnemonic, and bytes by memory.

use std::collections::BTreeMap;

use npukit_target::{Activity, CountedMemory, MacType, MemoryClass};

use crate::config::component::Component;
use crate::config::fabric::{Fabric, ROW_WORDS};
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

/// Bytes of a word.
const WORD_BYTES: usize = 2;
/// Bytes of a row of a memory or buffer.
pub(crate) const ROW_BYTES: usize = ROW_WORDS * WORD_BYTES;

/// Returns the counts of a program with `layers` layers, all 0. The memories are in the order of
/// [`Counts::bytes`]; the cells' memories of one kind have the size of the largest.
pub(crate) fn no_activity(fabric: &Fabric, layers: usize) -> Activity {
    let parts = || fabric.cells.iter().flat_map(|cell| &cell.resources);
    let largest = |is_kind: fn(Component) -> bool| {
        let rows = parts().filter(|part| is_kind(part.component)).map(|part| part.rows);
        // Default: no bytes without such a memory.
        rows.max().unwrap_or(0)
    };
    let memory = |name, class, rows: usize| CountedMemory::new(name, class, (rows * ROW_BYTES) as u64);
    let memories = vec![
        memory("register files", MemoryClass::Registers, largest(|component| component == Component::Rf)),
        memory("cell memories", MemoryClass::Sram, largest(Component::is_iosram)),
        memory("input buffer", MemoryClass::Sram, fabric.input_depth),
        memory("output buffer", MemoryClass::Sram, fabric.output_depth),
    ];
    Activity::new(MacType::Int16, memories, layers)
}

impl<'a> Counts<'a> {
    pub fn new(fabric: &'a Fabric) -> Self {
        let (ports, kinds) = (BTreeMap::new(), BTreeMap::new());
        Self { fabric, ports, kinds, computing: BTreeMap::new(), last_read: BTreeMap::new() }
    }

    /// Returns the multiply-accumulates: the cycles in which the dpus of a cell received words.
    pub fn macs(&self) -> u64 {
        self.computing.values().sum()
    }

    /// Returns the bytes of register files, cell memories, input buffer and output buffer. Each
    /// address of a port moves a word, or a row where the port is that of a memory or a bulk port.
    pub fn bytes(&self) -> [u64; 4] {
        let mut bytes = [0; 4];
        for (&(cell, number), &cycles) in &self.ports {
            let (slot, port) = ((number / 4) as u8, number % 4);
            let component = self.fabric.cells.get(cell).and_then(|cell| cell.component_at(slot));
            let (memory, size) = match (component, port) {
                (Some(Component::Rf), 0 | 1) => (0, WORD_BYTES),
                (Some(Component::Rf), _) => (0, ROW_BYTES),
                (Some(component), 2 | 3) if component.is_iosram() => (1, ROW_BYTES),
                (Some(component), 0) if component.is_iosram() => (2, ROW_BYTES),
                (Some(component), 1) if component.is_iosram() => (3, ROW_BYTES),
                _ => continue,
            };
            bytes[memory] += cycles * size as u64;
        }
        bytes
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
