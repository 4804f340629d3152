//! [`Problem`]: a scheduling problem in plain numbers, without instructions or text.
//!
//! Every cell issues its first instruction in cycle 0. An operation *starts* in the cycle of its
//! activation; its addresses are in the following cycles, up to `start + span`.

use super::linear::{Linear, Variable};

/// Operations, variables and constraints.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// Bounds of each [`Variable`], both included. The starts of operations are variables.
    pub variables: Vec<(i64, i64)>,
    /// Operations to schedule.
    pub operations: Vec<Operation>,
    /// Constraints of the author.
    pub constraints: Vec<Constraint>,
    /// Rules of the hardware.
    pub rules: Vec<Rule>,
    /// Whether mode 1 of `act` names a single port rather than a mask.
    pub one_port: bool,
}

/// Operation that a cell starts.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Start cycle.
    pub start: Variable,
    /// Earliest cycle of its first instruction.
    pub ready: Variable,
    /// Cell number, arbitrary but unique.
    pub cell: usize,
    /// Component in the cell. Configurations of one component do not interleave.
    pub component: usize,
    /// How the operation is issued.
    pub issue: Issue,
    /// Cycles from its first to its last address, both included; 0 without addresses.
    pub span: Linear,
}

/// How an operation is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    /// Instructions in any cycles before the start, and a line that is raised in the start cycle,
    /// together with all other lines that the cell raises in that cycle.
    Activated {
        /// Number of instructions before the start.
        configurations: usize,
        /// Line that is raised.
        line: Line,
    },
    /// Instructions in any cycles before the start, where they take effect.
    Configured {
        /// Number of instructions.
        configurations: usize,
    },
    /// Instructions in consecutive cycles starting at the start.
    Sequence {
        /// Number of instructions.
        instructions: usize,
    },
}

/// Port of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// Slot, 0 to 15.
    pub slot: u8,
    /// Port, 0 to 3.
    pub port: u8,
}

/// Lists of sums; in at least one list, no sum is above 0.
pub type Alternatives = Vec<Vec<Linear>>;

/// Constraint of the program's author.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Lists of sums; in at least one list, all sums are at most 0.
    pub any: Alternatives,
}

/// Hardware rule between two operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Two operations in any order. The second one is configured at least `gap` cycles after the
    /// last address of the first one.
    Exclusive {
        /// Indices of the operations.
        operations: (usize, usize),
        /// Cycles after the last address.
        gap: i64,
    },
    /// `writer` changes a table that `user` reads at every address: it starts no later, or is
    /// configured after the user has ended.
    Table {
        /// Index of the operation that changes the table.
        writer: usize,
        /// Index of the operation that reads the table.
        user: usize,
    },
    /// One of them is a sequence of instructions; no cycle is used twice.
    Issue {
        /// Indices of the operations.
        operations: (usize, usize),
    },
}

impl Operation {
    /// Number of instructions before its start.
    pub const fn configurations(&self) -> usize {
        match self.issue {
            Issue::Activated { configurations, .. } | Issue::Configured { configurations } => configurations,
            Issue::Sequence { .. } => 0,
        }
    }

    /// Line that it raises.
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

    /// First cycle without an address or an instruction of the operation.
    pub fn end(&self) -> Linear {
        let cycles = match self.issue {
            Issue::Activated { .. } => self.span.clone().offset(1),
            _ => Linear::constant(self.issue_cycles()),
        };
        Linear::from(self.start).plus(1, &cycles)
    }
}

impl Problem {
    /// Adds a variable with bounds, both included.
    pub fn variable(&mut self, low: i64, high: i64) -> Variable {
        self.variables.push((low, high));
        Variable(self.variables.len() - 1)
    }

    /// Converts a rule to alternatives; `None` if it names an operation that does not exist.
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

/// Sum for: `ready` is at least `gap` cycles after the last address of `operation`.
fn after(ready: Variable, operation: &Operation, gap: i64) -> Linear {
    Linear::from(operation.start).plus(1, &operation.span).offset(gap).plus(-1, &ready.into())
}
