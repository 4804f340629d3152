//! [`Hazards`]: what each instruction has to wait for, from the program's order alone.
//!
//! A load makes a new generation of its buffer, `conv` and `conv.bias` one of the partial sums. With two banks a
//! generation overwrites the one before the last, and waits for those who read that.

use std::collections::VecDeque;

use super::engine::{Cause, Engine};
use super::region::Region;
use super::task::{Dep, Deps, Sequence};
use crate::config::Timing;
use crate::isa::fault::Buffer;
use crate::isa::op::{Access, Direction, Effects};

/// The last tasks that work with a generation, by the place of their engine.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    readers: [Sequence; Engine::ALL.len()],
    writers: [Sequence; Engine::ALL.len()],
}

/// The generations in the banks of a buffer, the current one last.
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

    /// Begins a generation. Gives the one whose bank it takes.
    fn renew(&mut self) -> Uses {
        self.generations.push_back(Uses::default());
        self.generations.pop_front().expect("one was pushed just before")
    }
}

/// A task's transfer.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    task: Sequence,
    region: Region,
    direction: Direction,
}

/// Transfers of an engine that may be under way.
#[derive(Clone, Debug, Default)]
struct Transfers(VecDeque<Transfer>);

impl Transfers {
    /// The last task whose bytes are also moved by `new`, one of the two writing; 0 when there is none.
    fn last_against(&self, new: &Transfer) -> Sequence {
        let meets = |old: &&Transfer| {
            let writes = [old.direction, new.direction].contains(&Direction::Write);
            writes && old.region.overlaps(&new.region)
        };
        self.0.iter().rev().find(meets).map_or(0, |old| old.task)
    }

    /// Adds one, and forgets those before `started`: they are done.
    fn add(&mut self, new: Transfer, started: Sequence) {
        while self.0.front().is_some_and(|old| old.task < started) {
            self.0.pop_front();
        }
        self.0.push_back(new);
    }
}

/// How many tasks each engine was handed and started, the new one counted in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The new task.
    pub task: Sequence,
    /// The last one of the same engine that started.
    pub started: Sequence,
}

/// What instructions wait for.
#[derive(Clone, Debug)]
pub(super) struct Hazards {
    /// By place of the buffer.
    buffers: [Banks; 4],
    /// By place of the engine.
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

    /// What a new task of `engine` waits for: those that fill the buffers it reads, those that still work with the
    /// one it fills, and transfers the other way of the bytes it moves.
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

    /// A buffer that is filled anew becomes another generation: its bank has to be free.
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

/// The engines that an engine may have to wait for.
fn others(engine: Engine) -> impl Iterator<Item = Engine> {
    [Engine::Load, Engine::Multiply, Engine::Store].into_iter().filter(move |&other| other != engine)
}

/// What waits for a buffer to be filled says so.
const fn filled(buffer: Buffer) -> Cause {
    match buffer {
        Buffer::Ifm => Cause::Ifm,
        Buffer::Ker => Cause::Ker,
        Buffer::Bias => Cause::Bias,
        Buffer::Ofm => Cause::Convolution,
    }
}
