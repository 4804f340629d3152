//! What was seen of a handshake between the decoder and a unit: [`Watch`].

use std::collections::VecDeque;

use super::queue::Cycle;

/// Something offered and taken.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    /// It is there from then on, if what was before it is gone.
    offered: Cycle,
    taken: Cycle,
    /// There is room for it from then on.
    room: Cycle,
}

/// Remembers the handshakes that lie ahead of the samples taken; nothing while it is off.
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

    /// Something offered from `offered` on is taken at `taken`; there was room for it from `room` on.
    #[inline]
    pub(super) fn saw(&mut self, offered: Cycle, taken: Cycle, room: Cycle) {
        if self.on {
            self.ahead.push_back(Handshake { offered, taken, room });
        }
    }

    /// Valid and ready in cycle `at`, of which all is known; with nothing ahead there is room from
    /// `room` on. To be asked in order.
    pub(super) fn at(&mut self, at: Cycle, room: Cycle) -> (bool, bool) {
        while self.ahead.front().is_some_and(|handshake| handshake.taken < at) {
            self.ahead.pop_front();
        }
        // Nothing happens in cycle 0: what is free in the next one is free already.
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
