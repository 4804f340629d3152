//! [`place`]: assigns a cycle to every instruction of a cell whose operations have starts.
//!
//! The most urgent instruction is issued first. If that fails, no order succeeds: of the
//! operations in the overfull cycles, one must start later.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::activation::Activation;
use super::problem::{Issue, Operation, Problem};

/// Operations that a cell starts in one cycle with one `act`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Start cycle.
    pub cycle: i64,
    /// Indices of the operations.
    pub operations: Vec<usize>,
    /// Form of the `act`.
    pub activation: Activation,
    /// Cycles of the instructions that fill its registers.
    pub loads: Vec<i64>,
}

/// Issued instructions of a cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    /// Operation index, and cycles of its instructions before the start.
    pub configurations: Vec<(usize, Vec<i64>)>,
    /// Groups in order of cycles.
    pub groups: Vec<Group>,
}

/// More instructions are due than fit.
#[derive(Clone, Debug)]
pub(super) struct Overflow {
    /// Operations; at least one must start later.
    pub operations: Vec<usize>,
    /// Whether this is proven.
    pub is_exact: bool,
}

/// Instructions to issue: configurations of an operation before its start, or the loads of a group.
struct Job {
    /// Operations that would delay the job by starting later.
    operations: Vec<usize>,
    /// Component of the instructions, which must not interleave; `None` for loads.
    component: Option<usize>,
    /// First cycle allowed.
    ready: i64,
    /// First cycle that is too late.
    due: i64,
    length: usize,
    cycles: Vec<i64>,
}

/// Places the instructions of the operations `members`, which share a cell. `start` and `ready` are
/// indexed by operation.
pub(super) fn place(
    problem: &Problem,
    members: &[usize],
    start: impl Fn(&Operation) -> i64,
    ready: impl Fn(&Operation) -> i64,
) -> Result<Placed, Overflow> {
    let operations = &problem.operations[..];
    let mut taken: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    let mut jobs = Vec::new();
    for &index in members {
        let operation = &operations[index];
        let (start, length) = (start(operation), operation.configurations());
        for cycle in start..start.saturating_add(operation.issue_cycles()) {
            taken.entry(cycle).or_default().push(index);
        }
        if length > 0 {
            let (component, ready) = (Some(operation.component), ready(operation));
            jobs.push(Job {
                operations: vec![index],
                component,
                ready,
                due: start,
                length,
                cycles: Vec::new(),
            });
        }
    }
    let mut groups = groups(problem, &taken);
    let own = jobs.len();
    jobs.extend(groups.iter().enumerate().filter_map(|(index, group)| loads(&groups, index, group)));
    fill(&mut jobs, &taken)?;
    let mut loads = jobs.split_off(own).into_iter();
    for group in groups.iter_mut().filter(|group| group.activation.loads() > 0) {
        group.loads = loads.next().expect("each of these groups has a job").cycles;
    }
    let configurations = jobs.into_iter().filter_map(|job| Some((*job.operations.first()?, job.cycles)));
    Ok(Placed { configurations: configurations.collect(), groups })
}

fn groups(problem: &Problem, taken: &BTreeMap<i64, Vec<usize>>) -> Vec<Group> {
    let operations = &problem.operations;
    let activated = |index: &&usize| matches!(operations[**index].issue, Issue::Activated { .. });
    let mut groups = Vec::new();
    for (&cycle, starting) in taken {
        let members: Vec<usize> = starting.iter().filter(activated).copied().collect();
        let lines: BTreeSet<_> = members.iter().filter_map(|&index| operations[index].line()).collect();
        if !lines.is_empty() {
            let activation = Activation::of(&lines, problem.one_port);
            groups.push(Group { cycle, operations: members, activation, loads: Vec::new() });
        }
    }
    groups
}

/// Job of a group's loads. Two register sets are used in turn, so the group before the last must
/// have started.
fn loads(groups: &[Group], index: usize, group: &Group) -> Option<Job> {
    let length = group.activation.loads();
    let before = groups.iter().take(index).rev().filter(|group| group.activation.loads() > 0).nth(1);
    let ready = before.map_or(0, |group| group.cycle + 1);
    let (operations, due) = (group.operations.clone(), group.cycle);
    (length > 0).then_some(Job { operations, component: None, ready, due, length, cycles: Vec::new() })
}

/// Assigns cycles to every job.
fn fill(jobs: &mut [Job], taken: &BTreeMap<i64, Vec<usize>>) -> Result<(), Overflow> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| (jobs[job].ready, job));
    let mut arriving = order.into_iter().peekable();
    let mut waiting: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    let mut begun: BTreeMap<usize, usize> = BTreeMap::new();
    let mut issued: BTreeMap<i64, usize> = BTreeMap::new();
    let (mut cycle, mut is_exact) = (0, true);
    loop {
        while let Some(job) = arriving.next_if(|&job| jobs[job].ready <= cycle) {
            waiting.push(Reverse((jobs[job].due, job)));
        }
        let Some(&Reverse((_, first))) = waiting.peek() else {
            let Some(&next) = arriving.peek() else { return Ok(()) };
            cycle = cycle.max(jobs[next].ready);
            continue;
        };
        // Default: no instructions of the component are in progress.
        let job = jobs[first].component.and_then(|component| begun.get(&component)).copied().unwrap_or(first);
        // The most urgent job should be first, but it waits if a component's instructions must not
        // be interrupted. A failure of this order then no longer proves that all orders fail.
        is_exact &= job == first;
        if taken.contains_key(&cycle) {
            cycle += 1;
            continue;
        }
        if cycle >= jobs[job].due || cycle >= jobs[first].due {
            return Err(overflow(jobs, taken, &issued, first, cycle, is_exact));
        }
        issued.insert(cycle, job);
        jobs[job].cycles.push(cycle);
        cycle += 1;
        let is_done = jobs[job].cycles.len() == jobs[job].length;
        if let Some(component) = jobs[job].component {
            if is_done {
                begun.remove(&component)
            } else {
                begun.insert(component, job)
            };
        }
        if is_done {
            waiting.retain(|Reverse((_, other))| *other != job);
        }
    }
}

/// Returns the operations that fill the cycles before the cycle in which `late` should have ended.
fn overflow(
    jobs: &[Job],
    taken: &BTreeMap<i64, Vec<usize>>,
    issued: &BTreeMap<i64, usize>,
    late: usize,
    cycle: i64,
    is_exact: bool,
) -> Overflow {
    let due = jobs[late].due.max(cycle);
    // Goes back over cycles until a gap. Instructions before the gap do not delay the late job.
    let mut operations: BTreeSet<usize> = jobs[late].operations.iter().copied().collect();
    for cycle in (0..due).rev() {
        if let Some(starting) = taken.get(&cycle) {
            operations.extend(starting);
        } else if let Some(&job) = issued.get(&cycle).filter(|&&job| !is_exact || jobs[job].due <= due) {
            operations.extend(&jobs[job].operations);
        } else if cycle < jobs[late].due {
            break;
        }
    }
    Overflow { operations: operations.into_iter().collect(), is_exact }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::isa::pasm::schedule::linear::{Linear, Variable};
    use crate::isa::pasm::schedule::problem::Line;

    /// Operations with one component each and configurations; the start of each is the variable
    /// with its index.
    fn operations(list: &[(usize, u8)]) -> Vec<Operation> {
        let operation = |(index, &(configurations, slot)): (usize, &(usize, u8))| Operation {
            start: Variable(index),
            ready: Variable(index),
            cell: 0,
            component: index,
            issue: Issue::Activated { configurations, line: Line { slot, port: 0 } },
            span: Linear::constant(1),
        };
        list.iter().enumerate().map(operation).collect()
    }

    fn place_at(list: &[(usize, u8)], starts: &[i64]) -> Result<Placed, Overflow> {
        let problem = Problem { operations: operations(list), ..Problem::default() };
        let members: Vec<usize> = (0..problem.operations.len()).collect();
        place(&problem, &members, |operation| starts[operation.start.0], |_| 0)
    }

    #[test]
    fn what_is_due_first_is_issued_first() {
        let placed = place_at(&[(2, 0), (2, 1)], &[5, 2]).unwrap();
        assert_eq!(placed.configurations, [(0, vec![3, 4]), (1, vec![0, 1])]);
        assert_eq!(placed.groups.iter().map(|group| group.cycle).collect::<Vec<_>>(), [2, 5]);
    }

    #[test]
    fn too_much_names_who_must_wait() {
        let overflow = place_at(&[(2, 0), (2, 1), (1, 2)], &[4, 2, 9]).unwrap_err();
        assert_eq!((overflow.operations, overflow.is_exact), (vec![0, 1], true));
    }

    #[test]
    fn lines_far_apart_need_registers() {
        let operations = operations(&[(0, 0), (0, 9), (0, 9)]);
        let mut operations = operations;
        operations[1].issue = Issue::Activated { configurations: 0, line: Line { slot: 9, port: 1 } };
        operations[2].issue = Issue::Activated { configurations: 0, line: Line { slot: 9, port: 2 } };
        let problem = Problem { operations, ..Problem::default() };
        let placed = place(&problem, &[0, 1, 2], |_| 4, |_| 0).unwrap();
        assert_eq!(placed.groups[0].loads, [0, 1, 2, 3]);
        assert!(place(&problem, &[0, 1, 2], |_| 3, |_| 0).is_err());
    }
}
