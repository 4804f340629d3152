//! Cycle-accurate timing: [`Clock`] takes a program's instructions and reports when each engine
//! works on them. Source: specification, 8.2; instruction costs are in [`crate::clock::timing`].
//!
//! The front end fetches words in order and sets registers. It hands each other instruction, with
//! the current registers, to its engine; an engine takes its instructions in order. Nothing is
//! simulated cycle by cycle: of the instructions at the heads of the engines, the one that can
//! start first starts (the older one if two can), and holds the DRAM port until its transfer is
//! done. Nothing depends on values, and registers and memory follow program order: `machine`
//! computes the values.
//!
//! `hazards` knows what each instruction waits for, `task` how long, and `engine` names the causes.
//!
//! Where the specification is silent: a store waits for an older load of the bytes it writes, as a
//! load waits for a store; sums are free for the next convolution when the store has read them,
//! before its latency is over; a pad is treated as a transfer of its whole plane.

mod engine;
mod hazards;
mod region;
mod task;
mod totals;

use std::collections::VecDeque;

pub use engine::{Cause, Engine};
use hazards::{Hazards, Progress};
use task::{Sequence, Task};
pub use totals::Totals;

use crate::clock::timing::{Cost, Costs};
use crate::config::{Config, Port};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Effects, Op, Registers};

/// Point in time, in cycles since the first word is fetched.
pub type Cycle = u64;

/// Work of an engine on one instruction, in the cycles `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index of the instruction in the program.
    pub instruction: usize,
    /// Engine that does the work.
    pub engine: Engine,
    /// First cycle of the work.
    pub start: Cycle,
    /// Cycle after the last one; equal to `start` if the instruction costs nothing.
    pub end: Cycle,
    /// Words moved over the DRAM port.
    pub words: u64,
    /// Last thing that the engine waited for before this work, and for how many cycles; `None` if
    /// it did not wait.
    pub wait: Option<(Cause, Cycle)>,
}

/// Engine that receives work from the front end.
#[derive(Clone, Debug, Default)]
struct Lane {
    waiting: VecDeque<Task>,
    /// Sequence number of the last task that was issued.
    issued: Sequence,
    /// Sequence number of the last task that started.
    started: Sequence,
    /// Cycle at which the last started task is done.
    end: Cycle,
    /// Cycle at which the last started task has read the partial sums.
    read: Cycle,
}

/// Timing state of the machine, up to the last instruction that was pushed.
///
/// A clone continues independently: to time a few more instructions, push them to a clone and call
/// [`Clock::finish`] on it.
#[derive(Clone, Debug)]
pub struct Clock {
    costs: Costs,
    registers: Registers,
    hazards: Hazards,
    /// Cycle at which the front end is done with the last instruction.
    front: Cycle,
    instructions: usize,
    /// State of each engine, in the order of [`ENGINES`].
    lanes: [Lane; 3],
    /// Cycles at which the read port and the write port are free.
    ports: [Cycle; 2],
    totals: Totals,
    /// Last thing that the front end waited for after its last instruction, and for how many
    /// cycles.
    blocked: Option<(Cause, Cycle)>,
}

/// Cost and hazards of an instruction, with the registers at the time of its issue.
struct Work {
    engine: Engine,
    effects: Effects,
    cost: Cost,
}

/// Engines that receive instructions, and the cause of waiting when an engine's queue is full.
const ENGINES: [(Engine, Cause); 3] = [
    (Engine::Load, Cause::LoadQueue),
    (Engine::Multiply, Cause::MultiplyQueue),
    (Engine::Store, Cause::StoreQueue),
];

impl Clock {
    /// Creates the clock of a machine after a reset.
    pub fn new(config: &Config) -> Self {
        Self {
            costs: Costs::new(config),
            registers: Registers::default(),
            hazards: Hazards::new(&config.timing),
            front: 0,
            instructions: 0,
            lanes: Default::default(),
            ports: [0; 2],
            totals: Totals::default(),
            blocked: None,
        }
    }

    /// Returns the number of cycles of a whole program.
    ///
    /// # Errors
    ///
    /// The error of [`Self::push`] for the first instruction that fails.
    pub fn cycles<'a>(config: &Config, program: impl IntoIterator<Item = &'a Op>) -> Result<u64, FaultKind> {
        let mut clock = Self::new(config);
        program.into_iter().try_for_each(|op| clock.push(op, &mut |_| ()))?;
        Ok(clock.finish(&mut |_| ()).cycles)
    }

    /// Takes the next instruction. Calls `watch` for each slice of work that starts in the
    /// meantime; the slices of one engine come in order.
    ///
    /// # Errors
    ///
    /// [`FaultKind`] if fields are not legal ([`Op::check`]), or [`FaultKind::UndefinedRegister`]
    /// if a register that the instruction needs was never set. The contents of the buffers are not
    /// checked.
    pub fn push(&mut self, op: &Op, watch: &mut impl FnMut(Slice)) -> Result<(), FaultKind> {
        op.check()?;
        self.registers.set(op);
        let effects = op.effects(&self.registers, self.costs.types(), self.costs.validity())?;
        let work =
            Work { engine: Engine::of(op.class()), effects, cost: self.costs.of(op, &self.registers)? };
        let instruction = self.instructions;
        let fetched = self.front + u64::from(self.costs.timing().fetch_cycles);
        let (engine, start, wait) = (Engine::FrontEnd, self.front, self.blocked.take());
        let slice = Slice { instruction, engine, start, end: fetched, words: 0, wait };
        watch(slice);
        self.totals.worked(&slice);
        self.instructions += 1;
        self.front = fetched;
        if let Some(place) = place_of(work.engine) {
            self.front = self.room(place, fetched, watch);
            self.issue(instruction, place, &work);
        }
        Ok(())
    }

    /// Runs everything that was issued to its end and returns the totals.
    pub fn finish(mut self, watch: &mut impl FnMut(Slice)) -> Totals {
        while self.start_next(watch).is_some() {}
        self.totals.cycles = self.lanes.iter().map(|lane| lane.end).fold(self.front, Cycle::max);
        self.totals
    }

    /// Returns the first cycle, starting at `fetched`, at which an engine's queue has room. Starts
    /// all tasks that can start until then, in order of time; no task that is issued later can
    /// start earlier.
    fn room(&mut self, place: usize, fetched: Cycle, watch: &mut impl FnMut(Slice)) -> Cycle {
        let queue = self.costs.timing().queue as usize;
        let mut room = fetched;
        while self.lanes.get(place).is_some_and(|lane| lane.waiting.len() >= queue) {
            let Some(started) = self.start_next(watch) else { break };
            room = room.max(started);
        }
        if let Some(&(_, cause)) = ENGINES.get(place) {
            self.totals.waited(Engine::FrontEnd, cause, room - fetched);
            self.blocked = (room > fetched).then_some((cause, room - fetched));
        }
        room
    }

    fn issue(&mut self, instruction: usize, place: usize, work: &Work) {
        let Some(lane) = self.lanes.get_mut(place) else { return };
        lane.issued += 1;
        let progress = Progress { task: lane.issued, started: lane.started };
        let deps = self.hazards.deps(work.engine, &work.effects, progress);
        let mut task = Task::new(instruction, work.cost, deps);
        (task.issued, task.ready) = (self.front, self.front);
        for (&(engine, _), lane) in ENGINES.iter().zip(&self.lanes) {
            task.started(engine, lane.started, lane.end, lane.read);
        }
        if let Some(lane) = self.lanes.get_mut(place) {
            lane.waiting.push_back(task);
        }
    }

    /// Starts the task that can start first. Returns its start cycle; `None` if no task is waiting.
    fn start_next(&mut self, watch: &mut impl FnMut(Slice)) -> Option<Cycle> {
        let heads = self.lanes.iter().enumerate().filter_map(|(place, lane)| {
            let task = lane.waiting.front().filter(|task| task.is_ready())?;
            Some((self.start_of(place, lane, task), task.instruction, place))
        });
        let (start, _, place) = heads.min()?;
        self.start(place, start, watch);
        Some(start)
    }

    fn start_of(&self, place: usize, lane: &Lane, task: &Task) -> Cycle {
        let port = if task.cost.port > 0 { self.port(place) } else { 0 };
        task.ready.max(lane.end).max(port)
    }

    /// Returns the cycle at which the port that an engine uses is free.
    fn port(&self, place: usize) -> Cycle {
        let [read, write] = self.ports;
        match self.costs.timing().port {
            Port::Shared => read.max(write),
            Port::Split if place == 0 => read,
            Port::Split => write,
        }
    }

    fn start(&mut self, place: usize, start: Cycle, watch: &mut impl FnMut(Slice)) {
        let (Some(lane), Some(&(engine, _))) = (self.lanes.get_mut(place), ENGINES.get(place)) else {
            return;
        };
        let Some(task) = lane.waiting.pop_front() else { return };
        let idle_from = lane.end.max(task.issued);
        lane.started += 1;
        (lane.end, lane.read) = (start + task.cost.cycles, start + task.cost.reads);
        let (last, end, read) = (lane.started, lane.end, lane.read);
        // A task that was ready before it starts was delayed by its engine or by the port.
        let cause = if task.ready == start { task.cause } else { Some(Cause::Port) };
        let wait =
            cause.map(|cause| (cause, start.saturating_sub(idle_from))).filter(|(_, waited)| *waited > 0);
        let slice = Slice { instruction: task.instruction, engine, start, end, words: task.cost.words, wait };
        watch(slice);
        self.totals.worked(&slice);
        self.totals.moved(engine, &task.cost);
        if let Some((cause, waited)) = wait {
            self.totals.waited(engine, cause, waited);
        }
        if task.cost.port > 0 {
            let port = if engine == Engine::Load { 0 } else { 1 };
            self.ports[port] = start + task.cost.port;
        }
        for task in self.lanes.iter_mut().flat_map(|lane| &mut lane.waiting) {
            task.started(engine, last, end, read);
        }
    }
}

/// Returns the index of an engine in [`ENGINES`]; `None` for the front end.
const fn place_of(engine: Engine) -> Option<usize> {
    match engine {
        Engine::FrontEnd => None,
        Engine::Load => Some(0),
        Engine::Multiply => Some(1),
        Engine::Store => Some(2),
    }
}

#[cfg(test)]
mod tests;
pub(crate) mod timing;
