//! [`Problem`]: what is scheduled, in plain numbers: no instruction, no text.
//!
//! Cycle 0 is the one in which every cell issues its first instruction. An operation *starts* in the
//! cycle of its activation; its addresses are in the cycles after, up to `start + span`.

use super::linear::{Linear, Variable};

/// Operations, variables, and what must hold of them.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// Bounds of each [`Variable`], both included. The starts of operations are among them.
    pub variables: Vec<(i64, i64)>,
    /// What is scheduled.
    pub operations: Vec<Operation>,
    /// What its author asks.
    pub constraints: Vec<Constraint>,
    /// What the hardware asks.
    pub rules: Vec<Rule>,
    /// Whether mode 1 of `act` names one port rather than several.
    pub one_port: bool,
}

/// Something that a cell starts.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The cycle in which it starts.
    pub start: Variable,
    /// Earliest cycle of its first instruction; no other purpose.
    pub ready: Variable,
    /// Its cell, any number.
    pub cell: usize,
    /// Its component in the cell: configurations of a component do not interleave.
    pub component: usize,
    /// How it is issued.
    pub issue: Issue,
    /// Cycles from its first to its last address, both counted; 0 without one.
    pub span: Linear,
}

/// How an operation is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    /// Instructions in any cycles before the start, then a line raised in the cycle of the
    /// start, together with all other lines that the cell raises in that cycle.
    Activated {
        /// Instructions before.
        configurations: usize,
        /// What is raised.
        line: Line,
    },
    /// Instructions in any cycles before the start, by which they are in force.
    Configured {
        /// The instructions.
        configurations: usize,
    },
    /// Instructions from the start on, one in each cycle.
    Sequence {
        /// The instructions.
        instructions: usize,
    },
}

/// A port of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// 0 to 15.
    pub slot: u8,
    /// 0 to 3.
    pub port: u8,
}

/// One of several lists of sums, none of which is above 0.
pub type Alternatives = Vec<Vec<Linear>>;

/// What the author of a program asks.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// All sums of one of the lists are at most 0.
    pub any: Alternatives,
}

/// What the hardware asks of two operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The second is configured only when the first is over, or the other way around: not before
    /// `gap` cycles after the last address.
    Exclusive {
        /// Indices of the operations.
        operations: (usize, usize),
        /// See above.
        gap: i64,
    },
    /// `writer` changes a table that `user` reads at every address: it starts no later, or is
    /// configured when the user is over.
    Table {
        /// Index of the operation that changes the table.
        writer: usize,
        /// Index of the operation that reads it.
        user: usize,
    },
    /// One of them is a sequence of instructions: no cycle is taken twice.
    Issue {
        /// Indices of the operations.
        operations: (usize, usize),
    },
}

impl Operation {
    /// Instructions before its start.
    pub const fn configurations(&self) -> usize {
        match self.issue {
            Issue::Activated { configurations, .. } | Issue::Configured { configurations } => configurations,
            Issue::Sequence { .. } => 0,
        }
    }

    /// The line it raises.
    pub const fn line(&self) -> Option<Line> {
        match self.issue {
            Issue::Activated { line, .. } => Some(line),
            _ => None,
        }
    }

    /// Cycles of issue from its start on.
    pub const fn issue_cycles(&self) -> i64 {
        match self.issue {
            Issue::Activated { .. } => 1,
            Issue::Configured { .. } => 0,
            Issue::Sequence { instructions } => instructions as i64,
        }
    }

    /// The first cycle in which it neither has an address nor issues anything.
    pub fn end(&self) -> Linear {
        let cycles = match self.issue {
            Issue::Activated { .. } => self.span.clone().offset(1),
            _ => Linear::constant(self.issue_cycles()),
        };
        Linear::from(self.start).plus(1, &cycles)
    }
}

impl Problem {
    /// A new variable with bounds, both included.
    pub fn variable(&mut self, low: i64, high: i64) -> Variable {
        self.variables.push((low, high));
        Variable(self.variables.len() - 1)
    }

    /// A rule as alternatives; none when it names an operation that is not there.
    pub fn alternatives(&self, rule: &Rule) -> Option<Alternatives> {
        let get = |index: usize| self.operations.get(index);
        Some(match *rule {
            Rule::Exclusive { operations: (a, b), gap } => {
                let (a, b) = (get(a)?, get(b)?);
                vec![vec![after(b.ready, a, gap)], vec![after(a.ready, b, gap)]]
            }
            Rule::Table { writer, user } => {
                let (writer, user) = (get(writer)?, get(user)?);
                let before = Linear::from(writer.start).plus(-1, &user.start.into());
                vec![vec![before], vec![after(writer.ready, user, 0)]]
            }
            Rule::Issue { operations: (a, b) } => {
                let (a, b) = (get(a)?, get(b)?);
                let after = |a: &Operation, b: &Operation| {
                    Linear::from(a.start).offset(a.issue_cycles()).plus(-1, &b.start.into())
                };
                vec![vec![after(a, b)], vec![after(b, a)]]
            }
        })
    }
}

/// `ready` is no earlier than `gap` cycles after the last address of `operation`.
fn after(ready: Variable, operation: &Operation, gap: i64) -> Linear {
    Linear::from(operation.start).plus(1, &operation.span).offset(gap).plus(-1, &ready.into())
}
