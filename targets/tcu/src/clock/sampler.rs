//! The sampling unit: [`Sampler`], which looks at the decoder's handshakes at a fixed interval of cycles.

use super::machine::{Held, Machine};
use super::queue::Cycle;
use crate::config::Reading;
use crate::samples::{Port, Sample};

/// Counts cycles to the next sample.
pub(super) struct Sampler<'a> {
    sink: &'a mut dyn FnMut(Sample),
    /// Samples taken.
    count: u64,
    /// Samples of a block.
    block: u64,
    /// When the next one is due, while samples are taken.
    next: Option<Cycle>,
}

impl<'a> Sampler<'a> {
    /// Gives its samples to `sink`.
    pub(super) fn new(sink: &'a mut dyn FnMut(Sample), block: u64) -> Self {
        Self { sink, count: 0, block, next: None }
    }

    /// The samples up to the end of an instruction that the decoder held: all of them are known now.
    pub(super) fn held(&mut self, machine: &mut Machine, held: Held) {
        self.start(machine, 0);
        while let Some(at) = self.next.filter(|at| *at <= held.until) {
            let valid = at >= held.from;
            self.take(machine, at, (valid, !valid || at == held.until));
        }
    }

    /// The decoder obeyed the instruction it held until `until`: there may be another interval.
    pub(super) fn obeyed(&mut self, machine: &Machine, until: Cycle) {
        if machine.interval() == 0 {
            self.next = None;
            self.complete(machine);
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
        if self.count == 0 {
            self.give_invalid(machine);
        }
        self.complete(machine);
    }

    /// Ends the block that was begun while nothing is sampled.
    fn complete(&mut self, machine: &Machine) {
        while !self.count.is_multiple_of(self.block) && self.give_invalid(machine) {}
    }

    /// Gives an invalid sample, where there are such: the released hardware streams nothing instead.
    fn give_invalid(&mut self, machine: &Machine) -> bool {
        let are_there = machine.configuration().reading() == Reading::Seed;
        if are_there {
            (self.sink)(Sample::INVALID);
            self.count += 1;
        }
        are_there
    }

    /// The first sample comes in the first cycle with an interval.
    fn start(&mut self, machine: &Machine, at: Cycle) {
        if self.next.is_none() && machine.interval() > 0 {
            self.next = Some(at);
        }
    }

    /// The sample of a cycle of which all is known; `instruction` is valid and ready at the decoder.
    fn take(&mut self, machine: &mut Machine, at: Cycle, instruction: (bool, bool)) {
        let counter = machine.configuration().program_counter();
        let sample = Port::ALL.into_iter().fold(Sample::new(counter), |sample, port| {
            let (valid, ready) = machine.handshake(port, at).unwrap_or(instruction);
            sample.with(port, valid, ready)
        });
        (self.sink)(sample);
        self.count += 1;
        self.next = Some(at + machine.interval());
    }
}
