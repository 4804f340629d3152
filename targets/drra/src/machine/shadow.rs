//! [`Shadow`]: tracks unwritten words during a run, which faults if one of them is used.
//!
//! Words that a dpu reads, and words that the driver takes out of the output buffer, must have been
//! written. Rows may carry unwritten words as long as these are not used; the place where such a
//! word started is remembered. Only the addresses of a cycle matter, not the values.

use std::collections::{BTreeMap, BTreeSet};

use super::Machine;
use crate::config::fabric::{Place, ROW_WORDS};
use crate::isa::program::At;
use crate::machine::exec::word::Word;
use crate::machine::exec::{iosram, rf};
use crate::machine::fault::{Fault, FaultKind};
use crate::machine::state::{Bulk, CellState, Iosram, NO_SLOT, Rf};

/// Mask of every word of a row.
const ALL: u16 = u16::MAX;

/// Unwritten words of a row as a mask, and the index of the place where they were first passed on.
#[derive(Clone, Copy, Debug, Default)]
struct Unwritten {
    words: u16,
    origin: Option<usize>,
}

/// Unwritten words of the machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    cells: Vec<CellShadow>,
    output: BTreeMap<usize, Unwritten>,
    origins: Vec<UnwrittenRead>,
    /// Recorded unwritten reads, if these are only recorded instead of being faults.
    recorded: Option<UnwrittenReads>,
}

/// Record of unwritten reads.
#[derive(Clone, Debug, Default)]
pub(super) struct UnwrittenReads {
    /// Index of the instruction that started each port of each cell.
    started: BTreeMap<(Place, u8), usize>,
    reads: Vec<UnwrittenRead>,
    /// Instructions and ports with unwritten reads that are recorded.
    known: BTreeSet<(Option<At>, Place, u8)>,
}

/// Unwritten read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwrittenRead {
    /// Instruction that started the reading port, if known.
    pub at: Option<At>,
    /// Fault of the read.
    pub fault: Fault,
}

/// Memories of a cell, row by row.
#[derive(Clone, Debug)]
struct CellShadow {
    rfs: Vec<Vec<Unwritten>>,
    iosrams: Vec<Vec<Unwritten>>,
}

impl UnwrittenReads {
    /// Returns the instruction that started the port of an access.
    fn start_of(&self, fault: &Fault) -> Option<At> {
        let Fault::Access { place, slot, port, .. } = *fault else { return None };
        let pc = self.started.get(&(place, 4 * slot + port));
        pc.map(|&pc| At { place, pc })
    }

    /// Records a read, once per port and starting instruction.
    fn read(&mut self, read: UnwrittenRead) {
        let Fault::Access { place, slot, port, .. } = read.fault else { return };
        if self.known.insert((read.at, place, 4 * slot + port)) {
            self.reads.push(read);
        }
    }
}

/// A cell in a cycle.
#[derive(Clone, Copy)]
struct Moment {
    cycle: u64,
    /// Index of the cell.
    cell: usize,
}

/// Row, or a word of it, that is written in a cycle.
struct RowWrite {
    cell: usize,
    part: Bulk,
    row: usize,
    words: u16,
    unwritten: Unwritten,
}

impl Shadow {
    /// Creates a shadow in which everything is unwritten.
    pub fn new<W: Word>(cells: &[CellState<W>]) -> Self {
        let none = |rows: usize| vec![Unwritten { words: ALL, origin: None }; rows];
        let cell = |cell: &CellState<W>| CellShadow {
            rfs: cell.rfs.iter().map(|rf| none(rf.rows.len())).collect(),
            iosrams: cell.iosrams.iter().map(|part| none(part.rows.len())).collect(),
        };
        Self { cells: cells.iter().map(cell).collect(), ..Self::default() }
    }

    /// Starts recording unwritten reads, and lets them return zeros.
    pub fn tell(&mut self) {
        self.recorded = Some(UnwrittenReads::default());
    }

    /// Marks words of a memory as written.
    pub fn written(&mut self, cell: usize, part: Bulk, row: usize, words: u16) {
        self.row(cell, part, row).words &= !words;
    }

    /// Records which instruction starts the ports of a cell.
    fn start(&mut self, place: Place, raised: u64, pc: usize) {
        let Some(recorded) = &mut self.recorded else { return };
        let ports = (0..u64::BITS as u8).filter(|port| raised >> port & 1 == 1);
        recorded.started.extend(ports.map(|port| ((place, port), pc)));
    }

    /// Faults or records a read. If unwritten words were passed on, it reports the read that passed
    /// them on first.
    fn read_unwritten(&mut self, fault: Fault, origin: Option<usize>) -> Result<(), Fault> {
        let Some(recorded) = &mut self.recorded else { return Err(fault) };
        let first = origin.and_then(|origin| self.origins.get(origin)).cloned();
        let read = first.unwrap_or_else(|| UnwrittenRead { at: recorded.start_of(&fault), fault });
        recorded.read(read);
        Ok(())
    }

    /// Takes the recorded reads of the run, with rows of the output buffer that hold unwritten
    /// words last.
    pub fn take_told(&mut self) -> Vec<UnwrittenRead> {
        let Some(mut recorded) = self.recorded.take() else { return Vec::new() };
        let rows = self.output.values().filter(|found| found.words != 0);
        let origins = rows.filter_map(|found| self.origins.get(found.origin?));
        origins.for_each(|origin| recorded.read(origin.clone()));
        recorded.reads
    }

    /// Returns a row of a memory.
    fn row(&mut self, cell: usize, part: Bulk, row: usize) -> &mut Unwritten {
        let cell = &mut self.cells[cell];
        match part {
            Bulk::None => unreachable!("only files and memories have rows"),
            Bulk::Rf(number) => &mut cell.rfs[usize::from(number)][row],
            Bulk::Iosram(number) => &mut cell.iosrams[usize::from(number)][row],
        }
    }

    /// Returns the unwritten words of a row that is passed on. Words without an origin get
    /// `origin`.
    fn read(
        &mut self,
        cell: usize,
        part: Bulk,
        row: usize,
        origin: impl FnOnce(usize) -> Fault,
    ) -> Unwritten {
        let found = *self.row(cell, part, row);
        match found {
            Unwritten { words: 0, .. } | Unwritten { origin: Some(_), .. } => found,
            Unwritten { words, origin: None } => self.nothing(words, origin(words.trailing_zeros() as usize)),
        }
    }

    /// Returns unwritten words that come from no memory.
    fn nothing(&mut self, words: u16, origin: Fault) -> Unwritten {
        let at = self.recorded.as_ref().and_then(|recorded| recorded.start_of(&origin));
        self.origins.push(UnwrittenRead { at, fault: origin });
        Unwritten { words, origin: Some(self.origins.len() - 1) }
    }
}

impl<W: Word> Machine<W> {
    /// Returns why the first `count` words of a row of the output buffer cannot be taken; `None` if
    /// all were written, or if unwritten words are not tracked.
    pub fn unwritten(&self, row: usize, count: usize) -> Option<Fault> {
        let shadow = self.shadow.as_ref()?;
        let wanted = if count >= ROW_WORDS { ALL } else { (1 << count) - 1 };
        match shadow.output.get(&row) {
            None => Some(Fault::Output { row }),
            Some(found) if found.words & wanted == 0 => None,
            Some(found) => {
                let origin = found.origin.expect("an unwritten word that is passed on has an origin");
                Some(shadow.origins[origin].fault.clone())
            }
        }
    }

    /// Tracks the words of a cycle, after its addresses are known and before its instructions are
    /// executed.
    ///
    /// Errors: a dpu or a register file reads an unwritten register.
    pub(super) fn follow(&mut self, cycle: u64, due: &[usize]) -> Result<(), Fault> {
        let Some(mut shadow) = self.shadow.take() else { return Ok(()) };
        let followed = self.follow_all(&mut shadow, cycle, due);
        self.shadow = Some(shadow);
        followed
    }

    fn follow_all(&self, shadow: &mut Shadow, cycle: u64, due: &[usize]) -> Result<(), Fault> {
        let mut written = Vec::new();
        for &index in due {
            let cell = &self.cells[index];
            shadow.start(self.fabric.place(index), cell.sequencer.raised, cell.sequencer.pc);
            for (number, rf) in (0..).zip(&cell.rfs) {
                self.registers(shadow, Moment { cycle, cell: index }, number, rf, &mut written)?;
            }
            for (number, part) in (0..).zip(&cell.iosrams) {
                self.memory(shadow, Moment { cycle, cell: index }, number, part, &mut written);
            }
        }
        for RowWrite { cell, part, row, words, unwritten } in written {
            let place = shadow.row(cell, part, row);
            let left = place.words & !words;
            let origin = if unwritten.words & words == 0 { place.origin } else { unwritten.origin };
            *place = Unwritten { words: left | unwritten.words & words, origin };
        }
        Ok(())
    }

    fn access(&self, Moment { cycle, cell }: Moment, slot: u8, port: u8, kind: FaultKind) -> Fault {
        Fault::Access { cycle, place: self.fabric.place(cell), slot, port, kind }
    }

    /// Tracks words and rows of a register file.
    fn registers(
        &self,
        shadow: &mut Shadow,
        at: Moment,
        number: u8,
        rf: &Rf<W>,
        written: &mut Vec<RowWrite>,
    ) -> Result<(), Fault> {
        let cell = &self.cells[at.cell];
        let (slot, part, ports) = (rf.slot, Bulk::Rf(number), &cell.ports);
        if let Some(register) = ports.address(slot, rf::WORD_READ) {
            let row = *shadow.row(at.cell, part, register / ROW_WORDS);
            if row.words >> (register % ROW_WORDS) & 1 == 1 {
                let fault = self.access(at, slot, rf::WORD_READ, FaultKind::Unwritten { register });
                shadow.read_unwritten(fault, row.origin)?;
            }
        }
        let bulk = ports.address(slot, rf::BULK_WRITE);
        if let Some(row) = bulk {
            let unwritten = self.arriving(shadow, at, slot, rf::BULK_WRITE);
            written.push(RowWrite { cell: at.cell, part, row, words: ALL, unwritten });
        }
        if let Some(register) = ports.address(slot, rf::WORD_WRITE)
            && bulk != Some(register / ROW_WORDS)
        {
            let words = 1 << (register % ROW_WORDS);
            let unwritten = if gives_word(cell, cell.swb.source_of(slot)) {
                Unwritten::default()
            } else {
                shadow.nothing(words, self.access(at, slot, rf::WORD_WRITE, FaultKind::NothingArrives))
            };
            written.push(RowWrite { cell: at.cell, part, row: register / ROW_WORDS, words, unwritten });
        }
        Ok(())
    }

    /// Tracks rows of a memory with a buffer port.
    fn memory(
        &self,
        shadow: &mut Shadow,
        at: Moment,
        number: u8,
        memory: &Iosram<W>,
        written: &mut Vec<RowWrite>,
    ) {
        let cell = &self.cells[at.cell];
        let (slot, part, ports) = (memory.slot, Bulk::Iosram(number), &cell.ports);
        if let Some(row) = ports.address(slot, iosram::OUTPUT_BUFFER) {
            let unwritten = match ports.address(slot, iosram::SRAM_READ) {
                Some(from) => {
                    let origin = |word| {
                        let kind = FaultKind::UnwrittenRow { row: from, word };
                        self.access(at, slot, iosram::SRAM_READ, kind)
                    };
                    shadow.read(at.cell, part, from, origin)
                }
                None => {
                    let kind = FaultKind::NothingArrives;
                    shadow.nothing(ALL, self.access(at, slot, iosram::OUTPUT_BUFFER, kind))
                }
            };
            shadow.output.insert(row, unwritten);
        }
        let bulk = ports.address(slot + 1, iosram::BULK_WRITE);
        if let Some(row) = ports.address(slot, iosram::SRAM_WRITE) {
            let unwritten = match ports.address(slot, iosram::INPUT_BUFFER) {
                Some(from) if self.input.is_written(from) => Unwritten::default(),
                Some(from) => {
                    let kind = FaultKind::UnwrittenInput { row: from };
                    shadow.nothing(ALL, self.access(at, slot, iosram::INPUT_BUFFER, kind))
                }
                None => {
                    let kind = FaultKind::NothingArrives;
                    shadow.nothing(ALL, self.access(at, slot, iosram::SRAM_WRITE, kind))
                }
            };
            written.push(RowWrite { cell: at.cell, part, row, words: ALL, unwritten });
        } else if let Some(row) = bulk {
            let unwritten = self.arriving(shadow, at, slot + 1, iosram::BULK_WRITE);
            written.push(RowWrite { cell: at.cell, part, row, words: ALL, unwritten });
        }
    }

    /// Returns the unwritten words of the row that arrives at a slot, like [`Machine::incoming`].
    fn arriving(&self, shadow: &mut Shadow, at: Moment, slot: u8, port: u8) -> Unwritten {
        let found = self.sender(at.cell, slot).and_then(|(index, sender)| {
            let cell = &self.cells[index];
            let part = cell.bulk[usize::from(sender)];
            let (row, port) = outgoing(cell, part)?;
            let origin = |word: usize| {
                let kind = match part {
                    Bulk::Rf(_) => FaultKind::Unwritten { register: row * ROW_WORDS + word },
                    _ => FaultKind::UnwrittenRow { row, word },
                };
                self.access(Moment { cycle: at.cycle, cell: index }, sender, port, kind)
            };
            Some(shadow.read(index, part, row, origin))
        });
        found.unwrap_or_else(|| shadow.nothing(ALL, self.access(at, slot, port, FaultKind::NothingArrives)))
    }
}

/// Returns the row that leaves a memory in this cycle, and its port.
pub(super) fn outgoing<W: Word>(cell: &CellState<W>, part: Bulk) -> Option<(usize, u8)> {
    match part {
        Bulk::None => None,
        Bulk::Rf(number) => {
            let slot = cell.rfs[usize::from(number)].slot;
            Some((cell.ports.address(slot, rf::BULK_READ)?, rf::BULK_READ))
        }
        Bulk::Iosram(number) => {
            let slot = cell.iosrams[usize::from(number)].slot;
            let is_taken = cell.ports.address(slot, iosram::SRAM_READ).is_some();
            let row = cell.ports.address(slot + 1, iosram::BULK_READ).filter(|_| !is_taken)?;
            Some((row, iosram::BULK_READ))
        }
    }
}

/// Whether a word leaves that slot in this cycle. A dpu always sends one.
fn gives_word<W: Word>(cell: &CellState<W>, slot: u8) -> bool {
    slot != NO_SLOT
        && (cell.dpus.iter().any(|dpu| dpu.slot == slot) || cell.ports.address(slot, rf::WORD_READ).is_some())
}
