//! Moves through a program: steps, layers, and runs up to a point, in both directions.

use crate::Debugger;
use crate::machine::chain;
use crate::stop::Stop;

impl Debugger {
    /// Returns the reason for a stop at the current position that nothing interrupted.
    fn reached(&self, stop: Stop) -> Stop {
        match self.position() {
            position if position >= self.steps() => Stop::End,
            0 => Stop::Start,
            _ => stop,
        }
    }

    fn stopped(&mut self, stop: Stop) -> &Stop {
        self.stop = stop;
        &self.stop
    }

    /// Goes to `position`, ignoring breakpoints and watchpoints.
    pub fn goto(&mut self, position: usize) -> &Stop {
        let stop = match self.seek(position) {
            Ok(()) if self.position() < position.min(self.steps()) => Stop::Interrupted,
            Ok(()) => self.reached(Stop::Step),
            Err(message) => Stop::Fault(message),
        };
        self.stopped(stop)
    }

    /// Executes up to `count` steps; a point may stop earlier.
    pub fn step(&mut self, count: usize) -> &Stop {
        let end = self.position().saturating_add(count);
        let stop = self.forward(end, |_, _| false);
        self.stopped(stop)
    }

    /// Goes `count` steps back.
    pub fn back(&mut self, count: usize) -> &Stop {
        self.goto(self.position().saturating_sub(count))
    }

    /// Runs to the next point or the end.
    pub fn go_on(&mut self) -> &Stop {
        let stop = self.forward(usize::MAX, |_, _| false);
        self.stopped(stop)
    }

    /// Runs to the begin of the next layer or to a point before it.
    pub fn next_layer(&mut self) -> &Stop {
        let stop = self.forward(usize::MAX, Self::begins_layer);
        self.stopped(stop)
    }

    /// Goes back to the begin of the current layer; from there, to the begin of the layer before
    /// it.
    pub fn previous_layer(&mut self) -> &Stop {
        let position = self.position();
        let begins = (0..position).rev().find(|&step| self.begins_layer(step));
        // Default: the start, if no layer begins before.
        match self.goto(begins.unwrap_or(0)) {
            Stop::Step => self.stopped(Stop::Layer),
            _ => &self.stop,
        }
    }

    /// Whether a layer begins at a step; always false for a program without layers.
    fn begins_layer(&self, step: usize) -> bool {
        let layer = self.now.layer(step);
        step < self.steps() && layer.is_some() && (step == 0 || self.now.layer(step - 1) != layer)
    }

    /// Executes steps up to `end`, a point, or a step for which `stops` is true.
    fn forward(&mut self, end: usize, stops: impl Fn(&Self, usize) -> bool) -> Stop {
        while self.position() < end.min(self.steps()) {
            if self.interrupt.is_asked() {
                return Stop::Interrupted;
            }
            let (step, saturated) = (self.position(), self.now.saturations());
            if let Err(message) = self.advance() {
                return Stop::Fault(message);
            }
            match self.watchpoints(&*self.now, saturated) {
                Err(undecided) => return Stop::Undecided(undecided),
                Ok(hit) if !hit.is_empty() => return Stop::Watchpoint(hit[0], step),
                Ok(_) => {}
            }
            if let Some(id) = self.breakpoint(step + 1) {
                return Stop::Breakpoint(id);
            }
            if stops(self, step + 1) {
                return self.reached(Stop::Layer);
            }
        }
        self.reached(Stop::Step)
    }

    /// Goes back to the previous point or the start. It stops before an instruction with a
    /// breakpoint, and before a step that hits a watchpoint.
    pub fn go_back(&mut self) -> &Stop {
        let mut end = self.position();
        while end > 0 {
            let copy = self.copy_before(end - 1);
            let start = if self.points.needs_values() { copy.position() } else { 0 };
            match self.last_between(start, end) {
                Err(trouble) => return self.stopped(trouble),
                Ok(Some((step, stop))) => {
                    return match self.goto(step) {
                        Stop::Fault(_) | Stop::Interrupted => &self.stop,
                        _ => self.stopped(stop),
                    };
                }
                Ok(None) => end = start,
            }
        }
        self.goto(0)
    }

    /// Returns the last step in `start .. end` that stops a run backwards, including a step that
    /// may hit a watchpoint.
    ///
    /// # Errors
    /// The machine's fault.
    fn last_between(&self, start: usize, end: usize) -> Result<Option<(usize, Stop)>, Stop> {
        let point = |step| self.breakpoint(step).map(Stop::Breakpoint);
        if !self.points.needs_values() {
            let watch = |step| {
                let mut watches = self.points.watches();
                watches
                    .find(|(_, watch)| watch.may_hit(&*self.now, step))
                    .map(|(id, _)| Stop::Watchpoint(id, step))
            };
            let found =
                (start..end).rev().find_map(|step| Some((step, watch(step).or_else(|| point(step))?)));
            return Ok(found);
        }
        let (mut machine, mut found) = (self.at(start).map_err(Stop::Fault)?, None);
        while machine.position() < end {
            if self.interrupt.is_asked() {
                return Err(Stop::Interrupted);
            }
            let (step, saturated) = (machine.position(), machine.saturations());
            machine.step().map_err(|error| Stop::Fault(chain(&error)))?;
            let hit = match self.watchpoints(&*machine, saturated) {
                Ok(hit) => hit.first().map(|&id| Stop::Watchpoint(id, step)),
                Err(undecided) => Some(Stop::Undecided(undecided)),
            };
            if let Some(stop) = hit.or_else(|| point(step)) {
                found = Some((step, stop));
            }
        }
        Ok(found)
    }
}
