//! [`check`]: judges a schedule. It shares nothing with the search but the [`Problem`].

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::activation::Activation;
use super::problem::{Issue, Line, Problem, Rule};
use super::search::Schedule;

/// What a schedule breaks. Operations, constraints and rules are indices of the problem's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// A variable outside its bounds, or without a value.
    #[error("variable {0} is outside its bounds")]
    Variable(usize),
    /// A constraint that does not hold.
    #[error("constraint {0} does not hold")]
    Constraint(usize),
    /// A port or a table that is changed while it is in use.
    #[error("operation {second} is configured in cycle {cycle}, before {first} is over")]
    Busy {
        /// What is in use.
        first: usize,
        /// What is configured.
        second: usize,
        /// When.
        cycle: i64,
    },
    /// Instructions of an operation that are missing, out of order, or too late.
    #[error("the instructions of operation {operation} are not all before its start in cycle {start}")]
    Late {
        /// The operation.
        operation: usize,
        /// Its start.
        start: i64,
    },
    /// Two instructions in a cycle.
    #[error("cell {cell} issues two instructions in cycle {cycle}")]
    Issue {
        /// The cell.
        cell: usize,
        /// The cycle.
        cycle: i64,
    },
    /// The instructions that start operations raise other lines than theirs.
    #[error("cell {cell} does not start what it should in cycle {cycle}")]
    Lines {
        /// The cell.
        cell: usize,
        /// The cycle.
        cycle: i64,
    },
    /// Something happens after what is said to be the end.
    #[error("operation {operation} ends after cycle {cycles}")]
    End {
        /// The operation.
        operation: usize,
        /// The end claimed.
        cycles: i64,
    },
}

/// Everything a schedule breaks; empty for a good one.
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

/// First cycle in which an operation changes anything, and the last one in which it has an address.
fn extent(problem: &Problem, schedule: &Schedule, index: usize) -> Option<(i64, i64, i64)> {
    let operation = problem.operations.get(index)?;
    let start = schedule.value(operation.start);
    let first = schedule.configurations.get(index)?.first().copied();
    let least = if operation.line().is_some() { start - 1 } else { start };
    // Default: without configurations its start is what changes first.
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
        // Judged with all other instructions of the cell.
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

/// Every cycle in which a cell issues something, at most once.
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

/// The lines each group raises are those of the operations that start then.
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

/// The lines of an activation, one by one.
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
