//! [`Task`]: an instruction on its way through an engine, and the [`Dep`]s it waits for.

use super::Cycle;
use super::engine::{Cause, Engine};
use crate::timing::Cost;

/// The place of a task among those of its engine; the first one is 1, so that 0 is none.
pub(super) type Sequence = u64;

/// Something that has to be done before a task starts.
///
/// An engine works in order, so that of several tasks of an engine the last one says it all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dep {
    pub engine: Engine,
    /// The task; 0 when there is nothing to wait for.
    pub task: Sequence,
    pub cause: Cause,
    /// Whether it is enough that the task has read the partial sums.
    pub reads_only: bool,
}

impl Dep {
    pub const fn new(engine: Engine, task: Sequence, cause: Cause) -> Self {
        Self { engine, task, cause, reads_only: false }
    }

    /// The task has read the partial sums.
    pub const fn read(task: Sequence) -> Self {
        Self { engine: Engine::Store, task, cause: Cause::SumsStored, reads_only: true }
    }
}

/// What a task waits for. No instruction names more: both other engines for each of the four buffers that it may read,
/// for the one it fills, and for memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deps {
    slots: [Option<Dep>; 12],
    /// The first slots are in use, most often four at most.
    len: usize,
}

impl Deps {
    /// Waits for `dep` too, when there is such a task.
    pub fn add(&mut self, dep: Dep) {
        if dep.task > 0 {
            self.slots[self.len] = Some(dep);
            self.len += 1;
        }
    }

    const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets those that `waits` is false of, and keeps the others in order.
    fn retain(&mut self, mut waits: impl FnMut(&Dep) -> bool) {
        let mut left = 0;
        for index in 0..self.len {
            if self.slots[index].as_ref().is_some_and(&mut waits) {
                self.slots[left] = self.slots[index];
                left += 1;
            }
        }
        self.len = left;
    }
}

/// An instruction that was issued.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Its place in the program.
    pub instruction: usize,
    pub cost: Cost,
    /// What it still waits for.
    deps: Deps,
    /// When it was issued.
    pub issued: Cycle,
    /// When what it no longer waits for was done.
    pub ready: Cycle,
    /// What was done last.
    pub cause: Option<Cause>,
}

impl Task {
    pub const fn new(instruction: usize, cost: Cost, deps: Deps) -> Self {
        Self { instruction, cost, deps, issued: 0, ready: 0, cause: None }
    }

    /// It waits for nothing but its engine and the port.
    pub const fn is_ready(&self) -> bool {
        self.deps.is_empty()
    }

    /// Task `last` of `engine`, which is done at `end` and has read at `read`, is the last that started
    /// there: those before it were done when it did.
    pub fn started(&mut self, engine: Engine, last: Sequence, end: Cycle, read: Cycle) {
        let (ready, cause) = (&mut self.ready, &mut self.cause);
        self.deps.retain(|dep| {
            if dep.engine != engine || dep.task > last {
                return true;
            }
            let done = if dep.reads_only { read } else { end };
            if dep.task == last && done > *ready {
                *ready = done;
                *cause = Some(dep.cause);
            }
            false
        });
    }
}
