//! The decoder and the units to which it hands instructions: [`Machine`].

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
use super::steady::{Steady, StoredTimes};
use super::timeline::{Busy, LastEvents, Timeline, Traffic};
use super::unit::Unit;
use super::watch::Watch;
use crate::clock::held::{DecoderHold, FIRST};
use crate::clock::samples::Port;
use crate::config::packing::Packing;
use crate::config::{ClockParams, Config, Overlap, Reading};
use crate::isa::op::{DataMoveKind, Flow, Memory, Op, Path, Register, SimdOp, SimdSub, Strided};
use crate::machine::configuration::Configuration;

/// A recorded time more than this many cycles before the decoder's head cannot delay the next
/// instruction. Its effects come at most three cycles after it.
const BEHIND: Cycle = 8;

/// Minimum number of key vectors for which a lookup is simulated without the cache.
const MAX_KEYS: u64 = 1 << 20;

/// Minimum base-2 logarithm of the stride for which an instruction is simulated without the cache.
const LONGEST_STRIDE: u32 = 32;

/// All units, and the cycle at which the decoder can accept its next instruction.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    head: Cycle,
    /// Mask applied to sizes: units count vectors modulo the local depth, rounded up to a power of
    /// two.
    size_mask: u64,
    router: Router,
    array: Array,
    accumulator: Accumulator,
    port_a: ReadPort,
    /// Earliest cycle of the current run of local memory.
    local_from: Cycle,
    /// Queues in front of local memory; `None` on the released hardware.
    lanes: Option<Lanes>,
    /// Last reported cycles of port B and of the array, so that reported slices do not overlap.
    reported: [Cycle; 2],
    /// Whether the instance overlaps work that the released hardware does not.
    overlaps: bool,
    /// Cycle of the last write of port A.
    local_written: Cycle,
    /// Number of accesses of port A.
    local_a_accesses: u64,
    local_a_watch: Watch,
    host: Host,
    banks: [Bank; 2],
    stalls: StallMeter,
    configuration: Configuration,
    /// Working periods of the units for the last instruction.
    spans: Spans,
    /// Whether every vector is simulated, even if earlier ones determine its timing.
    is_literal: bool,
}

/// Parameters that determine timing: latency of the array, memory timing and packing, and the
/// reading of the specification.
pub(super) type Design = (Cycle, (ClockParams, Packing), Reading);

/// An instruction that is never accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stuck {
    /// Cycle in which the instruction arrived.
    pub(super) from: Cycle,
    /// Unit that never takes its part.
    pub(super) unit: Unit,
}

/// Acceptance of an instruction: the cycle at which its last part was taken, and the unit that took
/// it.
#[derive(Clone, Copy)]
struct Accept {
    at: Cycle,
    unit: Unit,
}

impl Accept {
    const fn new(at: Cycle, unit: Unit) -> Self {
        Self { at, unit }
    }

    /// Returns the later of two acceptances.
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
            array: Array::new(config),
            accumulator: Accumulator::new(config),
            port_a: ReadPort::default(),
            local_from: FIRST,
            lanes: overlap.has_queues().then(|| Lanes::new(overlap)),
            reported: [0; 2],
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

    /// Runs the next instruction; the decoder does not apply it to its registers yet.
    pub(super) fn step(&mut self, op: &Op) -> Result<DecoderHold, Stuck> {
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
        let held = DecoderHold { from: self.head, until: accept.at, by: accept.unit };
        self.spans.set(Unit::Decoder, held.from, held.until);
        self.head = held.until + 1;
        Ok(held)
    }

    /// Runs the next instruction like [`Self::step`]. Returns for each row of a product the cycles
    /// at which it enters the array and its result leaves.
    pub(super) fn step_rows(&mut self, op: &Op) -> Result<Vec<(Cycle, Cycle)>, Stuck> {
        self.array.begin_record();
        let held = self.step(op);
        let rows = self.array.end_record();
        held.map(|_| rows)
    }

    /// Applies an instruction to the decoder's registers, in the cycle in which it is accepted.
    pub(super) fn obey(&mut self, op: &Op) {
        self.configuration.count();
        if let Op::Configure { register, value } = *op {
            self.configuration.configure(register, value);
        }
    }

    /// Returns and clears whether the first addition of the last instruction read before the
    /// preceding write.
    pub(super) const fn take_reads_early(&mut self) -> bool {
        self.accumulator.take_reads_early()
    }

    /// Returns when the address of the last write burst of a bank was issued.
    pub(super) const fn last_write_address(&self, bank: Memory) -> Cycle {
        match bank {
            Memory::Dram0 => self.banks[0].last_write_address(),
            Memory::Dram1 => self.banks[1].last_write_address(),
            Memory::Local | Memory::Accumulators => 0,
        }
    }

    /// Returns the configuration registers.
    pub(super) const fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Writes a configuration register before the start.
    pub(super) fn configure(&mut self, register: Register, value: u32) {
        self.configuration.configure(register as u8, value);
    }

    /// Returns the sample interval in cycles; 0 disables sampling.
    pub(super) const fn interval(&self) -> Cycle {
        self.configuration.get(Register::SampleInterval) as Cycle
    }

    /// Starts to observe handshakes.
    pub(super) fn watch(&mut self) {
        for port in Port::ALL {
            if let Some((watch, _)) = self.watched(port) {
                watch.switch_on();
            }
        }
    }

    /// Returns valid and ready of a handshake with a unit. All events of the cycle must be known.
    pub(super) fn handshake(&mut self, port: Port, at: Cycle) -> Option<(bool, bool)> {
        let (watch, room) = self.watched(port)?;
        Some(watch.at(at, room))
    }

    /// Returns the observed handshakes of `port`, and the cycle at which there is room for the next
    /// one.
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

    /// Queues the run of local memory on the array's side. Returns when it enters the queue, and
    /// the vectors that it touches; `None` without queues.
    fn queue_local(&mut self, run: Strided, size: u64, writes: bool) -> Option<(Cycle, Touch)> {
        let lanes = self.lanes.as_mut()?;
        let touch = Touch::new(run, size, self.size_mask, writes);
        let (entered, from) = lanes.enter(Lane::Array, self.head, &touch);
        self.local_from = from;
        Some((entered, touch))
    }

    /// Ends that run with its last access at `last`; returns when the decoder was released.
    fn rid_of_local(&mut self, queued: Option<(Cycle, Touch)>, last: Cycle) -> Cycle {
        match (queued, &mut self.lanes) {
            (Some((entered, touch)), Some(lanes)) => {
                lanes.leave(Lane::Array, touch, last);
                entered
            }
            _ => last,
        }
    }

    /// Reads the next vector of local memory through port A; returns the cycle.
    fn read_local(&mut self) -> Cycle {
        let free = self.port_a.free().max(self.local_from);
        let room = self.port_a.room();
        let at = self.port_a.read(self.local_from);
        self.stalls.add(Stall::LocalANotTaken, free, at);
        self.local_a_watch.saw(self.head, at, room);
        self.local_a_accesses += 1;
        at
    }

    /// Writes a vector that arrives at `offered` through port A; returns the cycle.
    fn write_local(&mut self, offered: Cycle) -> Cycle {
        let free = self.port_a.free().max(self.local_from);
        let at = offered.max(free);
        self.stalls.add(Stall::LocalAForAccumulators, free, at);
        self.local_a_watch.saw(self.head, at, free);
        self.port_a.write(at);
        self.local_a_accesses += 1;
        at
    }

    /// Whether single vectors are observed, so that none may be skipped.
    const fn is_watched(&self) -> bool {
        self.is_literal
            || self.overlaps
            || self.local_a_watch.is_on()
            || self.stalls.is_watched()
            || self.array.is_watched()
            || self.accumulator.is_watched()
    }

    /// Disables skipping, to get reference results for tests.
    #[cfg(test)]
    pub(super) const fn be_literal(&mut self) {
        self.is_literal = true;
    }

    /// Returns the cycle in which the next instruction arrives.
    pub(super) const fn head(&self) -> Cycle {
        self.head
    }

    /// Returns the address of the last accumulator write.
    pub(super) const fn last_address(&self) -> u64 {
        self.accumulator.last_address()
    }

    /// Whether timing also depends on addresses of earlier instructions, or on more than shapes
    /// contain.
    pub(super) const fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// Returns the parameters that determine timing, apart from shapes and from the times that
    /// [`Self::take_down`] records.
    pub(super) const fn design(&self) -> Design {
        (self.array.latency(), self.banks[0].shape(), self.configuration.reading())
    }

    /// Returns the properties of an instruction that determine its timing; `last` is the address of
    /// the last accumulator write. Returns `None` for rare instructions that need not be fast.
    ///
    /// Of addresses, only two properties matter: where bursts meet the end of a page, and whether
    /// the first vector written is the one that was written last.
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
            // The number of loaded keys changes how long later lookups take.
            Op::LoadLut { .. } => None,
            Op::Simd { read, write, accumulate, write_address, sub, .. } => {
                let SimdSub { op, left, right, destination } = sub;
                let sub = u32::from_le_bytes([op as u8, left, right, destination]);
                let keys = if op == SimdOp::Lookup { self.accumulator.tables().keys() } else { 0 };
                let rest = u64::from(sub) << 1 | u64::from(write);
                let write = write.then_some(write_address);
                if keys < MAX_KEYS { pack(8, accumulate, read, write, rest | keys << 33) } else { None }
            }
            _ => pack(9, false, false, None, 0),
        }
    }

    /// Returns the last accumulator that an instruction writes; `None` if it writes none.
    pub(super) fn last_written(&self, op: &Op) -> Option<u64> {
        let flow = op.flow();
        let run = flow.written(Memory::Accumulators)?;
        Some(run.wrapping_at(self.vectors(flow.size) - 1))
    }

    /// Visits every time that affects later instructions.
    fn all_times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.port_a.times(&mut visit);
        visit(&mut self.local_written);
        self.router.times(&mut visit);
        self.array.all_times(&mut visit);
        self.accumulator.all_times(&mut visit);
        self.host.times(&mut visit);
        self.banks.iter_mut().for_each(|bank| bank.times(&mut visit));
    }

    /// Records every time that affects later instructions, relative to [`BEHIND`] cycles before the
    /// next one. Returns `false` if one is too far ahead.
    ///
    /// A later event depends on the maximum of the decoder's head and recorded times, plus a few
    /// cycles. A time far enough in the past can therefore be replaced by any other such time.
    pub(super) fn take_down(&mut self, into: &mut Vec<u32>) -> bool {
        let head = self.head;
        into.clear();
        into.push(self.array.live_windows(head) as u32);
        let mut fits = true;
        self.all_times(|time| {
            let ahead = u32::try_from((*time + BEHIND).saturating_sub(head));
            fits &= ahead.is_ok();
            // Default: if a time does not fit, the record is discarded.
            into.push(ahead.unwrap_or(0));
        });
        fits
    }

    /// Continues from recorded times; the next instruction arrives at `head`, and the last
    /// accumulator write was to `address`. Counters are not restored.
    pub(super) fn go_on(&mut self, head: Cycle, address: u64, taken: &[u32]) {
        let mut taken = taken.iter().copied();
        // Default: the record has a time for every read.
        let mut next = || taken.next().unwrap_or(0);
        self.head = head;
        self.array.set_windows(next() as usize);
        self.all_times(|time| *time = (head + u64::from(next())).saturating_sub(BEHIND));
        self.accumulator.leapt(address);
    }

    /// Returns the number of times and counters that a product advances per vector.
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

    /// Starts to record every stall.
    pub(super) fn watch_stalls(&mut self) {
        self.meters().into_iter().for_each(|(meter, _)| meter.watch());
    }

    /// Returns and clears the recorded stalls, each with the waiting unit and the cause of the
    /// wait.
    pub(super) fn take_stalls(&mut self) -> Vec<(Unit, &'static str, Stalled)> {
        let mut stalls = Vec::new();
        for (meter, bank) in self.meters() {
            stalls.extend(meter.take().map(|stalled| {
                let (unit, on) = stalled.stall.described(bank);
                (unit, on, stalled)
            }));
        }
        stalls
    }

    /// Returns the stall meters, each with the units of its bank, if it belongs to one.
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

    /// Returns the work of each unit so far as [`Timeline::busy`] counts it; 0 for the decoder.
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

    /// Returns the working periods of the units for the last instruction.
    pub(super) const fn spans(&self) -> Spans {
        self.spans
    }

    /// Returns the number of vectors for which the units take a `size`: they use only its low bits.
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
            self.spans.set_after(Unit::Array, first_entered, entered, &mut self.reported[1]);
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
        if let Some(second) = self.array.second() {
            let loads = second.instructions.enter(self.head);
            return self.load_second(loads, source, size);
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

    /// Loads weights through port B while others are in use, for an instruction queued at `loads`.
    fn load_second(&mut self, loads: Cycle, source: Option<Strided>, size: u64) -> Accept {
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
                    last = array.load_second(loads, side.datum(), first.is_none().then_some(size));
                    side.pass(last);
                    first.get_or_insert(last);
                }
                let (first_read, read) = (side.first, side.last());
                self.spans.set_after(Unit::LocalB, first_read, read, &mut self.reported[0]);
                self.host.vectors += side.vectors;
                lanes.leave(Lane::Weights, touch, read);
                accept.and(entered, Unit::LocalB)
            }
            _ => {
                for _ in 0..size {
                    last = array.load_second(loads, 0, first.is_none().then_some(size));
                    first.get_or_insert(last);
                }
                accept
            }
        };
        // Default: an instruction has at least one row.
        self.spans.set_after(Unit::Array, first.unwrap_or(last), last, &mut self.reported[1]);
        if let Some(second) = array.second() {
            second.instructions.leave(last);
        }
        accept
    }

    /// Shifts rows of an instruction queued at `queued` into the array. If port A is routed to the
    /// array, the rows come from it, starting in cycle `source`. Returns the cycles of the last
    /// read and the last shift.
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

    /// Runs a SIMD NoOp as the specification defines it. The accumulators send a vector to local
    /// memory as in a move, and receive one from the array as in a product of zeros. The decoder
    /// issues the product after the move is accepted.
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

    /// Accepts an instruction that only concerns the decoder in its first cycle.
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

    /// Transfers vectors from a bank of DRAM to local memory.
    fn fetch(&mut self, bank: usize, unit: Unit, span: Span, local: Strided) -> Accept {
        self.transfer(bank, unit, (span, local), true)
    }

    /// Transfers vectors from local memory to a bank of DRAM.
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
            self.spans.set_after(Unit::LocalB, side.first, side.last(), &mut self.reported[0]);
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

    /// Moves vectors from local memory to the accumulators.
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

    /// Loads a lookup table from local memory.
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
        // Default: an instruction has at least one vector.
        self.spans.set(Unit::LocalA, first.unwrap_or(read), read);
        self.accumulator.commands.leave(last);
        self.router.finish(loaded, loaded);
        let read = self.rid_of_local(queued, read);
        Accept::new(read, Unit::LocalA).and(routed.queued, Unit::Router).and(commands, Unit::Accumulator)
    }

    /// Moves vectors from the accumulators to local memory.
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

    /// Returns the last events of each kind so far.
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

    /// Returns the cycle of the last event so far that is part of the total; [`Timeline::total`] if
    /// the program ends here.
    pub(super) fn total(&self) -> u64 {
        self.last_events().latest().max(self.head)
    }

    /// Enters the last events and the work done into `timeline`.
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

/// A matrix product in progress.
struct Product<'a> {
    machine: &'a mut Machine,
    zeroes: bool,
    routed: Routed,
    /// Cycles at which the array and the accumulators have the instruction.
    rows: Cycle,
    results: Cycle,
    /// For the last vector: when its row and its result left the instruction, when the row entered,
    /// and when the result was written.
    last: [Cycle; 4],
    /// Cycle at which the last vector was read.
    read: Cycle,
}

impl Product<'_> {
    /// Computes all vectors. Returns the last read, the last event, and the first read, row and
    /// result.
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

    /// Passes one vector through all units before the next. Each unit handles vectors in this
    /// order, so the time of a handshake never depends on a later vector.
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
        machine.array.note(entered, result);
        machine.stalls.add(Stall::AccumulatorForArray, taken, result);
        machine.accumulator.write(result, write);
        if !*zeroes {
            machine.port_a.leave(entered);
        }
        self.last = [row_expanded, result_expanded, entered, result];
    }
}

impl StoredTimes for Product<'_> {
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

/// Returns the writes of a run; their addresses are distinct.
fn writes(run: Strided, size: u64, accumulate: bool) -> impl Iterator<Item = Write> {
    (0..size).map(move |i| Write { address: run.wrapping_at(i), accumulate })
}
