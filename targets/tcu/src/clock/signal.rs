//! The decoder's flags to the outside: [`Signal`], high now and then.

use super::queue::Cycle;

/// When a flag was high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// How often it rose.
    pub times: u64,
    /// Cycles in which it was high while the decoder held an instruction.
    pub cycles: u64,
    /// The instruction at the decoder and the cycle when it rose first.
    pub first: Option<(usize, u64)>,
    /// The cycle in which it rose last.
    pub last: u64,
    /// The cycle after the last in which it was high.
    end: Cycle,
}

impl Signal {
    /// High from `from` to `until`, while the decoder held instruction `instruction`.
    pub(super) fn high(&mut self, instruction: usize, from: Cycle, until: Cycle) {
        if self.end != from || self.times == 0 {
            self.rise(instruction, from);
        }
        self.cycles += until + 1 - from;
        self.end = until + 1;
    }

    /// Rises at `from` and stays high.
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
