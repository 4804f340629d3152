//! [`Machine`]: bit-exact and cycle-accurate simulator of a fabric with its program.
//!
//! A cycle has five steps, so that everything is read before anything is written: addresses and
//! words of all cells; bulk rows and buffers; arithmetic and word writes; row writes; instructions,
//! whose effects show in the next cycle. Idle cells and idle cycles are skipped. Cells in a steady
//! state compute many cycles at once, unless an observer follows words.

pub(crate) mod agu;
mod bench;
mod buffer;
pub(crate) mod exec;
mod fast_forward;
pub(crate) mod fault;
mod observer;
mod shadow;
pub(crate) mod state;
mod transfer;
mod words;

use npukit_target::UninitMemory;
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
use crate::machine::state::{CellSetting, CellState, Dpu};
use crate::program::binary::Image;

pub use bench::{Memory, MemoryKind};
pub use buffer::Buffer;
pub use observer::{Access, How, Observer, Touch};
use shadow::Shadow;
pub(crate) use shadow::UnwrittenRead;
use transfer::Transfers;

/// Default limit of computed cycles, after which a run is aborted: some seconds.
pub const DEFAULT_LIMIT: u64 = 1 << 25;
/// Warnings listed per run; further warnings are only counted.
const MAX_WARNINGS: usize = 100;

/// Fabric with its program and state.
#[derive(Clone, Debug)]
pub struct Machine<W: Word = i16> {
    fabric: Fabric,
    cells: Vec<CellState<W>>,
    /// Buffer read by the top cells.
    pub input: Buffer<W>,
    /// Buffer written by the bottom cells.
    pub output: Buffer<W>,
    /// Index of the neighbor of each cell in each direction, `None` at the border.
    neighbors: Vec<[Option<usize>; DIRECTIONS]>,
    transfers: Transfers<W>,
    due: Vec<usize>,
    /// Number of cells that have halted.
    halted: usize,
    warnings: Warnings,
    /// Record of unwritten words, if reading one is a fault.
    shadow: Option<Box<Shadow>>,
}

/// State of all cells, without data words and times. It decides the routes, addresses and
/// operations of a call, together with its program.
#[derive(Clone, Debug)]
pub(crate) struct Setting(Vec<CellSetting>);

impl Setting {
    /// Returns the setting as text, to compare it. Calls from equal settings behave equally.
    pub fn text(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// Reason why a program cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The program does not fit the fabric.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The fabric refuses instructions.
    #[error("the fabric refuses {} of the program's instructions:{}", .0.len(), lines(.0))]
    Refused(Vec<(At, Refusal)>),
    /// An input row is outside the buffer.
    #[error("the image has row {row}; the input buffer has rows 0 to {}", .depth - 1)]
    Input {
        /// Row number.
        row: u32,
        /// Number of rows of the buffer.
        depth: usize,
    },
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Cycles from the call to the return, as the specification counts them.
    pub cycles: u64,
    /// Cycles of each cell from its own first instruction to its halt, in fabric order.
    pub cell_cycles: Vec<u64>,
    /// Likely mistakes of the program, at most 100.
    pub warnings: Vec<Warning>,
    /// Number of warnings that are not listed.
    pub more_warnings: usize,
    /// Number of sums that did not fit the accumulator of their dpu at some time.
    pub saturated_sums: u64,
}

/// Event in a run that is probably a mistake of the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cycle {cycle}, {at}: {kind}")]
pub struct Warning {
    /// Cycle of the first occurrence.
    pub cycle: u64,
    /// Instruction before or at which it happened.
    pub at: At,
    /// Kind of event.
    pub kind: WarningKind,
}

/// Kind of event that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WarningKind {
    /// An address is outside the memory.
    #[error("slot {slot}, port {port}: address {address} is beyond 0 to {}, and wraps", .size - 1)]
    Wrapped {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
        /// Address before wrapping.
        address: i64,
        /// Number of addresses of the memory.
        size: u32,
    },
    /// A memory receives two rows in one cycle.
    #[error("slot {slot}: a bulk row is dropped, the input buffer's write has priority")]
    Dropped {
        /// First slot of the memory.
        slot: u8,
    },
    /// A configuration is written in a cycle in which hardware may still erase it.
    #[error(transparent)]
    Early(FaultKind),
    /// A division by 0.
    #[error("division by 0 gives 0")]
    DivisionByZero,
    /// A port is still active at the end of the run.
    #[error("port {port} of slot {slot} still runs when the last cell halts")]
    StillRuns {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
    },
}

#[derive(Clone, Debug, Default)]
struct Warnings {
    list: Vec<Warning>,
    more: usize,
}

impl Warnings {
    /// Adds a warning, unless the same one is already listed.
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
    /// Creates a machine in its reset state.
    ///
    /// # Errors
    ///
    /// The program does not fit the fabric, or the fabric refuses an instruction.
    pub fn new(fabric: &Fabric, program: &Program) -> Result<Self, LoadError> {
        Self::of_words(fabric, program)
    }

    /// Writes rows of the input buffer. Rows that are not in `image` become unwritten.
    ///
    /// # Errors
    ///
    /// A row is outside the buffer.
    pub fn set_input(&mut self, image: &Image) -> Result<(), LoadError> {
        self.input.clear();
        let depth = self.fabric.input_depth;
        for (&row, values) in image {
            self.input.write(row as usize, *values).map_err(|_| LoadError::Input { row, depth })?;
        }
        Ok(())
    }

    /// Returns the rows of the output buffer written so far.
    pub fn output_image(&self) -> Image {
        self.output.image()
    }
}

impl<W: Word> Machine<W> {
    /// Creates a machine with words of any type, in its reset state.
    ///
    /// # Errors
    ///
    /// The program does not fit the fabric, or the fabric refuses an instruction.
    pub fn of_words(fabric: &Fabric, program: &Program) -> Result<Self, LoadError> {
        let ops = load(fabric, program)?;
        let cells = fabric.cells.iter().zip(ops).map(|(cell, ops)| CellState::new(cell, fabric.options, ops));
        let sides = |index| Direction::ALL.map(|side| fabric.neighbor(index, side));
        Ok(Self {
            neighbors: (0..fabric.cells.len()).map(sides).collect(),
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

    /// Replaces the program, and keeps all memories and configurations.
    ///
    /// # Errors
    ///
    /// The program does not fit the fabric, or the fabric refuses an instruction.
    pub fn reload(&mut self, program: &Program) -> Result<(), LoadError> {
        let ops = load(&self.fabric, program)?;
        self.cells.iter_mut().zip(ops).for_each(|(cell, ops)| cell.sequencer.ops = ops);
        Ok(())
    }

    /// Sets the result of reading memories, buffers and data registers that the program has not
    /// written: zeros, random words, or a fault.
    pub fn unset(&mut self, unset: UninitMemory) {
        self.input.unset(unset);
        self.output.unset(unset);
        self.shadow = (unset == UninitMemory::Poison).then(|| Box::new(Shadow::new(&self.cells)));
        match unset {
            UninitMemory::Garbage(seed) => {
                let mut next = garbage(seed);
                self.fill(|| W::garbage(next()));
            }
            UninitMemory::Zero | UninitMemory::Poison => self.fill(W::default),
        }
    }

    /// Fills the memories and data registers of all cells.
    fn fill(&mut self, mut word: impl FnMut() -> W) {
        for cell in &mut self.cells {
            let rows = cell.rfs.iter_mut().map(|rf| &mut rf.rows);
            let rows = rows.chain(cell.iosrams.iter_mut().map(|part| &mut part.rows));
            rows.flatten().flatten().for_each(|place| *place = word());
            for dpu in &mut cell.dpus {
                (dpu.out, dpu.acc, dpu.ir) = (word(), word().wide(), word());
            }
        }
    }

    /// Copies the sequencer registers of another machine, on which addresses and loops depend.
    pub(crate) fn take_registers<V: Word>(&mut self, of: &Machine<V>) {
        for (own, other) in self.cells.iter_mut().zip(&of.cells) {
            (own.sequencer.regs, own.sequencer.flags) = (other.sequencer.regs, other.sequencer.flags);
        }
    }

    /// Mutable access to a dpu of a cell, for a debugger; `None` if it does not exist.
    pub(crate) fn dpu_mut(&mut self, cell: usize, number: usize) -> Option<&mut Dpu<W>> {
        self.cells.get_mut(cell)?.dpus.get_mut(number)
    }

    /// Fabric of the machine.
    pub const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// State of the cells, in fabric order.
    pub fn cells(&self) -> &[CellState<W>] {
        &self.cells
    }

    /// Runs the program: every cell starts at its first instruction, and the run ends with the last
    /// halt.
    ///
    /// # Errors
    ///
    /// An instruction cannot be executed, or more than `limit` cycles had to be computed. Skipped
    /// cycles are not part of the limit.
    pub fn run(&mut self, limit: u64, observer: &mut impl Observer) -> Result<Run, Fault> {
        self.begin();
        let is_watched = self.shadow.is_some() || observer.is_on() || observer.follows_words();
        let mut computed = 0;
        loop {
            let cycle = self.next_cycle();
            if computed >= limit {
                return Err(Fault::Limit { cycle, computed, state: self.describe() });
            }
            let skipped = if is_watched { 0 } else { self.fast_forward(cycle, limit - computed) };
            if skipped > 0 {
                computed += skipped;
                continue;
            }
            self.advance(observer)?;
            computed += 1;
            if self.has_halted() {
                return Ok(self.finish(cycle));
            }
        }
    }

    /// Returns the next cycle in which something may happen.
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
    /// An instruction cannot be executed.
    pub(crate) fn advance(&mut self, observer: &mut impl Observer) -> Result<(), Fault> {
        self.cycle(self.next_cycle(), observer)
    }

    /// Returns the first cycle of a cell.
    fn start(&self, index: usize) -> u64 {
        self.fabric.place(index).col as u64 * u64::from(self.fabric.options.call_skew)
    }

    /// Starts the program without computing a cycle.
    pub(crate) fn begin(&mut self) {
        (self.warnings, self.halted, self.transfers) = (Warnings::default(), 0, Transfers::default());
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
        // The return takes as long as the call, so both add the start offset.
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

    /// Runs the five steps of a cycle over the cells in which something may happen.
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
            // Default: there are bits for 64 cells; later cells always count as changed.
            changed |= u64::from(compute(&mut self.cells[index])).checked_shl(number).unwrap_or(0);
        }
        self.apply(cycle)?;
        for (&index, number) in due.iter().zip(0_u32..) {
            // With more than 64 cells, the next cycle is always examined, which only costs time.
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

    /// Step 5: the instruction, the options of the next cycle, and the cell's next wake-up.
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

    /// Returns the state of all cells, without data words and times.
    pub(crate) fn setting(&self) -> Setting {
        Setting(self.cells.iter().map(CellState::setting).collect())
    }

    /// Takes over the setting that a call on another fabric left.
    pub(crate) fn take_setting(&mut self, setting: &Setting) {
        self.cells.iter_mut().zip(&setting.0).for_each(|(cell, setting)| cell.take_setting(setting));
    }

    /// Returns the position of every cell, one line per cell.
    pub fn describe(&self) -> String {
        let cells = self.fabric.places().zip(&self.cells);
        cells.map(|(place, state)| format!("cell {place}: {}\n", state.describe())).collect()
    }
}

/// Puts the words that leave slots onto the cell's lines.
#[inline]
fn put_words<W: Word>(cell: &mut CellState<W>) {
    for rf in &cell.rfs {
        cell.words[usize::from(rf.slot & 15)] = rf.word(&cell.ports);
    }
    for dpu in &cell.dpus {
        cell.words[usize::from(dpu.slot & 15)] = dpu.out;
    }
}

/// Step 3: arithmetic and word writes. Returns whether a dpu changed.
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
