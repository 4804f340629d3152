//! Breakpoints and watchpoints ([`Point`]), and the test whether a step hits them. [`Undecided`] if
//! the test cannot be made.

use npukit_target::{Accessed, AddressRun, Machine};

use crate::machine::read;
use crate::place::Range;

/// Breakpoint or watchpoint with its id.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Id with which the point is removed.
    pub id: u32,
    /// Kind of the point.
    pub kind: PointKind,
}

/// Kind of a breakpoint or watchpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum PointKind {
    /// Stops before an instruction.
    Instruction(usize),
    /// Stops before the first step of a layer, each time the layer begins.
    Layer(usize),
    /// Stops before an instruction for which the unit of this name waits, according to the clock.
    Wait(String),
    /// Stops after a step that accesses a range.
    Watch(Watch),
}

/// Accesses at which a watchpoint stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// Watched numbers.
    pub range: Range,
    /// Kind of access that triggers the watchpoint.
    pub on: On,
    /// Condition on at least one accessed number; `None` if any value triggers.
    pub condition: Option<Condition>,
}

/// Kind of access that triggers a watchpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The numbers are read.
    Read,
    /// The numbers are written.
    Write,
    /// The numbers are read or written.
    Access,
    /// The numbers are written by a step with saturated results.
    Saturation,
}

impl On {
    /// All kinds of access with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("read", Self::Read),
        ("write", Self::Write),
        ("access", Self::Access),
        ("saturation", Self::Saturation),
    ];

    /// Returns the name in commands.
    pub fn name(self) -> &'static str {
        // Default: all are in the list.
        Self::ALL.iter().find(|(_, on)| *on == self).map_or("", |(name, _)| name)
    }
}

/// Condition on the value of a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Whether the machine's integer is compared instead of the real value.
    pub is_raw: bool,
    /// Comparison with `value`.
    pub order: Order,
    /// Right-hand side of the comparison.
    pub value: f64,
}

/// Comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Equal.
    Equal,
    /// Not equal.
    Unequal,
    /// Less than.
    Less,
    /// Less than or equal.
    AtMost,
    /// Greater than.
    Greater,
    /// Greater than or equal.
    AtLeast,
}

impl Order {
    /// All comparisons with their signs.
    pub const ALL: [(&'static str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<", Self::Less),
        ("<=", Self::AtMost),
        (">", Self::Greater),
        (">=", Self::AtLeast),
    ];

    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Greater => left > right,
            Self::AtLeast => left >= right,
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        // Default: all are in the list.
        Self::ALL.iter().find(|(_, order)| *order == self).map_or("", |(sign, _)| sign)
    }
}

/// Step that hits a watchpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Id of the watchpoint.
    pub id: u32,
    /// Number of the step.
    pub step: usize,
}

/// It is unknown whether a step hits a watchpoint, because the numbers in its condition cannot be
/// read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("whether step {step} hits watchpoint {id} is not known: `{range}` cannot be read: {reason}")]
pub struct Undecided {
    /// Id of the watchpoint.
    pub id: u32,
    /// Number of the step.
    pub step: usize,
    /// Watched range, as it was given.
    pub range: String,
    /// Reason that the machine reports.
    pub reason: String,
}

/// All breakpoints and watchpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Points {
    pub all: Vec<Point>,
    last: u32,
}

impl Points {
    pub fn add(&mut self, kind: PointKind) -> u32 {
        self.last += 1;
        self.all.push(Point { id: self.last, kind });
        self.last
    }

    /// Removes a point; returns whether it existed.
    pub fn remove(&mut self, id: u32) -> bool {
        let before = self.all.len();
        self.all.retain(|point| point.id != id);
        self.all.len() < before
    }

    pub fn watches(&self) -> impl Iterator<Item = (u32, &Watch)> {
        self.all.iter().filter_map(|point| match &point.kind {
            PointKind::Watch(watch) => Some((point.id, watch)),
            _ => None,
        })
    }

    /// Whether the watchpoint depends on values, and not on addresses alone.
    pub fn needs_values(&self) -> bool {
        self.watches().any(|(_, watch)| watch.condition.is_some() || watch.on == On::Saturation)
    }
}

impl Watch {
    /// Whether a step makes the watched kind of access to the range, regardless of values.
    pub(crate) fn may_hit(&self, machine: &dyn Machine, step: usize) -> bool {
        let Range { memory, start, end, .. } = self.range;
        self.meant(machine, step).any(|run| run.meets(memory, start, end))
    }

    /// Returns the addresses that a step reads or writes, according to the watched kind of access.
    fn meant(&self, machine: &dyn Machine, step: usize) -> impl Iterator<Item = AddressRun> {
        let on = self.on;
        let is_meant = move |accessed: &Accessed| match on {
            On::Read => !accessed.is_write,
            On::Write | On::Saturation => accessed.is_write,
            On::Access => true,
        };
        machine.accesses(step).into_iter().filter(is_meant).map(|accessed| accessed.run)
    }

    /// Whether the step that `machine` has just executed hits the watchpoint. `saturated` is the
    /// number of saturated results before that step.
    ///
    /// # Errors
    /// The reason why the watched numbers cannot be read.
    pub(crate) fn is_hit(&self, machine: &dyn Machine, step: usize, saturated: u64) -> Result<bool, String> {
        if self.on == On::Saturation && machine.saturations() <= saturated {
            return Ok(false);
        }
        let Some(condition) = &self.condition else { return Ok(self.may_hit(machine, step)) };
        for run in self.meant(machine, step).filter_map(|run| self.range.of(run)) {
            if condition.holds(machine, &self.range, run)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Condition {
    /// Whether any number of the range at these addresses satisfies the condition.
    ///
    /// # Errors
    /// The reason why the numbers cannot be read.
    fn holds(&self, machine: &dyn Machine, range: &Range, run: AddressRun) -> Result<bool, String> {
        let numbers = read(machine, run)?;
        let lanes = machine.memories()[range.memory].lanes;
        Ok(range.chosen(&numbers, lanes).into_iter().any(|number| {
            let real = machine.real(range.memory, number).filter(|_| !self.is_raw);
            // Default: in a memory of integers, the value is the number itself.
            self.order.holds(real.unwrap_or(number as f64), self.value)
        }))
    }
}
