//! The decoder and the units it hands instructions to: [`Machine`].

use super::accumulator::{Accumulator, Flags};
use super::array::Array;
use super::dram::{Bank, Span};
use super::host::{Host, PortB, Transfer};
use super::lanes::{Lane, Lanes, Touch};
use super::lock::Write;
use super::queue::{Cycle, NEVER, ReadPort};
use super::router::{Routed, Router, To};
use super::slice::Spans;
use super::stall::{Stall, StallMeter, Stalled, Stalls};
use super::steady::{Kept, Steady};
use super::timeline::{Busy, LastEvents, Timeline, Traffic};
use super::unit::Unit;
use super::watch::Watch;
use crate::clock::held::{FIRST, Held};
use crate::clock::samples::Port;
use crate::config::packing::Packing;
use crate::config::{ClockParams, Config, Overlap, Reading};
use crate::isa::op::{DataMoveKind, Flow, Memory, Op, Path, Register, SimdOp, SimdSub, Strided};
use crate::machine::configuration::Configuration;

/// No time that is kept makes something that is at the decoder wait if it lies so many cycles back: what follows from it
/// comes at most three cycles after it.
const BEHIND: Cycle = 8;

/// Vectors of keys from which on a lookup is left to the plain way.
const MOST_KEYS: u64 = 1 << 20;

/// Strides from this exponent of two on are left to the plain way.
const LONGEST_STRIDE: u32 = 32;

/// All units, and when the decoder can look at its next instruction.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    head: Cycle,
    /// What remains of a size: units count vectors modulo the local depth, rounded up to a power of two.
    size_mask: u64,
    router: Router,
    array: Array,
    accumulator: Accumulator,
    port_a: ReadPort,
    /// When the run of local memory at work begins at the earliest.
    local_from: Cycle,
    /// Queues in front of local memory.
    lanes: Option<Lanes>,
    /// The last cycles of port B and of the array that have been told.
    told: [Cycle; 2],
    /// Whether the instance is without any limit of the released one.
    overlaps: bool,
    /// The last write of port A.
    local_written: Cycle,
    /// Accesses of port A.
    local_a_accesses: u64,
    local_a_watch: Watch,
    host: Host,
    banks: [Bank; 2],
    stalls: StallMeter,
    configuration: Configuration,
    /// When the units worked on the last instruction.
    spans: Spans,
    /// Every vector goes its way, also where those before tell how.
    is_literal: bool,
}

/// The latency of the array; the memory, and how vectors lie in its words; whose word counts.
pub(super) type Design = (Cycle, (ClockParams, Packing), Reading);

/// An instruction that is never accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stuck {
    /// When it came.
    pub(super) from: Cycle,
    /// Who never takes its part.
    pub(super) unit: Unit,
}

/// When the parts of an instruction were taken: the last one and who took it.
#[derive(Clone, Copy)]
struct Accept {
    at: Cycle,
    unit: Unit,
}

impl Accept {
    const fn new(at: Cycle, unit: Unit) -> Self {
        Self { at, unit }
    }

    /// The later of both.
    const fn and(self, at: Cycle, unit: Unit) -> Self {
        if at > self.at { Self { at, unit } } else { self }
    }
}

impl Machine {
    pub(super) fn new(config: &Config, params: ClockParams, packing: Packing) -> Self {
        let (n, overlap) = (config.array_size, config.overlap);
        let bank = || Bank::new(params, packing, overlap);
        Self {
            head: FIRST,
            size_mask: config.local_depth.clamp(1, 1 << 32).next_power_of_two() - 1,
            router: Router::new(2 * n),
            array: Array::new(n, overlap),
            accumulator: Accumulator::new(config),
            port_a: ReadPort::default(),
            local_from: FIRST,
            lanes: overlap.has_queues().then(|| Lanes::new(overlap)),
            told: [0; 2],
            overlaps: overlap != Overlap::RELEASED,
            local_written: 0,
            local_a_accesses: 0,
            local_a_watch: Watch::default(),
            host: Host::default(),
            banks: [bank(), bank()],
            stalls: StallMeter::default(),
            configuration: Configuration::new(config.reading),
            spans: Spans::NONE,
            is_literal: false,
        }
    }

    /// The next instruction, which the decoder does not obey yet.
    pub(super) fn step(&mut self, op: &Op) -> Result<Held, Stuck> {
        self.spans = Spans::NONE;
        self.router.hold();
        self.local_from = self.head;
        let flow = op.flow();
        let size = self.vectors(flow.size);
        let accept = match (flow.path, flow.target) {
            (Path::Array, Some(to)) => {
                self.mat_mul(flow.adds, flow.source.map(|from| from.run), to.run, size)
            }
            (Path::Weights, _) => self.load_weights(flow.source.map(|from| from.run), size),
            (Path::Copy, _) => self.copy(&flow, size),
            (Path::Alus(SimdSub { op: SimdOp::NoOp, .. }), _)
                if self.configuration.reading() == Reading::Seed =>
            {
                let to = if let Op::Simd { write_address, .. } = *op { write_address } else { 0 };
                self.external(&flow, Strided { address: to, stride_log2: 0 })
            }
            (Path::Alus(sub), to) => {
                let write = to.map(|to| Write { address: to.run.address, accumulate: flow.adds });
                let from = flow.source.map_or(0, |from| from.run.address);
                self.simd(Flags { read: flow.source.is_some(), from, write }, sub)
            }
            (Path::Tables(table), _) => {
                self.load_table(table, flow.source.map_or(Strided::default(), |from| from.run), size)
            }
            (Path::Decoder | Path::Array, _) => self.nothing(),
        };
        if accept.at >= NEVER {
            return Err(Stuck { from: self.head, unit: accept.unit });
        }
        let held = Held { from: self.head, until: accept.at, by: accept.unit };
        self.spans.set(Unit::Decoder, held.from, held.until);
        self.head = held.until + 1;
        Ok(held)
    }

    /// The decoder obeys an instruction in the cycle it is done with it.
    pub(super) fn obey(&mut self, op: &Op) {
        self.configuration.count();
        if let Op::Configure { register, value } = *op {
            self.configuration.configure(register, value);
        }
    }

    /// Whether the first addition of the last instruction read before the write before it.
    pub(super) const fn take_reads_early(&mut self) -> bool {
        self.accumulator.take_reads_early()
    }

    /// When the address of the last burst written to a bank was made.
    pub(super) const fn last_write_address(&self, bank: Memory) -> Cycle {
        match bank {
            Memory::Dram0 => self.banks[0].last_write_address(),
            Memory::Dram1 => self.banks[1].last_write_address(),
            Memory::Local | Memory::Accumulators => 0,
        }
    }

    /// The configuration registers.
    pub(super) const fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Writes a configuration register before the start.
    pub(super) fn configure(&mut self, register: Register, value: u32) {
        self.configuration.configure(register as u8, value);
    }

    /// The sample interval.
    pub(super) const fn interval(&self) -> Cycle {
        self.configuration.get(Register::SampleInterval) as Cycle
    }

    /// Handshakes are watched from now on.
    pub(super) fn watch(&mut self) {
        for port in Port::ALL {
            if let Some((watch, _)) = self.watched(port) {
                watch.switch_on();
            }
        }
    }

    /// Valid and ready of a handshake with a unit, in a cycle of which all is known.
    pub(super) fn handshake(&mut self, port: Port, at: Cycle) -> Option<(bool, bool)> {
        let (watch, room) = self.watched(port)?;
        Some(watch.at(at, room))
    }

    /// A handshake, and from when on there is room for the next thing.
    fn watched(&mut self, port: Port) -> Option<(&mut Watch, Cycle)> {
        Some(match port {
            Port::Array => self.array.watch(),
            Port::Accumulator => self.accumulator.watch(),
            Port::Dataflow => self.router.watch(),
            Port::Dram1 => self.banks[1].watch(),
            Port::Dram0 => self.banks[0].watch(),
            Port::LocalB => self.host.watch(),
            Port::LocalA => (&mut self.local_a_watch, self.port_a.room()),
            Port::Instruction => return None,
        })
    }

    /// The run of local memory on the array's side enters its queue, if there is one: when, and what it touches.
    fn queue_local(&mut self, run: Strided, size: u64, writes: bool) -> Option<(Cycle, Touch)> {
        let lanes = self.lanes.as_mut()?;
        let touch = Touch::new(run, size, self.size_mask, writes);
        let (entered, from) = lanes.enter(Lane::Array, self.head, &touch);
        self.local_from = from;
        Some((entered, touch))
    }

    /// The last access of that run happened at `last`: when the decoder was rid of it.
    fn rid_of_local(&mut self, queued: Option<(Cycle, Touch)>, last: Cycle) -> Cycle {
        match (queued, &mut self.lanes) {
            (Some((entered, touch)), Some(lanes)) => {
                lanes.leave(Lane::Array, touch, last);
                entered
            }
            _ => last,
        }
    }

    /// The next vector of local memory is read through port A.
    fn read_local(&mut self) -> Cycle {
        let free = self.port_a.free().max(self.local_from);
        let room = self.port_a.room();
        let at = self.port_a.read(self.local_from);
        self.stalls.add(Stall::LocalANotTaken, free, at);
        self.local_a_watch.saw(self.head, at, room);
        self.local_a_accesses += 1;
        at
    }

    /// A vector that is there from `offered` on is written through port A.
    fn write_local(&mut self, offered: Cycle) -> Cycle {
        let free = self.port_a.free().max(self.local_from);
        let at = offered.max(free);
        self.stalls.add(Stall::LocalAForAccumulators, free, at);
        self.local_a_watch.saw(self.head, at, free);
        self.port_a.write(at);
        self.local_a_accesses += 1;
        at
    }

    /// Whether somebody wants to see each vector.
    const fn is_watched(&self) -> bool {
        self.is_literal
            || self.overlaps
            || self.local_a_watch.is_on()
            || self.stalls.is_watched()
            || self.array.is_watched()
            || self.accumulator.is_watched()
    }

    /// Nothing is leapt over from now on: the judge of leaps.
    #[cfg(test)]
    pub(super) const fn be_literal(&mut self) {
        self.is_literal = true;
    }

    /// The cycle in which the next instruction is there.
    pub(super) const fn head(&self) -> Cycle {
        self.head
    }

    /// The address of the last write to the accumulators.
    pub(super) const fn last_address(&self) -> u64 {
        self.accumulator.last_address()
    }

    /// Whether the time of instructions follows from the addresses of those before, too, or from more than shapes say.
    pub(super) const fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// All that the time of instructions follows from beside their shapes and what [`Self::take_down`] takes down.
    pub(super) const fn design(&self) -> Design {
        (self.array.latency(), self.banks[0].shape(), self.configuration.reading())
    }

    /// What of an instruction its time follows from; `last` is the address of the last write to the accumulators. None of
    /// the few that nobody needs to be quick.
    ///
    /// Of addresses it is where bursts meet the end of a page, and whether the first vector written is the one that was
    /// written last.
    pub(super) fn shape(&self, op: &Op, last: u64) -> Option<u64> {
        let pack = |code: u64, adds: bool, zeroes: bool, to: Option<u64>, rest: u64| {
            let repeats = to == Some(last);
            Some(code | u64::from(adds) << 4 | u64::from(zeroes) << 5 | u64::from(repeats) << 6 | rest << 8)
        };
        let more = |size: u64| self.vectors(size) - 1;
        match *op {
            Op::MatMul { accumulator: to, .. } if to.stride_log2 >= LONGEST_STRIDE => None,
            Op::MatMul { accumulate, zeroes, accumulator, size, .. } => {
                pack(0, accumulate, zeroes, Some(accumulator.address), more(size))
            }
            Op::LoadWeights { zeroes, size, .. } => pack(1, false, zeroes, None, more(size)),
            Op::DataMove { other, .. } if other.stride_log2 >= LONGEST_STRIDE => None,
            Op::DataMove { kind, other, size, .. } => match kind {
                DataMoveKind::AccumulatorToLocal => pack(2, false, false, None, more(size)),
                DataMoveKind::LocalToAccumulator => pack(3, false, false, Some(other.address), more(size)),
                DataMoveKind::LocalToAccumulatorAccumulate => {
                    pack(3, true, false, Some(other.address), more(size))
                }
                _ => {
                    let page = self.banks[0].page_offset(other.address);
                    pack(
                        4 + kind as u64,
                        false,
                        false,
                        None,
                        more(size) | u64::from(other.stride_log2) << 32 | page << 38,
                    )
                }
            },
            Op::Simd { read, write, sub: SimdSub { op: SimdOp::NoOp, .. }, .. } if read || write => None,
            // How long lookups take is another matter after it.
            Op::LoadLut { .. } => None,
            Op::Simd { read, write, accumulate, write_address, sub, .. } => {
                let SimdSub { op, left, right, destination } = sub;
                let sub = u32::from_le_bytes([op as u8, left, right, destination]);
                let keys = if op == SimdOp::Lookup { self.accumulator.tables().keys() } else { 0 };
                let rest = u64::from(sub) << 1 | u64::from(write);
                let write = write.then_some(write_address);
                if keys < MOST_KEYS { pack(8, accumulate, read, write, rest | keys << 33) } else { None }
            }
            _ => pack(9, false, false, None, 0),
        }
    }

    /// The last vector of the accumulators that an instruction writes.
    pub(super) fn last_written(&self, op: &Op) -> Option<u64> {
        let flow = op.flow();
        let run = flow.written(Memory::Accumulators)?;
        Some(run.wrapping_at(self.vectors(flow.size) - 1))
    }

    /// Visits every time that that of a later instruction follows from.
    fn all_times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.port_a.times(&mut visit);
        visit(&mut self.local_written);
        self.router.times(&mut visit);
        self.array.all_times(&mut visit);
        self.accumulator.all_times(&mut visit);
        self.host.times(&mut visit);
        self.banks.iter_mut().for_each(|bank| bank.times(&mut visit));
    }

    /// Takes down every time that that of a later instruction follows from, from [`BEHIND`] cycles before the next one on;
    /// false where one is too far ahead.
    ///
    /// What happens later follows from the later one of what is at the decoder's head or after it, and of times that are
    /// kept, with at most a few cycles after these: one that lies further back is as good as one that just does.
    pub(super) fn take_down(&mut self, into: &mut Vec<u32>) -> bool {
        let head = self.head;
        into.clear();
        into.push(self.array.live_windows(head) as u32);
        let mut fits = true;
        self.all_times(|time| {
            let ahead = u32::try_from((*time + BEHIND).saturating_sub(head));
            fits &= ahead.is_ok();
            // Default: nobody reads what does not fit.
            into.push(ahead.unwrap_or(0));
        });
        fits
    }

    /// Goes on from times that were taken down, when the next instruction is there at `head` and the last write to the
    /// accumulators was to `address`. What is counted stays behind.
    pub(super) fn go_on(&mut self, head: Cycle, address: u64, taken: &[u32]) {
        let mut taken = taken.iter().copied();
        // Default: there are as many as were taken down.
        let mut next = || taken.next().unwrap_or(0);
        self.head = head;
        self.array.set_windows(next() as usize);
        self.all_times(|time| *time = (head + u64::from(next())).saturating_sub(BEHIND));
        self.accumulator.leapt(address);
    }

    /// How much a product moves on from vector to vector.
    #[cfg(test)]
    pub(super) fn kept_by_products(&mut self) -> usize {
        let routed = Routed { queued: 0, source: 0, target: 0 };
        let (rows, results, last, read) = (0, 0, [0; 4], 0);
        let mut product = Product { machine: self, zeroes: false, routed, rows, results, last, read };
        let mut kept = 0;
        product.times(|_| kept += 1);
        product.counts(|_| kept += 1);
        kept
    }

    /// Every stall is remembered from now on.
    pub(super) fn watch_stalls(&mut self) {
        self.meters().into_iter().for_each(|(meter, _)| meter.watch());
    }

    /// The stalls since the last question, each with who waits for what.
    pub(super) fn take_stalls(&mut self) -> Vec<(Unit, &'static str, Stalled)> {
        let mut stalls = Vec::new();
        for (meter, bank) in self.meters() {
            stalls.extend(meter.take().map(|stalled| {
                let (unit, on) = stalled.stall.told(bank);
                (unit, on, stalled)
            }));
        }
        stalls
    }

    /// Who counts stalls, each with the units of its bank where it is one.
    const fn meters(&mut self) -> [(&mut StallMeter, [Unit; 2]); 6] {
        let [dram0, dram1] = &mut self.banks;
        let none = [Unit::Decoder; 2];
        [
            (&mut self.stalls, none),
            (&mut self.array.stalls, none),
            (&mut self.accumulator.stalls, none),
            (&mut self.host.stalls, none),
            (&mut dram0.stalls, [Unit::Dram0Read, Unit::Dram0Write]),
            (&mut dram1.stalls, [Unit::Dram1Read, Unit::Dram1Write]),
        ]
    }

    /// What each unit has done so far, as [`Timeline::busy`] counts it, the decoder apart.
    pub(super) const fn work(&self) -> [u64; Unit::ALL.len()] {
        let [[read0, written0], [read1, written1]] = [self.banks[0].beats(), self.banks[1].beats()];
        [
            0,
            self.local_a_accesses,
            0,
            self.array.computed_rows + self.array.weight_rows,
            self.accumulator.accesses,
            self.accumulator.operations,
            self.host.vectors,
            read0,
            written0,
            read1,
            written1,
        ]
    }

    /// When the units worked on the last instruction.
    pub(super) const fn spans(&self) -> Spans {
        self.spans
    }

    /// The size as the units count it.
    const fn vectors(&self, size: u64) -> u64 {
        (size.wrapping_sub(1) & self.size_mask) + 1
    }

    fn mat_mul(
        &mut self,
        accumulate: bool,
        source: Option<Strided>,
        accumulator: Strided,
        size: u64,
    ) -> Accept {
        let zeroes = source.is_none();
        let queued = source.and_then(|run| self.queue_local(run, size, false));
        let routed = self.router.route(self.head, !zeroes, To::Accumulators);
        let rows = self.array.instructions.enter(self.head);
        let results = self.accumulator.commands.enter(self.head);
        self.array.exchange(rows);
        let mut product = Product { machine: self, zeroes, routed, rows, results, last: [0; 4], read: 0 };
        let (last_read, last, first) = product.compute(accumulator, size, accumulate);
        let read = if zeroes { self.head } else { self.rid_of_local(queued, last_read) };
        let [row_expanded, result_expanded, entered, result] = last;
        let [first_read, first_entered, first_result] = first;
        if !zeroes {
            self.spans.set(Unit::LocalA, first_read, last_read);
        }
        if self.overlaps {
            self.spans.set_after(Unit::Array, first_entered, entered, &mut self.told[1]);
        } else {
            self.spans.set(Unit::Array, first_entered, entered);
        }
        self.spans.set(Unit::Accumulator, first_result, result);
        self.array.instructions.leave(row_expanded);
        self.accumulator.commands.leave(result_expanded);
        self.router.finish(entered, result);
        Accept::new(read, Unit::LocalA)
            .and(routed.queued, Unit::Router)
            .and(rows, Unit::Array)
            .and(results, Unit::Accumulator)
    }

    fn load_weights(&mut self, source: Option<Strided>, size: u64) -> Accept {
        if let Some(beside) = self.array.beside() {
            let loads = beside.instructions.enter(self.head);
            return self.load_beside(loads, source, size);
        }
        let zeroes = source.is_none();
        let local = source.and_then(|run| self.queue_local(run, size, false));
        let rows = self.array.instructions.enter(self.head);
        let accept = Accept::new(rows, Unit::Array);
        if zeroes {
            self.load_rows(rows, size, None);
            return accept;
        }
        let routed = self.router.route(self.head, true, To::Array);
        let (read, loaded) = self.load_rows(rows, size, Some(routed.source));
        self.router.finish(loaded, loaded);
        let read = self.rid_of_local(local, read);
        accept.and(routed.queued, Unit::Router).and(read, Unit::LocalA)
    }

    /// Loads weights beside those at work, through port B, for an instruction queued at `loads`.
    fn load_beside(&mut self, loads: Cycle, source: Option<Strided>, size: u64) -> Accept {
        let Self { array, lanes, .. } = self;
        let accept = Accept::new(loads, Unit::Array);
        let (mut first, mut last) = (None, loads);
        let accept = match (source, lanes) {
            (Some(run), Some(lanes)) => {
                let touch = Touch::new(run, size, self.size_mask, false);
                let (entered, from) = lanes.enter(Lane::Weights, self.head, &touch);
                let mut side = lanes.side(Lane::Weights, from);
                for _ in 0..size {
                    side.read();
                    last = array.load_beside(loads, side.datum(), first.is_none().then_some(size));
                    side.pass(last);
                    first.get_or_insert(last);
                }
                let (first_read, read) = (side.first, side.last());
                self.spans.set_after(Unit::LocalB, first_read, read, &mut self.told[0]);
                self.host.vectors += side.vectors;
                lanes.leave(Lane::Weights, touch, read);
                accept.and(entered, Unit::LocalB)
            }
            _ => {
                for _ in 0..size {
                    last = array.load_beside(loads, 0, first.is_none().then_some(size));
                    first.get_or_insert(last);
                }
                accept
            }
        };
        // Default: an instruction has a row at least.
        self.spans.set_after(Unit::Array, first.unwrap_or(last), last, &mut self.told[1]);
        if let Some(beside) = array.beside() {
            beside.instructions.leave(last);
        }
        accept
    }

    /// Shifts rows of an instruction queued at `queued` into the array, from port A if that is routed
    /// to it, from `source` on: the last read and the last shift.
    fn load_rows(&mut self, queued: Cycle, size: u64, source: Option<Cycle>) -> (Cycle, Cycle) {
        let (mut read, mut loaded, mut last, mut first) = (self.local_from, queued, queued, None);
        for _ in 0..size {
            let (expanded, row) = self.array.expand(queued);
            if let Some(source) = source {
                read = self.read_local();
                loaded = self.array.load(row, self.port_a.datum().max(source));
                self.port_a.leave(loaded);
            } else {
                loaded = self.array.load(row, 0);
            }
            last = expanded;
            first.get_or_insert([read, loaded]);
        }
        self.array.instructions.leave(last);
        let [first_read, first_loaded] = first.unwrap_or([read, loaded]);
        if source.is_some() {
            self.spans.set(Unit::LocalA, first_read, read);
        }
        self.spans.set(Unit::Array, first_loaded, loaded);
        (read, loaded)
    }

    fn simd(&mut self, flags: Flags, sub: SimdSub) -> Accept {
        let queued = self.accumulator.commands.enter(self.head);
        let expanded = self.accumulator.simd(queued, flags, sub);
        let ((first, last), started) = self.accumulator.worked(flags);
        if flags.read || flags.write.is_some() {
            self.spans.set(Unit::Accumulator, first, last);
        }
        if sub.op != SimdOp::NoOp {
            self.spans.set(Unit::Alu, started, started);
        }
        self.accumulator.commands.leave(expanded);
        Accept::new(queued, Unit::Accumulator)
    }

    /// A SIMD NoOp as the page has it: the accumulators give a vector to local memory as in a move, the array gives them one
    /// as in a product of zeros, which the decoder hands out when it is rid of the move.
    fn external(&mut self, flow: &Flow, local: Strided) -> Accept {
        let head = self.head;
        let mut accept = self.nothing();
        if let Some(from) = flow.source {
            accept = self.move_out(from.run, local, 1);
            self.head = accept.at.min(NEVER) + 1;
        }
        if let Some(to) = flow.target {
            accept = self.mat_mul(flow.adds, None, to.run, 1);
        }
        self.head = head;
        accept
    }

    /// What the decoder alone is done with in the cycle it comes.
    const fn nothing(&self) -> Accept {
        Accept::new(self.head, Unit::Decoder)
    }

    fn copy(&mut self, flow: &Flow, size: u64) -> Accept {
        let (Some(from), Some(to)) = (flow.source, flow.target) else { return self.nothing() };
        let span = |run: Strided| Span { address: run.address, size, stride_log2: run.stride_log2 };
        match (from.memory, to.memory) {
            (Memory::Dram0, _) => self.fetch(0, Unit::Dram0Read, span(from.run), to.run),
            (_, Memory::Dram0) => self.store(0, Unit::Dram0Write, span(to.run), from.run),
            (Memory::Dram1, _) => self.fetch(1, Unit::Dram1Read, span(from.run), to.run),
            (_, Memory::Dram1) => self.store(1, Unit::Dram1Write, span(to.run), from.run),
            (Memory::Accumulators, _) => self.move_out(from.run, to.run, size),
            (Memory::Local, _) => self.move_in(from.run, to.run, size, flow.adds),
        }
    }

    /// From a bank of DRAM to local memory.
    fn fetch(&mut self, bank: usize, unit: Unit, span: Span, local: Strided) -> Accept {
        self.transfer(bank, unit, (span, local), true)
    }

    /// From local memory to a bank of DRAM.
    fn store(&mut self, bank: usize, unit: Unit, span: Span, local: Strided) -> Accept {
        self.transfer(bank, unit, (span, local), false)
    }

    fn transfer(&mut self, bank: usize, unit: Unit, (span, local): (Span, Strided), fetches: bool) -> Accept {
        let (head, dram) = (self.head, &mut self.banks[bank]);
        if let Some(lanes) = &mut self.lanes {
            let touch = Touch::new(local, span.size, self.size_mask, fetches);
            let lane = Lane::BANKS[bank];
            let (entered, from) = lanes.enter(lane, head, &touch);
            let mut side = lanes.side(lane, from);
            let taken =
                if fetches { dram.read(head, span, &mut side) } else { dram.write(head, span, &mut side) };
            self.spans.set_after(Unit::LocalB, side.first, side.last(), &mut self.told[0]);
            self.host.vectors += side.vectors;
            self.spans.set(unit, taken.first_beat, taken.last_beat);
            lanes.leave(lane, touch, taken.port_b);
            return Accept::new(entered, Unit::LocalB).and(taken.request, unit);
        }
        let routed = self.host.begin(head);
        let mut port = Transfer { host: &mut self.host, head, routed, last: head };
        let taken =
            if fetches { dram.read(head, span, &mut port) } else { dram.write(head, span, &mut port) };
        self.host.end();
        self.spans.set(Unit::LocalB, self.host.first(), self.host.last());
        self.spans.set(unit, taken.first_beat, taken.last_beat);
        Accept::new(taken.port_b, unit).and(routed, Unit::LocalB).and(taken.request, unit)
    }

    /// From local memory to the accumulators.
    fn move_in(&mut self, from: Strided, other: Strided, size: u64, accumulate: bool) -> Accept {
        let queued = self.queue_local(from, size, false);
        let routed = self.router.route(self.head, true, To::Accumulators);
        let commands = self.accumulator.commands.enter(self.head);
        let (mut read, mut last, mut written, mut first) = (self.local_from, commands, routed.source, None);
        for write in writes(other, size, accumulate) {
            read = self.read_local();
            let (expanded, taken) = self.accumulator.take(commands, write);
            let taken = taken.max(routed.target);
            written = taken.max(self.port_a.datum()).max(routed.source);
            self.stalls.add(Stall::AccumulatorForLocal, taken, written);
            self.accumulator.write(written, write);
            self.port_a.leave(written);
            last = expanded;
            first.get_or_insert([read, written]);
        }
        let [first_read, first_written] = first.unwrap_or([read, written]);
        self.spans.set(Unit::LocalA, first_read, read);
        self.spans.set(Unit::Accumulator, first_written, written);
        self.accumulator.commands.leave(last);
        self.router.finish(written, written);
        let read = self.rid_of_local(queued, read);
        Accept::new(read, Unit::LocalA).and(routed.queued, Unit::Router).and(commands, Unit::Accumulator)
    }

    /// From local memory to a lookup table.
    fn load_table(&mut self, table: u64, from: Strided, size: u64) -> Accept {
        let queued = self.queue_local(from, size, false);
        let routed = self.router.route(self.head, true, To::Accumulators);
        let commands = self.accumulator.commands.enter(self.head);
        self.accumulator.begin_table(table, size);
        let (mut read, mut last, mut loaded, mut first) = (self.local_from, commands, routed.source, None);
        for _ in 0..size {
            read = self.read_local();
            let (expanded, taken) = self.accumulator.take_entries(commands);
            let taken = taken.max(routed.target);
            loaded = taken.max(self.port_a.datum()).max(routed.source);
            self.stalls.add(Stall::AccumulatorForLocal, taken, loaded);
            self.accumulator.load(loaded);
            self.port_a.leave(loaded);
            last = expanded;
            first.get_or_insert(read);
        }
        // Default: an instruction has a vector at least.
        self.spans.set(Unit::LocalA, first.unwrap_or(read), read);
        self.accumulator.commands.leave(last);
        self.router.finish(loaded, loaded);
        let read = self.rid_of_local(queued, read);
        Accept::new(read, Unit::LocalA).and(routed.queued, Unit::Router).and(commands, Unit::Accumulator)
    }

    /// From the accumulators to local memory.
    fn move_out(&mut self, from: Strided, to: Strided, size: u64) -> Accept {
        let queued = self.queue_local(to, size, true);
        let routed = self.router.route(self.head, false, To::Local);
        let commands = self.accumulator.commands.enter(self.head);
        let (mut written, mut last, mut first) = (self.local_from, commands, None);
        for i in 0..size {
            let (expanded, given) = self.accumulator.give(commands, from.wrapping_at(i));
            written = self.write_local(given.max(routed.target));
            self.accumulator.gave(written);
            last = expanded;
            first.get_or_insert(written);
        }
        let first = first.unwrap_or(written);
        self.spans.set(Unit::LocalA, first, written);
        self.spans.set(Unit::Accumulator, first, written);
        self.accumulator.commands.leave(last);
        self.router.finish(written, written);
        self.local_written = written;
        let written = self.rid_of_local(queued, written);
        Accept::new(written, Unit::LocalA).and(routed.queued, Unit::Router).and(commands, Unit::Accumulator)
    }

    /// The last events of each kind so far.
    fn last_events(&self) -> LastEvents {
        let seen = |at: Cycle| if at < NEVER { at } else { 0 };
        let [dram0, dram1] = &self.banks;
        LastEvents {
            accumulator_write: self.accumulator.last_write(),
            local_write: seen(self.local_written)
                .max(seen(self.host.written))
                .max(self.lanes.as_ref().map_or(0, |lanes| seen(lanes.written()))),
            axi_write: seen(dram0.last_beat_written()).max(seen(dram1.last_beat_written())),
            weight_load: seen(self.array.loaded),
            write_response: seen(dram0.last_response()).max(seen(dram1.last_response())),
        }
    }

    /// The last event so far that counts; [`Timeline::total`] when the program ends here.
    pub(super) fn total(&self) -> u64 {
        self.last_events().latest().max(self.head)
    }

    /// Enters the last events and the work done.
    pub(super) fn finish(&self, timeline: &mut Timeline) {
        let [dram0, dram1] = &self.banks;
        timeline.last = self.last_events();
        timeline.busy = Busy {
            array_rows: self.array.computed_rows,
            weight_rows: self.array.weight_rows,
            accumulator_accesses: self.accumulator.accesses,
            simd_operations: self.accumulator.operations,
            dram_vectors: self.host.vectors,
            local_a_accesses: self.local_a_accesses,
        };
        let units = [&self.array.stalls, &self.accumulator.stalls, &self.host.stalls];
        timeline.stalls = units.into_iter().map(|meter| &meter.sums).fold(self.stalls.sums, Stalls::and);
        timeline.dram_stalls = [dram0.stalls.sums, dram1.stalls.sums];
        timeline.traffic = [Traffic::new(dram0.traffic()), Traffic::new(dram1.traffic())];
        let accepted = timeline.accept.last().map_or(0, |at| at + 1);
        timeline.total = timeline.last.latest().max(accepted);
    }
}

/// A product under way.
struct Product<'a> {
    machine: &'a mut Machine,
    zeroes: bool,
    routed: Routed,
    /// When the array, and the accumulators, have the instruction.
    rows: Cycle,
    results: Cycle,
    /// Of the last vector: when its row and its result left the instruction, when the row entered and the result was written.
    last: [Cycle; 4],
    /// When it was read.
    read: Cycle,
}

impl Product<'_> {
    /// All vectors: the last read, the last of everything, and the first read, row and result.
    fn compute(
        &mut self,
        accumulator: Strided,
        size: u64,
        accumulate: bool,
    ) -> (Cycle, [Cycle; 4], [Cycle; 3]) {
        self.read = self.machine.local_from;
        let leaps = size >= Steady::LEAST && !self.machine.is_watched();
        let (mut first, mut steady, mut done) = (None, leaps.then(Steady::new), 0);
        while done < size {
            self.vector(Write { address: accumulator.wrapping_at(done), accumulate });
            first.get_or_insert([self.read, self.last[2], self.last[3]]);
            done += 1;
            if steady.as_mut().is_some_and(|steady| steady.leap(done, size, self)) {
                self.machine.accumulator.leapt(accumulator.wrapping_at(size - 1));
                break;
            }
        }
        (self.read, self.last, first.unwrap_or([self.read, self.last[2], self.last[3]]))
    }

    /// A vector goes through all units before the next one is looked at. Each unit takes vectors in this order, so that the
    /// time of a handshake never depends on a later vector.
    #[inline]
    fn vector(&mut self, write: Write) {
        let Self { machine, zeroes, routed, rows, results, .. } = self;
        let (row_expanded, control) = machine.array.expand(*rows);
        let mut data = 0;
        if !*zeroes {
            self.read = machine.read_local();
            data = machine.port_a.datum().max(routed.source);
        }
        let (result_expanded, taken) = machine.accumulator.take(*results, write);
        let taken = taken.max(routed.target);
        let (entered, result) = machine.array.compute(control, data, taken);
        machine.stalls.add(Stall::AccumulatorForArray, taken, result);
        machine.accumulator.write(result, write);
        if !*zeroes {
            machine.port_a.leave(entered);
        }
        self.last = [row_expanded, result_expanded, entered, result];
    }
}

impl Kept for Product<'_> {
    fn is_settled(&self) -> bool {
        self.machine.array.is_settled()
    }

    #[inline]
    fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.last.iter_mut().for_each(&mut visit);
        visit(&mut self.read);
        self.machine.port_a.times(&mut visit);
        self.machine.array.times(&mut visit);
        self.machine.accumulator.times(visit);
    }

    #[inline]
    fn counts(&mut self, mut visit: impl FnMut(&mut u64)) {
        visit(&mut self.machine.local_a_accesses);
        let kinds = [Stall::LocalANotTaken, Stall::AccumulatorForArray];
        self.machine.stalls.sums.counts(kinds, &mut visit);
        self.machine.array.counts(&mut visit);
        self.machine.accumulator.counts(visit);
    }
}

/// The writes of a run; none of them is to the address of another.
fn writes(run: Strided, size: u64, accumulate: bool) -> impl Iterator<Item = Write> {
    (0..size).map(move |i| Write { address: run.wrapping_at(i), accumulate })
}
