//! Cycles as hardware takes them: [`Clock`] runs a program without its values and gives a [`Timeline`].
//!
//! The unit is a machine of queues and handshakes: the decoder hands an instruction to the units it
//! concerns and goes on when all have taken their part; each unit works through what it was given,
//! in order, and waits for its neighbours. Since every queue is in program order, the time of each
//! handshake follows from those before it, and one pass over the vectors of a program gives all of
//! them: nothing is simulated cycle by cycle, and nothing depends on values.
//!
//! Sources: the TCU specification, 9, as corrected by its notes on simulated hardware; the queues and
//! their depths are those of the published hardware description. Memory answers as in the golden
//! vectors: addresses and written data are taken at once, a beat a cycle comes back.
//!
//! `queue` has the queues, each unit a module of its own: `router`, `array`, `accumulator`, `dram`.

mod accumulator;
mod array;
mod dram;
mod queue;
mod router;
mod timeline;

use accumulator::{Accumulator, Flags};
use array::Array;
use dram::{Bank, Host, Span};
use queue::{Cycle, NEVER, ReadPort};
use router::Router;
pub use timeline::{Busy, Hang, LastEvents, Timeline, Traffic, Unit};

use crate::config::Config;
use crate::op::{DataMoveKind, Op, SimdSub, Strided};

/// What the clock needs to know of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockParams {
    /// Cycles from the address of a burst to its first beat.
    pub read_latency: u64,
    /// Cycles from the last beat of a burst to the response.
    pub write_response_latency: u64,
    /// Width of the data bus of each bank, in bits.
    pub axi_bits: u32,
}

impl ClockParams {
    /// Equal latencies, in cycles, and a bus of 128 bits.
    pub const fn with_latency(latency: u64) -> Self {
        Self { read_latency: latency, write_response_latency: latency, axi_bits: 128 }
    }
}

/// Why there is no clock for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// The bus carries no whole number of bytes.
    #[error("a bus of {axi_bits} bits: must be 8 bits times a power of two, at most 1024")]
    Bus {
        /// Its width.
        axi_bits: u32,
    },
    /// Vectors are no whole number of beats.
    #[error("a vector of {vector_bits} bits on a bus of {axi_bits} bits: must be a multiple of the bus")]
    Beats {
        /// Bits of a vector in DRAM.
        vector_bits: u64,
        /// Width of the bus.
        axi_bits: u32,
    },
}

/// The first cycle in which the decoder has an instruction.
const FIRST: Cycle = 2;

/// An instance with its memory, all queues empty.
#[derive(Clone, Debug)]
pub struct Clock {
    machine: Machine,
}

impl Clock {
    /// A clock for `config`.
    ///
    /// # Errors
    ///
    /// When vectors do not fill whole beats of the bus, which the hardware does not support.
    pub fn new(config: &Config, params: ClockParams) -> Result<Self, ClockError> {
        let axi_bits = params.axi_bits;
        if !axi_bits.is_power_of_two() || !(8..=1024).contains(&axi_bits) {
            return Err(ClockError::Bus { axi_bits });
        }
        let vector_bits = (config.array_size as u64).saturating_mul(config.data_type.size_bytes() as u64 * 8);
        if vector_bits == 0 || vector_bits % u64::from(axi_bits) != 0 {
            return Err(ClockError::Beats { vector_bits, axi_bits });
        }
        let beats = vector_bits / u64::from(axi_bits);
        let n = config.array_size;
        let machine = Machine {
            head: FIRST,
            router: Router::new(2 * n),
            array: Array::new(n),
            accumulator: Accumulator::new(2 * n),
            port_a: ReadPort::default(),
            local_written: 0,
            host: Host::default(),
            banks: [Bank::new(params, beats), Bank::new(params, beats)],
        };
        Ok(Self { machine })
    }

    /// When the instructions of `ops` are accepted and what else happens last, from reset on.
    ///
    /// Stops at the first instruction that the decoder can never hand on.
    pub fn run(&self, ops: &[Op]) -> Timeline {
        let mut machine = self.machine.clone();
        let mut timeline = Timeline { accept: Vec::with_capacity(ops.len()), ..Timeline::default() };
        let mut stuck = None;
        for (index, op) in ops.iter().enumerate() {
            if stuck.is_none() {
                stuck = timeline::stuck_form(op).map(|form| (index, form));
            }
            let (accepted, unit) = machine.step(op);
            if accepted >= NEVER {
                timeline.hang = Some(Hang::new(index, unit, stuck));
                break;
            }
            timeline.charge(unit, accepted - machine.head);
            timeline.accept.push(accepted);
            machine.head = accepted + 1;
        }
        machine.finish(&mut timeline);
        timeline
    }
}

/// All units, and when the decoder can look at its next instruction.
#[derive(Clone, Debug)]
struct Machine {
    head: Cycle,
    router: Router,
    array: Array,
    accumulator: Accumulator,
    port_a: ReadPort,
    /// The last write of port A.
    local_written: Cycle,
    host: Host,
    banks: [Bank; 2],
}

/// When the parts of an instruction were taken; the last one and who took it.
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
    /// When the decoder is done with an instruction, and the unit it waited for.
    fn step(&mut self, op: &Op) -> (Cycle, Unit) {
        let accept = match *op {
            Op::MatMul { accumulate, zeroes, size, .. } => self.mat_mul(accumulate, zeroes, size),
            Op::LoadWeights { zeroes: true, size, .. } => self.load_zeroes(size),
            Op::LoadWeights { zeroes: false, size, .. } => self.load_weights(size),
            Op::DataMove { kind, other, size, .. } => self.data_move(kind, other, size),
            Op::Simd { read, write, accumulate, sub, .. } => {
                self.simd(Flags { read, write, accumulate }, sub)
            }
            // Extensions of the emulator, unknown to the hardware, cost a cycle like what has no meaning.
            Op::NoOp
            | Op::Wait { .. }
            | Op::LoadLut { .. }
            | Op::Configure { .. }
            | Op::Unassigned { .. } => Accept::new(self.head, Unit::Decoder),
        };
        (accept.at, accept.unit)
    }

    fn mat_mul(&mut self, accumulate: bool, zeroes: bool, size: u64) -> Accept {
        let routed = self.router.instructions.enter(self.head);
        let reached = self.router.reach(routed);
        let source = if zeroes { reached } else { self.router.local_reads.enter(reached) };
        let target = self.router.accumulator_writes.enter(reached);
        self.router.finish(source.max(target));
        let rows = self.array.instructions.enter(self.head);
        let results = self.accumulator.commands.enter(self.head);
        let (mut read, mut last) = (self.head, [0; 4]);
        for _ in 0..size {
            if !zeroes {
                read = self.port_a.read(self.head);
            }
            let (row_expanded, row) = self.array.expand(rows);
            let (result_expanded, taken) = self.accumulator.take(results, accumulate);
            let offered = if zeroes { row } else { row.max(self.port_a.datum()).max(source) };
            let (entered, result) = self.array.compute(offered, taken.max(target));
            self.accumulator.write(result, accumulate);
            if !zeroes {
                self.port_a.leave(entered);
            }
            last = [row_expanded, result_expanded, entered, result];
        }
        let [row_expanded, result_expanded, entered, result] = last;
        self.array.instructions.leave(row_expanded);
        self.accumulator.commands.leave(result_expanded);
        if !zeroes {
            self.router.local_reads.leave(entered);
        }
        self.router.accumulator_writes.leave(result);
        Accept::new(read, Unit::LocalA)
            .and(routed, Unit::Router)
            .and(rows, Unit::Array)
            .and(results, Unit::Accumulator)
    }

    fn load_zeroes(&mut self, size: u64) -> Accept {
        let rows = self.array.instructions.enter(self.head);
        let mut last = rows;
        for _ in 0..size {
            let (expanded, row) = self.array.expand(rows);
            self.array.load(row);
            last = expanded;
        }
        self.array.instructions.leave(last);
        Accept::new(rows, Unit::Array)
    }

    fn load_weights(&mut self, size: u64) -> Accept {
        let routed = self.router.instructions.enter(self.head);
        let source = self.router.local_reads.enter(self.router.reach(routed));
        self.router.finish(source);
        let rows = self.array.instructions.enter(self.head);
        let (mut read, mut last, mut loaded) = (self.head, rows, source);
        for _ in 0..size {
            read = self.port_a.read(self.head);
            let (expanded, row) = self.array.expand(rows);
            loaded = self.array.load(row.max(self.port_a.datum()).max(source));
            self.port_a.leave(loaded);
            last = expanded;
        }
        self.array.instructions.leave(last);
        self.router.local_reads.leave(loaded);
        Accept::new(read, Unit::LocalA).and(routed, Unit::Router).and(rows, Unit::Array)
    }

    fn simd(&mut self, flags: Flags, sub: SimdSub) -> Accept {
        let queued = self.accumulator.commands.enter(self.head);
        let expanded = self.accumulator.simd(queued, flags, sub);
        self.accumulator.commands.leave(expanded);
        Accept::new(queued, Unit::Accumulator)
    }

    fn data_move(&mut self, kind: DataMoveKind, other: Strided, size: u64) -> Accept {
        let span = Span { address: other.address, size, stride_log2: other.stride_log2 };
        match kind {
            DataMoveKind::Dram0ToLocal => self.from_dram(0, span),
            DataMoveKind::LocalToDram0 => self.to_dram(0, span),
            DataMoveKind::Dram1ToLocal => self.from_dram(1, span),
            DataMoveKind::LocalToDram1 => self.to_dram(1, span),
            DataMoveKind::AccumulatorToLocal => self.from_accumulator(size),
            DataMoveKind::LocalToAccumulator => self.to_accumulator(size, false),
            DataMoveKind::LocalToAccumulatorAccumulate => self.to_accumulator(size, true),
        }
    }

    fn from_dram(&mut self, bank: usize, span: Span) -> Accept {
        let routed = self.host.begin(self.head);
        let taken = self.banks[bank].read(self.head, routed, span, &mut self.host);
        self.host.end();
        dram_accept(bank, routed, taken)
    }

    fn to_dram(&mut self, bank: usize, span: Span) -> Accept {
        let routed = self.host.begin(self.head);
        let taken = self.banks[bank].write(self.head, routed, span, &mut self.host);
        self.host.end();
        dram_accept(bank, routed, taken)
    }

    fn to_accumulator(&mut self, size: u64, accumulate: bool) -> Accept {
        let routed = self.router.instructions.enter(self.head);
        let reached = self.router.reach(routed);
        let source = self.router.local_reads.enter(reached);
        let target = self.router.accumulator_writes.enter(reached);
        self.router.finish(source.max(target));
        let commands = self.accumulator.commands.enter(self.head);
        let (mut read, mut last, mut written) = (self.head, commands, source);
        for _ in 0..size {
            read = self.port_a.read(self.head);
            let (expanded, taken) = self.accumulator.take(commands, accumulate);
            written = taken.max(self.port_a.datum()).max(source).max(target);
            self.accumulator.write(written, accumulate);
            self.port_a.leave(written);
            last = expanded;
        }
        self.accumulator.commands.leave(last);
        self.router.local_reads.leave(written);
        self.router.accumulator_writes.leave(written);
        Accept::new(read, Unit::LocalA).and(routed, Unit::Router).and(commands, Unit::Accumulator)
    }

    fn from_accumulator(&mut self, size: u64) -> Accept {
        let routed = self.router.instructions.enter(self.head);
        let source = self.router.local_writes.enter(self.router.reach(routed));
        self.router.finish(source);
        let commands = self.accumulator.commands.enter(self.head);
        let (mut written, mut last) = (self.head, commands);
        for _ in 0..size {
            let (expanded, given) = self.accumulator.give(commands);
            written = given.max(source).max(self.head).max(self.port_a.free());
            self.accumulator.gave(written);
            self.port_a.write(written);
            last = expanded;
        }
        self.accumulator.commands.leave(last);
        self.router.local_writes.leave(written);
        self.local_written = written;
        Accept::new(written, Unit::LocalA).and(routed, Unit::Router).and(commands, Unit::Accumulator)
    }

    /// Enters the last events and the work done.
    fn finish(&self, timeline: &mut Timeline) {
        let seen = |at: Cycle| if at < NEVER { at } else { 0 };
        let banks = &self.banks;
        timeline.last = LastEvents {
            accumulator_write: seen(self.accumulator.last_write()),
            local_write: seen(self.local_written).max(seen(self.host.written)),
            axi_write: seen(banks[0].last_beat_written()).max(seen(banks[1].last_beat_written())),
            weight_load: seen(self.array.loaded),
            write_response: seen(banks[0].last_response()).max(seen(banks[1].last_response())),
        };
        timeline.busy = Busy {
            array_rows: self.array.computed_rows,
            weight_rows: self.array.weight_rows,
            accumulator_accesses: self.accumulator.accesses,
            simd_operations: self.accumulator.operations,
            dram_vectors: self.host.vectors,
            array_blocked: self.array.blocked,
            array_draining: self.array.draining,
        };
        timeline.traffic = [0, 1].map(|bank: usize| Traffic::new(banks[bank].traffic()));
        let accepted = timeline.accept.last().map_or(0, |at| at + 1);
        timeline.total = timeline.last.latest().max(accepted);
    }
}

fn dram_accept(bank: usize, routed: Cycle, taken: dram::Taken) -> Accept {
    let dram = if bank == 0 { Unit::Dram0 } else { Unit::Dram1 };
    Accept::new(taken.port_b, dram).and(routed, Unit::HostRouter).and(taken.request, dram)
}
