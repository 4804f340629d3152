//! [`Debugger`]: a program that goes to any step, forwards or backwards.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use npukit_asm::{ListingLine, MemoryRange, StatementKind};
use npukit_target::{AddressRun, Machine, Moment, ProgramText, TargetError};

use crate::interrupt::Interrupt;
use crate::machine::{chain, read};
use crate::points::Points;
use crate::stop::Stop;

/// Maximum number of kept copies of the machine, in addition to the one at the start. A step back
/// repeats at most the distance between two copies.
const COPIES: usize = 48;

/// Position of an instruction in a program's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Name of the file, as it was given.
    pub file: String,
    /// Line, starting at 1.
    pub line: usize,
    /// Column, starting at 1.
    pub column: usize,
}

/// A program under the debugger.
pub struct Debugger {
    pub(crate) now: Box<dyn Machine>,
    /// Copies of the machine by step; the copy at the start always exists.
    copies: BTreeMap<usize, Box<dyn Machine>>,
    /// Number of steps between two copies.
    spacing: usize,
    /// Positions of the instructions in the text of an assembly program.
    text: ProgramText,
    /// Instructions that begin at each line, by file and line.
    lines: OnceCell<HashMap<(String, usize), Vec<usize>>>,
    listing: OnceCell<Result<Vec<ListingLine>, String>>,
    /// For each memory, the steps that write to it, in order, with the written addresses.
    writes: OnceCell<Vec<Vec<(usize, AddressRun)>>>,
    moments: OnceCell<Result<Vec<Moment>, String>>,
    pub(crate) points: Points,
    pub(crate) interrupt: Interrupt,
    /// Messages of the executed steps, by step.
    remarks: BTreeMap<usize, Vec<String>>,
    /// Why the program stopped at its position.
    pub(crate) stop: Stop,
    /// Number of hits of the last scan.
    pub(crate) hits: Option<usize>,
    /// Writer of the number of the last `who`; the inner `None` means that no step wrote it.
    pub(crate) writer: Option<Option<usize>>,
}

impl Debugger {
    /// Returns a debugger of a machine before its first step. `text` gives the positions of the
    /// instructions in an assembly program.
    pub fn new(machine: Box<dyn Machine>, text: ProgramText) -> Self {
        let spacing = machine.steps().div_ceil(COPIES).max(1);
        let copies = BTreeMap::from([(machine.position(), machine.fork())]);
        Self {
            now: machine,
            copies,
            spacing,
            text,
            lines: OnceCell::new(),
            listing: OnceCell::new(),
            writes: OnceCell::new(),
            moments: OnceCell::new(),
            points: Points::default(),
            interrupt: Interrupt::default(),
            remarks: BTreeMap::new(),
            stop: Stop::Start,
            hits: None,
            writer: None,
        }
    }

    /// Returns the machine in its current state.
    pub fn machine(&self) -> &dyn Machine {
        &*self.now
    }

    /// Returns the number of executed steps, which is also the number of the next step.
    pub fn position(&self) -> usize {
        self.now.position()
    }

    /// Returns the number of steps of the program.
    pub fn steps(&self) -> usize {
        self.now.steps()
    }

    /// Returns why the program stopped at its position.
    pub const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the messages of `step`; empty if the step was not executed.
    pub fn remarks(&self, step: usize) -> &[String] {
        // Default: a step without messages.
        self.remarks.get(&step).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the listing, one instruction per line.
    ///
    /// # Errors
    /// The reason why the program has no listing.
    pub fn listing(&self) -> Result<&[ListingLine], &str> {
        let message = |error| format!("the listing is not available: {}", chain(&error));
        let listing = self.listing.get_or_init(|| self.now.listing().map_err(message));
        listing.as_ref().map(Vec::as_slice).map_err(String::as_str)
    }

    /// Returns the text of an instruction, or the reason why it cannot be listed.
    pub fn text_of(&self, instruction: usize) -> &str {
        match self.listing() {
            // Default: the listing has ended.
            Ok(listing) => listing.get(instruction).map_or("", |line| line.text.trim()),
            Err(message) => message,
        }
    }

    /// Describes a step in one line.
    pub fn step_text(&self, step: usize) -> String {
        if let Some(message) = self.now.described(step) {
            return message;
        }
        let texts = self.now.issued(step).into_iter().map(|instruction| self.text_of(instruction).to_owned());
        texts.collect::<Vec<_>>().join(" | ")
    }

    /// Returns the position of an instruction in the text.
    pub fn line(&self, instruction: usize) -> Option<Line> {
        let place = *self.text.places.get(instruction)?;
        let (file, line, column) = self.text.sources.position_of(place);
        Some(Line { file: file.to_owned(), line, column })
    }

    /// Returns the positions of the macro calls, repetitions and inclusions that generated an
    /// instruction, the innermost first.
    pub fn callers(&self, instruction: usize) -> Vec<Line> {
        let Some(&place) = self.text.places.get(instruction) else { return Vec::new() };
        let line = |(file, line, column): (&str, usize, usize)| Line { file: file.to_owned(), line, column };
        self.text.sources.callers(place).into_iter().map(line).collect()
    }

    /// Returns the first instruction of the next step.
    pub fn instruction_here(&self) -> Option<usize> {
        self.now.issued(self.position()).first().copied()
    }

    /// Returns the position of the next step in the text.
    pub fn line_here(&self) -> Option<Line> {
        self.line(self.instruction_here()?)
    }

    /// Returns the texts as pairs of name and content.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.sources.texts()
    }

    /// Returns the instructions that begin at a line of a text; of the first text if no file is
    /// given.
    pub fn instructions_at(&self, file: Option<&str>, line: usize) -> &[usize] {
        let first = self.texts().next().map(|(name, _)| name.to_owned());
        let Some(file) = file.map(str::to_owned).or(first) else { return &[] };
        let lines = self.lines.get_or_init(|| {
            let mut lines: HashMap<(String, usize), Vec<usize>> = HashMap::new();
            for instruction in 0..self.text.places.len() {
                if let Some(Line { file, line, .. }) = self.line(instruction) {
                    lines.entry((file, line)).or_default().push(instruction);
                }
            }
            lines
        });
        // Default: a line without instructions.
        lines.get(&(file, line)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns a description of the data that the text stores at `run` before the first step.
    pub(crate) fn filled(&self, run: AddressRun) -> Option<String> {
        let memory = &self.now.memories()[run.memory];
        let (first, last) = (run.first, run.first + run.count);
        let meets = |range: &MemoryRange| {
            // Default: all addresses, as the number of values is unknown here.
            let end = range.end.unwrap_or(if range.is_one { range.start + 1 } else { memory.depth });
            range.memory.eq_ignore_ascii_case(&memory.name) && range.start < last && first < end
        };
        self.text.experiment.statements.iter().rev().find_map(|statement| match &statement.kind {
            StatementKind::Input { name, range, .. } if meets(range) => Some(format!("input `{name}`")),
            StatementKind::Data { range, .. } if meets(range) => Some("data of the text".to_owned()),
            _ => None,
        })
    }

    /// Returns the clock cycles of all steps.
    ///
    /// # Errors
    /// The reason why the clock cannot time the program.
    pub fn moments(&self) -> Result<&[Moment], &str> {
        let moments = self.moments.get_or_init(|| self.now.moments().map_err(|error| chain(&error)));
        moments.as_ref().map(Vec::as_slice).map_err(String::as_str)
    }

    /// Stores clock cycles that were computed elsewhere, from a copy of the machine.
    pub fn know_moments(&mut self, moments: Result<Vec<Moment>, TargetError>) {
        // The clock cycles may already have been computed here.
        let _ = self.moments.set(moments.map_err(|error| chain(&error)));
    }

    /// Returns the last step before `before` that writes an address.
    pub(crate) fn last_writer(&self, memory: usize, address: u64, before: usize) -> Option<usize> {
        let writes = self.writes.get_or_init(|| {
            let mut writes = vec![Vec::new(); self.now.memories().len()];
            for step in 0..self.steps() {
                let written = self.now.accesses(step).into_iter().filter(|accessed| accessed.is_write);
                written.for_each(|accessed| writes[accessed.run.memory].push((step, accessed.run)));
            }
            writes
        });
        let writes = writes.get(memory)?;
        let earlier = &writes[..writes.partition_point(|(step, _)| *step < before)];
        earlier.iter().rev().find(|(_, run)| run.place(address).is_some()).map(|(step, _)| *step)
    }

    /// Executes the next step.
    ///
    /// # Errors
    /// The machine's fault; the position is then before the failed step.
    pub(crate) fn advance(&mut self) -> Result<(), String> {
        let step = self.position();
        if step.is_multiple_of(self.spacing) && !self.copies.contains_key(&step) {
            self.copies.insert(step, self.now.fork());
        }
        let message = self.now.step().map_err(|error| chain(&error))?;
        if !message.is_empty() {
            self.remarks.insert(step, message);
        }
        Ok(())
    }

    /// Returns the last copy at or before `position`.
    pub(crate) fn copy_before(&self, position: usize) -> &dyn Machine {
        let (_, first) = self.copies.iter().next().expect("the copy at the start is always there");
        // Default: the copy at the start.
        self.copies.range(..=position).next_back().map_or(&**first, |(_, copy)| &**copy)
    }

    /// Makes later runs stop when `interrupt` requests it.
    pub fn heed(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    /// Goes to `position`, or stops earlier if interrupted.
    ///
    /// # Errors
    /// The machine's fault in between; the position is then before the failed step.
    pub(crate) fn seek(&mut self, position: usize) -> Result<(), String> {
        let position = position.min(self.steps());
        let copy = self.copy_before(position);
        if position < self.position() || copy.position() > self.position() {
            self.now = copy.fork();
        }
        while self.position() < position && !self.interrupt.is_asked() {
            self.advance()?;
        }
        Ok(())
    }

    /// Returns an independent machine after `position` steps, which the debugger must have reached
    /// before.
    ///
    /// # Errors
    /// The machine's fault before `position`.
    pub fn at(&self, position: usize) -> Result<Box<dyn Machine>, String> {
        let copy = self.copy_before(position);
        let nearer = self.position() <= position && self.position() >= copy.position();
        let mut machine = if nearer { self.now.fork() } else { copy.fork() };
        while machine.position() < position {
            machine.step().map_err(|error| chain(&error))?;
        }
        Ok(machine)
    }

    /// Returns the numbers at some addresses, lane by lane.
    ///
    /// # Errors
    /// The memory cannot be read now.
    pub fn read(&self, run: AddressRun) -> Result<Vec<i64>, String> {
        read(&*self.now, run)
    }
}
