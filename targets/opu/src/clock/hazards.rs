//! [`Hazards`]: what each instruction has to wait for, from the program's order alone.
//!
//! A load makes a new generation of its buffer, `conv` and `conv.bias` one of the partial sums. With two banks a
//! generation overwrites the one before the last, and waits for those who read that.

use std::collections::VecDeque;

use super::engine::{Cause, Engine};
use super::region::Region;
use super::task::{Dep, Sequence};
use crate::config::Timing;
use crate::fault::Buffer;
use crate::op::Addend;

/// The last task of each engine that works with a generation.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    load: Sequence,
    multiply: Sequence,
    store: Sequence,
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

    fn current(&mut self) -> Option<&mut Uses> {
        self.generations.back_mut()
    }

    /// Begins a generation. Gives the one whose bank it takes.
    fn renew(&mut self) -> Uses {
        self.generations.push_back(Uses::default());
        self.generations.pop_front().expect("one was pushed just before")
    }
}

/// Transfers that may be under way.
#[derive(Clone, Debug, Default)]
struct Transfers(VecDeque<(Sequence, Region)>);

impl Transfers {
    /// The last one that shares a byte with `region`; 0 when none does.
    fn last_over(&self, region: &Region) -> Sequence {
        let found = self.0.iter().rev().find(|(_, other)| other.overlaps(region));
        found.map_or(0, |(task, _)| *task)
    }

    /// Adds one, and forgets those before `started`: they are done.
    fn add(&mut self, task: Sequence, region: Region, started: Sequence) {
        while self.0.front().is_some_and(|(first, _)| *first < started) {
            self.0.pop_front();
        }
        self.0.push_back((task, region));
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
    ifm: Banks,
    ker: Banks,
    bias: Banks,
    ofm: Banks,
    loads: Transfers,
    stores: Transfers,
}

/// What a task waits for.
pub(super) type Deps = [Option<Dep>; 4];

impl Hazards {
    pub fn new(timing: &Timing) -> Self {
        Self {
            ifm: Banks::new(timing.ifm_banks),
            ker: Banks::new(timing.ker_banks),
            bias: Banks::new(timing.bias_banks),
            ofm: Banks::new(timing.ofm_banks),
            loads: Transfers::default(),
            stores: Transfers::default(),
        }
    }

    /// A load of a buffer: waits for the readers of the bank, and for stores to what it loads.
    pub fn load(&mut self, buffer: Buffer, region: Region, Progress { task, started }: Progress) -> Deps {
        let banks = match buffer {
            Buffer::Ifm => &mut self.ifm,
            Buffer::Ker => &mut self.ker,
            Buffer::Bias => &mut self.bias,
            Buffer::Ofm => &mut self.ofm,
        };
        let old = banks.renew();
        if let Some(uses) = banks.current() {
            uses.load = task;
        }
        self.loads.add(task, region, started);
        [
            Some(Dep::new(Engine::Multiply, old.multiply, Cause::BankRead)),
            Some(Dep::new(Engine::Store, old.store, Cause::BankRead)),
            Some(Dep::new(Engine::Store, self.stores.last_over(&region), Cause::Memory)),
            None,
        ]
    }

    /// A convolution: waits for what it reads, and for stores that read the partial sums it changes.
    pub fn conv(&mut self, addend: Addend, task: Sequence) -> Deps {
        let read = |banks: &mut Banks, cause| {
            banks.current().map(|uses| {
                uses.multiply = task;
                Dep::new(Engine::Load, uses.load, cause)
            })
        };
        let ifm = read(&mut self.ifm, Cause::Ifm);
        let ker = read(&mut self.ker, Cause::Ker);
        let bias = if addend == Addend::Bias { read(&mut self.bias, Cause::Bias) } else { None };
        let stored = match addend {
            Addend::Zero | Addend::Bias => self.ofm.renew().store,
            Addend::Ofm => self.ofm.current().map_or(0, |uses| uses.store),
        };
        if let Some(uses) = self.ofm.current() {
            uses.multiply = task;
        }
        [ifm, ker, bias, Some(Dep::read(stored))]
    }

    /// A store: waits for the partial sums, for the residual, and for loads of what it overwrites.
    pub fn store(&mut self, residual: bool, region: Region, Progress { task, started }: Progress) -> Deps {
        let sums = self.ofm.current().map(|uses| {
            uses.store = task;
            Dep::new(Engine::Multiply, uses.multiply, Cause::Convolution)
        });
        let ifm = self.ifm.current().filter(|_| residual).map(|uses| {
            uses.store = task;
            Dep::new(Engine::Load, uses.load, Cause::Ifm)
        });
        [sums, ifm, Some(self.write(region, task, started)), None]
    }

    /// A pad: waits for loads of what it overwrites.
    pub fn pad(&mut self, region: Region, Progress { task, started }: Progress) -> Deps {
        [Some(self.write(region, task, started)), None, None, None]
    }

    fn write(&mut self, region: Region, task: Sequence, started: Sequence) -> Dep {
        self.stores.add(task, region, started);
        Dep::new(Engine::Load, self.loads.last_over(&region), Cause::Memory)
    }
}
