//! [`Watch`]: observes the phases of a command, to draw a progress bar and to measure times.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use npukit::PHASES;
use npukit::report::PhaseTime;
use tracing::Metadata;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};

use crate::disk::is_taken;
use crate::progress::{Bar, Counted};
use crate::timings::Timings;

/// Observer of the phases of the thread on which it is created.
#[derive(Clone)]
pub struct Watch {
    thread: ThreadId,
    begin: Instant,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Phases in progress, each a child of the previous one.
    open: Vec<Open>,
    timings: Timings,
    bar: Option<Bar>,
}

/// Phase in progress.
struct Open {
    id: Id,
    begin: Instant,
    /// Index among the timings.
    place: usize,
    steps: Steps,
}

/// Progress that a phase reports.
#[derive(Clone, Debug, Default)]
struct Steps {
    name: String,
    done: u64,
    total: Option<u64>,
}

impl Visit for Steps {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            // Reports come from several cores, so they may be out of order.
            "done" => self.done = self.done.max(value),
            "total" => self.total = Some(value),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "name" {
            value.clone_into(&mut self.name);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Watch {
    /// Starts observing, and draws a bar if `draws`.
    pub fn new(draws: bool) -> Self {
        let bar = if draws { Bar::new() } else { None };
        let state = State { bar, ..State::default() };
        Self { thread: thread::current().id(), begin: Instant::now(), state: Arc::new(Mutex::new(state)) }
    }

    /// Whether such a span is observed.
    pub fn wants(metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == PHASES
    }

    /// Runs `write`, which writes to standard error, with the bar hidden.
    pub fn beside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.state().bar {
            Some(bar) => bar.beside(write),
            None => write(),
        }
    }

    /// Whether the results are used.
    pub fn is_looked_at(&self, wants_timings: bool) -> bool {
        wants_timings || self.state().bar.is_some()
    }

    /// Removes the bar permanently.
    pub fn end(&self) {
        self.state().bar = None;
    }

    /// Returns the times of the phases so far.
    pub fn timings(&self) -> Vec<PhaseTime> {
        self.state().timings.report(self.begin.elapsed())
    }

    /// Handles the start of a phase.
    pub fn begin(&self, attributes: &Attributes<'_>, id: &Id) {
        if thread::current().id() != self.thread {
            // Parallel phases are not shown in the line of phases.
            return;
        }
        let mut steps = Steps::default();
        attributes.record(&mut steps);
        let mut state = self.state();
        let parent = state.open.last().map(|open| open.place);
        let place = state.timings.place(&steps.name, parent);
        state.open.push(Open { id: id.clone(), begin: Instant::now(), place, steps });
        state.draw();
    }

    /// Handles the progress report of a phase.
    pub fn record(&self, id: &Id, values: &Record<'_>) {
        let mut state = self.state();
        if let Some(open) = state.open.iter_mut().find(|open| open.id == *id) {
            values.record(&mut open.steps);
            state.draw();
        }
    }

    /// Handles the end of a phase.
    pub fn close(&self, id: &Id) {
        let mut state = self.state();
        if let Some(at) = state.open.iter().position(|open| open.id == *id) {
            let Open { begin, place, .. } = state.open.remove(at);
            state.timings.add(place, begin.elapsed());
            state.draw();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Shows the phases, and the progress of the innermost one with a known length.
    fn draw(&mut self) {
        if is_taken() && io::stdout().is_terminal() {
            // The user must be able to read the command's files there.
            self.bar = None;
        }
        let Some(bar) = &self.bar else { return };
        let names: Vec<&str> = self.open.iter().map(|open| &*open.steps.name).collect();
        let counting = self.open.iter().rev().find_map(|Open { begin, steps, .. }| {
            Some(Counted { elapsed: begin.elapsed(), done: steps.done, total: steps.total? })
        });
        bar.show(&names.join(": "), counting);
    }
}
