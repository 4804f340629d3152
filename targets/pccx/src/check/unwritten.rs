//! Uses of data that was never written: [`unwritten`]. A program has no branches and addresses do
//! not depend on data, so the data written before each instruction is known without running it.

mod host;

use std::collections::BTreeMap;
use std::fmt;

use npukit_target::Lint;

use crate::check::lints::{
    UNWRITTEN_L2, UNWRITTEN_MAXIMUM, UNWRITTEN_SHAPE, UNWRITTEN_SLOT, UNWRITTEN_WEIGHTS,
};
use crate::config::{CONSTANT_ENTRIES, WORD_LANES};
use crate::isa::fault::Direction;
use crate::isa::op::{Access, Banks, Cache, Device, Memcpy, Op, Values};
use crate::isa::usage::words_of;
use crate::program::Program;
use crate::program::host::Host;

/// Use of data that was not written before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritten {
    /// Index of the instruction. For a host operation, the index of the next instruction; `None` at
    /// the program's end.
    pub index: Option<usize>,
    /// Index of the host operation, if one uses the data.
    pub host_op: Option<usize>,
    /// Data that the instruction or operation uses.
    pub missing: Missing,
}

/// Data that was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A BF16 value in L2.
    L2 {
        /// Index of the L2 word.
        word: u64,
        /// First unwritten lane of the word that is used.
        lane: usize,
    },
    /// An entry of a constant bank.
    Shape {
        /// Constant bank that contains the entry.
        cache: Cache,
        /// Index of the entry, 0 to 63.
        entry: u8,
    },
    /// The maximum that `sub_emax` subtracts.
    Maximum,
    /// Weights that the host computes.
    Weights {
        /// Index of the weights in the program.
        image: u32,
    },
    /// A value at the host, or a part of it.
    Slot {
        /// Name of the value in the host's graph.
        slot: String,
    },
}

impl Missing {
    /// Returns the lint of this kind of finding.
    pub const fn lint(&self) -> &'static Lint {
        match self {
            Self::L2 { .. } => UNWRITTEN_L2,
            Self::Shape { .. } => UNWRITTEN_SHAPE,
            Self::Maximum => UNWRITTEN_MAXIMUM,
            Self::Weights { .. } => UNWRITTEN_WEIGHTS,
            Self::Slot { .. } => UNWRITTEN_SLOT,
        }
    }
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.host_op {
            write!(f, "host operation {index} before it: ")?;
        }
        match &self.missing {
            Missing::L2 { word, lane } => write!(f, "reads lane {lane} of L2 word {word:#x}"),
            Missing::Shape { cache, entry } => write!(f, "takes entry {entry} of {}", cache.name()),
            Missing::Maximum => write!(f, "subtracts the maximum, e_max"),
            Missing::Weights { image } => write!(f, "multiplies by weights {image}, which the host makes"),
            Missing::Slot { slot } => write!(f, "uses value `{slot}` of the host"),
        }?;
        let who = match &self.missing {
            Missing::Shape { .. } => "no MEMSET",
            Missing::Maximum => "no product with `findemax`",
            Missing::Weights { .. } | Missing::Slot { .. } => "no host operation",
            Missing::L2 { .. } => "nothing",
        };
        write!(f, ", which {who} before has written")
    }
}

/// Returns each use of data that nothing earlier in the program has written, directly or through
/// copies. Data missing at one instruction is not reported again for users of its results.
pub fn unwritten(l2_words: u32, program: &Program, host: &Host) -> Vec<Unwritten> {
    host::follow(WrittenData::new(l2_words, Some(program)), program, host)
}

/// Data in L2 that is written before an assembly program and read after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Values of L2 that are written before the program.
    pub l2: Vec<Values>,
    /// Whether e_max is written before the program.
    pub maximum: bool,
    /// Values of L2 that are read after the program.
    pub looked_at: Vec<Values>,
    /// Whether `looked_at` lists all values that are read after the program.
    pub is_all: bool,
}

/// Returns the uses of unwritten data in instructions alone; windows and bound weights are unknown.
pub fn unwritten_in_words(l2_words: u32, ops: &[Op], filled: &Filled) -> Vec<Unwritten> {
    let mut written = WrittenData::new(l2_words, None);
    filled.l2.iter().for_each(|&values| written.fill(values));
    written.maximum = filled.maximum;
    ops.iter().enumerate().for_each(|(index, op)| written.step(index, op));
    written.found
}

/// Data written so far: one flag per BF16 value of L2 and of the windows.
#[derive(Clone)]
pub(crate) struct WrittenData {
    l2: Vec<bool>,
    /// Flags of windows; `None` if windows are unknown and count as written.
    windows: Option<BTreeMap<(Direction, u32), Vec<bool>>>,
    shapes: [[bool; CONSTANT_ENTRIES]; 2],
    banks: Banks,
    maximum: bool,
    found: Vec<Unwritten>,
}

impl WrittenData {
    /// Returns the state before a program runs. Without a program, windows are unknown and count as
    /// written.
    pub fn new(l2_words: u32, program: Option<&Program>) -> Self {
        let window = |window: &crate::program::Window| {
            let lanes = window.size_bytes.min(crate::program::most_bytes()) as usize / 2;
            ((window.direction, window.number), vec![false; lanes])
        };
        Self {
            l2: vec![false; l2_words as usize * WORD_LANES],
            windows: program.map(|program| program.windows.iter().map(window).collect()),
            shapes: [[false; CONSTANT_ENTRIES]; 2],
            banks: Banks::default(),
            maximum: false,
            found: Vec::new(),
        }
    }

    /// Returns the unwritten data found since the last call.
    pub fn take_found(&mut self) -> Vec<Unwritten> {
        std::mem::take(&mut self.found)
    }

    /// Makes windows known: only windows that are created later exist, and they are unwritten.
    pub fn know_windows(&mut self) {
        self.windows = Some(BTreeMap::new());
    }

    /// Marks values of L2 as written from outside.
    pub fn fill(&mut self, values: Values) {
        self.write(values);
    }

    /// Marks the maximum as written from outside.
    pub const fn fill_maximum(&mut self) {
        self.maximum = true;
    }

    /// Marks units of a window as written from outside; the window grows if necessary.
    pub fn fill_window(&mut self, window: (Direction, u32), unit: u32, units: usize) {
        self.reach(window, unit, units);
        let flags = self.windows.as_mut().and_then(|windows| windows.get_mut(&window));
        // Default: unknown windows count as written.
        part_mut(flags.map(Vec::as_mut_slice).unwrap_or_default(), unit, units * WORD_LANES).fill(true);
    }

    /// Extends a window to at least these units.
    pub fn reach(&mut self, window: (Direction, u32), unit: u32, units: usize) {
        let Some(windows) = &mut self.windows else { return };
        let flags = windows.entry(window).or_default();
        let lanes = (unit as usize + units) * WORD_LANES;
        flags.resize(lanes.max(flags.len()), false);
    }

    /// Follows an instruction with a destination that the host reads afterwards, so that its values
    /// count as used.
    pub fn step_to_host(&mut self, index: usize, op: &Op) {
        if let Op::Memcpy(Memcpy { from_device: Device::Npu, to_device: Device::Host, .. }) = op {
            let access = op.access(&self.banks);
            access.reads.into_iter().flatten().for_each(|values| self.read(index, values));
        }
        self.step(index, op);
    }

    /// Records the reads and writes of an instruction; reads of unwritten data are added to the
    /// findings.
    pub fn step(&mut self, index: usize, op: &Op) {
        let access = op.access(&self.banks);
        access.shapes.into_iter().flatten().for_each(|(cache, entry)| self.shape(index, cache, entry));
        match op {
            Op::Memcpy(memcpy) => self.transfer(memcpy),
            Op::Memset(memset) => {
                let bank = &mut self.shapes[usize::from(memset.dest_cache == Cache::WeightShape)];
                if let Some(entry) = bank.get_mut(usize::from(memset.dest_addr)) {
                    *entry = true;
                }
            }
            _ => self.compute(index, &access),
        }
        self.banks.step(op);
    }

    /// Marks results as written, regardless of their operands.
    fn compute(&mut self, index: usize, access: &Access) {
        if access.reads_maximum && !self.maximum {
            self.maximum = true;
            self.missing(index, Missing::Maximum);
        }
        let updated = access.writes.filter(|_| access.updates);
        access.reads.into_iter().chain([updated]).flatten().for_each(|values| self.read(index, values));
        access.writes.into_iter().for_each(|values| self.write(values));
        self.maximum |= access.writes_maximum;
    }

    /// Copies whole words together with their flags.
    fn transfer(&mut self, memcpy: &Memcpy) {
        let shape = self.banks.fmap(memcpy.shape_ptr_addr);
        let lanes = words_of(usize::try_from(shape.product()).unwrap_or(usize::MAX)) as usize * WORD_LANES;
        let Memcpy { from_device, to_device, dest_addr, src_addr, aux_addr, .. } = *memcpy;
        let moved = match from_device {
            Device::Npu => part(&self.l2, src_addr, lanes).to_vec(),
            Device::Host => match &self.windows {
                None => vec![true; lanes.min(self.l2.len())],
                Some(windows) => {
                    let window = windows.get(&(Direction::HostToL2, src_addr)).map(Vec::as_slice);
                    // Default: a missing window has no units; MEMCPY faults.
                    part(window.unwrap_or_default(), aux_addr, lanes).to_vec()
                }
            },
        };
        let place = match to_device {
            Device::Npu => part_mut(&mut self.l2, dest_addr, lanes),
            Device::Host => {
                let windows = self.windows.as_mut();
                let window = windows.and_then(|windows| windows.get_mut(&(Direction::L2ToHost, dest_addr)));
                // Default: a missing window has no units; MEMCPY faults.
                part_mut(window.map(Vec::as_mut_slice).unwrap_or_default(), aux_addr, lanes)
            }
        };
        let lanes = place.len().min(moved.len());
        place[..lanes].copy_from_slice(&moved[..lanes]);
    }

    fn shape(&mut self, index: usize, cache: Cache, entry: u8) {
        let bank = &mut self.shapes[usize::from(cache == Cache::WeightShape)];
        if let Some(written) = bank.get_mut(usize::from(entry)).filter(|written| !**written) {
            *written = true;
            self.missing(index, Missing::Shape { cache, entry });
        }
    }

    /// Marks values as used. The machine refuses addresses after the end of L2.
    fn read(&mut self, index: usize, Values { word, count }: Values) {
        let place = part_mut(&mut self.l2, word, count);
        if let Some(first) = first_missing(place) {
            place.fill(true);
            let word = u64::from(word) + (first / WORD_LANES) as u64;
            self.missing(index, Missing::L2 { word, lane: first % WORD_LANES });
        }
    }

    fn write(&mut self, Values { word, count }: Values) {
        part_mut(&mut self.l2, word, count).fill(true);
    }

    fn missing(&mut self, index: usize, missing: Missing) {
        self.found.push(Unwritten { index: Some(index), host_op: None, missing });
    }
}

/// Returns the first flag that is not set. It checks many flags at a time, as compiled programs
/// read millions of values.
fn first_missing(flags: &[bool]) -> Option<usize> {
    const STRETCH: usize = 64;
    let stretches = flags.chunks_exact(STRETCH);
    let set = STRETCH
        * stretches.take_while(|stretch| stretch.iter().fold(true, |all, &is_set| all & is_set)).count();
    flags[set..].iter().position(|is_set| !is_set).map(|place| set + place)
}

/// Returns the range of flags of `lanes` values, starting at a word.
fn range(all: usize, word: u32, lanes: usize) -> std::ops::Range<usize> {
    let start = (word as usize * WORD_LANES).min(all);
    start..start.saturating_add(lanes).min(all)
}

fn part(flags: &[bool], word: u32, lanes: usize) -> &[bool] {
    &flags[range(flags.len(), word, lanes)]
}

fn part_mut(flags: &mut [bool], word: u32, lanes: usize) -> &mut [bool] {
    let range = range(flags.len(), word, lanes);
    &mut flags[range]
}
