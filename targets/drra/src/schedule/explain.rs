//! [`explain`]: a smallest set of constraints that cannot hold together.

use super::problem::Problem;
use super::search::{ScheduleError, any_schedule};

/// Nodes after which a set of constraints counts as satisfiable.
const NODES: usize = 600;

/// Constraints that contradict each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// Indices of constraints.
    pub constraints: Vec<usize>,
    /// Indices of rules of the hardware that they meet.
    pub rules: Vec<usize>,
    /// Whether without any one of them the others can hold.
    pub is_irreducible: bool,
}

/// What of the problem contradicts itself; none when nothing does, as far as the search can tell.
pub fn explain(problem: &Problem) -> Option<Conflict> {
    let all =
        Selection { constraints: indices(problem.constraints.len()), rules: indices(problem.rules.len()) };
    let mut judge = Judge { problem, is_sure: true };
    if !judge.is_contradictory(&all) {
        return None;
    }
    let constraints = reduce(&all.constraints, |list| {
        judge.is_contradictory(&Selection { constraints: list.to_vec(), rules: all.rules.clone() })
    });
    let rules = reduce(&all.rules, |list| {
        judge.is_contradictory(&Selection { constraints: constraints.clone(), rules: list.to_vec() })
    });
    Some(Conflict { constraints, rules, is_irreducible: judge.is_sure })
}

struct Selection {
    constraints: Vec<usize>,
    rules: Vec<usize>,
}

struct Judge<'a> {
    problem: &'a Problem,
    is_sure: bool,
}

impl Judge<'_> {
    fn is_contradictory(&mut self, selection: &Selection) -> bool {
        let part = Problem {
            variables: self.problem.variables.clone(),
            operations: self.problem.operations.clone(),
            constraints: pick(&self.problem.constraints, &selection.constraints),
            rules: pick(&self.problem.rules, &selection.rules),
        };
        match any_schedule(&part, NODES) {
            Err(ScheduleError::Unsatisfiable) => true,
            Err(ScheduleError::GaveUp { .. }) => {
                self.is_sure = false;
                false
            }
            Ok(_) => false,
        }
    }
}

fn indices(length: usize) -> Vec<usize> {
    (0..length).collect()
}

fn pick<T: Clone>(all: &[T], indices: &[usize]) -> Vec<T> {
    indices.iter().filter_map(|&index| all.get(index)).cloned().collect()
}

/// Leaves out what a contradiction does not need: large parts first, then one by one.
fn reduce(all: &[usize], mut is_contradictory: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut kept = all.to_vec();
    let mut size = kept.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < kept.len() {
            let without: Vec<usize> = kept
                .iter()
                .enumerate()
                .filter(|(index, _)| !(at..at + size).contains(index))
                .map(|one| *one.1)
                .collect();
            if is_contradictory(&without) {
                kept = without;
            } else {
                at += size;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    kept
}
