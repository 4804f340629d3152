//! [`Counter`]: sums or maxima over windows of equal width.

use crate::model::Track;

/// Quantity that a counter sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// Cycles of work, shown as a share of all cycles.
    Busy,
    /// Bytes, shown per cycle.
    Bytes,
}

/// Value of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Sum, per cycle.
    Sum(Sums),
    /// Maximum; the last level continues in the next window.
    Peak,
}

/// Number in windows. Time only advances: an event in a past window is added to the current one.
#[derive(Debug)]
pub(super) struct Counter {
    kind: Kind,
    /// Track, once it exists.
    pub(super) track: Option<Track>,
    /// Index of the current window.
    index: u64,
    amount: u64,
    /// Level at the end of the window, for a maximum.
    level: u64,
    shown: f64,
}

impl Counter {
    pub(super) const fn sum(sums: Sums) -> Self {
        Self { kind: Kind::Sum(sums), track: None, index: 0, amount: 0, level: 0, shown: 0.0 }
    }

    pub(super) const fn peak(track: Track) -> Self {
        Self { kind: Kind::Peak, track: Some(track), index: 0, amount: 0, level: 0, shown: 0.0 }
    }

    /// Returns the name and unit.
    pub(super) const fn shown(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Sum(Sums::Busy) => ("utilization", "%"),
            Kind::Sum(Sums::Bytes) => ("bytes a cycle", "B"),
            Kind::Peak => ("most", "number"),
        }
    }

    /// Adds an amount that is evenly distributed from `start` to `end`: cycles of work, bytes, or a
    /// level. Returns the finished values, with the cycle at which each starts.
    pub(super) fn add(
        &mut self,
        start: u64,
        end: u64,
        [busy, bytes]: [u64; 2],
        window: u64,
    ) -> Vec<(u64, f64)> {
        let mut values = Vec::new();
        match self.kind {
            Kind::Sum(Sums::Busy) => self.spread(start, end, busy, window, &mut values),
            Kind::Sum(Sums::Bytes) => self.spread(start, end, bytes, window, &mut values),
            Kind::Peak => {
                self.go_on(start / window, window, &mut values);
                self.level = busy;
                self.amount = self.amount.max(busy);
            }
        }
        values
    }

    /// Returns the remaining values.
    pub(super) fn finish(&mut self, end: u64, window: u64) -> Vec<(u64, f64)> {
        let mut values = Vec::new();
        let last = (end.max(1) - 1) / window;
        self.go_on(last, window, &mut values);
        self.show(end.max(self.index * window + 1) - self.index * window, window, &mut values);
        (self.amount, self.level) = (0, 0);
        self.put(end.max(self.index * window + 1), 0.0, &mut values);
        values
    }

    fn spread(&mut self, start: u64, end: u64, amount: u64, window: u64, values: &mut Vec<(u64, f64)>) {
        if amount == 0 {
            return;
        }
        let length = u128::from(end.saturating_sub(start).max(1)); // Default: an event without duration belongs to its cycle.
        let (mut at, mut done) = (start, 0);
        while done < amount {
            let index = (at / window).max(self.index);
            self.go_on(index, window, values);
            at = (index + 1).saturating_mul(window);
            let until = u128::from(at.min(end).saturating_sub(start));
            let share = if at >= end { amount } else { (u128::from(amount) * until / length) as u64 };
            self.amount += share.saturating_sub(done);
            done = share.max(done);
        }
    }

    /// Ends the current window, and possibly following ones.
    fn go_on(&mut self, index: u64, window: u64, values: &mut Vec<(u64, f64)>) {
        if index <= self.index {
            return;
        }
        self.show(window, window, values);
        let is_next = index == self.index + 1;
        self.amount = if self.kind == Kind::Peak { self.level } else { 0 };
        self.index += 1;
        if !is_next {
            self.show(window, window, values);
            self.index = index;
        }
    }

    /// Adds the value of the current window after `cycles` of its cycles.
    fn show(&mut self, cycles: u64, window: u64, values: &mut Vec<(u64, f64)>) {
        let amount = self.amount as f64;
        let value = match self.kind {
            Kind::Sum(Sums::Busy) => 100.0 * amount / cycles as f64,
            Kind::Sum(Sums::Bytes) => amount / cycles as f64,
            Kind::Peak => amount,
        };
        self.put(self.index * window, value, values);
    }

    /// Adds a value if it differs from the previous one.
    fn put(&mut self, at: u64, value: f64, values: &mut Vec<(u64, f64)>) {
        if self.shown != value {
            self.shown = value;
            values.push((at, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, Sums};
    use crate::model::Track;

    /// Integral of the values up to `end`.
    fn integral(values: &[(u64, f64)], end: u64) -> f64 {
        let next = values.iter().skip(1).map(|(at, _)| *at).chain([end]);
        values.iter().zip(next).map(|((at, value), next)| value * (next - at) as f64).sum()
    }

    #[test]
    fn sums_are_those_of_what_happened() {
        for slices in [
            vec![(0, 10, 10)],
            vec![(3, 40, 7), (40, 41, 1), (200, 333, 100)],
            vec![(100, 101, 1), (101, 160, 59), (161, 1000, 1)],
            vec![(0, 0, 5), (16, 16, 3)],
        ] {
            let mut counter = Counter::sum(Sums::Bytes);
            let mut values = Vec::new();
            for &(start, end, bytes) in &slices {
                values.extend(counter.add(start, end, [0, bytes], 16));
            }
            values.extend(counter.finish(1000, 16));
            let sum: u64 = slices.iter().map(|(.., bytes)| bytes).sum();
            assert!((integral(&values, 1000) - sum as f64).abs() < 1e-9, "{slices:?}: {values:?}");
            assert!(values.is_sorted_by(|a, b| a.0 < b.0), "{values:?}");
        }
    }

    #[test]
    fn work_is_a_share() {
        let mut counter = Counter::sum(Sums::Busy);
        let mut values = counter.add(8, 24, [16, 0], 16);
        values.extend(counter.finish(40, 16));
        // Unchanged values are not repeated.
        assert_eq!(values, [(0, 50.0), (32, 0.0)]);
    }

    #[test]
    fn a_peak_holds_on() {
        let mut counter = Counter::peak(Track(1));
        let mut values = Vec::new();
        for (cycle, level) in [(1, 3), (2, 5), (3, 1), (70, 4)] {
            values.extend(counter.add(cycle, cycle + 1, [level, level], 16));
        }
        values.extend(counter.finish(100, 16));
        assert_eq!(values, [(0, 5.0), (16, 1.0), (64, 4.0), (100, 0.0)]);
    }
}
