//! [`explain`]: a smallest set of contradictory constraints.

use super::problem::Problem;
use super::search::{ScheduleError, any_schedule, is_empty};

/// Search nodes after which a set of constraints is taken as satisfiable.
const NODES: usize = 400;

/// Constraints that contradict each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// Indices of constraints.
    pub constraints: Vec<usize>,
    /// Indices of hardware rules that are part of the contradiction.
    pub rules: Vec<usize>,
    /// Whether removing any one of them resolves the contradiction.
    pub is_irreducible: bool,
}

/// Returns the contradiction in a problem, or `None` if the search finds none.
pub fn explain(problem: &Problem) -> Option<Conflict> {
    let mut judge = Judge { problem, is_sure: true };
    let all =
        Selection { constraints: indices(problem.constraints.len()), rules: indices(problem.rules.len()) };
    // Contradictions in the bounds are found quickly. Finding them first leaves little for the slow
    // search.
    let refuted = if judge.is_refuted(&all) { judge.reduced(&all, Judge::is_refuted) } else { all };
    if !judge.is_contradictory(&refuted) {
        return None;
    }
    let Selection { constraints, rules } = judge.reduced(&refuted, Judge::is_contradictory);
    Some(Conflict { constraints, rules, is_irreducible: judge.is_sure })
}

#[derive(Clone)]
struct Selection {
    constraints: Vec<usize>,
    rules: Vec<usize>,
}

struct Judge<'a> {
    problem: &'a Problem,
    is_sure: bool,
}

impl Judge<'_> {
    /// Removes all elements from the selection that `is_refuted` does not need.
    fn reduced(&mut self, all: &Selection, is_refuted: fn(&mut Self, &Selection) -> bool) -> Selection {
        let mut kept = all.clone();
        kept.constraints = reduce(&all.constraints, |list| {
            is_refuted(self, &Selection { constraints: list.to_vec(), rules: all.rules.clone() })
        });
        let constraints = kept.constraints.clone();
        kept.rules = reduce(&all.rules, |list| {
            is_refuted(self, &Selection { constraints: constraints.clone(), rules: list.to_vec() })
        });
        kept
    }

    fn part(&self, selection: &Selection) -> Problem {
        Problem {
            variables: self.problem.variables.clone(),
            operations: self.problem.operations.clone(),
            constraints: pick(&self.problem.constraints, &selection.constraints),
            rules: pick(&self.problem.rules, &selection.rules),
            one_port: self.problem.one_port,
        }
    }

    fn is_refuted(&mut self, selection: &Selection) -> bool {
        is_empty(&self.part(selection))
    }

    fn is_contradictory(&mut self, selection: &Selection) -> bool {
        match any_schedule(&self.part(selection), NODES) {
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

/// Removes all elements that a contradiction does not need: large parts first, single elements
/// last.
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
