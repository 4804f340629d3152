//! The sampling unit: [`Sampler`], which looks at the decoder's handshakes at a fixed interval of cycles.

use super::machine::Machine;
use super::queue::{Cycle, NEVER};
use crate::clock::held::Held;
use crate::clock::samples::{Port, Sample};
use crate::config::Reading;
use crate::isa::op::{Op, Register};

/// Counts cycles to the next sample.
pub(super) struct Sampler<'a> {
    sink: &'a mut dyn FnMut(Sample),
    /// Samples taken.
    count: u64,
    /// Samples of a block.
    block: u64,
    /// When the next one is due, while samples are taken.
    next: Option<Cycle>,
    /// Invalid samples that are still to come, one a cycle, and when the next of them does.
    invalid: u64,
    fill: Cycle,
}

impl<'a> Sampler<'a> {
    /// Gives its samples to `sink`.
    pub(super) fn new(sink: &'a mut dyn FnMut(Sample), block: u64) -> Self {
        Self { sink, count: 0, block, next: None, invalid: 0, fill: 0 }
    }

    /// The samples up to the end of an instruction that the decoder held: all of them are known now.
    pub(super) fn held(&mut self, machine: &mut Machine, held: Held) {
        self.start(machine, 0);
        while let Some(at) = self.next.filter(|at| *at <= held.until) {
            let valid = at >= held.from;
            self.take(machine, at, (valid, !valid || at == held.until));
        }
        self.give_invalid(held.until);
    }

    /// The decoder obeyed the instruction it held until `until`: there may be another interval.
    pub(super) fn obeyed(&mut self, machine: &Machine, op: &Op, until: Cycle) {
        if machine.interval() == 0 {
            self.next = None;
            let is_told =
                matches!(op, Op::Configure { register, .. } if *register == Register::SampleInterval as u8);
            self.complete(machine, is_told, until + 1);
        }
        self.start(machine, until + 1);
    }

    /// The samples up to cycle `until`, while the decoder has nothing to do; then as many as are
    /// missing to whole blocks.
    pub(super) fn idle(&mut self, machine: &mut Machine, until: Cycle) {
        self.start(machine, 0);
        while let Some(at) = self.next.filter(|at| *at <= until || !self.count.is_multiple_of(self.block)) {
            self.take(machine, at, (false, true));
        }
        self.give_invalid(NEVER);
        self.complete(machine, true, until);
        self.give_invalid(NEVER);
    }

    /// The program is over: where nothing more is sampled, invalid samples come until the block is complete.
    pub(super) fn end(&mut self, machine: &Machine) {
        if machine.interval() == 0 {
            self.give_invalid(NEVER);
        }
    }

    /// Nothing is sampled from `from` on: a block that was begun is to be completed, and so is a first one if that is told. The
    /// released hardware streams nothing instead.
    fn complete(&mut self, machine: &Machine, is_told: bool, from: Cycle) {
        let are_there = machine.configuration().reading() == Reading::Seed;
        let missing = self.block - self.count % self.block;
        let is_first = is_told && self.count == 0;
        if are_there && self.invalid == 0 && (is_first || missing < self.block) {
            (self.invalid, self.fill) = (missing, from);
        }
    }

    /// Gives the invalid samples of the cycles up to `until`.
    fn give_invalid(&mut self, until: Cycle) {
        while self.invalid > 0 && self.fill <= until {
            (self.sink)(Sample::INVALID);
            self.count += 1;
            self.invalid -= 1;
            self.fill += 1;
        }
    }

    /// The first sample comes in the first cycle with an interval.
    fn start(&mut self, machine: &Machine, at: Cycle) {
        if self.next.is_none() && machine.interval() > 0 {
            self.next = Some(at);
        }
    }

    /// The sample of a cycle of which all is known, which is dropped if an invalid one has its place; `instruction` is valid and
    /// ready at the decoder.
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
