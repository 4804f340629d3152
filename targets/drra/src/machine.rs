//! [`Machine`]: a fabric with its program, cycle by cycle. What it computes and how long it takes are one.
//!
//! A cycle has five steps, so that everything is read before anything is written: addresses and words of all cells; bulk rows and
//! buffers; arithmetic and words written; rows written; instructions, whose effects show in the next cycle. Cells
//! in which nothing can happen are passed over, and so are cycles. Where cells only go on as they do, each computes many
//! cycles at once, unless somebody watches.

pub(crate) mod agu;
mod bench;
mod buffer;
mod coast;
pub(crate) mod exec;
pub(crate) mod fault;
mod observer;
mod shadow;
pub(crate) mod state;
mod transfer;
mod words;

use npukit_target::Unset;
use npukit_target::sim::garbage;
use thiserror::Error;

use crate::config::fabric::{DIRECTIONS, Direction, Fabric};
use crate::isa::op::Op;
use crate::isa::program::{At, Program, ProgramError};
use crate::isa::refusal::{Refusal, refusals};
use crate::machine::exec::sequencer::{Notice, execute};
use crate::machine::exec::swb;
use crate::machine::exec::word::Word;
use crate::machine::fault::{Fault, FaultKind};
use crate::machine::state::{CellState, Dpu};
use crate::program::binary::Image;

pub use bench::{Memory, MemoryKind};
pub use buffer::Buffer;
pub use observer::{Access, How, Observer, Touch};
use shadow::Shadow;
pub(crate) use shadow::UnwrittenRead;
use transfer::Transfers;

/// Cycles computed after which a run is given up by default: some seconds.
pub const DEFAULT_LIMIT: u64 = 1 << 25;
/// Warnings listed of a run; more are counted only.
const MAX_WARNINGS: usize = 100;

/// A fabric with its program.
#[derive(Clone, Debug)]
pub struct Machine<W: Word = i16> {
    fabric: Fabric,
    cells: Vec<CellState<W>>,
    /// What the cells of the top read.
    pub input: Buffer<W>,
    /// What the cells of the bottom write.
    pub output: Buffer<W>,
    /// The cell at each side of a cell.
    neighbours: Vec<[Option<usize>; DIRECTIONS]>,
    transfers: Transfers<W>,
    due: Vec<usize>,
    /// Cells that have halted.
    halted: usize,
    warnings: Warnings,
    /// What nobody has written, when reading it is a fault.
    shadow: Option<Box<Shadow>>,
}

/// Why a program cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// It does not fit the fabric.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Instructions that the fabric refuses.
    #[error("the fabric refuses {} of the program's instructions:{}", .0.len(), lines(.0))]
    Refused(Vec<(At, Refusal)>),
    /// An input row beyond the buffer.
    #[error("the image has row {row}; the input buffer has rows 0 to {}", .depth - 1)]
    Input {
        /// Row.
        row: u32,
        /// Rows there are.
        depth: usize,
    },
}

/// What a run was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Cycles, as the specification counts them: from the call to the return.
    pub cycles: u64,
    /// Cycles of each cell, from its own first instruction to its halt, in the fabric's order.
    pub cell_cycles: Vec<u64>,
    /// What the program's author should know of.
    pub warnings: Vec<Warning>,
    /// Warnings that are not listed.
    pub more_warnings: usize,
    /// Sums that did not fit the accumulator of their dpu at some time.
    pub saturated_sums: u64,
}

/// Something that happened in a run and is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cycle {cycle}, {at}: {kind}")]
pub struct Warning {
    /// When it first happened.
    pub cycle: u64,
    /// Where: the instruction before or at which it happened.
    pub at: At,
    /// What.
    pub kind: WarningKind,
}

/// What is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WarningKind {
    /// An address beyond the memory.
    #[error("slot {slot}, port {port}: address {address} is beyond 0 to {}, and wraps", .size - 1)]
    Wrapped {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
        /// The address.
        address: i64,
        /// What there is.
        size: u32,
    },
    /// Two rows for a memory in a cycle.
    #[error("slot {slot}: a bulk row is dropped, the input buffer's write has priority")]
    Dropped {
        /// First slot of the memory.
        slot: u8,
    },
    /// A configuration that hardware may erase again.
    #[error(transparent)]
    Early(FaultKind),
    /// A division by 0.
    #[error("division by 0 gives 0")]
    DivisionByZero,
    /// A port that is not done at the end.
    #[error("port {port} of slot {slot} still runs when the last cell halts")]
    StillRuns {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
    },
}

#[derive(Clone, Debug, Default)]
struct Warnings {
    list: Vec<Warning>,
    more: usize,
}

impl Warnings {
    /// Adds one, unless it is known.
    fn add(&mut self, cycle: u64, at: At, kind: WarningKind) {
        if self.list.iter().any(|known| known.at == at && known.kind == kind) {
            return;
        }
        if self.list.len() >= MAX_WARNINGS {
            self.more += 1;
        } else {
            self.list.push(Warning { cycle, at, kind });
        }
    }
}

impl Machine {
    /// A machine after reset.
    ///
    /// # Errors
    ///
    /// A program that does not fit the fabric, or that the fabric refuses.
    pub fn new(fabric: &Fabric, program: &Program) -> Result<Self, LoadError> {
        Self::of_words(fabric, program)
    }

    /// Rows of the input buffer; those not listed were never written.
    ///
    /// # Errors
    ///
    /// A row beyond it.
    pub fn set_input(&mut self, image: &Image) -> Result<(), LoadError> {
        self.input.clear();
        let depth = self.fabric.input_depth;
        for (&row, values) in image {
            self.input.write(row as usize, *values).map_err(|_| LoadError::Input { row, depth })?;
        }
        Ok(())
    }

    /// The rows written to the output buffer so far.
    pub fn output_image(&self) -> Image {
        self.output.image()
    }
}

impl<W: Word> Machine<W> {
    /// A machine of words of any kind, after reset.
    ///
    /// # Errors
    ///
    /// A program that does not fit the fabric, or that the fabric refuses.
    pub fn of_words(fabric: &Fabric, program: &Program) -> Result<Self, LoadError> {
        let ops = load(fabric, program)?;
        let cells = fabric.cells.iter().zip(ops).map(|(cell, ops)| CellState::new(cell, fabric.options, ops));
        let sides = |index| Direction::ALL.map(|side| fabric.neighbour(index, side));
        Ok(Self {
            neighbours: (0..fabric.cells.len()).map(sides).collect(),
            cells: cells.collect(),
            input: Buffer::new("input", fabric.input_depth),
            output: Buffer::new("output", fabric.output_depth),
            transfers: Transfers::default(),
            due: Vec::new(),
            halted: 0,
            warnings: Warnings::default(),
            shadow: None,
            fabric: fabric.clone(),
        })
    }

    /// Another program, all memories and configurations as they are.
    ///
    /// # Errors
    ///
    /// A program that does not fit the fabric, or that the fabric refuses.
    pub fn reload(&mut self, program: &Program) -> Result<(), LoadError> {
        let ops = load(&self.fabric, program)?;
        self.cells.iter_mut().zip(ops).for_each(|(cell, ops)| cell.sequencer.ops = ops);
        Ok(())
    }

    /// What memories, buffers and registers of data hold from now on, whatever they held before.
    pub fn unset(&mut self, unset: Unset) {
        self.input.unset(unset);
        self.output.unset(unset);
        self.shadow = (unset == Unset::Poison).then(|| Box::new(Shadow::new(&self.cells)));
        let Unset::Garbage(seed) = unset else { return };
        let mut next = garbage(seed);
        let mut word = || W::garbage(next());
        for cell in &mut self.cells {
            let rows = cell.rfs.iter_mut().map(|rf| &mut rf.rows);
            let rows = rows.chain(cell.iosrams.iter_mut().map(|part| &mut part.rows));
            rows.flatten().flatten().for_each(|place| *place = word());
            for dpu in &mut cell.dpus {
                (dpu.out, dpu.acc, dpu.ir) = (word(), word().wide(), word());
            }
        }
    }

    /// Its sequencers have the registers of another machine's: addresses and loops depend on them.
    pub(crate) fn take_registers<V: Word>(&mut self, of: &Machine<V>) {
        for (own, other) in self.cells.iter_mut().zip(&of.cells) {
            (own.sequencer.regs, own.sequencer.flags) = (other.sequencer.regs, other.sequencer.flags);
        }
    }

    /// A dpu of a cell, to be changed as a debugger would.
    pub(crate) fn dpu_mut(&mut self, cell: usize, number: usize) -> Option<&mut Dpu<W>> {
        self.cells.get_mut(cell)?.dpus.get_mut(number)
    }

    /// The fabric.
    pub const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The cells, in the fabric's order.
    pub fn cells(&self) -> &[CellState<W>] {
        &self.cells
    }

    /// Calls the program: every cell starts at its first instruction, and the run ends with the last halt.
    ///
    /// # Errors
    ///
    /// What cannot be executed, and a run in which more than `limit` cycles have to be computed; those that
    /// are passed over do not count.
    pub fn run(&mut self, limit: u64, observer: &mut impl Observer) -> Result<Run, Fault> {
        self.begin();
        let is_watched = self.shadow.is_some() || observer.is_on() || observer.follows_words();
        let mut computed = 0;
        loop {
            let cycle = self.next_cycle();
            if computed >= limit {
                return Err(Fault::Limit { cycle, computed, state: self.describe() });
            }
            let coasted = if is_watched { 0 } else { self.coast(cycle, limit - computed) };
            if coasted > 0 {
                computed += coasted;
                continue;
            }
            self.advance(observer)?;
            computed += 1;
            if self.has_halted() {
                return Ok(self.finish(cycle));
            }
        }
    }

    /// The next cycle in which something may happen.
    pub(crate) fn next_cycle(&self) -> u64 {
        self.cells.iter().map(|cell| cell.wake).min().expect("a fabric has a cell")
    }

    /// Whether all cells have halted.
    pub(crate) fn has_halted(&self) -> bool {
        self.halted == self.cells.len()
    }

    /// Computes the next cycle in which something may happen.
    ///
    /// # Errors
    ///
    /// What cannot be executed.
    pub(crate) fn advance(&mut self, observer: &mut impl Observer) -> Result<(), Fault> {
        self.cycle(self.next_cycle(), observer)
    }

    /// The first cycle of a cell.
    fn start(&self, index: usize) -> u64 {
        self.fabric.place(index).col as u64 * u64::from(self.fabric.options.call_skew)
    }

    /// Calls the program, and computes no cycle yet.
    pub(crate) fn begin(&mut self) {
        (self.warnings, self.halted) = (Warnings::default(), 0);
        for index in 0..self.cells.len() {
            let start = self.start(index);
            let cell = &mut self.cells[index];
            cell.ports.rest();
            for dpu in &mut cell.dpus {
                (dpu.has_saturated, dpu.saturated_sums) = (false, 0);
            }
            let sequencer = &mut cell.sequencer;
            (sequencer.pc, sequencer.next, sequencer.halted) = (0, start, None);
            cell.wake = 0;
        }
    }

    fn finish(&mut self, cycle: u64) -> Run {
        for (index, cell) in self.cells.iter().enumerate() {
            let running = cell.ports.active;
            if running != 0 {
                let number = running.trailing_zeros();
                let kind = WarningKind::StillRuns { slot: number as u8 / 4, port: number as u8 % 4 };
                let at = At { place: self.fabric.place(index), pc: cell.sequencer.pc };
                self.warnings.add(cycle, at, kind);
            }
        }
        let cells = self.cells.iter().enumerate();
        let cycles = |(index, cell): (usize, &CellState<W>)| {
            let halted = cell.sequencer.halted.expect("a run ends when all cells have halted");
            halted - self.start(index) + 1
        };
        let cell_cycles: Vec<u64> = cells.map(cycles).collect();
        // The call takes as long to arrive as the return takes to come back.
        let ends = cell_cycles.iter().enumerate().map(|(index, cycles)| cycles + 2 * self.start(index));
        let cycles = ends.max().expect("a fabric has a cell");
        let warnings = std::mem::take(&mut self.warnings);
        let saturated_sums =
            self.cells.iter().flat_map(|cell| &cell.dpus).map(|dpu| dpu.saturated_sums).sum();
        Run { cycles, cell_cycles, warnings: warnings.list, more_warnings: warnings.more, saturated_sums }
    }

    fn cycle(&mut self, cycle: u64, observer: &mut impl Observer) -> Result<(), Fault> {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        due.extend(
            self.cells.iter().enumerate().filter(|(_, cell)| cell.wake <= cycle).map(|(index, _)| index),
        );
        let result = self.steps(cycle, &due, observer);
        self.due = due;
        result
    }

    /// The five steps of a cycle, over the cells in which something may happen.
    fn steps(&mut self, cycle: u64, due: &[usize], observer: &mut impl Observer) -> Result<(), Fault> {
        for &index in due {
            self.addresses(index, cycle, observer)?;
        }
        if self.shadow.is_some() {
            self.follow(cycle, due)?;
        }
        if observer.follows_words() {
            self.tell_words(cycle, due, observer);
        }
        for &index in due {
            self.gather(index, cycle, observer)?;
        }
        let mut changed = 0_u64;
        for (&index, number) in due.iter().zip(0_u32..) {
            // Default: there are bits for 64 cells; below the others count as changed.
            changed |= u64::from(compute(&mut self.cells[index])).checked_shl(number).unwrap_or(0);
        }
        self.apply(cycle)?;
        for (&index, number) in due.iter().zip(0_u32..) {
            // Beyond 64 cells the cycle after is looked at, too, which costs time only.
            let changed = number >= u64::BITS || changed >> number & 1 == 1;
            self.control(index, cycle, changed, observer)?;
        }
        Ok(())
    }

    /// Step 1: lines, addresses and words.
    fn addresses(&mut self, index: usize, cycle: u64, observer: &mut impl Observer) -> Result<(), Fault> {
        let cell = &mut self.cells[index];
        cell.sequencer.raise(cycle);
        let wrapped = cell.ports.emit(cycle);
        put_words(cell);
        if observer.is_on() {
            observer::report_addresses(observer, cycle, index, &cell.ports);
        }
        let Some(wrapped) = wrapped else { return Ok(()) };
        let (slot, port) = (wrapped.number as u8 / 4, wrapped.number as u8 % 4);
        let size = cell.ports.sizes[wrapped.number & 63];
        let (address, place) = (wrapped.address, self.fabric.place(index));
        if self.fabric.options.strict {
            let kind = FaultKind::Address { address, size };
            return Err(Fault::Access { cycle, place, slot, port, kind });
        }
        let at = At { place, pc: cell.sequencer.pc };
        self.warnings.add(cycle, at, WarningKind::Wrapped { slot, port, address, size });
        Ok(())
    }

    /// Step 5: the instruction, the options of the next cycle, and when to look again.
    fn control(
        &mut self,
        index: usize,
        cycle: u64,
        changed: bool,
        observer: &mut impl Observer,
    ) -> Result<(), Fault> {
        let (state, cell) = (&mut self.cells[index], &self.fabric.cells[index]);
        swb::switch(state);
        if state.sequencer.next != cycle {
            let is_quiet = state.ports.emitted == 0 && !changed;
            state.wake =
                if is_quiet { state.sequencer.next.min(state.ports.next_cycle()) } else { cycle + 1 };
            return Ok(());
        }
        state.wake = cycle + 1;
        let pc = state.sequencer.pc;
        if observer.is_on()
            && let Some(op) = state.sequencer.op(cycle)
        {
            observer.issue(cycle, index, pc, &op);
        }
        let at = At { place: self.fabric.place(index), pc };
        let fault = |kind| Fault::Instruction { cycle, at, kind };
        let notice = execute(state, cell, self.fabric.options, cycle).map_err(fault)?;
        self.halted += usize::from(state.sequencer.halted.is_some());
        match notice {
            Some(Notice::Early(kind)) if self.fabric.options.strict => return Err(fault(kind)),
            Some(Notice::Early(kind)) => self.warnings.add(cycle, at, WarningKind::Early(kind)),
            Some(Notice::DivisionByZero) => self.warnings.add(cycle, at, WarningKind::DivisionByZero),
            None => {}
        }
        Ok(())
    }

    /// All that cells remember but words of data and times, in text: where it is the same, a call goes the same ways.
    pub(crate) fn setting(&self) -> String {
        let of = |cell: &CellState<W>| {
            let CellState { sequencer, ports, swb, dpus, .. } = cell;
            let dpus: Vec<_> = dpus.iter().map(|dpu| (dpu.configs, dpu.config)).collect();
            format!("{:?} {} {ports:?} {swb:?} {dpus:?}\n", sequencer.regs, sequencer.flags)
        };
        self.cells.iter().map(of).collect()
    }

    /// Where every cell is, a line for each.
    pub fn describe(&self) -> String {
        let cells = self.fabric.places().zip(&self.cells);
        cells.map(|(place, state)| format!("cell {place}: {}\n", state.describe())).collect()
    }
}

/// The words that leave slots.
#[inline]
fn put_words<W: Word>(cell: &mut CellState<W>) {
    for rf in &cell.rfs {
        cell.words[usize::from(rf.slot & 15)] = rf.word(&cell.ports);
    }
    for dpu in &cell.dpus {
        cell.words[usize::from(dpu.slot & 15)] = dpu.out;
    }
}

/// Step 3: arithmetic and words written; whether a dpu changed.
fn compute<W: Word>(cell: &mut CellState<W>) -> bool {
    let mut changed = false;
    for dpu in &mut cell.dpus {
        let reset_line = cell.sequencer.raised & state::bit(dpu.slot, exec::dpu::RESET) != 0;
        changed |= dpu.step(&cell.ports, &cell.swb, &cell.words, reset_line);
    }
    for rf in &mut cell.rfs {
        rf.write(&cell.ports, &cell.swb, &cell.words);
    }
    changed
}

fn load(fabric: &Fabric, program: &Program) -> Result<Vec<Vec<Op>>, LoadError> {
    let ops = program.decode(fabric)?;
    let refused = refusals(fabric, &ops);
    if refused.is_empty() { Ok(ops) } else { Err(LoadError::Refused(refused)) }
}

fn lines(refused: &[(At, Refusal)]) -> String {
    let mut lines: String =
        refused.iter().take(20).map(|(at, refusal)| format!("\n  {at}: {refusal}")).collect();
    if refused.len() > 20 {
        lines += &format!("\n  and {} others", refused.len() - 20);
    }
    lines
}
