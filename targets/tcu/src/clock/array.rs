//! The systolic array: [`Array`].

use std::collections::VecDeque;

use super::queue::{Cycle, Pass, Queue};
use super::stall::{Stall, StallMeter};
use super::watch::Watch;
use crate::config::Overlap;

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
    /// When the accumulators wait for results, as first and last cycles, not before the last row. Those that follow
    /// each other without a gap are one.
    windows: VecDeque<(Cycle, Cycle)>,
    /// The last shift of weights.
    pub(super) loaded: Cycle,
    /// Where weights are loaded beside those at work.
    beside: Option<Beside>,
    /// Where rows enter before their results are asked for: results, from their rows on until they are taken.
    ahead: Option<Pass>,
    /// Rows computed and shifted.
    pub(super) computed_rows: u64,
    pub(super) weight_rows: u64,
    pub(super) stalls: StallMeter,
    /// Of single rows.
    watch: Watch,
}

impl Array {
    pub(super) fn new(array_size: usize, overlap: Overlap) -> Self {
        Self {
            instructions: Pass::new(2 * array_size),
            rows: Queue::default(),
            latency: (2 * array_size as u64).saturating_sub(1),
            last: 0,
            drained: 0,
            windows: VecDeque::new(),
            loaded: 0,
            beside: overlap.double_weights.then(|| Beside::new(array_size)),
            ahead: overlap.pipelined_simd.then(|| Pass::new(2 * array_size)),
            computed_rows: 0,
            weight_rows: 0,
            stalls: StallMeter::default(),
            watch: Watch::default(),
        }
    }

    /// The handshake by which single rows reach it.
    pub(super) const fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.rows.room())
    }

    /// What it keeps from row to row.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.rows.times(&mut visit);
        visit(&mut self.last);
        visit(&mut self.drained);
        for (start, end) in &mut self.windows {
            visit(start);
            visit(end);
        }
    }

    /// What it keeps from instruction to instruction, but for the number of windows.
    pub(super) fn all_times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.instructions.times(&mut visit);
        visit(&mut self.loaded);
        self.times(visit);
    }

    /// Forgets the windows that no row from `head` on meets, and none that grows; how many are left.
    pub(super) fn live_windows(&mut self, head: Cycle) -> usize {
        while self.windows.front().is_some_and(|&(_, end)| end + 1 < head) {
            self.windows.pop_front();
        }
        self.windows.len()
    }

    /// There are so many windows.
    pub(super) fn set_windows(&mut self, count: usize) {
        self.windows.resize(count, (0, 0));
    }

    /// Cycles from a row to its result.
    pub(super) const fn latency(&self) -> Cycle {
        self.latency
    }

    /// What it counts from row to row.
    #[inline]
    pub(super) fn counts(&mut self, mut visit: impl FnMut(&mut u64)) {
        visit(&mut self.computed_rows);
        self.stalls.sums.counts([Stall::ArrayForData, Stall::ArrayForAccumulators], visit);
    }

    /// Whether the accumulators wait in no window but the one that grows: a row that passes the end of one before it
    /// would enter later.
    pub(super) fn is_settled(&self) -> bool {
        self.windows.len() == 1
    }

    /// Whether somebody wants to see each row.
    pub(super) const fn is_watched(&self) -> bool {
        self.watch.is_on() || self.stalls.is_watched()
    }

    /// The control of a row of an instruction queued at `queued`: when it leaves the instruction,
    /// and from when on it is at the array.
    pub(super) fn expand(&mut self, queued: Cycle) -> (Cycle, Cycle) {
        let room = self.rows.room();
        let entered = self.rows.enter(queued);
        self.watch.saw(queued, entered, room);
        (entered, entered + 1)
    }

    /// A row of weights whose control is there from `control` on and whose data from `data` on is
    /// shifted in.
    pub(super) fn load(&mut self, control: Cycle, data: Cycle) -> Cycle {
        let offered = self.offered(control, data);
        let at = offered.max(self.drained);
        self.stalls.add(Stall::ArrayForResults, offered, at);
        self.rows.leave(at);
        self.last = at;
        self.loaded = at;
        self.weight_rows += 1;
        at
    }

    /// Instructions that load weights, where that is beside those at work.
    pub(super) const fn beside(&mut self) -> Option<&mut Beside> {
        self.beside.as_mut()
    }

    /// A row of weights is shifted in beside those at work: when. If it is the first of its instruction, `opens` is how many
    /// rows that has.
    pub(super) fn load_beside(&mut self, queued: Cycle, data: Cycle, opens: Option<u64>) -> Cycle {
        let Some(beside) = &mut self.beside else { return queued };
        let at = beside.shift(queued.max(data), opens);
        self.loaded = at;
        self.weight_rows += 1;
        at
    }

    /// Weights that were loaded before a product of an instruction queued at `queued` take the place of those at work: a step
    /// of its own.
    pub(super) fn exchange(&mut self, queued: Cycle) {
        let Some(loaded) = self.beside.as_mut().and_then(Beside::take_loaded) else { return };
        let (_, control) = self.expand(queued);
        let free = control.max(self.last + 1);
        let at = free.max(loaded + 1);
        self.stalls.add(Stall::ArrayForData, free, at);
        self.rows.leave(at);
        self.last = at;
        if let Some(beside) = &mut self.beside {
            beside.exchanged(at);
        }
    }

    /// When a row could enter that is there from `control` and `data` on.
    fn offered(&mut self, control: Cycle, data: Cycle) -> Cycle {
        let free = control.max(self.last + 1);
        self.stalls.add(Stall::ArrayForData, free, data);
        free.max(data)
    }

    /// A row that is there from `control` and `data` on enters, and its result, which is taken from
    /// `taken` on, leaves: when. A row enters only in cycles in which the accumulators wait for a
    /// result, be it that of a row before.
    pub(super) fn compute(&mut self, control: Cycle, data: Cycle, taken: Cycle) -> (Cycle, Cycle) {
        let offered = self.offered(control, data);
        if let Some(ahead) = &mut self.ahead {
            // A place is given up a cycle after its result is taken.
            let at = offered.max(ahead.room() + 1);
            let result = taken.max(at + self.latency);
            ahead.leave(result);
            self.stalls.add(Stall::ArrayForAccumulators, offered, at);
            self.rows.leave(at);
            self.last = at;
            self.drained = at + self.latency + 1;
            self.computed_rows += 1;
            return (at, result);
        }
        while self.windows.front().is_some_and(|&(_, end)| end < offered) {
            self.windows.pop_front();
        }
        let at = offered.max(self.windows.front().map_or(taken, |&(start, _)| start));
        self.stalls.add(Stall::ArrayForAccumulators, offered, at);
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

/// Weights that are loaded beside those at work.
#[derive(Clone, Debug)]
pub(super) struct Beside {
    /// Instructions that load.
    pub(super) instructions: Pass,
    /// Weights have been loaded since the last product.
    is_loaded: bool,
    /// The last shift.
    last: Cycle,
    /// The last exchange.
    exchanged: Option<Cycle>,
    /// Size of the array.
    size: u64,
}

/// Instructions that load weights and wait for the array.
pub(super) const LOADS: usize = 4;

impl Beside {
    fn new(array_size: usize) -> Self {
        let size = array_size as u64;
        Self { instructions: Pass::new(LOADS), is_loaded: false, last: 0, exchanged: None, size }
    }

    /// A row that is there from `offered` on: the first of a set waits for the exchange before. Of an instruction that replaces
    /// all weights it follows behind; of another one it waits until all rows of elements have taken theirs.
    fn shift(&mut self, offered: Cycle, opens: Option<u64>) -> Cycle {
        let behind = |rows: u64| if rows >= self.size { 1 } else { self.size.saturating_sub(1) };
        let waits = opens.filter(|_| !self.is_loaded).zip(self.exchanged);
        let free = waits.map_or(0, |(rows, exchanged)| exchanged + behind(rows));
        self.is_loaded = true;
        self.last = offered.max(self.last + 1).max(free);
        self.last
    }

    /// The last shift, if there were any since the last question.
    const fn take_loaded(&mut self) -> Option<Cycle> {
        if std::mem::replace(&mut self.is_loaded, false) { Some(self.last) } else { None }
    }

    /// The exchange goes through the array with the row after it, column by column like shifts, row by row after them.
    const fn exchanged(&mut self, at: Cycle) {
        self.exchanged = Some(at);
    }
}
