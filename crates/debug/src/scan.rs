//! Breakpoints and watchpoints of a [`Debugger`], and the steps that hit them.

use npukit_target::Machine;

use crate::Debugger;
use crate::machine::chain;
use crate::points::{Hit, Point, PointKind, Undecided, Watch};
use crate::stop::Stop;

impl Debugger {
    /// Returns all breakpoints and watchpoints.
    pub fn points(&self) -> &[Point] {
        &self.points.all
    }

    /// Adds a point and returns its id.
    pub fn add_point(&mut self, kind: PointKind) -> u32 {
        self.points.add(kind)
    }

    /// Removes a point; returns whether it existed.
    pub fn remove_point(&mut self, id: u32) -> bool {
        self.points.remove(id)
    }

    /// Returns the id of the breakpoint before a step.
    pub(crate) fn breakpoint(&self, step: usize) -> Option<u32> {
        if step >= self.steps() {
            return None;
        }
        let stops = |kind: &PointKind| match kind {
            PointKind::Instruction(instruction) => self.now.issued(step).contains(instruction),
            PointKind::Layer(layer) => {
                let begins = step == 0 || self.now.layer(step - 1) != Some(*layer);
                begins && self.now.layer(step) == Some(*layer)
            }
            PointKind::Wait(unit) => self.moments().is_ok_and(|all| {
                all.get(step).is_some_and(|moment| moment.waits.iter().any(|(name, ..)| name == unit))
            }),
            PointKind::Watch(_) => false,
        };
        self.points.all.iter().find(|point| stops(&point.kind)).map(|point| point.id)
    }

    /// Returns the ids of the watchpoints that the last step of `machine` hit.
    pub(crate) fn watchpoints(&self, machine: &dyn Machine, saturated: u64) -> Result<Vec<u32>, Undecided> {
        let Some(step) = machine.position().checked_sub(1) else { return Ok(Vec::new()) };
        let mut hit = Vec::new();
        for (id, watch) in self.points.watches() {
            let undecided = |reason| Undecided { id, step, range: watch.range.text.clone(), reason };
            if watch.is_hit(machine, step, saturated).map_err(undecided)? {
                hit.push(id);
            }
        }
        Ok(hit)
    }

    /// Returns all steps of the program that hit a watchpoint, in order.
    ///
    /// # Errors
    /// [`Stop::Interrupted`]; [`Stop::Fault`] if the machine faults; [`Stop::Undecided`] if the
    /// numbers in a condition cannot be read.
    pub fn scan(&self) -> Result<Vec<Hit>, Stop> {
        let mut hits = Vec::new();
        if !self.points.needs_values() {
            for step in 0..self.steps() {
                let watches = self.points.watches().filter(|(_, watch)| watch.may_hit(&*self.now, step));
                hits.extend(watches.map(|(id, _)| Hit { id, step }));
            }
            return Ok(hits);
        }
        let mut machine = self.copy_before(0).fork();
        while machine.position() < machine.steps() {
            if self.interrupt.is_asked() {
                return Err(Stop::Interrupted);
            }
            let (step, saturated) = (machine.position(), machine.saturations());
            machine.step().map_err(|error| Stop::Fault(chain(&error)))?;
            let hit = self.watchpoints(&*machine, saturated).map_err(Stop::Undecided)?;
            hits.extend(hit.into_iter().map(|id| Hit { id, step }));
        }
        Ok(hits)
    }

    /// Describes a point in one line.
    pub fn point_text(&self, point: &Point) -> String {
        match &point.kind {
            PointKind::Instruction(instruction) => {
                let line = self.line(*instruction).map(|line| format!(", {}:{}", line.file, line.line));
                // Default: a program in words has no source lines.
                format!("breakpoint {}: instruction {instruction}{}", point.id, line.unwrap_or_default())
            }
            PointKind::Layer(layer) => {
                // Default: cannot happen: the layer of a point exists.
                let name = self.now.layers().get(*layer).map_or("", String::as_str);
                format!("breakpoint {}: layer `{name}`", point.id)
            }
            PointKind::Wait(unit) => format!("breakpoint {}: {unit} waits", point.id),
            PointKind::Watch(Watch { range, on, condition }) => {
                let condition = condition.as_ref().map(|condition| {
                    let subject = if condition.is_raw { " raw" } else { "" };
                    format!(" if{subject} {} {}", condition.order.sign(), condition.value)
                });
                // Default: a watchpoint without a condition.
                let condition = condition.unwrap_or_default();
                format!("watchpoint {}: {} {}{condition}", point.id, range.text, on.name())
            }
        }
    }
}
