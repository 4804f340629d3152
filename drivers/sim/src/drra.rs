//! Board of DRRA: its machine, controlled by signals of the fabric's control network.
//!
//! The network is documented, but registers for it are not. Here they are [`PLACE`] (row, hops and
//! address of the next word), [`WORD`], [`CALL`], and one status per row starting at [`STATUS`]: 0
//! while it runs, 1 when it has returned, 2 after a fault. Rows of the input buffer are memory
//! starting at [`INPUT`], rows of the output buffer at [`OUTPUT`].

use std::collections::BTreeMap;

use npukit_drra::internals::binary::Image;
use npukit_drra::internals::config::preset;
use npukit_drra::internals::fabric::{Place, ROW_WORDS, Row};
use npukit_drra::{Fabric, Machine, Program};

use crate::MakeBoard;
use crate::faults::{Fault, Faults};
use crate::server;

const PLACE: u64 = 0x0;
const WORD: u64 = 0x4;
const CALL: u64 = 0x8;
const STATUS: u64 = 0x10;
const INPUT: u64 = 0x10_0000;
const OUTPUT: u64 = 0x40_0000;
const ROW_BYTES: u64 = 2 * ROW_WORDS as u64;
/// Maximum number of simulated cycles of a program.
const LIMIT: u64 = 1 << 22;
const GARBAGE: u64 = 0x6472_7261;

const RUNNING: u32 = 0;
const RETURNED: u32 = 1;
const FAULTED: u32 = 2;

struct Board {
    fabric: Fabric,
    /// Instruction memories: words by address.
    memories: BTreeMap<Place, BTreeMap<u32, u32>>,
    input: Image,
    output: Image,
    place: u32,
    status: u32,
}

/// Returns the maker of boards of a preset. The suffix `+skew0` starts all columns at the same
/// time.
pub fn maker(instance: &str) -> Result<MakeBoard, String> {
    let (name, skew) = instance.split_once('+').unwrap_or((instance, ""));
    let mut fabric = preset(name).ok_or_else(|| format!("unknown drra instance `{name}`"))?;
    match skew {
        "" => {}
        "skew0" => fabric.options.call_skew = 0,
        _ => return Err(format!("unknown suffix `+{skew}`; legal: +skew0")),
    }
    Ok(Box::new(move || {
        let (memories, image) = (BTreeMap::new(), Image::new());
        let fabric = fabric.clone();
        Ok(Box::new(Board {
            fabric,
            memories,
            input: image.clone(),
            output: image,
            place: 0,
            status: RETURNED,
        }))
    }))
}

impl server::Board for Board {
    fn read_register(&mut self, address: u64, bytes: &mut [u8], _: &mut Faults) -> Option<()> {
        let row = address.checked_sub(STATUS)? / 4;
        let known = bytes.len() == 4 && row < self.fabric.rows as u64;
        known.then(|| bytes.copy_from_slice(&self.status.to_le_bytes()))
    }

    fn write_register(&mut self, address: u64, bytes: &[u8], faults: &mut Faults) -> Option<()> {
        let value = u32::from_le_bytes(bytes.try_into().ok()?);
        match address {
            PLACE => self.place = value,
            WORD => self.load(value)?,
            CALL => {
                let stalls = faults.is_due(Fault::Stall);
                let faulted = faults.is_due(Fault::Report) || self.run().is_none();
                self.status = match (stalls, faulted) {
                    (true, _) => RUNNING,
                    (_, true) => FAULTED,
                    (_, false) => RETURNED,
                };
            }
            _ => return None,
        }
        Some(())
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        let row =
            row(address, OUTPUT, bytes.len()).filter(|&row| (row as usize) < self.fabric.output_depth)?;
        // Unwritten rows hold garbage, which is the same in each run.
        let unwritten = || std::array::from_fn(|i| (GARBAGE ^ (u64::from(row) * 31 + i as u64)) as i16);
        let values: Row = self.output.get(&row).copied().unwrap_or_else(unwritten);
        bytes
            .iter_mut()
            .zip(values.iter().flat_map(|value| value.to_le_bytes()))
            .for_each(|(to, from)| *to = from);
        Some(())
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        let row = row(address, INPUT, bytes.len()).filter(|&row| (row as usize) < self.fabric.input_depth)?;
        let (pairs, _) = bytes.as_chunks();
        let mut values = Row::default();
        values.iter_mut().zip(pairs).for_each(|(to, from)| *to = i16::from_le_bytes(*from));
        self.input.insert(row, values);
        Some(())
    }
}

/// Row of a buffer for an access, which must cover whole rows.
fn row(address: u64, base: u64, bytes: usize) -> Option<u32> {
    let at = address.checked_sub(base)?;
    let is_row = bytes as u64 == ROW_BYTES && at.is_multiple_of(ROW_BYTES);
    u32::try_from(at / ROW_BYTES).ok().filter(|_| is_row)
}

impl Board {
    /// Loads a word from the west of a row; `None` if it leaves the fabric in the east.
    fn load(&mut self, word: u32) -> Option<()> {
        let place = Place { row: (self.place >> 24) as usize, col: (self.place >> 16 & 0xFF) as usize };
        if place.row >= self.fabric.rows || place.col >= self.fabric.cols {
            return None;
        }
        self.memories.entry(place).or_default().insert(self.place & 0xFFFF, word);
        Some(())
    }

    /// Calls the program; `None` after a fault.
    fn run(&mut self) -> Option<()> {
        // Default: an unloaded word is 0, a halt.
        let words = |memory: &BTreeMap<u32, u32>| {
            let end = memory.last_key_value().map_or(0, |(address, _)| address + 1);
            (0..end).map(|address| memory.get(&address).copied().unwrap_or(0)).collect()
        };
        let cells = self.memories.iter().map(|(place, memory)| (*place, words(memory))).collect();
        let mut machine = Machine::new(&self.fabric, &Program { cells }).ok()?;
        machine.set_input(&self.input).ok()?;
        machine.run(LIMIT, &mut ()).ok()?;
        self.output = machine.output_image();
        Some(())
    }
}
