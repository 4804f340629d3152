//! The systolic array: [`Array`].

use std::collections::VecDeque;

use super::queue::{Cycle, NEVER, Pass, Queue};

/// Rows enter one a cycle, in order; a result comes 2N-1 cycles after its row; weights wait until
/// all results are out.
#[derive(Clone, Debug)]
pub(super) struct Array {
    /// Instructions.
    pub(super) instructions: Pass,
    /// Single rows.
    rows: Queue,
    latency: Cycle,
    /// The last row of either kind.
    last: Cycle,
    /// The first cycle in which weights may be shifted.
    drained: Cycle,
    /// When the accumulators wait for results, as first and last cycles, not before the last row.
    windows: VecDeque<(Cycle, Cycle)>,
    /// The last shift of weights.
    pub(super) loaded: Cycle,
    /// Rows computed and shifted.
    pub(super) computed_rows: u64,
    pub(super) weight_rows: u64,
    /// Cycles a row was there and the accumulators did not wait for a result.
    pub(super) blocked: u64,
    /// Cycles weights were there and results were on their way.
    pub(super) draining: u64,
}

impl Array {
    pub(super) fn new(array_size: usize) -> Self {
        Self {
            instructions: Pass::new(2 * array_size),
            rows: Queue::default(),
            latency: (2 * array_size as u64).saturating_sub(1),
            last: 0,
            drained: 0,
            windows: VecDeque::new(),
            loaded: 0,
            computed_rows: 0,
            weight_rows: 0,
            blocked: 0,
            draining: 0,
        }
    }

    /// The control of a row of an instruction queued at `queued`: when it leaves the instruction,
    /// and from when on it is at the array.
    pub(super) fn expand(&mut self, queued: Cycle) -> (Cycle, Cycle) {
        let entered = self.rows.enter(queued);
        (entered, entered + 1)
    }

    /// A row of weights that is there from `offered` on is shifted in.
    pub(super) fn load(&mut self, offered: Cycle) -> Cycle {
        let offered = offered.max(self.last + 1);
        let at = offered.max(self.drained);
        self.draining += waited(offered, at);
        self.rows.leave(at);
        self.last = at;
        self.loaded = at;
        self.weight_rows += 1;
        at
    }

    /// A row that is there from `offered` on enters, and its result, which is taken from `taken`
    /// on, leaves: when. A row enters only in cycles in which the accumulators wait for a result,
    /// be it that of a row before.
    pub(super) fn compute(&mut self, offered: Cycle, taken: Cycle) -> (Cycle, Cycle) {
        let offered = offered.max(self.last + 1);
        while self.windows.front().is_some_and(|&(_, end)| end < offered) {
            self.windows.pop_front();
        }
        let at = offered.max(self.windows.front().map_or(taken, |&(start, _)| start));
        self.blocked += waited(offered, at);
        let result = taken.max(at + self.latency);
        match self.windows.back_mut() {
            Some((_, end)) if taken <= *end + 1 => *end = result,
            _ => self.windows.push_back((taken, result)),
        }
        self.rows.leave(at);
        self.last = at;
        self.drained = at + self.latency + 1;
        self.computed_rows += 1;
        (at, result)
    }
}

/// Cycles between both, of which those without an end do not count.
const fn waited(offered: Cycle, at: Cycle) -> u64 {
    if at < NEVER { at - offered } else { 0 }
}
