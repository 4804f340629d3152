//! PASM epochs on a fabric: resolves operations, schedules them and makes instructions.
//!
//! [`resolve`] resolves each operation and collects every error of the file; [`Epoch::schedule`]
//! assigns a cycle to every instruction.

mod conflict;
mod constraint;
mod fault;
mod fields;
mod instruction;
mod operation;
mod problem;
mod reader;
mod rep;
mod rop;

use std::collections::{BTreeMap, BTreeSet};

use npukit_base::Span;

use crate::config::fabric::{Fabric, Place};
use crate::config::revision::Revision;
use crate::isa::op::Op;
use crate::isa::pasm::error::faults;
use crate::isa::pasm::schedule::{Group, Schedule, check, explain, schedule};
use crate::isa::pasm::{PasmError, PasmErrors, ast};
pub use fields::written;
pub use instruction::{MAP_REGISTERS, load};
use operation::Operation;
pub use problem::Ports;
pub use rep::Rep;
pub use rop::RopText;

/// Maximum number of reschedules because a delay needs one more instruction.
const MAX_ROUNDS: usize = 8;

/// Text of a program, for messages.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// File name.
    pub name: &'a str,
    /// File content.
    pub text: &'a str,
}

/// Operations that are scheduled together.
#[derive(Clone, Debug)]
pub struct Epoch {
    operations: Vec<Operation>,
    constraints: Vec<ast::Constraint>,
    /// Free variables, in order of first use.
    variables: Vec<String>,
    /// Revision of the fabric.
    revision: Revision,
}

/// Instructions of a cell in order of cycles: cycle, instruction, index of the operation.
pub type Issued = Vec<(i64, Op, Option<usize>)>;

/// Scheduled instructions of an epoch.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Instructions by cell.
    pub cells: BTreeMap<Place, Issued>,
    /// First cycle after all instructions and addresses.
    pub cycles: i64,
    /// Cycles in which ports become idle.
    pub ports: Ports,
    /// Starts, variables and quality of the schedule.
    pub report: EpochReport,
}

/// Result of scheduling an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EpochReport {
    /// Name of the epoch.
    pub name: String,
    /// Length in cycles.
    pub cycles: i64,
    /// Lower bound of the length in cycles.
    pub bound: i64,
    /// Number of search steps.
    pub nodes: usize,
    /// Start of each operation in file order: the cycle of its activation.
    pub starts: Vec<(String, i64)>,
    /// Values of free variables.
    pub variables: Vec<(String, i64)>,
}

impl EpochReport {
    /// Describes how far the schedule may be from the optimum; `None` if it is optimal.
    pub fn gap(&self) -> Option<String> {
        let Self { name, cycles, bound, .. } = self;
        (bound < cycles)
            .then(|| format!("{name}: the schedule takes {cycles} cycles; the lower bound is {bound}"))
    }
}

/// Resolves the operations of an epoch on a fabric.
///
/// # Errors
///
/// All errors of the operations.
pub fn resolve(fabric: &Fabric, epoch: &ast::Epoch) -> Result<Epoch, Vec<PasmError>> {
    let mut errors = Vec::new();
    let (operations, variables, revision) = (Vec::new(), Vec::new(), fabric.options.revision);
    let mut resolved = Epoch { operations, constraints: epoch.constraints.clone(), variables, revision };
    for operation in &epoch.operations {
        match operation::resolve(fabric, operation, &mut resolved.variables) {
            Ok(operation) => resolved.operations.push(operation),
            Err(found) => errors.extend(found),
        }
    }
    errors.extend(constraint::check_names(epoch, &resolved.variables));
    if errors.is_empty() { Ok(resolved) } else { Err(errors) }
}

impl Epoch {
    /// Cells that the epoch has operations in.
    pub fn places(&self) -> BTreeSet<Place> {
        self.operations.iter().map(|operation| operation.place).collect()
    }

    /// Checked texts of its rops, in order.
    pub fn texts(&self) -> Vec<RopText> {
        self.operations.iter().filter_map(|operation| operation.text.clone()).collect()
    }

    /// Assigns a cycle to every instruction, given the state of the `ports` after the previous
    /// epoch.
    ///
    /// `nodes` limits the search.
    ///
    /// # Errors
    ///
    /// Contradictory constraints, reduced to a smallest set.
    pub fn schedule(
        &self,
        name: &str,
        ports: &Ports,
        nodes: usize,
        text: Text<'_>,
    ) -> Result<Timed, PasmErrors> {
        let fail = |error| faults(text.name, text.text, vec![error]);
        let mut configurations: Vec<usize> = self.operations.iter().map(Operation::configurations).collect();
        for _ in 0..MAX_ROUNDS {
            let problem = problem::problem(self, &configurations, ports).map_err(fail)?;
            let found = match schedule(&problem, nodes) {
                Ok(found) => found,
                Err(error) => return Err(fail(conflict::error(self, &problem, explain(&problem), error))),
            };
            let needed: Vec<usize> =
                self.operations.iter().map(|one| one.instructions(&found).len()).collect();
            if needed.iter().zip(&configurations).any(|(needed, given)| needed > given) {
                configurations = needed.into_iter().zip(configurations).map(|(a, b)| a.max(b)).collect();
                continue;
            }
            // A separate check of every schedule guards against errors in the search.
            if let Some(violation) = check(&problem, &found).first() {
                return Err(fail(conflict::defect(violation)));
            }
            return Ok(self.timed(name, &problem, &found));
        }
        Err(fail(conflict::unstable(MAX_ROUNDS)))
    }

    fn timed(&self, name: &str, problem: &crate::isa::pasm::schedule::Problem, found: &Schedule) -> Timed {
        let mut cells: BTreeMap<Place, Issued> = BTreeMap::new();
        for (index, operation) in self.operations.iter().enumerate() {
            let start = found.start(problem, index);
            let cycles = found.configurations[index].iter().copied().zip(operation.instructions(found));
            let own = operation.sequence().map(|(offset, op)| (start + offset, op));
            let cell = cells.entry(operation.place).or_default();
            cell.extend(cycles.chain(own).map(|(cycle, op)| (cycle, op, Some(index))));
        }
        for (&cell, groups) in &found.groups {
            let place = self.operations.iter().find(|operation| operation.cell == cell).map(|one| one.place);
            let acts =
                groups.iter().enumerate().flat_map(|(turn, group)| activations(turn, group, self.revision));
            let place = place.expect("only operations of the epoch are activated");
            cells.entry(place).or_default().extend(acts);
        }
        cells.values_mut().for_each(|cell| cell.sort_by_key(|(cycle, _, _)| *cycle));
        Timed {
            cells,
            cycles: found.cycles,
            ports: Ports::after(self, problem, found),
            report: self.report(name, problem, found),
        }
    }

    fn report(
        &self,
        name: &str,
        problem: &crate::isa::pasm::schedule::Problem,
        found: &Schedule,
    ) -> EpochReport {
        let starts = self.operations.iter().enumerate();
        let free = problem::free_variables(self);
        EpochReport {
            name: name.to_owned(),
            cycles: found.cycles,
            bound: found.bound,
            nodes: found.nodes,
            starts: starts.map(|(index, one)| (one.name.clone(), found.start(problem, index))).collect(),
            variables: free.map(|(name, variable)| (name.clone(), found.value(variable))).collect(),
        }
    }

    /// Returns the name of an operation and its span in the text.
    fn label(&self, index: usize) -> (String, Span) {
        self.operations.get(index).map_or_else(Default::default, |one| (one.name.clone(), one.span))
    }
}

/// Returns the `act` of a group, and the instructions that fill its registers.
fn activations(turn: usize, group: &Group, revision: Revision) -> Issued {
    let (loads, act) = instruction::activation(group.activation, turn, revision);
    let loads = group.loads.iter().copied().zip(loads).map(|(cycle, op)| (cycle, op, None));
    loads.chain(std::iter::once((group.cycle, act, None))).collect()
}
