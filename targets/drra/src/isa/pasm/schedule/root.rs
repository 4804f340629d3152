//! Lower bounds that hold for every schedule, beyond single sums.
//!
//! An operation starts no earlier than the issue time of everything that its cell must issue
//! before. Differences that equations imply are added as sums.

use std::collections::BTreeMap;

use super::bounds::{Bounds, System};
use super::linear::{Linear, Variable};
use super::problem::{Operation, Problem};

/// Maximum number of operations that are compared in pairs.
const MAX_COMPARED: usize = 400;
/// Distance between operations that may come in any order.
const APART: i64 = i64::MIN / 4;

/// Adds copies of sums in which variables at fixed distances are replaced by one variable.
pub(super) fn merge_equal(system: &mut System, variables: usize) {
    let mut classes = Classes::new(variables);
    let edges: std::collections::HashSet<(Variable, Variable, i64)> = system.differences().collect();
    let mut equal: Vec<_> = edges.iter().filter(|&&(x, y, c)| x < y && edges.contains(&(y, x, -c))).collect();
    equal.sort_unstable();
    for &&(x, y, c) in &equal {
        classes.join(y, x, c);
    }
    let merged: Vec<Linear> = system.sums().iter().filter_map(|sum| classes.merged(sum)).collect();
    merged.into_iter().for_each(|sum| system.push(sum));
}

/// Classes of variables at fixed distances.
struct Classes {
    /// Another variable of the class, and the distance of this one after it.
    parent: Vec<(usize, i64)>,
}

impl Classes {
    fn new(variables: usize) -> Self {
        Self { parent: (0..variables).map(|variable| (variable, 0)).collect() }
    }

    fn root(&self, variable: usize) -> (usize, i64) {
        let (mut at, mut distance) = (variable, 0_i64);
        while self.parent[at].0 != at {
            distance = distance.saturating_add(self.parent[at].1);
            at = self.parent[at].0;
        }
        (at, distance)
    }

    /// Merges classes with `later = earlier + distance`.
    fn join(&mut self, later: Variable, earlier: Variable, distance: i64) {
        let ((a, from_a), (b, from_b)) = (self.root(later.0), self.root(earlier.0));
        if a != b {
            self.parent[a] = (b, distance.saturating_add(from_b).saturating_sub(from_a));
        }
    }

    /// Rewrites the sum with one variable per class; `None` if nothing changes.
    fn merged(&self, sum: &Linear) -> Option<Linear> {
        let mut merged = Linear::constant(sum.constant);
        for &(variable, factor) in sum.terms() {
            let (root, distance) = self.root(variable.0);
            merged = merged.plus(factor, &Linear::from(Variable(root)).offset(distance));
        }
        (merged != *sum && !merged.terms().is_empty()).then_some(merged)
    }
}

/// Raises starts to the issue time of everything that must come before.
pub(super) fn raise_starts(problem: &Problem, system: &mut System) {
    let operations = &problem.operations;
    if operations.len() > MAX_COMPARED {
        return;
    }
    // Pairs need time and memory that are quadratic in their number; distances need cubic time.
    let apart = distances(operations, system);
    for (index, operation) in operations.iter().enumerate() {
        let least = issued_before(operations, &apart, index);
        system.push(Linear::constant(least).plus(-1, &operation.start.into()));
    }
}

/// Returns the minimum distance from the start of the first operation to the start of the second.
fn distances(operations: &[Operation], system: &System) -> Vec<Vec<i64>> {
    let index: BTreeMap<Variable, usize> =
        operations.iter().enumerate().map(|(index, operation)| (operation.start, index)).collect();
    let mut apart = vec![vec![APART; operations.len()]; operations.len()];
    for (x, y, by) in system.differences() {
        if let (Some(&x), Some(&y)) = (index.get(&x), index.get(&y)) {
            apart[x][y] = apart[x][y].max(by);
        }
    }
    // Finds longest paths between all pairs with the Floyd-Warshall algorithm.
    for via in 0..operations.len() {
        let row = apart[via].clone();
        for from in apart.iter_mut().filter(|from| from[via] > APART) {
            let first = from[via];
            for (to, &second) in from.iter_mut().zip(&row) {
                if second > APART {
                    *to = (*to).max(first.saturating_add(second));
                }
            }
        }
    }
    apart
}

/// Minimum number of cycles in which the cell of operation `last` issues something before it
/// starts.
fn issued_before(operations: &[Operation], apart: &[Vec<i64>], last: usize) -> i64 {
    let cell = operations[last].cell;
    let mut before: Vec<usize> =
        (0..operations.len()).filter(|&one| operations[one].cell == cell && one != last).collect();
    before.retain(|&one| apart[one][last] >= 0);
    let configurations: usize = before.iter().map(|&one| operations[one].configurations()).sum();
    before.retain(|&one| {
        operations[one].issue_cycles() > 0 && apart[one][last] >= operations[one].issue_cycles()
    });
    (configurations + operations[last].configurations()) as i64
        + longest_chain(operations, apart, &mut before)
}

/// Minimum number of cycles for the starts of operations, if starts that may coincide do.
fn longest_chain(operations: &[Operation], apart: &[Vec<i64>], members: &mut [usize]) -> i64 {
    let precedes = |a: usize, b: usize| apart[a][b] >= operations[a].issue_cycles();
    members.sort_by_key(|&one| members_before(apart, one));
    let mut chains: Vec<(usize, i64)> = Vec::new();
    for &one in members.iter() {
        let before = chains.iter().filter(|(other, _)| precedes(*other, one)).map(|chain| chain.1).max();
        // Default: no operation must come before.
        chains.push((one, before.unwrap_or(0) + operations[one].issue_cycles()));
    }
    // Default: no operations take 0 cycles.
    chains.into_iter().map(|chain| chain.1).max().unwrap_or(0)
}

/// Sort key that puts each operation after its predecessors.
fn members_before(apart: &[Vec<i64>], one: usize) -> usize {
    apart.iter().filter(|from| from[one] > 0).count()
}

/// Cycle in which a cell is done that issues without gaps, longest remaining work first.
pub(super) fn cell_bound(problem: &Problem, bounds: &Bounds) -> i64 {
    let mut cells: BTreeMap<usize, Vec<CellJob>> = BTreeMap::new();
    for operation in &problem.operations {
        let after = operation.end().plus(-1, &operation.start.into());
        let job = CellJob {
            ready: bounds.low(operation.ready),
            tail: bounds.minimum(&after),
            instructions: operation.configurations() as i64,
        };
        cells.entry(operation.cell).or_default().push(job);
    }
    // Default: no cells take 0 cycles.
    cells.into_values().map(one_cell_bound).max().unwrap_or(0)
}

/// Work of an operation in the cell that issues its instructions.
struct CellJob {
    /// First cycle allowed.
    ready: i64,
    /// Cycles after the last instruction.
    tail: i64,
    instructions: i64,
}

/// Lower bound of the cycle by which all jobs of a cell are done.
fn one_cell_bound(mut jobs: Vec<CellJob>) -> i64 {
    // Jobs that are ready at `from` or later and have a tail of at least `tail` run one after
    // another.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.tail));
    let mut best = 0;
    let readies: std::collections::BTreeSet<i64> = jobs.iter().map(|job| job.ready).collect();
    // Every start gives a valid bound. The earliest starts give nearly the best one, so few are
    // tried.
    for from in readies.into_iter().take(16) {
        let mut work = 0;
        for job in jobs.iter().filter(|job| job.ready >= from) {
            work += job.instructions;
            best = best.max(from.saturating_add(work).saturating_add(job.tail));
        }
    }
    best
}
