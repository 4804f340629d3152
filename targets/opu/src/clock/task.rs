//! [`Task`]: an instruction in the queue of an engine; [`Dep`]: a task it waits for.

use super::Cycle;
use super::engine::{Cause, Engine};
use crate::clock::timing::Cost;

/// Sequence number of a task within its engine, starting at 1; 0 means no task.
pub(super) type Sequence = u64;

/// Condition that must hold before a task starts.
///
/// An engine works in order, so the last of several tasks of an engine implies the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dep {
    pub engine: Engine,
    /// Task to wait for; 0 means no task.
    pub task: Sequence,
    pub cause: Cause,
    /// Whether it suffices that the task has read the partial sums.
    pub reads_only: bool,
}

impl Dep {
    pub const fn new(engine: Engine, task: Sequence, cause: Cause) -> Self {
        Self { engine, task, cause, reads_only: false }
    }

    /// Waits until the task has read the partial sums.
    pub const fn read(task: Sequence) -> Self {
        Self { engine: Engine::Store, task, cause: Cause::SumsStored, reads_only: true }
    }
}

/// Dependencies of a task: for each engine, its last task to wait for. The entry of the front end
/// is the last store that must have read the partial sums.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deps([Option<Dep>; Engine::ALL.len()]);

impl Deps {
    /// Adds `dep`, if such a task exists.
    pub fn add(&mut self, dep: Dep) {
        let slot = &mut self.0[if dep.reads_only { Engine::FrontEnd } else { dep.engine } as usize];
        // An engine works in order, so its later task is always done later.
        if dep.task > slot.map_or(0, |earlier| earlier.task) {
            *slot = Some(dep);
        }
    }
}

/// Instruction that was issued.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Index of the instruction in the program.
    pub instruction: usize,
    pub cost: Cost,
    /// Dependencies that are not yet satisfied.
    deps: Deps,
    /// Cycle of issue.
    pub issued: Cycle,
    /// Cycle at which the last satisfied dependency was done.
    pub ready: Cycle,
    /// Cause of the last satisfied dependency.
    pub cause: Option<Cause>,
}

impl Task {
    pub const fn new(instruction: usize, cost: Cost, deps: Deps) -> Self {
        Self { instruction, cost, deps, issued: 0, ready: 0, cause: None }
    }

    /// Whether the task waits only for its engine and the port.
    pub fn is_ready(&self) -> bool {
        self.deps.0.iter().all(Option::is_none)
    }

    /// Records that task `last` of `engine` is the last one that started there. It is done at `end`
    /// and has read at `read`; tasks before it were done when it started.
    pub fn started(&mut self, engine: Engine, last: Sequence, end: Cycle, read: Cycle) {
        for place in [engine, Engine::FrontEnd] {
            let slot = &mut self.deps.0[place as usize];
            let Some(dep) = slot.filter(|dep| dep.engine == engine && dep.task <= last) else { continue };
            *slot = None;
            let done = if dep.reads_only { read } else { end };
            if dep.task == last && done > self.ready {
                self.ready = done;
                self.cause = Some(dep.cause);
            }
        }
    }
}
