//! Cycles as the hardware takes them: [`Clock`] is handed a program's instructions and says when each engine
//! works on them. Source: specification, 8.2; what instructions cost is in [`crate::clock::timing`].
//!
//! The front end fetches words in order, sets registers, and hands the other instructions with the
//! registers of that moment to the engine they concern, each of which takes them in order. Nothing is
//! simulated cycle by cycle: of the instructions at the heads of the engines the one that can start first
//! does, the older one when two can, and has the DRAM port until its transfer is done. Nothing depends
//! on values, and registers and memory are as the program's order says: `machine` has the values.
//!
//! `hazards` knows what waits for what, `task` how long; what engines wait for is in `engine`.
//!
//! Where the specification is silent: a store waits for an older load of the bytes it writes, as a load does
//! for a store; sums are free for the next convolution when the store has read them, before its latency is
//! over; a pad counts as a transfer of its whole plane.

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

/// A point in time, in cycles since the first word is fetched.
pub type Cycle = u64;

/// An engine at work on an instruction, from `start` up to but without `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Place of the instruction in the program.
    pub instruction: usize,
    /// The engine.
    pub engine: Engine,
    /// When it starts.
    pub start: Cycle,
    /// When it is done; the same cycle for what costs nothing.
    pub end: Cycle,
    /// Words it moves over the DRAM port.
    pub words: u64,
    /// What the engine waited for right before, with work to do, and how long.
    pub wait: Option<(Cause, Cycle)>,
}

/// An engine that the front end gives work to.
#[derive(Clone, Debug, Default)]
struct Lane {
    waiting: VecDeque<Task>,
    /// Tasks it was handed.
    issued: Sequence,
    /// Tasks it started.
    started: Sequence,
    /// When the last of them is done.
    end: Cycle,
    /// When it has read the partial sums.
    read: Cycle,
}

/// The machine's time, up to the last instruction it was handed.
///
/// A clone goes on from there on its own: what some instructions more would take is what the clone's
/// [`Clock::finish`] says.
#[derive(Clone, Debug)]
pub struct Clock {
    costs: Costs,
    registers: Registers,
    hazards: Hazards,
    /// When the front end is done with the last instruction.
    front: Cycle,
    instructions: usize,
    /// By place in [`ENGINES`].
    lanes: [Lane; 3],
    /// When the port for reading, and that for writing, is free.
    ports: [Cycle; 2],
    totals: Totals,
    /// What the front end waits for after its last instruction.
    blocked: Option<(Cause, Cycle)>,
}

/// What an instruction asks of the machine, with the registers of its moment.
struct Work {
    engine: Engine,
    effects: Effects,
    cost: Cost,
}

/// The engines that are handed instructions, and what the front end waits for when one cannot be.
const ENGINES: [(Engine, Cause); 3] = [
    (Engine::Load, Cause::LoadQueue),
    (Engine::Multiply, Cause::MultiplyQueue),
    (Engine::Store, Cause::StoreQueue),
];

impl Clock {
    /// The machine at reset.
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

    /// Cycles of a whole program.
    ///
    /// # Errors
    ///
    /// Those of [`Self::push`], at the first instruction that has one.
    pub fn cycles<'a>(config: &Config, program: impl IntoIterator<Item = &'a Op>) -> Result<u64, FaultKind> {
        let mut clock = Self::new(config);
        program.into_iter().try_for_each(|op| clock.push(op, &mut |_| ()))?;
        Ok(clock.finish(&mut |_| ()).cycles)
    }

    /// The next instruction. `watch` is called with what starts meanwhile: on an engine slices come in order.
    ///
    /// # Errors
    ///
    /// [`FaultKind`] when fields are not legal ([`Op::check`]), or [`FaultKind::UndefinedRegister`] when a
    /// register that it needs was never set. What is in the buffers is not checked.
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

    /// What the whole took, when everything that was handed out is done.
    pub fn finish(mut self, watch: &mut impl FnMut(Slice)) -> Totals {
        while self.start_next(watch).is_some() {}
        self.totals.cycles = self.lanes.iter().map(|lane| lane.end).fold(self.front, Cycle::max);
        self.totals
    }

    /// When, from `fetched` on, there is room in the queue of an engine. What starts until then is started, in the
    /// order of time; nothing that is issued later can start earlier.
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

    /// Starts what can start first. Gives the place of its engine and when; none when nothing waits.
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

    /// When the port that an engine uses is free.
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
        // What is ready earlier than it starts was delayed by its engine or by the port.
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

/// The place of an engine in [`ENGINES`]; none of the front end.
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
