//! The scheduler: finds starts of operations and the cycle of every instruction, minimizing the
//! total number of cycles.
//!
//! A [`Problem`] has plain numbers. [`schedule`] searches, [`check`] verifies its result with
//! independent code, and [`explain`] finds a smallest set of contradictory constraints.
//!
//! # Problem
//!
//! Variables are integers: the starts of operations, and delays that the author left open.
//! Constraints are *sums*: linear expressions that are at most 0 ([`Linear`]). For example, `b` at
//! least 3 cycles after `a` is `a - b + 3 <= 0`. Three things are choices between lists of sums: an
//! `or` of the author, which of two operations uses a port first, and which of two instruction
//! sequences a cell issues first ([`Rule`]). In addition, a cell issues one instruction per cycle,
//! which no sum expresses. The objective is the cycle after everything, a variable called the
//! total.
//!
//! # Method
//!
//! **Bounds.** Each variable has a lower and an upper bound. A sum implies a bound for each of its
//! variables, with the other variables at the bounds that leave it the most room. This is repeated
//! until nothing changes (module `bounds`). Contradictory differences in a cycle (`b` after `a`
//! after `b`) would raise bounds one cycle at a time up to the horizon. If narrowing takes long,
//! the longest paths are computed once by the Bellman-Ford algorithm, which finds such a cycle at
//! once.
//!
//! **Why lower bounds are a candidate.** Sums of two variables with factors 1 and -1 are all
//! satisfied if every variable is at its lower bound: narrowing ends at the smallest solution of a
//! system of differences. Most sums are differences, so the node's candidate is usually right. No
//! start is earlier in any solution, so its total is a lower bound for all nodes below.
//!
//! **Branches.** The search branches on what the candidate violates, in this order: a sum of
//! another form (one of its variables stays at its bound, or rises), a choice (one branch per
//! alternative), and a cell that cannot issue its instructions in time. In the last case (module
//! `issue`), issuing the most urgent instruction first succeeds if any order does. If it fails, one
//! of the operations that fill the cycles before must start later. The search is depth-first, takes
//! the branch with the smallest total first, and skips branches that another one includes.
//!
//! **Bound of a schedule.** At the root, the total is raised to a lower bound of every schedule:
//! the issue of everything that must precede an operation in its cell, and of each cell's
//! instructions without gaps (module `root`). The search ends if a schedule meets this bound, if no
//! branch is left, which proves the best schedule optimal, or after a number of nodes. In the last
//! case it returns the best schedule with the bound.
//!
//! **Contradictions.** An unsatisfiable set is reduced by removing halves, quarters and finally
//! single constraints, as long as the rest is still contradictory (`explain`).

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
