//! The accumulators and their ALUs. Commands run strictly in order.
//!
//! [`Accumulator`] takes commands from a queue, expands them to single vectors, and hands each to a
//! dual-port memory, to the ALUs and to the selectors of their data. A command occupies the stage
//! until all of these have accepted their part.

use super::alu::waits_for_input;
use super::lock::{Lock, Write};
use super::queue::{Cycle, NEVER, Pass, Queue, ReadPort, Slot};
use super::stall::{Stall, StallMeter};
use super::tables::Tables;
use super::watch::Watch;
use crate::config::{Config, Reading};
use crate::isa::op::{SimdOp, SimdSub};

/// Cycles from the start of an operation until the ALUs offer its result.
const ALU_LATENCY: Cycle = 2;

/// Memory accesses of a SIMD instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub(super) read: bool,
    /// Address that is read, if `read` is set.
    pub(super) from: u64,
    /// Write of the result; `None` if the instruction does not write.
    pub(super) write: Option<Write>,
}

/// The command stage, the memory and the ALUs.
#[derive(Clone, Debug)]
pub(super) struct Accumulator {
    /// Queue of instructions.
    pub(super) commands: Pass,
    /// Queue of commands for single vectors.
    vectors: Queue,
    /// Cycle at which the stage can accept its next command.
    stage: Cycle,
    /// Selector of the memory's input: router or ALUs.
    input_select: Slot,
    /// Selector of the memory's output: router or ALUs.
    output_select: Slot,
    /// Selector of the destination of the ALUs' output.
    alu_select: Slot,
    /// Slot for the access that waits for memory port A.
    port_a_control: Slot,
    /// Selector of the path of written data: through the adder or around it.
    adder_select: Slot,
    port_a: ReadPort,
    /// Port B, which reads the old values for additions.
    port_b: ReadPort,
    /// Cycle of the last write.
    written: Cycle,
    /// Lock for which port B waits.
    lock: Lock,
    /// Cycle at which the last write command reached the stage.
    staged: Cycle,
    /// Whether an addition read its vector too early since the last call of `take_reads_early`.
    reads_early: bool,
    /// Cycle of the last read by port A.
    read: Cycle,
    /// Cycle at which the ALUs started the last operation.
    started: Cycle,
    /// Cycle at which the ALUs offer the result of the last operation.
    offered: Cycle,
    tables: Tables,
    /// Pipeline without pauses between commands; `None` on the released hardware.
    pipeline: Option<Pipeline>,
    reading: Reading,
    /// Number of vectors read and written; `operations` is the number of SIMD instructions.
    pub(super) accesses: u64,
    pub(super) operations: u64,
    pub(super) stalls: StallMeter,
    /// Observed handshakes of single-vector commands.
    watch: Watch,
}

impl Accumulator {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            commands: Pass::new(2 * config.array_size),
            vectors: Queue::default(),
            stage: 0,
            input_select: Slot::default(),
            output_select: Slot::default(),
            alu_select: Slot::default(),
            port_a_control: Slot::default(),
            adder_select: Slot::default(),
            port_a: ReadPort::default(),
            port_b: ReadPort::default(),
            written: 0,
            lock: Lock::default(),
            staged: 0,
            reads_early: false,
            read: 0,
            started: 0,
            offered: 0,
            tables: Tables::new(config.array_size as u64),
            pipeline: config.overlap.pipelined_simd.then(Pipeline::default),
            reading: config.reading,
            accesses: 0,
            operations: 0,
            stalls: StallMeter::default(),
            watch: Watch::default(),
        }
    }

    /// Returns the handshakes of single-vector commands, and the cycle at which there is room for
    /// the next one.
    pub(super) const fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.vectors.room())
    }

    /// Visits the times that change from write to write of a run, so that a caller can compare or
    /// advance them.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.vectors.times(&mut visit);
        visit(&mut self.stage);
        let slots = [&mut self.input_select, &mut self.port_a_control, &mut self.adder_select];
        slots.into_iter().for_each(|slot| slot.times(&mut visit));
        self.port_a.times(&mut visit);
        self.port_b.times(&mut visit);
        self.lock.times(&mut visit);
        visit(&mut self.written);
        visit(&mut self.staged);
    }

    /// Visits all stored times, except for the address of the last write.
    pub(super) fn all_times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.commands.times(&mut visit);
        self.output_select.times(&mut visit);
        self.alu_select.times(&mut visit);
        self.tables.times(&mut visit);
        self.times(visit);
    }

    /// Returns the address of the last write.
    pub(super) const fn last_address(&self) -> u64 {
        self.lock.last_address()
    }

    /// Visits the counters that grow from write to write, so that a caller can advance them.
    #[inline]
    pub(super) fn counts(&mut self, mut visit: impl FnMut(&mut u64)) {
        visit(&mut self.accesses);
    }

    /// Sets the address of the last write after a run was skipped over.
    pub(super) const fn leapt(&mut self, address: u64) {
        self.lock.leapt(address);
    }

    /// Whether single vectors are observed, so that none may be skipped.
    pub(super) const fn is_watched(&self) -> bool {
        self.watch.is_on() || self.stalls.is_watched()
    }

    /// Returns the cycle of the last write; 0 if there was none.
    pub(super) const fn last_write(&self) -> Cycle {
        self.written
    }

    /// Handles a command for one vector of an instruction queued at `queued`. Returns the cycles at
    /// which it leaves the instruction and reaches the stage.
    fn reach(&mut self, queued: Cycle) -> (Cycle, Cycle) {
        let room = self.vectors.room();
        let entered = self.vectors.enter(queued);
        self.watch.saw(queued, entered, room);
        (entered, self.stage.max(entered + 1))
    }

    /// Returns the cycles of the first and last memory access of the last SIMD instruction, and of
    /// the ALUs' start.
    pub(super) fn worked(&self, flags: Flags) -> ((Cycle, Cycle), Cycle) {
        let last = if self.pipeline.is_some() { self.stage } else { self.port_a.last() };
        let first = if flags.read { self.read } else { last };
        ((first, last), self.started)
    }

    /// Returns and clears whether an addition read its vector before the preceding write, which is
    /// then lost.
    pub(super) const fn take_reads_early(&mut self) -> bool {
        std::mem::replace(&mut self.reads_early, false)
    }

    /// Ends the command at the stage: all its receivers have accepted it at `at`.
    fn finish(&mut self, at: Cycle) {
        self.vectors.leave(at);
        // The stage is a register: it can hold the next command one cycle later.
        self.stage = at + 1;
    }

    /// Handles a command to write a vector from outside.
    ///
    /// Returns the cycle at which the instruction's queue has passed it on, and the earliest cycle
    /// for the vector.
    pub(super) fn take(&mut self, queued: Cycle, write: Write) -> (Cycle, Cycle) {
        let (expanded, stage) = self.reach(queued);
        if let Some(pipeline) = &self.pipeline {
            let read = pipeline.read(stage, write.accumulate.then_some(write.address));
            self.vectors.leave(read);
            return (expanded, read + 1);
        }
        let (control, ready) = self.prepare_write(stage, write);
        let select = self.input_select.enter(stage);
        self.finish(control.max(select));
        (expanded, ready.max(select))
    }

    /// Prepares a write of a command that is at the stage at `at`. Returns the cycle at which the
    /// memory has the command, and the earliest cycle for the data.
    fn prepare_write(&mut self, at: Cycle, write: Write) -> (Cycle, Cycle) {
        let mut ready = self.port_a_control.enter(at).max(self.adder_select.enter(at));
        let mut handed_on = ready;
        self.staged = at;
        if write.accumulate {
            // The old value is read at once, before the data arrive. Only the lock delays the read,
            // and additions do not take the lock. The value read can therefore be older than a
            // pending write.
            let read = self.port_b.read(at.max(self.lock.free()));
            self.reads_early |= self.lock.is_pending(write.address, read);
            handed_on = handed_on.max(read);
            ready = ready.max(self.port_b.datum());
        }
        (handed_on, ready.max(self.port_a.free()))
    }

    /// Writes the data of the last write command at `at`.
    pub(super) fn write(&mut self, at: Cycle, write: Write) {
        if let Some(pipeline) = &mut self.pipeline {
            let written = pipeline.write(at, write.address);
            self.stage = at;
            self.written = if written < NEVER { written } else { self.written };
            self.accesses += 1;
            return;
        }
        self.input_select.leave(at);
        self.port_a_control.leave(at);
        self.adder_select.leave(at);
        self.port_a.write(at);
        if write.accumulate {
            self.port_b.leave(at);
        }
        self.lock.wrote(write, self.staged, at);
        if at < NEVER {
            self.written = at;
        }
        self.accesses += 1;
    }

    /// Returns the lookup tables.
    pub(super) const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Announces commands that load `vectors` vectors of a lookup table.
    pub(super) const fn begin_table(&mut self, table: u64, vectors: u64) {
        self.tables.begin(table, vectors);
    }

    /// Handles a command to load a vector of a lookup table; returns cycles like [`Self::take`].
    pub(super) fn take_entries(&mut self, queued: Cycle) -> (Cycle, Cycle) {
        let (expanded, taken) = self.take(queued, Write::default());
        (expanded, taken.max(self.tables.free()))
    }

    /// Loads the entries of the last table command at `at`; the memory is not written.
    pub(super) const fn load(&mut self, at: Cycle) {
        self.tables.load(at);
        if self.pipeline.is_some() {
            self.stage = at;
            return;
        }
        self.input_select.leave(at);
        self.port_a_control.leave(at);
        self.adder_select.leave(at);
        self.port_a.write(at);
    }

    /// Handles a command to read a vector for the outside. Returns the cycle at which it left the
    /// instruction, and the earliest cycle at which the data can leave.
    pub(super) fn give(&mut self, queued: Cycle, address: u64) -> (Cycle, Cycle) {
        let (expanded, stage) = self.reach(queued);
        if let Some(pipeline) = &self.pipeline {
            let read = pipeline.read(stage, Some(address));
            self.vectors.leave(read);
            self.read = read;
            self.accesses += 1;
            return (expanded, read + 1);
        }
        let (control, read) = self.fetch(stage);
        let select = self.output_select.enter(stage);
        self.finish(control.max(select));
        (expanded, read.max(select))
    }

    /// Removes the data of the last read command from the output at `at`.
    pub(super) fn gave(&mut self, at: Cycle) {
        if self.pipeline.is_some() {
            self.stage = at;
            return;
        }
        self.output_select.leave(at);
        self.port_a.leave(at);
    }

    /// Reads a vector. Returns the cycles at which the control is accepted and the vector is
    /// available.
    fn fetch(&mut self, stage: Cycle) -> (Cycle, Cycle) {
        let control = self.port_a_control.enter(stage);
        self.read = self.port_a.read(control);
        self.port_a_control.leave(self.read);
        self.accesses += 1;
        (control, self.port_a.datum())
    }

    /// Handles a SIMD instruction. Returns the cycle at which it left the instruction's queue.
    ///
    /// A form that waits for data that never arrive blocks its units forever.
    pub(super) fn simd(&mut self, queued: Cycle, flags: Flags, sub: SimdSub) -> Cycle {
        let (expanded, stage) = self.reach(queued);
        if self.pipeline.is_some() {
            self.pipelined(stage, flags, sub);
            self.operations += 1;
            return expanded;
        }
        let finished = match (sub.op, flags.read, flags.write) {
            (SimdOp::NoOp, false, None) => stage,
            (SimdOp::NoOp, read, _) => self.move_nothing(stage, read),
            (_, true, Some(write)) => self.read_and_write(stage, write, sub),
            (_, true, None) => self.read_only(stage, sub),
            (_, false, write) => self.compute_only(stage, write, sub),
        };
        self.finish(finished);
        self.operations += 1;
        expanded
    }

    /// Runs a SIMD instruction in the pipeline: a read, the operation one cycle later, and the
    /// write another cycle later. An addition reads the old vector in a cycle of its own.
    fn pipelined(&mut self, stage: Cycle, flags: Flags, sub: SimdSub) {
        let Some(pipeline) = &mut self.pipeline else { return };
        let moves = sub.op == SimdOp::NoOp && (flags.read || flags.write.is_some());
        // Data move only with a routing instruction, and an input arrives only if a read was
        // requested.
        let hangs = moves || (!flags.read && waits_for_input(sub, false, self.reading));
        let read = pipeline.read(stage, flags.read.then_some(flags.from));
        let mut done = read + 1;
        let mut left = read;
        self.read = read;
        self.started = done;
        if let Some(address) = flags.write.filter(|write| write.accumulate).map(|write| write.address) {
            left = pipeline.read(done, Some(address));
            done = left + 1;
        }
        if hangs {
            done = NEVER;
        }
        if let Some(write) = flags.write {
            let written = pipeline.write(done, write.address);
            self.written = if written < NEVER { written } else { self.written };
        }
        self.accesses += u64::from(flags.read) + u64::from(flags.write.is_some());
        self.vectors.leave(left);
        self.stage = done;
    }

    /// Runs a NoOp with a flag, which waits for a router that received no instruction.
    fn move_nothing(&mut self, stage: Cycle, read: bool) -> Cycle {
        if read {
            let (control, _) = self.fetch(stage);
            let select = self.output_select.enter(stage);
            self.gave(NEVER);
            return control.max(select);
        }
        let write = Write::default();
        let (control, _) = self.prepare_write(stage, write);
        let select = self.input_select.enter(stage);
        self.write(NEVER, write);
        control.max(select)
    }

    /// Starts the ALUs, with the data read if the operation needs them. Returns the start cycle;
    /// data that were read leave the output.
    fn compute(&mut self, stage: Cycle, input: Option<Cycle>, sub: SimdSub) -> Cycle {
        let needed = waits_for_input(sub, input.is_some(), self.reading);
        let from = match (needed, input) {
            (true, Some(read)) => stage.max(read),
            (true, None) => NEVER,
            (false, _) => stage,
        };
        let (started, searched) = self.tables.operate(sub.op, from);
        self.started = started;
        self.offered = started + searched + ALU_LATENCY;
        if input.is_some() {
            let taken = if needed { started } else { NEVER };
            self.output_select.leave(taken);
            self.port_a.leave(taken);
        }
        started
    }

    fn read_only(&mut self, stage: Cycle, sub: SimdSub) -> Cycle {
        let (control, read) = self.fetch(stage);
        let select = self.output_select.enter(stage);
        let started = self.compute(stage, Some(select.max(read)), sub);
        let sink = self.alu_select.enter(stage);
        self.drop_result(sink);
        control.max(select).max(started).max(sink)
    }

    /// Discards the ALUs' result, which no command writes.
    fn drop_result(&mut self, sink: Cycle) {
        let left = self.offered.max(sink);
        self.alu_select.leave(left);
    }

    fn compute_only(&mut self, stage: Cycle, write: Option<Write>, sub: SimdSub) -> Cycle {
        let started = self.compute(stage, None, sub);
        if let Some(write) = write {
            return self.write_result(stage, write).max(started);
        }
        let sink = self.alu_select.enter(stage);
        self.drop_result(sink);
        started.max(sink)
    }

    /// Writes the ALUs' result. Returns the cycle at which the stage has passed the write on.
    fn write_result(&mut self, stage: Cycle, write: Write) -> Cycle {
        let (control, ready) = self.prepare_write(stage, write);
        let source = self.alu_select.enter(stage);
        let select = self.input_select.enter(stage);
        let ready = ready.max(source).max(select);
        let written = ready.max(self.offered);
        self.stalls.add(Stall::AccumulatorForAlu, ready, written);
        self.alu_select.leave(written);
        self.write(written, write);
        control.max(source).max(select)
    }

    /// Runs only the write half: the read half is skipped, and so is the computation.
    fn write_uncomputed(&mut self, stage: Cycle, write: Write) -> Cycle {
        (self.started, self.offered) = (NEVER, NEVER + ALU_LATENCY);
        self.write_result(stage + 1, write)
    }

    /// Runs the read half and, one cycle later, the write half.
    fn read_and_write(&mut self, stage: Cycle, write: Write, sub: SimdSub) -> Cycle {
        // Neither source is the input, so nothing consumes the data that the read half delivers.
        if self.reading == Reading::Released && sub.left != 0 && sub.right != 0 {
            return self.write_uncomputed(stage, write);
        }
        let (control, read) = self.fetch(stage);
        let select = self.output_select.enter(stage);
        let started = self.compute(stage, Some(select.max(read)), sub);
        let half = control.max(select).max(started);
        self.write_result(half + 1, write)
    }
}

/// Last two writes of a pipeline, each an address and a cycle. Reads of these addresses must wait
/// for them.
#[derive(Clone, Debug, Default)]
struct Pipeline {
    writes: [(u64, Cycle); 2],
}

impl Pipeline {
    /// Returns the cycle at which a command at the head of the pipeline since `stage` reads
    /// `address`, or passes if `address` is `None`.
    fn read(&self, stage: Cycle, address: Option<u64>) -> Cycle {
        let pending = self.writes.iter().filter(|&&(written, _)| Some(written) == address);
        pending.map(|&(_, at)| at + 1).fold(stage, Cycle::max)
    }

    /// Records the write of a result finished at `done`, one cycle later, and returns its cycle.
    const fn write(&mut self, done: Cycle, address: u64) -> Cycle {
        let at = done + 1;
        self.writes = [self.writes[1], (address, at)];
        at
    }
}
