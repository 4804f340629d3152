//! The systolic array: [`Array`].

use std::collections::VecDeque;

use super::queue::{Cycle, Pass, Queue};
use super::stall::{Stall, StallMeter};
use super::watch::Watch;
use crate::config::Config;

/// Timing state of the systolic array. Rows enter in order, one per cycle. A result leaves 2N-1
/// cycles after its row, or 2N with registered rows. Weights wait until all elements are idle.
#[derive(Clone, Debug)]
pub(super) struct Array {
    /// Queue of instructions.
    pub(super) instructions: Pass,
    /// Queue of single rows.
    rows: Queue,
    /// Cycles from a row to its result.
    latency: Cycle,
    /// Cycles in which the elements work on a row.
    element_cycles: Cycle,
    /// Cycle of the last row, of inputs or weights.
    last: Cycle,
    /// First cycle in which weights may be shifted.
    drained: Cycle,
    /// Periods in which the accumulators wait for results, as first and last cycles. Periods that
    /// end before the last row are dropped, and adjacent periods are merged.
    windows: VecDeque<(Cycle, Cycle)>,
    /// Cycle of the last shift of weights.
    pub(super) loaded: Cycle,
    /// Weights loaded while others are in use; `None` if the instance does not support it.
    second: Option<WeightLoads>,
    /// Results in flight, from their rows until they are taken; `None` if rows enter only after
    /// their results have been requested.
    ahead: Option<Pass>,
    /// Number of input rows computed.
    pub(super) computed_rows: u64,
    pub(super) weight_rows: u64,
    pub(super) stalls: StallMeter,
    /// Observed handshakes of single rows.
    watch: Watch,
    /// Cycles at which each input row enters and its result leaves; `None` unless recorded.
    record: Option<Vec<(Cycle, Cycle)>>,
}

impl Array {
    pub(super) fn new(config: &Config) -> Self {
        let Config { array_size, overlap, .. } = *config;
        let registers = usize::from(config.registered_rows);
        let element_cycles = (2 * array_size as u64).saturating_sub(1);
        Self {
            instructions: Pass::new(2 * array_size),
            rows: Queue::default(),
            latency: element_cycles + registers as u64,
            element_cycles,
            last: 0,
            drained: 0,
            windows: VecDeque::new(),
            loaded: 0,
            second: overlap.double_weights.then(|| WeightLoads::new(array_size)),
            ahead: overlap.pipelined_simd.then(|| Pass::new(2 * array_size + registers)),
            computed_rows: 0,
            weight_rows: 0,
            stalls: StallMeter::default(),
            watch: Watch::default(),
            record: None,
        }
    }

    /// Returns the handshakes of single rows, and the cycle at which there is room for the next
    /// one.
    pub(super) const fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.rows.room())
    }

    /// Begins to record the rows of products.
    pub(super) fn begin_record(&mut self) {
        self.record = Some(Vec::new());
    }

    /// Records a row, if rows are recorded.
    pub(super) fn note(&mut self, entered: Cycle, result: Cycle) {
        if let Some(record) = &mut self.record {
            record.push((entered, result));
        }
    }

    /// Ends the record and returns it: for each row, the cycles at which it entered and its result
    /// left.
    pub(super) fn end_record(&mut self) -> Vec<(Cycle, Cycle)> {
        // Default: nothing was recorded.
        self.record.take().unwrap_or_default()
    }

    /// Visits the times that change from row to row, so that a caller can compare or advance them.
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

    /// Visits all times, except for the number of windows.
    pub(super) fn all_times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.instructions.times(&mut visit);
        visit(&mut self.loaded);
        self.times(visit);
    }

    /// Drops windows that end before `head`, except one that can still grow; returns how many
    /// remain.
    pub(super) fn live_windows(&mut self, head: Cycle) -> usize {
        while self.windows.front().is_some_and(|&(_, end)| end + 1 < head) {
            self.windows.pop_front();
        }
        self.windows.len()
    }

    /// Sets the number of windows.
    pub(super) fn set_windows(&mut self, count: usize) {
        self.windows.resize(count, (0, 0));
    }

    /// Returns the cycles from a row to its result.
    pub(super) const fn latency(&self) -> Cycle {
        self.latency
    }

    /// Visits the counters that grow from row to row, so that a caller can advance them.
    #[inline]
    pub(super) fn counts(&mut self, mut visit: impl FnMut(&mut u64)) {
        visit(&mut self.computed_rows);
        self.stalls.sums.counts([Stall::ArrayForData, Stall::ArrayForAccumulators], visit);
    }

    /// Whether the only window is the window that still grows. With an earlier window, a row that
    /// passes the window's end would enter later.
    pub(super) fn is_settled(&self) -> bool {
        self.windows.len() == 1
    }

    /// Whether single rows are observed, so that none may be skipped.
    pub(super) const fn is_watched(&self) -> bool {
        self.watch.is_on() || self.stalls.is_watched() || self.record.is_some()
    }

    /// Handles the control of a row of an instruction queued at `queued`. Returns the cycles at
    /// which it leaves the instruction and reaches the array.
    pub(super) fn expand(&mut self, queued: Cycle) -> (Cycle, Cycle) {
        let room = self.rows.room();
        let entered = self.rows.enter(queued);
        self.watch.saw(queued, entered, room);
        (entered, entered + 1)
    }

    /// Shifts in a row of weights. Its control arrives at `control` and its data at `data`. Returns
    /// the cycle.
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

    /// Returns the unit that loads weights while others are in use; `None` if the instance does not
    /// have it.
    pub(super) const fn second(&mut self) -> Option<&mut WeightLoads> {
        self.second.as_mut()
    }

    /// Shifts in a row of weights while others are in use, and returns the cycle. For the first row
    /// of an instruction, `opens` is the number of its rows.
    pub(super) fn load_second(&mut self, queued: Cycle, data: Cycle, opens: Option<u64>) -> Cycle {
        let Some(second) = &mut self.second else { return queued };
        let at = second.shift(queued.max(data), opens);
        self.loaded = at;
        self.weight_rows += 1;
        at
    }

    /// Exchanges the weights in use for the weights that were loaded before a product. The
    /// product's instruction was queued at `queued`. The exchange takes one additional cycle.
    pub(super) fn exchange(&mut self, queued: Cycle) {
        let Some(loaded) = self.second.as_mut().and_then(WeightLoads::take_loaded) else { return };
        let (_, control) = self.expand(queued);
        let free = control.max(self.last + 1);
        let at = free.max(loaded + 1);
        self.stalls.add(Stall::ArrayForData, free, at);
        self.rows.leave(at);
        self.last = at;
        if let Some(second) = &mut self.second {
            second.exchanged(at);
        }
    }

    /// Returns the cycle in which a row can enter. Its control arrives at `control` and its data at
    /// `data`.
    fn offered(&mut self, control: Cycle, data: Cycle) -> Cycle {
        let free = control.max(self.last + 1);
        self.stalls.add(Stall::ArrayForData, free, data);
        free.max(data)
    }

    /// Enters a row. Its control arrives at `control`, its data at `data`, and its result can be
    /// taken at `taken`. Returns the cycles in which the row enters and the result leaves. A row
    /// enters only while the accumulators wait for a result, possibly an earlier row's result.
    pub(super) fn compute(&mut self, control: Cycle, data: Cycle, taken: Cycle) -> (Cycle, Cycle) {
        let offered = self.offered(control, data);
        if let Some(ahead) = &mut self.ahead {
            // A place in the buffer becomes free one cycle after its result is taken.
            let at = offered.max(ahead.room() + 1);
            let result = taken.max(at + self.latency);
            ahead.leave(result);
            self.stalls.add(Stall::ArrayForAccumulators, offered, at);
            self.rows.leave(at);
            self.last = at;
            self.drained = at + self.element_cycles + 1;
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
        self.drained = at + self.element_cycles + 1;
        self.computed_rows += 1;
        (at, result)
    }
}

/// Weights that are loaded while others are in use.
#[derive(Clone, Debug)]
pub(super) struct WeightLoads {
    /// Queue of loading instructions.
    pub(super) instructions: Pass,
    /// Whether weights have been loaded since the last product.
    is_loaded: bool,
    /// Cycle of the last shift.
    last: Cycle,
    /// Cycle of the last exchange; `None` before the first.
    exchanged: Option<Cycle>,
    /// Number of rows and columns of the array.
    size: u64,
}

/// Number of load instructions that can wait for the array.
pub(super) const LOADS: usize = 4;

impl WeightLoads {
    fn new(array_size: usize) -> Self {
        let size = array_size as u64;
        Self { instructions: Pass::new(LOADS), is_loaded: false, last: 0, exchanged: None, size }
    }

    /// Shifts in a row of weights that arrives at `offered`, and returns the cycle. The first row
    /// of a set waits for the last exchange of weights. A set that replaces all weights may
    /// directly follow the exchange. A smaller set waits until all rows have taken their elements.
    fn shift(&mut self, offered: Cycle, opens: Option<u64>) -> Cycle {
        let behind = |rows: u64| if rows >= self.size { 1 } else { self.size.saturating_sub(1) };
        let waits = opens.filter(|_| !self.is_loaded).zip(self.exchanged);
        let free = waits.map_or(0, |(rows, exchanged)| exchanged + behind(rows));
        self.is_loaded = true;
        self.last = offered.max(self.last + 1).max(free);
        self.last
    }

    /// Returns the cycle of the last shift, if there was one since the last call.
    const fn take_loaded(&mut self) -> Option<Cycle> {
        if std::mem::replace(&mut self.is_loaded, false) { Some(self.last) } else { None }
    }

    /// Records an exchange. It passes through the array with the next row: column by column like
    /// shifts, and row by row after them.
    const fn exchanged(&mut self, at: Cycle) {
        self.exchanged = Some(at);
    }
}
