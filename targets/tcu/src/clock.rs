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
//! Not modelled: memory that makes addresses or data wait, the converters of designs with two clocks, the
//! lock of local memory (it was never seen to delay anything), and sizes that differ between units. A slower
//! memory may now and then let a single instruction be accepted earlier: reads of a port depend on who read before.
//!
//! When additions read the accumulators is known, and with it which additions are lost ([`Timeline::lost`],
//! [`crate::clock::hazard`]).
//!
//! `queue` has the queues; each unit is a module of its own: `machine` with the decoder and port A, `router`,
//! `array`, `accumulator` with its `lock` and `tables`, `alu`, `host`, `dram`, and `sampler`, which looks at the others. What they did and
//! waited for is in `slice` and `stall`.
//!
//! Of the configuration registers the timeout, the tracepoint, the program counter and the sample interval
//! matter here. Offsets take no time: they are whole pages, which bursts do not cross in any case; but they move
//! writes whose addresses are made later ([`Timeline::moved`]).

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

use crate::clock::held::Held;
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
    /// A bus that there is not, or of which a burst does not hold a vector.
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

    /// A run that starts at reset, of which only the time is asked.
    pub fn meter(&self) -> Meter {
        Meter { machine: self.machine.clone(), hangs: false }
    }

    /// When the instructions of `ops` are accepted and what else happens, from reset on.
    ///
    /// Stops at the first instruction that the decoder can never hand on.
    pub fn run(&self, ops: &[Op]) -> Timeline {
        self.run_for(ops, None)
    }

    /// As [`Self::run`]; tells `observer` what each unit does, instruction by instruction.
    pub fn run_observed(&self, ops: &[Op], observer: &mut dyn FnMut(Slice)) -> Timeline {
        self.run_for(ops, Some(observer))
    }

    /// As [`Self::run_observed`], for somebody or nobody.
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

    /// As [`Self::run`]; tells `observer` what each unit does, how much of it, and what it waits for, instruction by
    /// instruction. On one unit slices of work come in order, and so do waits.
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

    /// As [`Self::run`]; gives `sink` the sampling unit's words, first those of the interval given and,
    /// when the program configures another one, then of that. After the program, samples go on until
    /// there are whole blocks of `block`, with whose last word the hardware asserts TLAST; after a hang they end. By the
    /// page, what is missing to a block when the interval becomes 0 are invalid samples, one a cycle, and so is a first block
    /// without any other.
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

    /// As [`Self::run`]; gives `sink` the words of the intervals that the program sets, while the decoder has instructions; by the
    /// page with the invalid samples that complete a block of `block`.
    pub fn run_sampling(&self, ops: &[Op], block: u32, sink: &mut dyn FnMut(Sample)) -> Timeline {
        let mut run = Run::new(self.machine.clone());
        let is_interval = |op: &Op| matches!(op, Op::Configure { register, .. } if *register == Register::SampleInterval as u8);
        // What units do is kept until it is sampled.
        if ops.iter().any(is_interval) {
            run.machine.watch();
        }
        let mut sampler = Sampler::new(sink, block.max(1).into());
        run.sample(ops, &mut sampler);
        sampler.end(&run.machine);
        run.finish(ops)
    }
}

/// A run of which only the time is asked: instructions are added one by one.
#[derive(Clone, Debug)]
pub struct Meter {
    machine: Machine,
    /// Whether an instruction was never accepted.
    hangs: bool,
}

impl Meter {
    /// Adds an instruction. One that hangs adds nothing.
    pub fn push(&mut self, op: &Op) {
        match self.machine.step(op) {
            Ok(_) => self.machine.obey(op),
            Err(_) => self.hangs = true,
        }
    }

    /// Adds instructions, as [`Self::push`] does one by one.
    pub fn run(&mut self, ops: &[Op]) {
        self.hangs |= recurring::run(&mut self.machine, ops);
    }

    /// Cycles of a vector that is read on the bus, and until the first one is there.
    pub const fn reads(&self) -> (u64, u64) {
        let (_, (params, packing), _) = self.machine.design();
        (packing.beats(), params.read_latency)
    }

    /// Whether an instruction was never accepted.
    pub const fn hangs(&self) -> bool {
        self.hangs
    }

    /// The last event so far that counts, as in [`Timeline::total`].
    pub fn cycles(&self) -> u64 {
        self.machine.total()
    }
}

/// A run under way.
struct Run {
    machine: Machine,
    timeline: Timeline,
    /// The last instruction that writes to the accumulators.
    writer: usize,
    /// The instruction that is never accepted.
    stuck: Option<(usize, Stuck)>,
}

impl Run {
    fn new(machine: Machine) -> Self {
        Self { machine, timeline: Timeline::default(), writer: 0, stuck: None }
    }

    /// Runs the next instruction; none when it is never accepted.
    fn step(&mut self, index: usize, op: &Op) -> Option<()> {
        self.advance(index, op)?;
        self.machine.obey(op);
        Some(())
    }

    /// Runs the instructions, and samples; false when one is never accepted.
    fn sample(&mut self, ops: &[Op], sampler: &mut Sampler<'_>) -> bool {
        for (index, op) in ops.iter().enumerate() {
            let Some(held) = self.advance(index, op) else { return false };
            sampler.held(&mut self.machine, held);
            self.machine.obey(op);
            sampler.obeyed(&self.machine, op, held.until);
        }
        true
    }

    /// As [`Self::step`], up to where the decoder obeys it.
    fn advance(&mut self, index: usize, op: &Op) -> Option<Held> {
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

    /// Whether an addition of the instruction makes the hardware lose the write before it.
    fn look_for_loss(&mut self, index: usize, op: &Op) {
        let Some(address) = first_written(op) else { return };
        if self.machine.take_reads_early() {
            self.timeline.lost.push(LostWrite { first: self.writer, second: index, address });
        }
        self.writer = index;
    }

    /// Whether an offset changes before all addresses of writes to its bank have been made.
    fn look_for_moves(&mut self, configure: usize, op: &Op, held: Held) {
        if let Some(bank) = offset_changed(self.machine.configuration(), op)
            && self.machine.last_write_address(bank) > held.until
        {
            self.timeline.moved.push(MovedWrites { configure, bank });
        }
    }

    /// The flags while the decoder held an instruction.
    fn signals(&mut self, index: usize, held: Held) {
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
            self.timeline.hang = Some(Hang::new(ops, (index, unit), configuration.reading()));
        }
        self.timeline
    }
}

/// Bounds what a caller can ask for, so that no sum of cycles overflows.
const LONGEST_LATENCY: u64 = 1 << 20;
