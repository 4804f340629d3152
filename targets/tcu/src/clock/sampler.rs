//! The sampling unit: [`Sampler`], which records the decoder's handshakes at a fixed interval of
//! cycles.

use super::machine::Machine;
use super::queue::{Cycle, NEVER};
use crate::clock::held::DecoderHold;
use crate::clock::samples::{Port, Sample};
use crate::config::Reading;
use crate::isa::op::{Op, Register};

/// Produces samples and counts the cycles to the next one.
pub(super) struct Sampler<'a> {
    sink: &'a mut dyn FnMut(Sample),
    /// Number of samples produced.
    count: u64,
    /// Number of samples per block.
    block: u64,
    /// Cycle of the next sample; `None` while sampling is off.
    next: Option<Cycle>,
    /// Number of invalid samples still to come, one per cycle; `fill` is the cycle of the next.
    invalid: u64,
    fill: Cycle,
}

impl<'a> Sampler<'a> {
    /// Creates a sampler that passes its samples to `sink`.
    pub(super) fn new(sink: &'a mut dyn FnMut(Sample), block: u64) -> Self {
        Self { sink, count: 0, block, next: None, invalid: 0, fill: 0 }
    }

    /// Produces the samples up to the end of an instruction that the decoder held; all their events
    /// are known now.
    pub(super) fn held(&mut self, machine: &mut Machine, held: DecoderHold) {
        self.start(machine, 0);
        while let Some(at) = self.next.filter(|at| *at <= held.until) {
            let valid = at >= held.from;
            self.take(machine, at, (valid, !valid || at == held.until));
        }
        self.give_invalid(held.until);
    }

    /// Applies an instruction that the decoder held until `until`; it may change the interval.
    pub(super) fn obeyed(&mut self, machine: &Machine, op: &Op, until: Cycle) {
        if machine.interval() == 0 {
            self.next = None;
            let is_shown =
                matches!(op, Op::Configure { register, .. } if *register == Register::SampleInterval as u8);
            self.complete(machine, is_shown, until + 1);
        }
        self.start(machine, until + 1);
    }

    /// Produces the samples up to cycle `until`, while the decoder is idle, and then completes the
    /// last block.
    pub(super) fn idle(&mut self, machine: &mut Machine, until: Cycle) {
        self.start(machine, 0);
        while let Some(at) = self.next.filter(|at| *at <= until || !self.count.is_multiple_of(self.block)) {
            self.take(machine, at, (false, true));
        }
        self.give_invalid(NEVER);
        self.complete(machine, true, until);
        self.give_invalid(NEVER);
    }

    /// Ends the program: if sampling is off, invalid samples complete the last block.
    pub(super) fn end(&mut self, machine: &Machine) {
        if machine.interval() == 0 {
            self.give_invalid(NEVER);
        }
    }

    /// Completes a started block with invalid samples, beginning at `from`, when sampling stops. A
    /// block without samples is also completed if `is_told` is set. The released hardware streams
    /// nothing instead.
    fn complete(&mut self, machine: &Machine, is_shown: bool, from: Cycle) {
        let are_there = machine.configuration().reading() == Reading::Seed;
        let missing = self.block - self.count % self.block;
        let is_first = is_shown && self.count == 0;
        if are_there && self.invalid == 0 && (is_first || missing < self.block) {
            (self.invalid, self.fill) = (missing, from);
        }
    }

    /// Produces the invalid samples of the cycles up to `until`.
    fn give_invalid(&mut self, until: Cycle) {
        while self.invalid > 0 && self.fill <= until {
            (self.sink)(Sample::INVALID);
            self.count += 1;
            self.invalid -= 1;
            self.fill += 1;
        }
    }

    /// Starts sampling in the first cycle with a nonzero interval.
    fn start(&mut self, machine: &Machine, at: Cycle) {
        if self.next.is_none() && machine.interval() > 0 {
            self.next = Some(at);
        }
    }

    /// Produces the sample of a cycle. All events of the cycle must be known. The sample is dropped
    /// if an invalid sample takes its place. `instruction` is valid and ready at the decoder.
    fn take(&mut self, machine: &mut Machine, at: Cycle, instruction: (bool, bool)) {
        self.give_invalid(at);
        self.next = Some(at + machine.interval());
        if at < self.fill {
            return;
        }
        let counter = machine.configuration().program_counter();
        let sample = Port::ALL.into_iter().fold(Sample::new(counter), |sample, port| {
            let (valid, ready) = machine.handshake(port, at).unwrap_or(instruction);
            sample.with(port, valid, ready)
        });
        (self.sink)(sample);
        self.count += 1;
    }
}
