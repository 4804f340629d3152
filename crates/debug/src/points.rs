//! [`Point`]s at which a program stops, and whether a step hits them; [`Undecided`] where that cannot be known.

use npukit_target::{Accessed, AddressRun, Machine};

use crate::machine::read;
use crate::place::Range;

/// Where a program stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// By which it is taken away.
    pub id: u32,
    /// What it is.
    pub kind: PointKind,
}

/// What a point is.
#[derive(Clone, Debug, PartialEq)]
pub enum PointKind {
    /// Before an instruction.
    Instruction(usize),
    /// Before the first step of a layer, each time that one begins.
    Layer(usize),
    /// Before an instruction for which a unit waits, as the clock has it: its name.
    Wait(String),
    /// Behind a step that uses a range.
    Watch(Watch),
}

/// What is watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// Which numbers.
    pub range: Range,
    /// What has to be done with them.
    pub on: On,
    /// What one of those that are used has to be then.
    pub condition: Option<Condition>,
}

/// What is done with numbers that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// They are read.
    Read,
    /// They are written.
    Write,
    /// They are read or written.
    Access,
    /// They are written by a step whose results did not all fit.
    Saturation,
}

impl On {
    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("read", Self::Read),
        ("write", Self::Write),
        ("access", Self::Access),
        ("saturation", Self::Saturation),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        // Default: all are in the list.
        Self::ALL.iter().find(|(_, on)| *on == self).map_or("", |(name, _)| name)
    }
}

/// What a number has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Whether the machine's own integer is meant.
    pub is_raw: bool,
    /// How it is to be.
    pub order: Order,
    /// To what.
    pub value: f64,
}

/// How two numbers are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The same.
    Equal,
    /// Not the same.
    Unequal,
    /// Less.
    Less,
    /// Not greater.
    AtMost,
    /// Greater.
    Greater,
    /// Not less.
    AtLeast,
}

impl Order {
    /// All of them, by sign.
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

/// A step that a watchpoint is hit by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The watchpoint.
    pub id: u32,
    /// The step.
    pub step: usize,
}

/// Why it is not known whether a step hits a watchpoint: what its condition asks for cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("whether step {step} hits watchpoint {id} is not known: `{range}` cannot be read: {reason}")]
pub struct Undecided {
    /// The watchpoint.
    pub id: u32,
    /// The step.
    pub step: usize,
    /// What is watched, as it was written.
    pub range: String,
    /// The machine's reason.
    pub reason: String,
}

/// All points.
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

    /// Takes one away; whether it was there.
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

    /// Whether what a watchpoint is hit by depends on values.
    pub fn needs_values(&self) -> bool {
        self.watches().any(|(_, watch)| watch.condition.is_some() || watch.on == On::Saturation)
    }
}

impl Watch {
    /// Whether a step does with the range what is watched, whatever the values are.
    pub(crate) fn may_hit(&self, machine: &dyn Machine, step: usize) -> bool {
        let Range { memory, start, end, .. } = self.range;
        self.meant(machine, step).any(|run| run.meets(memory, start, end))
    }

    /// What a step reads or writes, whichever is watched.
    fn meant(&self, machine: &dyn Machine, step: usize) -> impl Iterator<Item = AddressRun> {
        let on = self.on;
        let is_meant = move |accessed: &Accessed| match on {
            On::Read => !accessed.is_write,
            On::Write | On::Saturation => accessed.is_write,
            On::Access => true,
        };
        machine.accesses(step).into_iter().filter(is_meant).map(|accessed| accessed.run)
    }

    /// Whether it is hit by the step that `machine` has just done, before which `saturated` results had not fitted.
    ///
    /// Errors: why its numbers cannot be read.
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
    /// Whether one of the numbers of a range at some of its addresses is as it is to be.
    ///
    /// Errors: why they cannot be read.
    fn holds(&self, machine: &dyn Machine, range: &Range, run: AddressRun) -> Result<bool, String> {
        let numbers = read(machine, run)?;
        let lanes = machine.memories()[range.memory].lanes;
        Ok(range.chosen(&numbers, lanes).into_iter().any(|number| {
            let real = machine.real(range.memory, number).filter(|_| !self.is_raw);
            // Default: in a memory of integers a number is its own value.
            self.order.holds(real.unwrap_or(number as f64), self.value)
        }))
    }
}
