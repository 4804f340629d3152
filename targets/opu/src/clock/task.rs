//! [`Task`]: an instruction on its way through an engine, and the [`Dep`]s it waits for.

use super::Cycle;
use super::engine::{Cause, Engine};
use crate::clock::timing::Cost;

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

/// What a task waits for: the last task of each engine, at the engine's place, and at that of the front end the last
/// store that has to have read the partial sums.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deps([Option<Dep>; Engine::ALL.len()]);

impl Deps {
    /// Waits for `dep` too, when there is such a task.
    pub fn add(&mut self, dep: Dep) {
        let slot = &mut self.0[if dep.reads_only { Engine::FrontEnd } else { dep.engine } as usize];
        // An engine works in order: its later task is done later.
        if dep.task > slot.map_or(0, |earlier| earlier.task) {
            *slot = Some(dep);
        }
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
    pub fn is_ready(&self) -> bool {
        self.deps.0.iter().all(Option::is_none)
    }

    /// Task `last` of `engine`, which is done at `end` and has read at `read`, is the last that started
    /// there: those before it were done when it did.
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
