//! [`schedule`]: branch-and-bound search for a schedule.

use std::collections::BTreeMap;

use thiserror::Error;

use super::bounds::{Bounds, Empty, System};
use super::issue::{Group, Overflow, Placed, place};
use super::linear::{Linear, Variable};
use super::problem::{Alternatives, Issue, Problem};
use super::root::{cell_bound, merge_equal, raise_starts};

/// Default limit of search nodes, after which the best schedule found is returned.
pub const DEFAULT_NODES: usize = 2000;

/// Starts of all operations, and cycles of all instructions.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Value of each variable of the problem.
    pub values: Vec<i64>,
    /// Cycles of the instructions before the start, by operation.
    pub configurations: Vec<Vec<i64>>,
    /// Groups that each cell starts; cells without operations are left out.
    pub groups: BTreeMap<usize, Vec<Group>>,
    /// First cycle after all instructions and addresses.
    pub cycles: i64,
    /// Lower bound of the number of cycles; equal to `cycles` if this schedule is optimal.
    pub bound: i64,
    /// Number of nodes searched.
    pub nodes: usize,
}

/// Reason why no schedule was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// The constraints contradict each other.
    #[error("no schedule satisfies all constraints")]
    Unsatisfiable,
    /// The search reached its limit without a result.
    #[error("no schedule was found in {nodes} steps; fewer constraints with alternatives may help")]
    GaveUp {
        /// Limit of search nodes.
        nodes: usize,
    },
}

impl Schedule {
    /// Returns the start cycle of an operation.
    pub fn start(&self, problem: &Problem, operation: usize) -> i64 {
        self.value(problem.operations[operation].start)
    }

    /// Returns the value of a variable.
    pub fn value(&self, variable: Variable) -> i64 {
        self.values[variable.0]
    }

    /// Whether the schedule is proven to be the shortest.
    pub const fn is_optimal(&self) -> bool {
        self.bound >= self.cycles
    }
}

/// Finds a schedule with the fewest cycles, or the best that `nodes` search nodes find.
///
/// # Errors
///
/// The constraints contradict each other, or the search reached its limit without a result.
pub fn schedule(problem: &Problem, nodes: usize) -> Result<Schedule, ScheduleError> {
    Search::new(problem).run(nodes, false)
}

/// Finds any schedule.
pub(super) fn any_schedule(problem: &Problem, nodes: usize) -> Result<Schedule, ScheduleError> {
    Search::new(problem).run(nodes, true)
}

/// Whether bounds alone show that no schedule exists.
pub(super) fn is_empty(problem: &Problem) -> bool {
    Search::new(problem).root().is_err()
}

/// Branch of a node: additional sums that must hold.
#[derive(Clone, Debug)]
struct Branch {
    sums: Vec<Linear>,
    bounds: Bounds,
}

/// Search node with its remaining branches.
struct Frame {
    sums: usize,
    branches: Vec<Branch>,
}

/// Outcome of examining a node.
enum Node {
    Solved(Vec<Placed>),
    /// At least one alternative must hold.
    Open {
        alternatives: Alternatives,
        is_exact: bool,
    },
}

struct Search<'a> {
    problem: &'a Problem,
    system: System,
    total: Variable,
    choices: Vec<Alternatives>,
    cells: BTreeMap<usize, Vec<usize>>,
    best: Option<Schedule>,
    /// Whether skipped branches are proven to hold no schedule.
    is_exact: bool,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem) -> Self {
        let total = Variable(problem.variables.len());
        let mut system = System::new(problem.variables.len() + 1);
        let mut cells: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, operation) in problem.operations.iter().enumerate() {
            let least = match operation.issue {
                Issue::Activated { configurations, .. } => configurations.max(1),
                _ => operation.configurations(),
            };
            system.push(Linear::from(operation.ready).offset(least as i64).plus(-1, &operation.start.into()));
            system.push(operation.end().plus(-1, &total.into()));
            cells.entry(operation.cell).or_default().push(index);
        }
        let asked = problem.constraints.iter().map(|constraint| constraint.any.clone());
        let rules = problem.rules.iter().filter_map(|rule| problem.alternatives(rule));
        let (single, choices): (Vec<_>, Vec<_>) = asked.chain(rules).partition(|any| any.len() == 1);
        single.into_iter().flatten().flatten().for_each(|sum| system.push(sum));
        Self { problem, system, total, choices, cells, best: None, is_exact: true }
    }

    fn run(mut self, most: usize, is_first_enough: bool) -> Result<Schedule, ScheduleError> {
        let root = self.root().map_err(|Empty| ScheduleError::Unsatisfiable)?;
        // Bounds at the root hold in every schedule, so they limit the search.
        let bound = root.low(self.total);
        let (mut nodes, mut frames) =
            (0, vec![Frame { sums: self.system.sums().len(), branches: Vec::new() }]);
        frames.push(Frame {
            sums: self.system.sums().len(),
            branches: vec![Branch { sums: Vec::new(), bounds: root }],
        });
        let mut is_complete = true;
        while let Some(frame) = frames.last_mut() {
            self.system.truncate(frame.sums);
            let Some(branch) = frame.branches.pop() else {
                frames.pop();
                continue;
            };
            if nodes == most {
                is_complete = false;
                break;
            }
            nodes += 1;
            // The search is depth-first: a branch is done when its frame has no branches left.
            let Some(next) = self.enter(branch) else { continue };
            frames.push(next);
            let found = self.best.as_ref();
            if found.is_some_and(|best| is_first_enough || best.cycles <= bound) {
                break;
            }
        }
        let is_exact = is_complete && self.is_exact;
        let Some(mut best) = self.best else {
            return Err(if is_exact {
                ScheduleError::Unsatisfiable
            } else {
                ScheduleError::GaveUp { nodes }
            });
        };
        best.bound = if is_exact && !is_first_enough { best.cycles } else { bound.min(best.cycles) };
        best.nodes = nodes;
        Ok(best)
    }

    /// Returns the bounds that hold everywhere.
    fn root(&mut self) -> Result<Bounds, Empty> {
        let (mut low, mut high): (Vec<i64>, Vec<i64>) = self.problem.variables.iter().copied().unzip();
        low.push(0);
        high.push(i64::MAX / 4);
        let mut bounds = Bounds { low, high };
        if bounds.low.iter().zip(&bounds.high).any(|(low, high)| low > high) {
            return Err(Empty);
        }
        self.system.narrow(&mut bounds, 0, &[])?;
        let before = self.system.sums().len();
        merge_equal(&mut self.system, bounds.low.len());
        raise_starts(self.problem, &mut self.system);
        self.system.narrow(&mut bounds, before, &[])?;
        let least = cell_bound(self.problem, &bounds);
        let before = self.system.sums().len();
        self.system.push(Linear::constant(least).plus(-1, &self.total.into()));
        self.system.narrow(&mut bounds, before, &[])?;
        Ok(bounds)
    }

    /// Enters a branch; `None` if it cannot improve on the best schedule.
    fn enter(&mut self, Branch { sums, mut bounds }: Branch) -> Option<Frame> {
        let length = self.system.sums().len();
        sums.into_iter().for_each(|sum| self.system.push(sum));
        // Only a shorter schedule is an improvement, so the bound is one cycle less than the best.
        if let Some(best) = &self.best {
            bounds.high[self.total.0] = bounds.high(self.total).min(best.cycles - 1);
        }
        if bounds.low(self.total) > bounds.high(self.total) {
            return None;
        }
        self.system.narrow(&mut bounds, length, &[self.total]).ok()?;
        match self.look(&bounds) {
            Node::Solved(placed) => {
                self.keep(&bounds, placed);
                None
            }
            Node::Open { alternatives, is_exact } => {
                self.is_exact &= is_exact;
                let branches = self.branches(&bounds, alternatives);
                Some(Frame { sums: self.system.sums().len(), branches })
            }
        }
    }

    /// Checks whether all starts at their lower bounds form a schedule, and otherwise returns the
    /// alternatives.
    fn look(&self, bounds: &Bounds) -> Node {
        let open = |alternatives| Node::Open { alternatives, is_exact: true };
        if let Some(sum) = self.system.sums().iter().find(|sum| sum.value(&bounds.low) > 0) {
            return open(split(sum, bounds));
        }
        // The unmet choice with the fewest alternatives is tried first, because it restricts the
        // search most.
        let unmet =
            |any: &&Alternatives| !any.iter().any(|all| all.iter().all(|sum| sum.value(&bounds.low) <= 0));
        let alive = |any: &&Alternatives| {
            any.iter().filter(|all| all.iter().all(|sum| bounds.minimum(sum) <= 0)).count()
        };
        if let Some(any) = self.choices.iter().filter(unmet).min_by_key(alive) {
            return open(any.clone());
        }
        let mut placed = Vec::new();
        for members in self.cells.values() {
            let start = |operation: &super::Operation| bounds.low(operation.start);
            let ready = |operation: &super::Operation| bounds.low(operation.ready);
            match place(self.problem, members, start, ready) {
                Ok(cell) => placed.push(cell),
                Err(Overflow { operations, is_exact }) => {
                    return Node::Open { alternatives: self.later(&operations, bounds), is_exact };
                }
            }
        }
        Node::Solved(placed)
    }

    /// Alternatives in which one of the operations starts later than its lower bound.
    fn later(&self, operations: &[usize], bounds: &Bounds) -> Alternatives {
        let later = |&index: &usize| {
            let start = self.problem.operations.get(index)?.start;
            Some(vec![Linear::constant(bounds.low(start) + 1).plus(-1, &start.into())])
        };
        operations.iter().filter_map(later).collect()
    }

    /// Returns the possible alternatives, most promising last, except alternatives that another one
    /// includes.
    fn branches(&mut self, bounds: &Bounds, alternatives: Alternatives) -> Vec<Branch> {
        let length = self.system.sums().len();
        let mut branches: Vec<Branch> = Vec::new();
        for sums in alternatives {
            sums.iter().for_each(|sum| self.system.push(sum.clone()));
            let mut bounds = bounds.clone();
            let narrowed = self.system.narrow(&mut bounds, length, &[]);
            self.system.truncate(length);
            if narrowed.is_err() || branches.iter().any(|other| includes(other, &bounds)) {
                continue;
            }
            let branch = Branch { sums, bounds };
            branches.retain(|other| !includes(&branch, &other.bounds));
            branches.push(branch);
        }
        let total = self.total;
        // The branch with the smallest total comes first. Of equal totals, the one with the
        // earliest starts is likely to have room.
        branches
            .sort_by_cached_key(|branch| (branch.bounds.low(total), branch.bounds.low.iter().sum::<i64>()));
        exclude_earlier(&mut branches);
        branches.reverse();
        branches
    }

    fn keep(&mut self, bounds: &Bounds, placed: Vec<Placed>) {
        let mut configurations = vec![Vec::new(); self.problem.operations.len()];
        let mut groups = BTreeMap::new();
        for (&cell, placed) in self.cells.keys().zip(placed) {
            for (operation, cycles) in placed.configurations {
                configurations[operation] = cycles;
            }
            groups.insert(cell, placed.groups);
        }
        let cycles = bounds.low(self.total);
        let mut values = bounds.low.clone();
        values.truncate(self.problem.variables.len());
        self.best = Some(Schedule { values, configurations, groups, cycles, bound: 0, nodes: 0 });
    }
}

/// Whether everything within `bounds` satisfies the branch's sums.
fn includes(branch: &Branch, bounds: &Bounds) -> bool {
    let most = |sum: &Linear| bounds.minimum(&sum.times(-1)).saturating_neg();
    branch.sums.iter().all(|sum| most(sum) <= 0)
}

/// Excludes solutions that an earlier branch covers.
fn exclude_earlier(branches: &mut [Branch]) {
    let mut excluded: Vec<Linear> = Vec::new();
    for branch in branches {
        let own = branch.sums.clone();
        branch.sums.extend(excluded.iter().cloned());
        if let [sum] = &own[..] {
            excluded.push(sum.times(-1).offset(1));
        }
    }
}

/// Branches on a sum that several variables could lower: the first such variable stays at its lower
/// bound, or does not.
fn split(sum: &Linear, bounds: &Bounds) -> Alternatives {
    let open =
        |&&(variable, factor): &&(Variable, i64)| factor < 0 && bounds.low(variable) < bounds.high(variable);
    // The variable with the fewest values is tried first, because it restricts the search most.
    let choose = |&&(variable, _): &&(Variable, i64)| bounds.high(variable) - bounds.low(variable);
    let Some(&(variable, _)) = sum.terms().iter().filter(open).min_by_key(choose) else { return Vec::new() };
    let low = bounds.low(variable);
    let stays = Linear::from(variable).offset(-low);
    let rises = Linear::constant(low + 1).plus(-1, &variable.into());
    vec![vec![stays], vec![rises]]
}
