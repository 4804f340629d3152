//! [`Answer`]: the output of a command, and whether its expectation holds.

mod expectation;
mod tree;

use std::fmt::Write as _;

use npukit_target::{Accessed, AddressRun, MachineMemory, Moment, Placed};

use crate::command::{COMMANDS, Command, Help, Scale};
use crate::machine::chain;
use crate::motion;
use crate::place::Range;
use crate::points::{Hit, Point};
use crate::stop::Stop;
use crate::{Debugger, Line};

/// Output of a command, and whether it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Text to print: whole lines.
    pub text: String,
    /// Why the command cannot be done, or how the program differs from the expectation.
    pub failure: Option<String>,
}

/// Maximum number of rows, hits and the like that are printed.
const SHOWN: usize = 64;

impl Answer {
    const fn of(text: String) -> Self {
        Self { text, failure: None }
    }

    fn failed(message: impl Into<String>) -> Self {
        Self { text: String::new(), failure: Some(message.into()) }
    }
}

impl From<Result<String, String>> for Answer {
    fn from(result: Result<String, String>) -> Self {
        result.map_or_else(Self::failed, Self::of)
    }
}

impl Debugger {
    /// Executes a command of the debugger.
    pub fn execute(&mut self, command: &Command) -> Answer {
        match command {
            Command::Step(count) => {
                self.step(*count);
            }
            Command::Back(count) => {
                self.back(*count);
            }
            Command::Next(count) => self.repeat(*count, |own| {
                own.next_layer();
            }),
            Command::Previous(count) => self.repeat(*count, |own| {
                own.previous_layer();
            }),
            Command::Goto(step) => {
                self.goto(*step);
            }
            Command::GotoCycle(cycle) => return self.goto_cycle(*cycle),
            Command::Continue => {
                self.go_on();
            }
            Command::Reverse => {
                self.go_back();
            }
            other => return self.answered(other),
        }
        self.arrived()
    }

    /// Repeats `go` up to `count` times, and stops earlier once the position no longer changes.
    fn repeat(&mut self, count: usize, go: impl Fn(&mut Self)) {
        for _ in 0..count {
            let before = self.position();
            go(self);
            if self.position() == before || !matches!(self.stop(), Stop::Layer) {
                return;
            }
        }
    }

    fn goto_cycle(&mut self, cycle: u64) -> Answer {
        match self.moments() {
            Ok(moments) => {
                // Default: the end, if no later step ends after the cycle.
                let step = moments.iter().position(|moment| moment.end > cycle).unwrap_or(moments.len());
                self.goto(step);
                self.arrived()
            }
            Err(message) => Answer::failed(message),
        }
    }

    /// Prints the new position and the messages of the steps in between.
    fn arrived(&self) -> Answer {
        let mut text = self.place();
        if let Some(step) = self.position().checked_sub(1) {
            for remark in self.remarks(step) {
                let _ = writeln!(text, "  remark: {remark}");
            }
        }
        Answer { text, failure: self.stop().trouble() }
    }

    /// Executes a command that does not move the program.
    fn answered(&mut self, command: &Command) -> Answer {
        match command {
            Command::Help(name) => help(name.as_deref()),
            Command::Point(kinds) => {
                let add = |own: &mut Self, kind: &crate::PointKind| {
                    let id = own.add_point(kind.clone());
                    own.point_line(id)
                };
                Answer::of(kinds.iter().map(|kind| add(self, kind)).collect())
            }
            Command::Delete(None) => {
                self.points.all.clear();
                Answer::default()
            }
            Command::Delete(Some(id)) => match self.remove_point(*id) {
                true => Answer::default(),
                false => Answer::failed(format!("point {id} does not exist")),
            },
            Command::Points => {
                Answer::of(self.points().iter().map(|point| self.point_text(point) + "\n").collect())
            }
            Command::Scan => self.scanned(),
            Command::Where => Answer::of(self.place()),
            Command::List(around) => self.list(*around).into(),
            Command::Layers => Answer::of(self.layers()),
            Command::Memories => Answer::of(self.machine().memories().iter().map(memory).collect()),
            Command::Tensors => {
                Answer::of(self.machine().placed().iter().map(|placed| self.tensor(placed)).collect())
            }
            Command::Show(range, scale) => self.show(range, *scale).into(),
            Command::Accesses(step) => Answer::of(self.accesses(step.unwrap_or(self.position()))), // Default: the next step.
            Command::Changed => self.changed().into(),
            Command::Who(range, depth) => self.tree(range, *depth).into(),
            Command::Clock => self.clock().into(),
            Command::Motion(cycle) => self.in_motion(*cycle).into(),
            Command::Expect(expectation) => {
                Answer { text: String::new(), failure: self.unexpected(expectation) }
            }
            _ => Answer::default(),
        }
    }

    fn point_line(&self, id: u32) -> String {
        let found = self.points().iter().find(|point| point.id == id);
        // Default: cannot happen: the point was just added.
        found.map_or_else(String::new, |point: &Point| self.point_text(point) + "\n")
    }

    fn scanned(&mut self) -> Answer {
        if self.points.watches().next().is_none() {
            return Answer::failed("no watchpoint is set");
        }
        let hits = match self.scan() {
            Ok(hits) => hits,
            Err(stop) => return Answer { text: String::new(), failure: stop.trouble() },
        };
        self.hits = Some(hits.len());
        let line = |Hit { id, step }: &Hit| format!("watchpoint {id}: {}\n", self.step_line(*step));
        let mut text: String = hits.iter().take(SHOWN).map(line).collect();
        if hits.len() > SHOWN {
            let _ = writeln!(text, "and {} others", hits.len() - SHOWN);
        }
        let _ = writeln!(text, "{}", npukit_base::counted(hits.len() as u64, "hit"));
        Answer::of(text)
    }

    /// Describes a step in one line: its number, its layer and its instruction.
    pub fn step_line(&self, step: usize) -> String {
        if step >= self.steps() {
            return format!(
                "end, after {}",
                npukit_base::counted(self.steps() as u64, self.machine().step_name())
            );
        }
        let layer = self.machine().layer(step).and_then(|place| self.machine().layers().get(place));
        // Default: the step belongs to no layer.
        let layer = layer.map(|name| format!(", layer `{name}`")).unwrap_or_default();
        let text = self.step_text(step);
        let colon = if text.is_empty() { "" } else { ": " };
        format!("{} {step}{layer}{colon}{text}", self.machine().step_name())
    }

    /// Describes the position and why the program stopped there.
    pub fn place(&self) -> String {
        let stop = match self.stop() {
            Stop::Breakpoint(id) => format!("breakpoint {id}: "),
            Stop::Watchpoint(id, step) => format!("watchpoint {id}, hit by {}\n", self.step_line(*step)),
            _ => String::new(),
        };
        let here = self.instruction_here();
        let line =
            here.and_then(|here| self.source_text(here, &|line| format!("{}:{}", line.file, line.line)));
        let line = line.map(|line| format!(" ({line})"));
        // Default: a program in words has no source lines.
        format!("{stop}{}{}\n", self.step_line(self.position()), line.unwrap_or_default())
    }

    /// Describes the line of an instruction, and the innermost and outermost calls that generated
    /// it, if any.
    fn source_text(&self, instruction: usize, place: &dyn Fn(&Line) -> String) -> Option<String> {
        let line = place(&self.line(instruction)?);
        Some(match &self.callers(instruction)[..] {
            [] => line,
            [caller] => format!("{line}, from {}", place(caller)),
            [inner, .., outer] => format!("{line}, from {}, from {}", place(inner), place(outer)),
        })
    }

    /// Returns the listing around the next step.
    ///
    /// # Errors
    /// The reason why the program has no listing.
    fn list(&self, around: usize) -> Result<String, String> {
        let listing = self.listing().map_err(str::to_owned)?;
        let machine = self.machine();
        let position = self.position();
        let issued = machine.issued(position.min(self.steps().saturating_sub(1)));
        let middle = issued.first().copied().unwrap_or(position); // Default: no instruction begins in this step.
        let (first, last) = (
            middle.saturating_sub(around),
            middle.saturating_add(around).saturating_add(1).min(listing.len()),
        );
        let line = |instruction: usize| {
            let mark = if position < self.steps() && issued.contains(&instruction) { ">" } else { " " };
            let stops =
                self.points().iter().any(|point| point.kind == crate::PointKind::Instruction(instruction));
            let point = if stops { "*" } else { " " };
            let source = self.source_text(instruction, &|line| format!("line {}", line.line));
            let source = source.map(|source| format!("  ; {source}"));
            // Default: a program in words has no source lines.
            format!(
                "{mark}{point}{instruction:>6}  {}{}\n",
                self.text_of(instruction),
                source.unwrap_or_default()
            )
        };
        Ok((first..last).map(line).collect())
    }

    fn layers(&self) -> String {
        let machine = self.machine();
        let mut begins: Vec<Option<usize>> = vec![None; machine.layers().len()];
        for step in 0..self.steps() {
            if let Some(begin) = machine.layer(step).and_then(|layer| begins.get_mut(layer)) {
                begin.get_or_insert(step);
            }
        }
        let line = |(name, begin): (&String, Option<usize>)| match begin {
            Some(step) => format!("{step:>8}  {name}\n"),
            None => format!("{:>8}  {name}\n", "-"),
        };
        machine.layers().iter().zip(begins).map(line).collect()
    }

    /// Formats an address range as commands write it.
    pub fn run_text(&self, run: AddressRun, lane: Option<usize>) -> String {
        let memory = &self.machine().memories()[run.memory];
        // Default: without a lane, all numbers of an address.
        let lane = lane.map(|lane| format!(".{lane}")).unwrap_or_default();
        let AddressRun { first, count, stride, .. } = run;
        match (count, stride) {
            (1, _) if memory.depth == 1 => format!("{}{}", memory.name, lane.replacen('.', "[0].", 1)),
            (1, _) => format!("{}[{first}]{lane}", memory.name),
            (_, 1) => format!("{}[{first}:{}]{lane}", memory.name, first + count),
            _ => format!("{}[{first} + {stride} * 0..{count}]{lane}", memory.name),
        }
    }

    fn tensor(&self, Placed { name, kind, run }: &Placed) -> String {
        format!("{:<9} {}  {name}\n", kind.name(), self.run_text(*run, None))
    }

    fn accesses(&self, step: usize) -> String {
        let line = |Accessed { run, is_write }: Accessed| {
            format!("{} {}\n", if is_write { "writes" } else { "reads " }, self.run_text(run, None))
        };
        self.machine().accesses(step).into_iter().map(line).collect()
    }

    /// Shows the addresses that the last step wrote, with their current values.
    fn changed(&self) -> Result<String, String> {
        let Some(step) = self.position().checked_sub(1) else { return Ok(String::new()) };
        let mut text = String::new();
        for Accessed { run, .. } in
            self.machine().accesses(step).into_iter().filter(|accessed| accessed.is_write)
        {
            for place in 0..run.count.min(SHOWN as u64) {
                let address = run.at(place);
                text += &self.show(&self.one(run.memory, address), Scale::Real)?;
            }
            if run.count > SHOWN as u64 {
                let _ = writeln!(
                    text,
                    "and {} other addresses of {}",
                    run.count - SHOWN as u64,
                    self.run_text(run, None)
                );
            }
        }
        Ok(text)
    }

    fn one(&self, memory: usize, address: u64) -> Range {
        let text = self.run_text(AddressRun::dense(memory, address, 1), None);
        Range { text, memory, start: address, end: address + 1, lane: None }
    }

    /// Formats numbers of a memory, one address per line.
    ///
    /// # Errors
    /// The errors of [`Self::numbers`].
    pub fn show(&self, range: &Range, scale: Scale) -> Result<String, String> {
        let memory = &self.machine().memories()[range.memory];
        let shown = Range { end: range.end.min(range.start + SHOWN as u64), ..range.clone() };
        let numbers = self.numbers(&shown, scale)?;
        let lanes = if range.lane.is_some() { 1 } else { memory.lanes.max(1) };
        let mut text = String::new();
        for (address, numbers) in (range.start..).zip(numbers.chunks(lanes)) {
            let name = self.run_text(AddressRun::dense(range.memory, address, 1), range.lane);
            let _ = writeln!(text, "{name}  {}", numbers.join(" "));
        }
        if shown.end < range.end {
            let _ = writeln!(text, "and {} other addresses", range.end - shown.end);
        }
        Ok(text)
    }

    /// Returns the numbers of a range as text, address by address.
    ///
    /// # Errors
    /// The memory cannot be read now; the range exceeds the limit of one read; float values are
    /// requested but no float reference runs.
    pub fn numbers(&self, range: &Range, scale: Scale) -> Result<Vec<String>, String> {
        let memory = &self.machine().memories()[range.memory];
        let raw = self.raw(range)?;
        let real = |number: i64| self.machine().real(range.memory, number);
        Ok(match scale {
            Scale::Real => raw.iter().map(|&number| number_text(number, real(number))).collect(),
            Scale::Raw => raw.iter().map(ToString::to_string).collect(),
            Scale::Hex => {
                let digits = memory.bits.div_ceil(4) as usize;
                raw.iter().map(|&number| format!("{:0digits$x}", memory.pattern(number))).collect()
            }
            Scale::Float => self.floats(range)?.into_iter().map(real_text).collect(),
            Scale::Error => self.errors(range, &raw)?.into_iter().map(real_text).collect(),
        })
    }

    /// Returns the machine's integers in a range.
    pub(crate) fn raw(&self, range: &Range) -> Result<Vec<i64>, String> {
        let lanes = self.machine().memories()[range.memory].lanes;
        if let Some(message) = range.too_much(lanes) {
            return Err(message);
        }
        Ok(range.chosen(&self.read(range.run())?, lanes))
    }

    /// Returns the float reference values of a range.
    pub(crate) fn floats(&self, range: &Range) -> Result<Vec<f64>, String> {
        let lanes = self.machine().memories()[range.memory].lanes;
        let floats = self.machine().floats(range.memory, range.start, range.end - range.start);
        let floats = floats.ok_or(
            "this program has no float reference: give its model with `--model`, if the target supports it",
        )?;
        Ok(range.chosen(&floats.values, lanes))
    }

    /// Returns the difference between each number of the machine and its float reference.
    pub(crate) fn errors(&self, range: &Range, raw: &[i64]) -> Result<Vec<f64>, String> {
        // Default: in a memory of integers, the value is the number itself.
        let real = |&number: &i64| self.machine().real(range.memory, number).unwrap_or(number as f64);
        Ok(raw.iter().zip(self.floats(range)?).map(|(number, float)| real(number) - float).collect())
    }

    fn clock(&self) -> Result<String, String> {
        let moments = self.moments()?;
        let Some(Moment { start, end, waits }) = moments.get(self.position()) else {
            let end = moments.last().map_or(0, |moment| moment.end);
            return Ok(format!("end, after cycle {end}\n"));
        };
        let mut text = format!("cycles {start} to {}\n", end.saturating_sub(1));
        for (unit, on, cycles) in waits {
            let _ = writeln!(text, "  {unit} waits {cycles} on {on}");
        }
        Ok(text)
    }

    /// Shows the values inside a unit during the next step.
    fn in_motion(&self, cycle: Option<u64>) -> Result<String, String> {
        let found = self.machine().motion().map_err(|error| chain(&error))?;
        let motion =
            found.ok_or_else(|| format!("{} has no drawing in motion", self.step_line(self.position())))?;
        let cycles = motion.cycles().ok_or("no value moves in this step")?;
        let asked = match cycle {
            Some(cycle) if !cycles.contains(&cycle) => {
                return Err(format!("cycle {cycle} is not in {} to {}", cycles.start(), cycles.end()));
            }
            Some(cycle) => cycle..=cycle,
            None => cycles,
        };
        let mut text: String = motion.notes.iter().map(|note| note.clone() + "\n").collect();
        for cycle in asked.clone().take(SHOWN) {
            let _ = write!(text, "cycle {cycle}\n{}", motion::text(&motion, cycle));
        }
        if asked.clone().count() > SHOWN {
            let _ = writeln!(text, "and {} other cycles", asked.count() - SHOWN);
        }
        Ok(text)
    }
}

/// Formats a number of a memory: its real value, or the integer if the memory has no scale.
pub fn number_text(number: i64, real: Option<f64>) -> String {
    real.map_or_else(|| number.to_string(), real_text)
}

/// Formats a real value with the fewest digits that identify it in single precision.
fn real_text(real: f64) -> String {
    if f64::from(real as f32) == real { (real as f32).to_string() } else { real.to_string() }
}

fn memory(memory: &MachineMemory) -> String {
    let MachineMemory { name, depth, lanes, bits, is_signed } = memory;
    let sign = if *is_signed { "signed" } else { "unsigned" };
    format!("{name:<16} {depth} x {lanes}, {bits} bits, {sign}\n")
}

fn help(name: Option<&str>) -> Answer {
    let line = |help: &Help| format!("{}\n    {}\n", help.form, help.meaning);
    match name {
        None => Answer::of(COMMANDS.iter().map(line).collect()),
        Some(name) => match Help::of(name) {
            Some(help) => Answer::of(line(help)),
            None => Answer::failed(format!("unknown command `{name}`")),
        },
    }
}
