//! Board of OPU: its machine, and a memory of 2^32 bytes starting at address 0.
//!
//! The start of the machine by a host is not documented. Here it is a page of registers at 2^32. A
//! write to [`BEGIN`] is the address of the first word. [`STATUS`] is 0 while the machine runs, 1
//! after `end` and 2 after a fault.

use npukit_opu::{Config, Machine, Op, Validity, decode};
use npukit_target::UninitMemory;

use crate::MakeBoard;
use crate::faults::{Fault, Faults};
use crate::server;

const BEGIN: u64 = 1 << 32;
const STATUS: u64 = BEGIN + 4;
const ENDED: u32 = 1;
const FAULTED: u32 = 2;
/// Maximum length of a program in words.
const LONGEST: u64 = 1 << 22;
const GARBAGE: u64 = 0x6F70_7500;

struct Board {
    machine: Machine,
    validity: Validity,
    status: u32,
}

/// Returns the maker of boards of a preset.
pub fn maker(instance: &str) -> Result<MakeBoard, String> {
    let config = Config::preset(instance).ok_or_else(|| format!("unknown opu instance `{instance}`"))?;
    Ok(Box::new(move || {
        let (types, validity) = (config.types, config.validity);
        let machine = Machine::with_memory(types, UninitMemory::Garbage(GARBAGE)).with_validity(validity);
        Ok(Box::new(Board { machine, validity, status: ENDED }))
    }))
}

impl server::Board for Board {
    fn read_register(&mut self, address: u64, bytes: &mut [u8], _: &mut Faults) -> Option<()> {
        let known = address == STATUS && bytes.len() == 4;
        known.then(|| bytes.copy_from_slice(&self.status.to_le_bytes()))
    }

    fn write_register(&mut self, address: u64, bytes: &[u8], faults: &mut Faults) -> Option<()> {
        let first = u32::from_le_bytes(bytes.try_into().ok()?);
        if address != BEGIN {
            return None;
        }
        let stalls = faults.is_due(Fault::Stall);
        let faulted = faults.is_due(Fault::Report) || self.run(first).is_none();
        self.status = match (stalls, faulted) {
            (true, _) => 0,
            (_, true) => FAULTED,
            (_, false) => ENDED,
        };
        Some(())
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.machine.read(address, bytes).ok()
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        self.machine.write(address, bytes).ok()
    }
}

impl Board {
    /// Executes the program starting at a word; `None` after a fault.
    fn run(&mut self, first: u32) -> Option<()> {
        let words = self.words(first)?;
        let mut loaded = self.machine.load(first.into(), &words).ok()?;
        self.machine.run(&mut loaded, &mut |_, _, _| ()).ok()?;
        Some(())
    }

    /// Words of the program starting at `first`, up to `end`.
    fn words(&self, first: u32) -> Option<Vec<u32>> {
        let mut words = Vec::new();
        for index in 0..LONGEST {
            let mut word = [0; 4];
            self.machine.read(u64::from(first) + 4 * index, &mut word).ok()?;
            words.push(u32::from_le_bytes(word));
            if decode(u32::from_le_bytes(word), self.validity) == Ok(Op::End) {
                return Some(words);
            }
        }
        None
    }
}
