//! [`Debugger`]: a machine that goes to any step, forwards or backwards.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use npukit_asm::{ListingLine, MemoryRange, StatementKind};
use npukit_target::{AddressRun, Machine, Moment, ProgramText, TargetError};

use crate::interrupt::Interrupt;
use crate::machine::{chain, read};
use crate::points::Points;
use crate::stop::Stop;

/// Copies of the machine that are kept at most, beside the one at the start. A step back does at most so much of the
/// program again.
const COPIES: usize = 48;

/// A line of a program's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

/// A program under a debugger.
pub struct Debugger {
    pub(crate) now: Box<dyn Machine>,
    /// By their steps; the one at the start is always there.
    copies: BTreeMap<usize, Box<dyn Machine>>,
    /// Steps from copy to copy.
    spacing: usize,
    /// Where its instructions stand, for a program that a person wrote.
    text: ProgramText,
    /// By line of the first text, the instructions that begin there.
    lines: OnceCell<HashMap<(String, usize), Vec<usize>>>,
    listing: OnceCell<Result<Vec<ListingLine>, String>>,
    /// By memory, the steps that write to it, in order, and where.
    writes: OnceCell<Vec<Vec<(usize, AddressRun)>>>,
    moments: OnceCell<Result<Vec<Moment>, String>>,
    pub(crate) points: Points,
    pub(crate) interrupt: Interrupt,
    /// What steps have told, by step.
    remarks: BTreeMap<usize, Vec<String>>,
    /// Why it stands where it stands.
    pub(crate) stop: Stop,
    /// Hits of the last scan.
    pub(crate) hits: Option<usize>,
    /// Who wrote the number that was asked for last.
    pub(crate) writer: Option<Option<usize>>,
}

impl Debugger {
    /// A debugger of a machine before its first step; `text` says where the instructions stand, if somebody wrote them.
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

    /// The machine as it is.
    pub fn machine(&self) -> &dyn Machine {
        &*self.now
    }

    /// Steps that are done: the next one is the step of that number.
    pub fn position(&self) -> usize {
        self.now.position()
    }

    /// How many steps the program has.
    pub fn steps(&self) -> usize {
        self.now.steps()
    }

    /// Why it stands where it stands.
    pub const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// What the step at `step` has told, if it was done.
    pub fn remarks(&self, step: usize) -> &[String] {
        // Default: a step that told nothing.
        self.remarks.get(&step).map(Vec::as_slice).unwrap_or_default()
    }

    /// The instructions, a line each.
    ///
    /// # Errors
    ///
    /// Why the program has no listing.
    pub fn listing(&self) -> Result<&[ListingLine], &str> {
        let told = |error| format!("there is no listing: {}", chain(&error));
        let listing = self.listing.get_or_init(|| self.now.listing().map_err(told));
        listing.as_ref().map(Vec::as_slice).map_err(String::as_str)
    }

    /// The instruction as text; without a listing, why there is none.
    pub fn text_of(&self, instruction: usize) -> &str {
        match self.listing() {
            // Default: beyond the listing there is no instruction.
            Ok(listing) => listing.get(instruction).map_or("", |line| line.text.trim()),
            Err(told) => told,
        }
    }

    /// What a step does, in a line.
    pub fn step_text(&self, step: usize) -> String {
        if let Some(told) = self.now.told(step) {
            return told;
        }
        let texts = self.now.issued(step).into_iter().map(|instruction| self.text_of(instruction).to_owned());
        texts.collect::<Vec<_>>().join(" | ")
    }

    /// Where an instruction stands in the text.
    pub fn line(&self, instruction: usize) -> Option<Line> {
        let place = *self.text.places.get(instruction)?;
        let (file, line, column) = self.text.sources.position_of(place);
        Some(Line { file: file.to_owned(), line, column })
    }

    /// Where the next step stands in the text.
    pub fn line_here(&self) -> Option<Line> {
        self.now.issued(self.position()).first().and_then(|&instruction| self.line(instruction))
    }

    /// The texts, with their names.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.sources.texts()
    }

    /// The instructions that begin at a line of a text; of the first text when no file is named.
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

    /// What the text fills addresses with before the first step.
    pub(crate) fn filled(&self, run: AddressRun) -> Option<String> {
        let memory = &self.now.memories()[run.memory];
        let (first, last) = (run.first, run.first + run.count);
        let meets = |range: &MemoryRange| {
            // Default: as many addresses as there are values; nobody knows here how many these are.
            let end = range.end.unwrap_or(if range.is_one { range.start + 1 } else { memory.depth });
            range.memory.eq_ignore_ascii_case(&memory.name) && range.start < last && first < end
        };
        self.text.experiment.statements.iter().rev().find_map(|statement| match &statement.kind {
            StatementKind::Input { name, range, .. } if meets(range) => Some(format!("input `{name}`")),
            StatementKind::Data { range, .. } if meets(range) => Some("data of the text".to_owned()),
            _ => None,
        })
    }

    /// When the clock has the steps.
    ///
    /// # Errors
    ///
    /// Why it does not know.
    pub fn moments(&self) -> Result<&[Moment], &str> {
        let moments = self.moments.get_or_init(|| self.now.moments().map_err(|error| chain(&error)));
        moments.as_ref().map(Vec::as_slice).map_err(String::as_str)
    }

    /// Takes what the clock says of a copy of the machine, from whoever has asked it meanwhile.
    pub fn know_moments(&mut self, moments: Result<Vec<Moment>, TargetError>) {
        // Who has asked here, too, knows it already.
        let _ = self.moments.set(moments.map_err(|error| chain(&error)));
    }

    /// The last step before `before` that writes an address.
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

    /// Does the next step.
    ///
    /// # Errors
    ///
    /// What the machine faults on; it then stands before the step.
    pub(crate) fn advance(&mut self) -> Result<(), String> {
        let step = self.position();
        if step.is_multiple_of(self.spacing) && !self.copies.contains_key(&step) {
            self.copies.insert(step, self.now.fork());
        }
        let told = self.now.step().map_err(|error| chain(&error))?;
        if !told.is_empty() {
            self.remarks.insert(step, told);
        }
        Ok(())
    }

    /// The last copy that is at most at `position`.
    pub(crate) fn copy_before(&self, position: usize) -> &dyn Machine {
        let (_, first) = self.copies.iter().next().expect("the copy at the start is always there");
        // Default: there is none before the start.
        self.copies.range(..=position).next_back().map_or(&**first, |(_, copy)| &**copy)
    }

    /// Stops, from now on, when `interrupt` asks for it.
    pub fn heed(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    /// Goes to where `position` steps are done, or as far as nobody interrupts.
    ///
    /// # Errors
    ///
    /// What the machine faults on before that; it then stands before the step at fault.
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

    /// A machine of its own where `position` steps are done, which is at most where this one has been.
    ///
    /// # Errors
    ///
    /// What the machine faults on before that.
    pub fn at(&self, position: usize) -> Result<Box<dyn Machine>, String> {
        let copy = self.copy_before(position);
        let nearer = self.position() <= position && self.position() >= copy.position();
        let mut machine = if nearer { self.now.fork() } else { copy.fork() };
        while machine.position() < position {
            machine.step().map_err(|error| chain(&error))?;
        }
        Ok(machine)
    }

    /// The numbers of addresses, lane by lane.
    ///
    /// # Errors
    ///
    /// Memory that cannot be read now.
    pub fn read(&self, run: AddressRun) -> Result<Vec<i64>, String> {
        read(&*self.now, run)
    }
}
