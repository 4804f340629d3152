//! Observed handshakes between the decoder and a unit: [`Watch`].

use std::collections::VecDeque;

use super::queue::Cycle;

/// A handshake: something offered and taken.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    /// Cycle at which it is offered, if its predecessor is gone.
    offered: Cycle,
    taken: Cycle,
    /// Cycle at which there is room for it.
    room: Cycle,
}

/// Records handshakes that are later than the last sample taken; records nothing while it is off.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    on: bool,
    ahead: VecDeque<Handshake>,
}

impl Watch {
    pub(super) const fn is_on(&self) -> bool {
        self.on
    }

    pub(super) const fn switch_on(&mut self) {
        self.on = true;
    }

    /// Records that something offered at `offered` was taken at `taken`, with room for it since
    /// `room`.
    #[inline]
    pub(super) fn saw(&mut self, offered: Cycle, taken: Cycle, room: Cycle) {
        if self.on {
            self.ahead.push_back(Handshake { offered, taken, room });
        }
    }

    /// Returns valid and ready in cycle `at`. All events of the cycle must be known. If no
    /// handshake is ahead, a place is free starting at `room`. Calls must have ascending cycles.
    pub(super) fn at(&mut self, at: Cycle, room: Cycle) -> (bool, bool) {
        while self.ahead.front().is_some_and(|handshake| handshake.taken < at) {
            self.ahead.pop_front();
        }
        // Nothing happens in cycle 0, so a place that is free in cycle 1 is also free in cycle 0.
        let free = |room| room <= at.max(1);
        match self.ahead.front() {
            Some(next) if next.offered <= at => (true, next.taken == at),
            Some(next) => (false, free(next.room)),
            None => (false, free(room)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;

    #[test]
    fn a_handshake_is_valid_from_its_offer_and_ready_as_it_is_taken() {
        let mut watch = Watch::default();
        watch.switch_on();
        watch.saw(5, 7, 4);
        watch.saw(8, 8, 8);
        let seen: Vec<_> = (0..11).map(|at| watch.at(at, 10)).collect();
        let (idle, full, offered, taken) = ((false, true), (false, false), (true, false), (true, true));
        assert_eq!(seen, [full, full, full, full, idle, offered, offered, taken, taken, full, idle]);
    }

    #[test]
    fn nothing_is_remembered_while_it_is_off() {
        let mut watch = Watch::default();
        watch.saw(5, 7, 4);
        assert_eq!([0, 1, 5, 7].map(|at| watch.at(at, 1)), [(false, true); 4]);
    }
}
