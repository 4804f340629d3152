//! [`App`]: effects of keys and commands.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use npukit_debug::{Answer, Command, Debugger, PointKind, Stop, parse};
use npukit_target::{AddressRun, Machine, Moment, TargetError};

use crate::tui::command_line::CommandLine;
use crate::tui::in_motion::InMotion;
use crate::tui::keys::{Action, is_control};
use crate::tui::look::Look;
use crate::tui::output::{Kind, Output};
use crate::tui::panes::Panes;
use crate::tui::run::Running;

/// Maximum number of queued keys.
const WAITING: usize = 64;
/// Commands that quit.
const LEAVE: [&str; 3] = ["quit", "exit", "q"];

/// A debugger and the state of its screen.
pub struct App {
    pub(crate) debugger: Debugger,
    pub(crate) look: Look,
    /// The machine before the last step, to find what the step changed.
    pub(crate) before: Option<Box<dyn Machine>>,
    pub(crate) panes: Panes,
    /// The next step in motion, if it is shown in place of memories.
    pub(crate) motion: Option<InMotion>,
    /// Instruction at the listing's cursor; `None` if the cursor follows the next step.
    pub(crate) cursor: Option<usize>,
    pub(crate) line: CommandLine,
    pub(crate) output: Output,
    /// Whether the key help is shown.
    pub(crate) helps: bool,
    /// Receiver of the clock's answer while another thread computes it.
    clock: Option<Receiver<Result<Vec<Moment>, TargetError>>>,
    pub(crate) running: Option<Running>,
    /// Keys pressed during a long run, handled after it.
    waiting: VecDeque<KeyEvent>,
}

impl App {
    /// Returns the app for a debugger, and shows `notes` on assumptions made.
    pub fn new(debugger: Debugger, notes: &[String], look: Look) -> Self {
        let panes = Panes::new(debugger.machine());
        let clock = Some(asked(debugger.machine().fork()));
        let mut app = Self {
            debugger,
            look,
            before: None,
            panes,
            motion: None,
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

    /// Handles a key; returns whether to continue.
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

    /// Handles a key during a long run: Esc and Ctrl-C interrupt it, other keys are queued.
    fn interrupt(&mut self, key: KeyEvent) {
        if key.code == KeyCode::Esc || is_control(key, 'c') {
            (self.running, self.waiting) = (None, VecDeque::new());
            self.output.say(Kind::Printed, "stopped");
            self.moved();
        } else if self.waiting.len() < WAITING {
            self.waiting.push_back(key);
        }
    }

    /// Whether there is work before the next key.
    pub fn is_busy(&self) -> bool {
        self.running.is_some() || !self.waiting.is_empty()
    }

    /// Whether the clock has not answered yet.
    pub const fn awaits_clock(&self) -> bool {
        self.clock.is_some()
    }

    /// Stores the answer of the clock, if it has arrived.
    pub fn hear_clock(&mut self) {
        let Some(clock) = &self.clock else { return };
        match clock.try_recv() {
            Ok(moments) => self.debugger.know_moments(moments),
            Err(TryRecvError::Empty) => return,
            // The clock is asked again when it is needed.
            Err(TryRecvError::Disconnected) => {}
        }
        self.clock = None;
    }

    /// Does a piece of the work before the next key; returns whether to continue.
    pub fn work(&mut self) -> bool {
        if self.running.is_some() {
            self.go();
            return true;
        }
        self.waiting.pop_front().is_none_or(|key| self.press(key))
    }

    /// Runs a piece of a long run.
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
            Action::NextView => self.turn_view(1),
            Action::PreviousView => self.turn_view(-1),
            Action::NextMemory => self.select(1),
            Action::PreviousMemory => self.select(-1),
            Action::PageUp => self.panes.page(false),
            Action::PageDown => self.panes.page(true),
            Action::Scale => self.turn_scale(),
            Action::Follow => {
                self.panes.follows = !self.panes.follows;
                self.follow();
            }
            Action::Motion => {
                let machine = self.debugger.machine();
                self.motion = if self.motion.is_none() { Some(InMotion::new(machine)) } else { None };
            }
            Action::Earlier => self.output.scroll(1),
            Action::Later => self.output.scroll(-1),
            Action::Type => self.line.is_open = true,
            Action::Help => self.helps = true,
            Action::Leave => {}
        }
    }

    /// Shows the memories `by` groups later.
    fn turn_view(&mut self, by: isize) {
        self.motion = None;
        self.panes.turn(by);
    }

    /// Selects the memory `by` places later, or the cycle of a step in motion.
    fn select(&mut self, by: isize) {
        match &mut self.motion {
            Some(motion) => motion.turn(by as i64),
            None => self.panes.select(by),
        }
    }

    /// Handles a key on the command line; returns whether to continue.
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

    /// Executes the command line; returns whether to continue.
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

    /// Executes a command. A typed command shows all its output.
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

    /// Shows the output of a command. For a key, only output that the screen does not show
    /// elsewhere.
    fn tell(&mut self, Answer { text, failure }: &Answer, is_typed: bool) {
        let is_stopped = matches!(self.debugger.stop(), Stop::Watchpoint(..));
        if is_typed || is_stopped || text.lines().count() > 1 {
            self.output.say(Kind::Printed, text);
        }
        if let Some(message) = failure {
            self.output.say(Kind::Failure, message);
        }
    }

    /// Updates the state after a move other than one step forward.
    fn moved(&mut self) {
        let before = self.debugger.position().checked_sub(1);
        self.before = before.and_then(|step| self.debugger.at(step).ok());
        self.arrived();
    }

    fn arrived(&mut self) {
        self.cursor = None;
        self.panes.refresh(self.debugger.machine());
        if self.motion.is_some() {
            self.motion = Some(InMotion::new(self.debugger.machine()));
        }
        self.follow();
    }

    /// Scrolls to the addresses that the last step wrote; at the start, the first step will write.
    fn follow(&mut self) {
        let step = self.debugger.position().saturating_sub(1);
        let accesses = self.debugger.machine().accesses(step);
        let written: Vec<AddressRun> =
            accesses.iter().filter(|accessed| accessed.is_write).map(|accessed| accessed.run).collect();
        self.panes.follow(&written);
    }

    /// Returns the instruction at the cursor of the listing.
    pub(crate) fn at_cursor(&self) -> usize {
        let next = self.debugger.position().min(self.debugger.steps().saturating_sub(1));
        let begins = |step: usize| self.debugger.machine().issued(step).first().copied();
        // Default: the instruction that began last, otherwise the first.
        self.cursor.unwrap_or_else(|| (0..=next).rev().take(LOOKED_BACK).find_map(begins).unwrap_or(0))
    }

    fn point_at(&mut self, by: isize) {
        // Default: without a listing the cursor is useless, and the pane shows the reason.
        let last = self.debugger.listing().map_or(0, |listing| listing.len().saturating_sub(1));
        self.cursor = Some(self.at_cursor().saturating_add_signed(by).min(last));
    }

    fn go_to_cursor(&mut self) {
        let steps = self.debugger.machine().steps_of(self.at_cursor());
        let position = self.debugger.position();
        // If the instruction begins several times, take the next time; after the last time, the
        // first.
        let step = steps.iter().find(|step| **step > position).or(steps.first());
        match step {
            Some(step) => self.perform(&Command::Goto(*step), false),
            None => self.output.say(Kind::Failure, "this instruction is never executed"),
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
        let has_floats = self.debugger.machine().has_floats();
        let count = if has_floats { scales.len() } else { scales.len() - OF_FLOATS };
        let place = scales.iter().position(|(_, scale)| *scale == self.panes.scale);
        self.panes.scale = scales[place.map_or(0, |place| (place + 1) % count)].1;
    }
}

/// Starts a thread that asks the clock of a copy of the machine.
fn asked(copy: Box<dyn Machine>) -> Receiver<Result<Vec<Moment>, TargetError>> {
    let (tell, moments) = mpsc::channel();
    let ask = move || {
        // The receiver is gone if the debugger has quit.
        let _ = tell.send(copy.moments());
    };
    // Without a thread the channel closes at once, and the receiver sees that.
    let _ = thread::Builder::new().name("clock".to_owned()).spawn(ask);
    moments
}

/// Number of earlier steps that are searched for one that begins an instruction.
const LOOKED_BACK: usize = 4096;

/// Number of scales at the end of the list that need a float reference.
const OF_FLOATS: usize = 2;
