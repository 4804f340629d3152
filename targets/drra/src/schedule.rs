//! The scheduler: starts of operations, and the cycle of every instruction, in the fewest cycles.
//!
//! A [`Problem`] is plain numbers. [`schedule`] searches, [`check`] judges what it found without sharing a line
//! with it, and [`explain`] names a smallest set of constraints that cannot hold together.
//!
//! The search keeps lower and upper bounds of all variables (module `bounds`). All starts at their lower
//! bounds are a candidate; what it violates is branched on: a choice between alternatives, a sum with several
//! variables to raise, or cycles of a cell in which more instructions are due than fit (module `issue`).

mod activation;
mod bounds;
mod check;
mod explain;
mod issue;
pub mod linear;
mod problem;
mod root;
mod search;

pub use activation::Activation;
pub use check::{Violation, check};
pub use explain::{Conflict, explain};
pub use issue::Group;
pub use linear::{Linear, Variable};
pub use problem::{Alternatives, Constraint, Issue, Line, Operation, Problem, Rule};
pub use search::{DEFAULT_NODES, Schedule, ScheduleError, schedule};
