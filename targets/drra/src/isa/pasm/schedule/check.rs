//! [`check`]: verifies a schedule. It shares only the [`Problem`] with the search.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::activation::Activation;
use super::problem::{Issue, Line, Problem, Rule};
use super::search::Schedule;

/// Violation in a schedule. Operations, constraints and rules are indices into the problem.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// A variable is outside its bounds, or has no value.
    #[error("variable {0} is outside its bounds")]
    Variable(usize),
    /// A constraint does not hold.
    #[error("constraint {0} does not hold")]
    Constraint(usize),
    /// A port or a table is changed while it is in use.
    #[error("operation {second} is configured in cycle {cycle}, before {first} has ended")]
    Busy {
        /// Operation that uses the port or table.
        first: usize,
        /// Operation that changes it.
        second: usize,
        /// Cycle of the change.
        cycle: i64,
    },
    /// Instructions of an operation are missing, out of order, or too late.
    #[error("the instructions of operation {operation} are not all before its start in cycle {start}")]
    Late {
        /// Index of the operation.
        operation: usize,
        /// Start cycle of the operation.
        start: i64,
    },
    /// A cell issues two instructions in one cycle.
    #[error("cell {cell} issues two instructions in cycle {cycle}")]
    Issue {
        /// Index of the cell.
        cell: usize,
        /// Cycle of both instructions.
        cycle: i64,
    },
    /// The starting instructions raise lines that differ from the operations' lines.
    #[error("cell {cell} does not start the right operations in cycle {cycle}")]
    Lines {
        /// Index of the cell.
        cell: usize,
        /// Cycle of the start.
        cycle: i64,
    },
    /// An operation ends after the end of the schedule.
    #[error("operation {operation} ends after cycle {cycles}")]
    End {
        /// Index of the operation.
        operation: usize,
        /// Stated length of the schedule, in cycles.
        cycles: i64,
    },
}

/// Returns all violations in a schedule.
pub fn check(problem: &Problem, schedule: &Schedule) -> Vec<Violation> {
    let mut found = Vec::new();
    variables(problem, schedule, &mut found);
    constraints(problem, schedule, &mut found);
    found.extend(problem.rules.iter().filter_map(|rule| rule_broken(problem, schedule, rule)));
    operations(problem, schedule, &mut found);
    issue(problem, schedule, &mut found);
    lines(problem, schedule, &mut found);
    found
}

fn variables(problem: &Problem, schedule: &Schedule, found: &mut Vec<Violation>) {
    for (index, (low, high)) in problem.variables.iter().enumerate() {
        if !schedule.values.get(index).is_some_and(|value| (low..=high).contains(&value)) {
            found.push(Violation::Variable(index));
        }
    }
}

fn constraints(problem: &Problem, schedule: &Schedule, found: &mut Vec<Violation>) {
    for (index, constraint) in problem.constraints.iter().enumerate() {
        let holds = constraint.any.iter().any(|all| all.iter().all(|sum| sum.value(&schedule.values) <= 0));
        if !holds {
            found.push(Violation::Constraint(index));
        }
    }
}

/// Returns the first cycle in which an operation changes a configuration, its start, and the cycle
/// after its last address.
fn extent(problem: &Problem, schedule: &Schedule, index: usize) -> Option<(i64, i64, i64)> {
    let operation = problem.operations.get(index)?;
    let start = schedule.value(operation.start);
    let first = schedule.configurations.get(index)?.first().copied();
    let least = if operation.line().is_some() { start - 1 } else { start };
    // Default: without configurations, the start is the first change.
    Some((first.unwrap_or(least), start, start + operation.span.value(&schedule.values)))
}

fn rule_broken(problem: &Problem, schedule: &Schedule, rule: &Rule) -> Option<Violation> {
    let busy = |first, second, cycle| Some(Violation::Busy { first, second, cycle });
    match *rule {
        Rule::Exclusive { operations: (a, b), gap } => {
            let (first_a, start_a, last_a) = extent(problem, schedule, a)?;
            let (first_b, start_b, last_b) = extent(problem, schedule, b)?;
            match start_a <= start_b {
                true if first_b < last_a + gap => busy(a, b, first_b),
                false if first_a < last_b + gap => busy(b, a, first_a),
                _ => None,
            }
        }
        Rule::Table { writer, user } => {
            let (first, start, _) = extent(problem, schedule, writer)?;
            let (_, begin, last) = extent(problem, schedule, user)?;
            if start > begin && first < last { busy(user, writer, first) } else { None }
        }
        // The caller checks this rule together with all other instructions of the cell.
        Rule::Issue { .. } => None,
    }
}

fn operations(problem: &Problem, schedule: &Schedule, found: &mut Vec<Violation>) {
    for (index, operation) in problem.operations.iter().enumerate() {
        let start = schedule.value(operation.start);
        let cycles = schedule.configurations.get(index).map_or(&[][..], Vec::as_slice);
        let in_order = cycles.windows(2).all(|pair| pair[0] < pair[1]);
        let in_time = cycles.iter().all(|cycle| (0..start).contains(cycle));
        if cycles.len() != operation.configurations() || !in_order || !in_time {
            found.push(Violation::Late { operation: index, start });
        }
        let last = match operation.issue {
            Issue::Activated { .. } => start + operation.span.value(&schedule.values),
            Issue::Configured { .. } => start - 1,
            Issue::Sequence { instructions } => start + instructions as i64 - 1,
        };
        if last >= schedule.cycles {
            found.push(Violation::End { operation: index, cycles: schedule.cycles });
        }
    }
}

/// Checks that a cell issues at most one instruction per cycle.
fn issue(problem: &Problem, schedule: &Schedule, found: &mut Vec<Violation>) {
    let mut taken = BTreeSet::new();
    let mut take = |cell: usize, cycle: i64| {
        if !taken.insert((cell, cycle)) || cycle < 0 {
            found.push(Violation::Issue { cell, cycle });
        }
    };
    for (operation, cycles) in problem.operations.iter().zip(&schedule.configurations) {
        cycles.iter().for_each(|&cycle| take(operation.cell, cycle));
        if let Issue::Sequence { instructions } = operation.issue {
            let start = schedule.value(operation.start);
            (start..start + instructions as i64).for_each(|cycle| take(operation.cell, cycle));
        }
    }
    for (&cell, groups) in &schedule.groups {
        for group in groups {
            take(cell, group.cycle);
            group.loads.iter().for_each(|&cycle| take(cell, cycle));
        }
    }
}

/// Checks that each group raises exactly the lines of the operations that start in its cycle.
fn lines(problem: &Problem, schedule: &Schedule, found: &mut Vec<Violation>) {
    let mut expected: BTreeMap<(usize, i64), BTreeSet<Line>> = BTreeMap::new();
    for operation in &problem.operations {
        if let Some(line) = operation.line() {
            expected.entry((operation.cell, schedule.value(operation.start))).or_default().insert(line);
        }
    }
    for (&cell, groups) in &schedule.groups {
        for group in groups {
            let loaded = group.loads.len() == group.activation.loads()
                && group.loads.iter().all(|cycle| *cycle < group.cycle);
            // Default: no line is raised in that cycle.
            let wanted = expected.remove(&(cell, group.cycle)).unwrap_or_default();
            if !loaded || raised(group.activation) != wanted {
                found.push(Violation::Lines { cell, cycle: group.cycle });
            }
        }
    }
    found.extend(expected.into_keys().map(|(cell, cycle)| Violation::Lines { cell, cycle }));
}

/// Returns the lines of an activation.
fn raised(activation: Activation) -> BTreeSet<Line> {
    let all = (0..16).flat_map(|slot| (0..4).map(move |port| Line { slot, port }));
    let is_raised = |line: &Line| match activation {
        Activation::Contiguous { slot, ports } => {
            (slot..slot.saturating_add(4)).contains(&line.slot)
                && ports >> (4 * (line.slot - slot) + line.port) & 1 == 1
        }
        Activation::Ports { slots, ports } => slots >> line.slot & 1 == 1 && ports >> line.port & 1 == 1,
        Activation::Map(map) => map >> (4 * line.slot + line.port) & 1 == 1,
    };
    all.filter(is_raised).collect()
}
