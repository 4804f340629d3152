//! Cycles that the hardware takes: [`Clock`] runs a program without its values and returns a
//! [`Timeline`].
//!
//! The hardware consists of queues and handshakes. The decoder hands an instruction to the units
//! involved and continues when all have taken their part. Each unit processes its instructions in
//! order and waits for its neighbors. Every queue is in program order, so the time of each
//! handshake follows from earlier ones. One pass over the vectors of a program computes all of
//! them: nothing is simulated cycle by cycle, and nothing depends on values.
//!
//! Sources: the TCU specification, 9, as corrected by its notes on simulated hardware; queues and
//! their depths are from the published hardware description. Memory answers as in the golden
//! vectors: addresses and written data are accepted at once, and read data return one beat per
//! cycle.
//!
//! Not modeled: memory that delays addresses or data, the converters of designs with two clocks,
//! the lock of local memory (never seen to delay anything), and sizes that differ between units.
//! With slower memory a single instruction may occasionally be accepted earlier, since reads of a
//! port depend on which unit read before.
//!
//! The clock knows when additions read the accumulators, and thus which additions are lost
//! ([`Timeline::lost`], [`crate::clock::hazard`]).
//!
//! `queue` has the queues. Each unit has its own module: `machine` with the decoder and port A,
//! `router`, `array`, `accumulator` with its `lock` and `tables`, `alu`, `host`, `dram`, and
//! `sampler`, which observes the others. Their work and waits are in `slice` and `stall`.
//!
//! Of the configuration registers, the timeout, the tracepoint, the program counter and the sample
//! interval affect the clock. Offsets take no time: they are whole pages, which bursts never cross.
//! But they move writes whose addresses are issued later ([`Timeline::moved`]).

mod accumulator;
mod alu;
mod array;
mod dram;
mod hang;
pub(crate) mod hazard;
mod held;
mod host;
mod lanes;
mod lock;
mod machine;
pub(crate) mod moved_writes;
mod queue;
mod recurring;
mod router;
mod sampler;
pub(crate) mod samples;
mod signal;
mod slice;
mod stall;
mod steady;
mod tables;
mod timeline;
pub(crate) mod timing;
mod unit;
mod watch;

use crate::clock::held::DecoderHold;
pub use hang::{Hang, StuckForm};
use machine::{Machine, Stuck};
use sampler::Sampler;
pub use signal::Signal;
use slice::waits;
pub use slice::{Happening, Slice, Waiting};
pub use stall::{Stall, Stalls};
pub use timeline::{Busy, LastEvents, Timeline, Traffic};
pub use unit::Unit;

use npukit_target::Phase;

use crate::clock::hazard::first_written;
use crate::clock::moved_writes::{MovedWrites, offset_changed};
use crate::clock::samples::Sample;
use crate::config::packing::Packing;
use crate::config::{ClockError, ClockParams, Config};
use crate::isa::op::{Op, Register};
use crate::machine::losing::LostWrite;

/// Clock of an instance with its memory, with empty queues.
#[derive(Clone, Debug)]
pub struct Clock {
    machine: Machine,
}

impl Clock {
    /// Creates a clock for `config`.
    ///
    /// # Errors
    ///
    /// Fails if the bus width is not supported, or a burst cannot hold a vector.
    pub fn new(config: &Config, params: ClockParams) -> Result<Self, ClockError> {
        let packing = Packing::checked(config, params.axi_bits)?;
        let longest = LONGEST_LATENCY;
        let params = ClockParams {
            read_latency: params.read_latency.min(longest),
            write_response_latency: params.write_response_latency.min(longest),
            ..params
        };
        Ok(Self { machine: Machine::new(config, params, packing) })
    }

    /// Returns a run that starts at reset and only measures time.
    pub fn meter(&self) -> Meter {
        Meter { machine: self.machine.clone(), hangs: false }
    }

    /// Runs `ops` from reset; returns when each instruction is accepted, and the other events.
    ///
    /// Stops at the first instruction that the decoder can never pass on.
    pub fn run(&self, ops: &[Op]) -> Timeline {
        self.run_for(ops, None)
    }

    /// Runs like [`Self::run`], and reports the work of each unit to `observer`, instruction by
    /// instruction.
    pub fn run_observed(&self, ops: &[Op], observer: &mut dyn FnMut(Slice)) -> Timeline {
        self.run_for(ops, Some(observer))
    }

    /// Runs like [`Self::run_observed`], with an optional observer.
    fn run_for(&self, ops: &[Op], mut observer: Option<&mut dyn FnMut(Slice)>) -> Timeline {
        let phase = Phase::detail("time instructions", ops.len());
        let mut run = Run::new(self.machine.clone());
        let mut instructions = ops.iter().enumerate();
        while let Some((index, op)) = instructions.next()
            && run.step(index, op).is_some()
        {
            if let Some(observer) = &mut observer {
                run.machine.spans().slices(index).for_each(observer);
            }
            phase.tick(index);
        }
        run.finish(ops)
    }

    /// Runs like [`Self::run`], and reports to `observer` the work of each unit, its amount, and
    /// its waits, instruction by instruction. For one unit, slices of work come in order, and so do
    /// waits.
    pub fn run_traced(&self, ops: &[Op], observer: &mut dyn FnMut(Happening)) -> Timeline {
        let mut run = Run::new(self.machine.clone());
        run.machine.watch_stalls();
        let mut before = run.machine.work();
        for (index, op) in ops.iter().enumerate() {
            let Some(held) = run.advance(index, op) else { break };
            run.machine.obey(op);
            let work = run.machine.work();
            for slice in run.machine.spans().slices(index) {
                let unit = slice.unit as usize;
                let busy = if slice.unit == Unit::Decoder { 1 } else { work[unit] - before[unit] };
                observer(Happening::Work(slice, busy));
            }
            before = work;
            held.waiting(index).into_iter().for_each(|wait| observer(Happening::Wait(wait)));
            let stalls = run.machine.take_stalls();
            waits(index, &stalls).into_iter().for_each(|wait| observer(Happening::Wait(wait)));
        }
        run.finish(ops)
    }

    /// Runs like [`Self::run`], and passes the sampling unit's words to `sink`, with the given
    /// interval until the program configures another. After the program, sampling continues up to a
    /// multiple of `block` samples, where the hardware asserts TLAST; after a hang it stops.
    ///
    /// By the specification, when the interval becomes 0, invalid samples complete the block, one
    /// per cycle. They also form a first block without any other samples.
    pub fn run_sampled(
        &self,
        ops: &[Op],
        interval: u16,
        block: u32,
        sink: &mut dyn FnMut(Sample),
    ) -> Timeline {
        let mut run = Run::new(self.machine.clone());
        run.machine.configure(Register::SampleInterval, interval.into());
        run.machine.watch();
        let mut sampler = Sampler::new(sink, block.max(1).into());
        if !run.sample(ops, &mut sampler) {
            return run.finish(ops);
        }
        let mut machine = run.machine.clone();
        let timeline = run.finish(ops);
        sampler.idle(&mut machine, timeline.total);
        timeline
    }

    /// Runs like [`Self::run`], and passes to `sink` the words for the intervals that the program
    /// sets, while the decoder has instructions. By the specification, these include the invalid
    /// samples that complete a block of `block`.
    pub fn run_sampling(&self, ops: &[Op], block: u32, sink: &mut dyn FnMut(Sample)) -> Timeline {
        let mut run = Run::new(self.machine.clone());
        let is_interval = |op: &Op| matches!(op, Op::Configure { register, .. } if *register == Register::SampleInterval as u8);
        // If a program samples, the units' events must be kept until a sample has used them.
        if ops.iter().any(is_interval) {
            run.machine.watch();
        }
        let mut sampler = Sampler::new(sink, block.max(1).into());
        run.sample(ops, &mut sampler);
        sampler.end(&run.machine);
        run.finish(ops)
    }
}

/// A run that only measures time; instructions are added one by one.
#[derive(Clone, Debug)]
pub struct Meter {
    machine: Machine,
    /// Whether an instruction was never accepted.
    hangs: bool,
}

impl Meter {
    /// Adds an instruction. An instruction that hangs adds nothing.
    pub fn push(&mut self, op: &Op) {
        match self.machine.step(op) {
            Ok(_) => self.machine.obey(op),
            Err(_) => self.hangs = true,
        }
    }

    /// Adds an instruction like [`Self::push`]. Returns for each row of a product the cycles at
    /// which it enters the array and its result leaves; nothing for other instructions.
    pub fn rows(&mut self, op: &Op) -> Vec<(u64, u64)> {
        let rows = self.machine.step_rows(op);
        if rows.is_ok() {
            self.machine.obey(op);
        }
        self.hangs |= rows.is_err();
        // Default: an instruction that hangs has no rows.
        rows.unwrap_or_default()
    }

    /// Adds instructions like [`Self::push`].
    pub fn run(&mut self, ops: &[Op]) {
        self.hangs |= recurring::run(&mut self.machine, ops);
    }

    /// Returns the bus cycles per vector read, and the cycles until the first one arrives.
    pub const fn reads(&self) -> (u64, u64) {
        let (_, (params, packing), _) = self.machine.design();
        (packing.beats(), params.read_latency)
    }

    /// Whether an instruction was never accepted.
    pub const fn hangs(&self) -> bool {
        self.hangs
    }

    /// Returns the cycle of the last event so far that is part of [`Timeline::total`].
    pub fn cycles(&self) -> u64 {
        self.machine.total()
    }
}

/// A run in progress.
struct Run {
    machine: Machine,
    timeline: Timeline,
    /// Index of the last instruction that writes to the accumulators.
    writer: usize,
    /// Index of the instruction that is never accepted, with details.
    stuck: Option<(usize, Stuck)>,
}

impl Run {
    fn new(machine: Machine) -> Self {
        Self { machine, timeline: Timeline::default(), writer: 0, stuck: None }
    }

    /// Runs the next instruction; `None` if it is never accepted.
    fn step(&mut self, index: usize, op: &Op) -> Option<()> {
        self.advance(index, op)?;
        self.machine.obey(op);
        Some(())
    }

    /// Runs the instructions with sampling; `false` if one is never accepted.
    fn sample(&mut self, ops: &[Op], sampler: &mut Sampler<'_>) -> bool {
        for (index, op) in ops.iter().enumerate() {
            let Some(held) = self.advance(index, op) else { return false };
            sampler.held(&mut self.machine, held);
            self.machine.obey(op);
            sampler.obeyed(&self.machine, op, held.until);
        }
        true
    }

    /// Runs the next instruction like [`Self::step`], but does not apply it to the decoder's
    /// registers.
    fn advance(&mut self, index: usize, op: &Op) -> Option<DecoderHold> {
        match self.machine.step(op) {
            Ok(held) => {
                self.timeline.accepted(held);
                self.signals(index, held);
                self.look_for_loss(index, op);
                self.look_for_moves(index, op, held);
                Some(held)
            }
            Err(stuck) => {
                self.stuck = Some((index, stuck));
                None
            }
        }
    }

    /// Records whether an addition of the instruction makes hardware lose the preceding write.
    fn look_for_loss(&mut self, index: usize, op: &Op) {
        let Some(address) = first_written(op) else { return };
        if self.machine.take_reads_early() {
            self.timeline.lost.push(LostWrite { first: self.writer, second: index, address });
        }
        self.writer = index;
    }

    /// Records whether an offset changes before all write addresses of its bank have been issued.
    fn look_for_moves(&mut self, configure: usize, op: &Op, held: DecoderHold) {
        if let Some(bank) = offset_changed(self.machine.configuration(), op)
            && self.machine.last_write_address(bank) > held.until
        {
            self.timeline.moved.push(MovedWrites { configure, bank });
        }
    }

    /// Updates the flags for the time that the decoder held an instruction.
    fn signals(&mut self, index: usize, held: DecoderHold) {
        let configuration = self.machine.configuration();
        let timeout = u64::from(configuration.get(Register::Timeout));
        if held.waited() >= timeout {
            self.timeline.timeout.high(index, held.from + timeout, held.until);
        }
        if configuration.at_tracepoint() {
            self.timeline.tracepoint.high(index, held.from, held.until);
        }
    }

    fn finish(mut self, ops: &[Op]) -> Timeline {
        self.machine.finish(&mut self.timeline);
        if let Some((index, Stuck { from, unit })) = self.stuck {
            let configuration = self.machine.configuration();
            let timeout = u64::from(configuration.get(Register::Timeout));
            self.timeline.timeout.for_ever(index, from + timeout);
            self.timeline.hang = Some(Hang::new(ops, index, unit, configuration.reading()));
        }
        self.timeline
    }
}

/// Maximum latency that a caller may set, so that no sum of cycles overflows.
const LONGEST_LATENCY: u64 = 1 << 20;
