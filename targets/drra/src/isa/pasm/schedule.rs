//! The scheduler: starts of operations, and the cycle of every instruction, in the fewest cycles.
//!
//! A [`Problem`] is plain numbers. [`schedule`] searches, [`check`] judges what it found without sharing a line
//! with it, and [`explain`] names a smallest set of constraints that cannot hold together.
//!
//! # What is solved
//!
//! Variables are integers: the starts of operations, and delays that the author left open. Constraints are *sums*, linear
//! expressions that are at most 0 ([`Linear`]); `b` at least 3 cycles after `a` is `a - b + 3 <= 0`. Three things are
//! choices between lists of sums: an `or` of the author, which of two operations has a port first, and which of two
//! instruction sequences a cell issues first ([`Rule`]). Besides, a cell issues one instruction a cycle, which no sum
//! says. The objective is the cycle after everything, a variable of its own called the total.
//!
//! # How
//!
//! **Bounds.** Each variable has a lower and an upper bound. From a sum follows a bound for each of its variables when the
//! others are at the bounds that leave it the most room; this is repeated until nothing changes (module `bounds`). A
//! cycle of differences that contradict each other (`b` after `a` after `b`) would raise bounds by one cycle at a
//! time up to the horizon; when narrowing takes long, the longest paths are computed once, as Bellman and Ford do, which
//! finds such a cycle at once.
//!
//! **Why lower bounds are a candidate.** Sums of two variables with factors 1 and -1 are all satisfied when every variable
//! is at its lower bound: the smallest solution of a system of differences is where narrowing ends. Most sums are
//! differences, so that the node's candidate is usually right, and as no start is earlier in any solution, its total is the
//! least there is below this node.
//!
//! **Branches.** What the candidate violates is branched on, in this order: a sum of other form (one of its variables stays
//! at its bound, or rises), a choice (one branch for each alternative), and a cell that cannot issue its instructions in
//! time (module `issue`: issuing what is due first succeeds if anything does, and where it fails, one of the operations
//! that fill the cycles before must start later). The search goes depth first, the branch with the smallest total first,
//! and leaves out what another branch includes.
//!
//! **The bound of a schedule.** At the root the total is raised to what every schedule takes: the issue of all that must
//! come before an operation in its cell, and of each cell's instructions without gaps (module `root`). The search
//! ends when a schedule meets this bound, when no branch is left, which proves the best one optimal, or after a number of
//! nodes, and then the best is returned with the bound.
//!
//! **Contradictions.** A set that cannot be satisfied is reduced by leaving out halves, quarters and at last single
//! constraints, as long as the rest is still contradictory (`explain`).

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
