//! [`Hazards`]: what each instruction must wait for, derived from program order alone.
//!
//! A load makes a new generation of its buffer, and `conv` and `conv.bias` make a new generation of
//! the partial sums. With two banks, a generation overwrites the one before the last, and waits for
//! the readers of that generation.

use std::collections::VecDeque;

use super::engine::{Cause, Engine};
use super::region::Region;
use super::task::{Dep, Deps, Sequence};
use crate::config::Timing;
use crate::isa::fault::Buffer;
use crate::isa::op::{Access, Direction, Effects};

/// Sequence numbers of the last tasks that use a generation, by engine index.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    readers: [Sequence; Engine::ALL.len()],
    writers: [Sequence; Engine::ALL.len()],
}

/// Generations in the banks of a buffer; the last one is current.
#[derive(Clone, Debug)]
struct Banks {
    generations: VecDeque<Uses>,
}

impl Banks {
    fn new(banks: u32) -> Self {
        Self { generations: (0..banks).map(|_| Uses::default()).collect() }
    }

    fn current(&mut self) -> &mut Uses {
        self.generations.back_mut().expect("a buffer has a bank")
    }

    /// Starts a generation. Returns the one whose bank it takes.
    fn renew(&mut self) -> Uses {
        self.generations.push_back(Uses::default());
        self.generations.pop_front().expect("one was pushed just before")
    }
}

/// Memory transfer of a task.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    task: Sequence,
    region: Region,
    direction: Direction,
}

/// Transfers of an engine that may be in progress.
#[derive(Clone, Debug, Default)]
struct Transfers(VecDeque<Transfer>);

impl Transfers {
    /// Returns the last task that moves some of the same bytes as `new`, where one of the two
    /// writes; 0 without such a task.
    fn last_against(&self, new: &Transfer) -> Sequence {
        let meets = |old: &&Transfer| {
            let writes = [old.direction, new.direction].contains(&Direction::Write);
            writes && old.region.overlaps(&new.region)
        };
        self.0.iter().rev().find(meets).map_or(0, |old| old.task)
    }

    /// Adds a transfer, and drops those before `started`, which are done.
    fn add(&mut self, new: Transfer, started: Sequence) {
        while self.0.front().is_some_and(|old| old.task < started) {
            self.0.pop_front();
        }
        self.0.push_back(new);
    }
}

/// Numbers of tasks that were issued to an engine and started, including the new one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Sequence number of the new task.
    pub task: Sequence,
    /// Sequence number of the engine's last task that started.
    pub started: Sequence,
}

/// Dependencies between instructions.
#[derive(Clone, Debug)]
pub(super) struct Hazards {
    /// State of each buffer, by buffer index.
    buffers: [Banks; 4],
    /// Transfers of each engine, by engine index.
    transfers: [Transfers; Engine::ALL.len()],
}

impl Hazards {
    pub fn new(timing: &Timing) -> Self {
        Self {
            buffers: [timing.ifm_banks, timing.ker_banks, timing.bias_banks, timing.ofm_banks]
                .map(Banks::new),
            transfers: Default::default(),
        }
    }

    /// Returns the dependencies of a new task of `engine`: tasks that fill the buffers it reads,
    /// tasks that still use the buffer it fills, and transfers of the same bytes in the opposite
    /// direction.
    pub fn deps(&mut self, engine: Engine, effects: &Effects, progress: Progress) -> Deps {
        let mut deps = Deps::default();
        for &buffer in effects.reads {
            self.read(engine, buffer, progress.task, &mut deps);
        }
        if let Some(buffer) = effects.writes {
            let in_place = effects.reads.contains(&buffer);
            self.write(engine, buffer, in_place, progress.task, &mut deps);
        }
        self.transfer(engine, &effects.memory, progress, &mut deps);
        deps
    }

    fn read(&mut self, engine: Engine, buffer: Buffer, task: Sequence, deps: &mut Deps) {
        let uses = self.buffers[buffer as usize].current();
        for other in others(engine) {
            deps.add(Dep::new(other, uses.writers[other as usize], filled(buffer)));
        }
        uses.readers[engine as usize] = task;
    }

    /// Records that a buffer is filled. A new generation needs a free bank.
    fn write(&mut self, engine: Engine, buffer: Buffer, in_place: bool, task: Sequence, deps: &mut Deps) {
        let banks = &mut self.buffers[buffer as usize];
        let old = if in_place { *banks.current() } else { banks.renew() };
        for other in others(engine) {
            let last = old.readers[other as usize].max(old.writers[other as usize]);
            deps.add(match (buffer, other) {
                (Buffer::Ofm, Engine::Store) => Dep::read(last),
                _ => Dep::new(other, last, Cause::BankRead),
            });
        }
        banks.current().writers[engine as usize] = task;
    }

    fn transfer(&mut self, engine: Engine, memory: &Access, progress: Progress, deps: &mut Deps) {
        if memory.rows == 0 {
            return;
        }
        let new = Transfer { task: progress.task, region: Region::of(memory), direction: memory.direction };
        for other in others(engine) {
            let last = self.transfers[other as usize].last_against(&new);
            deps.add(Dep::new(other, last, Cause::Memory));
        }
        self.transfers[engine as usize].add(new, progress.started);
    }
}

/// Returns the engines for which an engine may have to wait.
fn others(engine: Engine) -> impl Iterator<Item = Engine> {
    [Engine::Load, Engine::Multiply, Engine::Store].into_iter().filter(move |&other| other != engine)
}

/// Returns the cause for waiting until a buffer is filled.
const fn filled(buffer: Buffer) -> Cause {
    match buffer {
        Buffer::Ifm => Cause::Ifm,
        Buffer::Ker => Cause::Ker,
        Buffer::Bias => Cause::Bias,
        Buffer::Ofm => Cause::Convolution,
    }
}
