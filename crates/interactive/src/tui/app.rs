//! [`App`]: what keys and commands do.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use npukit_debug::{Answer, Command, Debugger, PointKind, Stop, parse};
use npukit_target::{AddressRun, Machine, Moment, TargetError};

use crate::tui::command_line::CommandLine;
use crate::tui::keys::{Action, is_control};
use crate::tui::look::Look;
use crate::tui::output::{Kind, Output};
use crate::tui::panes::Panes;
use crate::tui::run::Running;

/// Keys that wait at most.
const WAITING: usize = 64;
/// Commands that leave.
const LEAVE: [&str; 3] = ["quit", "exit", "q"];

/// A debugger, and what of it is shown.
pub struct App {
    pub(crate) debugger: Debugger,
    pub(crate) look: Look,
    /// The machine before the last step, to tell what it has changed.
    pub(crate) before: Option<Box<dyn Machine>>,
    pub(crate) panes: Panes,
    /// The instruction at which the listing's cursor is; none where it goes with the next step.
    pub(crate) cursor: Option<usize>,
    pub(crate) line: CommandLine,
    pub(crate) output: Output,
    /// Whether the keys are shown.
    pub(crate) helps: bool,
    /// The clock, as long as it is asked: it takes time, and runs beside everything else.
    clock: Option<Receiver<Result<Vec<Moment>, TargetError>>>,
    pub(crate) running: Option<Running>,
    /// Keys that wait for its end.
    waiting: VecDeque<KeyEvent>,
}

impl App {
    /// A debugger as it is, with what was taken for granted.
    pub fn new(debugger: Debugger, notes: &[String], look: Look) -> Self {
        let panes = Panes::new(debugger.machine());
        let clock = Some(asked(debugger.machine().fork()));
        let mut app = Self {
            debugger,
            look,
            before: None,
            panes,
            cursor: None,
            line: CommandLine::default(),
            output: Output::default(),
            helps: false,
            clock,
            running: None,
            waiting: VecDeque::new(),
        };
        notes.iter().for_each(|note| app.output.say(Kind::Printed, &format!("note: {note}")));
        app.moved();
        app
    }

    /// Does what a key asks for; whether to go on.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        if self.running.is_some() {
            self.interrupt(key);
            return true;
        }
        if std::mem::take(&mut self.helps) {
            return !is_control(key, 'c');
        }
        if self.line.is_open {
            return self.edit(key);
        }
        match Action::of(key) {
            Some(Action::Leave) => return false,
            Some(action) => self.act(action),
            None => {}
        }
        true
    }

    /// What a key does on a long way: Esc and Ctrl-C end it, others wait for its end.
    fn interrupt(&mut self, key: KeyEvent) {
        if key.code == KeyCode::Esc || is_control(key, 'c') {
            (self.running, self.waiting) = (None, VecDeque::new());
            self.output.say(Kind::Printed, "stopped");
            self.moved();
        } else if self.waiting.len() < WAITING {
            self.waiting.push_back(key);
        }
    }

    /// Whether there is something to do before the next key.
    pub fn is_busy(&self) -> bool {
        self.running.is_some() || !self.waiting.is_empty()
    }

    /// Whether the clock has yet to answer.
    pub const fn awaits_clock(&self) -> bool {
        self.clock.is_some()
    }

    /// Takes the answer of the clock, if there is one.
    pub fn hear_clock(&mut self) {
        let Some(clock) = &self.clock else { return };
        match clock.try_recv() {
            Ok(moments) => self.debugger.know_moments(moments),
            Err(TryRecvError::Empty) => return,
            // It is asked again where it is needed, without help.
            Err(TryRecvError::Disconnected) => {}
        }
        self.clock = None;
    }

    /// Does a piece of what there is to do before the next key; whether to go on.
    pub fn work(&mut self) -> bool {
        if self.running.is_some() {
            self.go();
            return true;
        }
        self.waiting.pop_front().is_none_or(|key| self.press(key))
    }

    /// Goes a piece of a long way.
    fn go(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        let (answer, is_there) = running.go(&mut self.debugger);
        if !is_there {
            self.running = Some(running);
            return;
        }
        self.tell(&answer, running.is_typed);
        self.moved();
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Step => self.perform(&Command::Step(1), false),
            Action::Back => self.perform(&Command::Back(1), false),
            Action::Next => self.perform(&Command::Next(1), false),
            Action::Previous => self.perform(&Command::Previous(1), false),
            Action::Continue => self.perform(&Command::Continue, false),
            Action::Reverse => self.perform(&Command::Reverse, false),
            Action::Start => self.perform(&Command::Goto(0), false),
            Action::End => self.perform(&Command::Goto(self.debugger.steps()), false),
            Action::Up => self.point_at(-1),
            Action::Down => self.point_at(1),
            Action::Here => self.cursor = None,
            Action::ToCursor => self.go_to_cursor(),
            Action::Break => self.toggle(),
            Action::NextView => self.panes.turn(1),
            Action::PreviousView => self.panes.turn(-1),
            Action::NextMemory => self.panes.select(1),
            Action::PreviousMemory => self.panes.select(-1),
            Action::PageUp => self.panes.page(false),
            Action::PageDown => self.panes.page(true),
            Action::Scale => self.turn_scale(),
            Action::Follow => {
                self.panes.follows = !self.panes.follows;
                self.follow();
            }
            Action::Earlier => self.output.scroll(1),
            Action::Later => self.output.scroll(-1),
            Action::Type => self.line.is_open = true,
            Action::Help => self.helps = true,
            Action::Leave => {}
        }
    }

    /// Does what a key asks for on the command line; whether to go on.
    fn edit(&mut self, key: KeyEvent) -> bool {
        match key.code {
            _ if is_control(key, 'c') => self.line.close(),
            _ if is_control(key, 'u') => self.line.erase_all(),
            KeyCode::Enter => return self.enter(),
            KeyCode::Esc => self.line.close(),
            KeyCode::Up => self.line.recall(-1),
            KeyCode::Down => self.line.recall(1),
            KeyCode::Left => self.line.go(-1),
            KeyCode::Right => self.line.go(1),
            KeyCode::Home => self.line.go(isize::MIN),
            KeyCode::End => self.line.go(isize::MAX),
            KeyCode::Backspace => self.line.erase(),
            KeyCode::Delete => self.line.delete(),
            KeyCode::Char(letter) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                self.line.insert(letter);
            }
            _ => {}
        }
        true
    }

    /// Does what the command line says; whether to go on.
    fn enter(&mut self) -> bool {
        let line = self.line.enter();
        if line.trim().is_empty() {
            self.line.close();
            return true;
        }
        if LEAVE.contains(&line.trim()) {
            return false;
        }
        self.output.say(Kind::Command, &format!("> {line}"));
        match parse(&line, &self.debugger) {
            Ok(Some(command)) => self.perform(&command, true),
            Ok(None) => {}
            Err(fault) => {
                let before = line.get(..fault.span.start).map_or(0, |before| before.chars().count());
                self.output.say(Kind::Failure, &format!("  {}^ {}", " ".repeat(before), fault.message));
                if let Some(help) = fault.help {
                    self.output.say(Kind::Failure, &help);
                }
            }
        }
        true
    }

    /// Does a command; one that was typed shows all that it prints.
    fn perform(&mut self, command: &Command, is_typed: bool) {
        if let Some(running) = Running::of(command, &self.debugger, is_typed) {
            self.running = Some(running);
            return;
        }
        if let Command::Show(range, scale) = command {
            self.panes.show(range.memory, range.start);
            self.panes.scale = *scale;
        }
        let (position, before) = (self.debugger.position(), self.debugger.machine().fork());
        let answer = self.debugger.execute(command);
        self.tell(&answer, is_typed);
        if self.debugger.position() == position + 1 {
            self.before = Some(before);
            self.arrived();
        } else if self.debugger.position() != position {
            self.moved();
        }
    }

    /// Shows what a command prints: of a key, what nobody sees elsewhere.
    fn tell(&mut self, Answer { text, failure }: &Answer, is_typed: bool) {
        let is_stopped = matches!(self.debugger.stop(), Stop::Watchpoint(..));
        if is_typed || is_stopped || text.lines().count() > 1 {
            self.output.say(Kind::Printed, text);
        }
        if let Some(told) = failure {
            self.output.say(Kind::Failure, told);
        }
    }

    /// What changes with the position, when it is not the step behind the one before.
    fn moved(&mut self) {
        let before = self.debugger.position().checked_sub(1);
        self.before = before.and_then(|step| self.debugger.at(step).ok());
        self.arrived();
    }

    fn arrived(&mut self) {
        self.cursor = None;
        self.panes.refresh(self.debugger.machine());
        self.follow();
    }

    /// Shows what the last step has written; before the first, what that one will.
    fn follow(&mut self) {
        let step = self.debugger.position().saturating_sub(1);
        let accesses = self.debugger.machine().accesses(step);
        let written: Vec<AddressRun> =
            accesses.iter().filter(|accessed| accessed.is_write).map(|accessed| accessed.run).collect();
        self.panes.follow(&written);
    }

    /// The instruction at which the cursor of the listing is.
    pub(crate) fn at_cursor(&self) -> usize {
        let next = self.debugger.position().min(self.debugger.steps().saturating_sub(1));
        let begins = |step: usize| self.debugger.machine().issued(step).first().copied();
        // Default: where nothing begins, the cursor is at the last that began; else at the first.
        self.cursor.unwrap_or_else(|| (0..=next).rev().take(LOOKED_BACK).find_map(begins).unwrap_or(0))
    }

    fn point_at(&mut self, by: isize) {
        // Default: without a listing there is nothing to point at, and the pane says why.
        let last = self.debugger.listing().map_or(0, |listing| listing.len().saturating_sub(1));
        self.cursor = Some(self.at_cursor().saturating_add_signed(by).min(last));
    }

    fn go_to_cursor(&mut self) {
        let steps = self.debugger.machine().steps_of(self.at_cursor());
        let position = self.debugger.position();
        // Where it begins several times, the next time; behind the last one, the first.
        let step = steps.iter().find(|step| **step > position).or(steps.first());
        match step {
            Some(step) => self.perform(&Command::Goto(*step), false),
            None => self.output.say(Kind::Failure, "no step begins that instruction"),
        }
    }

    fn toggle(&mut self) {
        let kind = PointKind::Instruction(self.at_cursor());
        let found = self.debugger.points().iter().find(|point| point.kind == kind).map(|point| point.id);
        match found {
            Some(id) => {
                self.debugger.remove_point(id);
            }
            None => {
                self.debugger.add_point(kind);
            }
        }
    }

    fn turn_scale(&mut self) {
        let scales = npukit_debug::Scale::ALL;
        let has_floats = self.debugger.machine().floats_are().is_some();
        let count = if has_floats { scales.len() } else { scales.len() - OF_FLOATS };
        let place = scales.iter().position(|(_, scale)| *scale == self.panes.scale);
        self.panes.scale = scales[place.map_or(0, |place| (place + 1) % count)].1;
    }
}

/// Asks the clock of a copy of a machine, beside everything else.
fn asked(copy: Box<dyn Machine>) -> Receiver<Result<Vec<Moment>, TargetError>> {
    let (tell, told) = mpsc::channel();
    let ask = move || {
        // Nobody listens any more where the debugger was left.
        let _ = tell.send(copy.moments());
    };
    // Without a thread the channel ends at once, which is seen there.
    let _ = thread::Builder::new().name("clock".to_owned()).spawn(ask);
    told
}

/// Steps that are looked back at for one in which an instruction begins.
const LOOKED_BACK: usize = 4096;

/// The scales at the end of the list that need floats.
const OF_FLOATS: usize = 2;
