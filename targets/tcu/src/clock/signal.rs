//! Output flags of the decoder: [`Signal`].

use super::queue::Cycle;

/// Periods in which a flag was high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// Number of rising edges.
    pub times: u64,
    /// Number of cycles in which the flag was high while the decoder held an instruction.
    pub cycles: u64,
    /// Instruction at the decoder and cycle of the first rising edge; `None` if the flag never
    /// rose.
    pub first: Option<(usize, u64)>,
    /// Cycle of the last rising edge.
    pub last: u64,
    /// Cycle after the last one in which the flag was high.
    end: Cycle,
}

impl Signal {
    /// Records that the flag was high from `from` to `until`, while the decoder held instruction
    /// `instruction`.
    pub(super) fn high(&mut self, instruction: usize, from: Cycle, until: Cycle) {
        if self.end != from || self.times == 0 {
            self.rise(instruction, from);
        }
        self.cycles += until + 1 - from;
        self.end = until + 1;
    }

    /// Records that the flag rises at `from` and stays high.
    pub(super) fn for_ever(&mut self, instruction: usize, from: Cycle) {
        self.rise(instruction, from);
    }

    fn rise(&mut self, instruction: usize, from: Cycle) {
        self.times += 1;
        self.last = from;
        self.first.get_or_insert((instruction, from));
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;

    #[test]
    fn a_flag_that_stays_high_over_several_instructions_rises_once() {
        let mut signal = Signal::default();
        let seen = |signal: &Signal| (signal.times, signal.cycles, signal.first, signal.last);
        signal.high(0, 0, 2);
        assert_eq!(seen(&signal), (1, 3, Some((0, 0)), 0));
        signal.high(1, 3, 3);
        assert_eq!(seen(&signal), (1, 4, Some((0, 0)), 0));
        signal.high(4, 10, 12);
        assert_eq!(seen(&signal), (2, 7, Some((0, 0)), 10));
        signal.for_ever(6, 20);
        assert_eq!(seen(&signal), (3, 7, Some((0, 0)), 20));
    }
}
