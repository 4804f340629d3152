//! [`Walk`]: steps through the addresses of a [`Pattern`], with their cycles.

use super::{Level, Pattern};

/// Position in a pattern.
///
/// The innermost repetition is a run of equal steps, so most addresses cost one addition. The other
/// levels are updated only at the end of a run.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// Cycle of the next address.
    cycle: u64,
    /// Next address, not wrapped.
    address: i64,
    /// Addresses left in the run, including the next one; 0 if the walk is over.
    left: u64,
    /// Cycles between two addresses of the run.
    stride: u64,
    /// Added to the address.
    step: i64,
    /// Levels around the runs; `None` if there is a single run.
    rest: Option<Box<Rest>>,
}

/// Behavior of a walk for some cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steady {
    /// No address for this number of cycles.
    Idle(u64),
    /// An address in each cycle.
    Run {
        /// Number of addresses.
        addresses: u64,
        /// The addresses.
        affine: Affine,
    },
}

/// Sequence of addresses: the n-th is `first + step * (m mod 2^period_log2) + outer_step * (m /
/// 2^period_log2)`, where m is `phase + n`, below 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// Address at m = 0.
    pub first: i64,
    /// Added within a period.
    pub step: i64,
    /// m of the first address.
    pub phase: u32,
    /// Binary logarithm of the addresses per period; 31 if there is a single period.
    pub period_log2: u32,
    /// Added from one period to the next.
    pub outer_step: i64,
}

impl Affine {
    /// Returns bounds of the next `addresses` addresses, which may be wider than needed.
    pub fn range(&self, addresses: u64) -> (i64, i64) {
        let period = 1_u64 << self.period_log2;
        let last = u64::from(self.phase).saturating_add(addresses);
        let inner = self.step.saturating_mul(last.min(period - 1) as i64);
        let outer = self.outer_step.saturating_mul((last / period) as i64);
        let low = self.first.saturating_add(inner.min(0)).saturating_add(outer.min(0));
        (low, self.first.saturating_add(inner.max(0)).saturating_add(outer.max(0)))
    }
}

/// Levels around a run.
#[derive(Clone, Debug, Default)]
struct Rest {
    lanes: Vec<Run>,
    outer: Vec<Count>,
    /// Index of the current lane.
    lane: usize,
    /// Cycle and address at which the current pass over all lanes began.
    start: (u64, i64),
}

/// Lane: its start within a pass, its run, and the levels around the run.
#[derive(Clone, Debug, Default)]
struct Run {
    start: u64,
    base: i64,
    inner: (u64, u64, i64),
    levels: Vec<Count>,
}

/// Level with its counter.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    done: u64,
    times: u64,
    stride: u64,
    step: i64,
}

impl Count {
    /// Advances to the next repetition; at the end, returns to the first and returns false.
    const fn advance(&mut self) -> bool {
        self.done += 1;
        if self.done == self.times {
            self.done = 0;
        }
        self.done != 0
    }

    const fn offset(&self) -> (u64, i64) {
        (self.done.wrapping_mul(self.stride), (self.done as i64).wrapping_mul(self.step))
    }
}

/// Returns the levels around content of `span` cycles.
fn counts(levels: &[Level], mut span: u64) -> Vec<Count> {
    let count = |level: &Level| {
        let (stride, times) = (level.stride(span), level.times());
        span = level.span(span);
        Count { done: 0, times, stride, step: level.step.into() }
    };
    levels.iter().map(count).collect()
}

impl Walk {
    /// Creates the walk of a pattern whose first address is in cycle `start`.
    pub fn new(pattern: &Pattern, start: u64) -> Self {
        let runs = pattern.lanes.iter().zip(pattern.starts()).map(|(lane, start)| {
            let mut levels = counts(&lane.levels, 1);
            let first = if levels.is_empty() { None } else { Some(levels.remove(0)) };
            let inner = first.map_or((1, 1, 0), |level| (level.times, level.stride, level.step));
            Run { start, base: lane.base, inner, levels }
        });
        let mut lanes: Vec<Run> = runs.collect();
        if lanes.is_empty() {
            lanes.push(Run { inner: (1, 1, 0), ..Run::default() });
        }
        let outer = counts(&pattern.outer, pattern.lanes_span());
        let single = lanes.len() == 1 && outer.is_empty() && lanes.iter().all(|lane| lane.levels.is_empty());
        let mut rest = Rest { lanes, outer, lane: 0, start: (start, 0) };
        let mut walk = Self::default();
        walk.begin(&mut rest);
        walk.rest = (!single).then(|| Box::new(rest));
        walk
    }

    /// Cycle of the next address, or `u64::MAX` after the last.
    #[inline]
    pub const fn next_cycle(&self) -> u64 {
        if self.left == 0 { u64::MAX } else { self.cycle }
    }

    /// Whether all addresses were given.
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Returns the behavior starting at `cycle`, which must not be after the next address.
    #[inline]
    pub fn steady(&self, cycle: u64) -> Steady {
        if self.left == 0 || self.cycle != cycle {
            return Steady::Idle(self.next_cycle().saturating_sub(cycle));
        }
        let alone = Affine { first: self.address, step: self.step, phase: 0, period_log2: 31, outer_step: 0 };
        if self.stride != 1 {
            return Steady::Run { addresses: 1, affine: alone };
        }
        let Some((times, outer)) = self.rest.as_deref().and_then(Rest::period) else {
            return Steady::Run { addresses: self.left, affine: alone };
        };
        let phase = times - self.left;
        let more = (outer.times - 1 - outer.done).saturating_mul(times);
        let first = self.address.wrapping_sub(self.step.wrapping_mul(phase as i64));
        let period_log2 = times.trailing_zeros();
        let affine =
            Affine { first, step: self.step, phase: phase as u32, period_log2, outer_step: outer.step };
        Steady::Run { addresses: self.left.saturating_add(more), affine }
    }

    /// Skips addresses that [`Walk::steady`] returned, except at least the last.
    pub fn skip(&mut self, addresses: u64) {
        if addresses < self.left {
            self.left -= addresses;
            self.cycle = self.cycle.wrapping_add(addresses);
            self.address = self.address.wrapping_add(self.step.wrapping_mul(addresses as i64));
            return;
        }
        let Some(mut rest) = self.rest.take() else { return };
        let past = addresses - self.left;
        let times = rest.lanes.get(rest.lane).map_or(1, |run| run.inner.0);
        rest.pass(1 + past / times);
        self.begin(&mut rest);
        self.rest = Some(rest);
        self.skip(past % times);
    }

    /// Returns the address of `cycle`, if there is one, and advances. No cycle with an address may
    /// be skipped.
    #[inline]
    pub fn take(&mut self, cycle: u64) -> Option<i64> {
        if self.left == 0 || self.cycle != cycle {
            return None;
        }
        let address = self.address;
        self.left -= 1;
        self.cycle = self.cycle.wrapping_add(self.stride);
        self.address = self.address.wrapping_add(self.step);
        if self.left == 0 {
            self.end_run();
        }
        Some(address)
    }

    /// Starts the run that `rest` is at.
    fn begin(&mut self, rest: &mut Rest) {
        let Some(run) = rest.lanes.get(rest.lane) else { return };
        let at = (rest.start.0.wrapping_add(run.start), rest.start.1.wrapping_add(run.base));
        let add = |(cycle, address): (u64, i64), count: &Count| {
            let (cycles, addresses) = count.offset();
            (cycle.wrapping_add(cycles), address.wrapping_add(addresses))
        };
        (self.cycle, self.address) = run.levels.iter().fold(at, add);
        (self.left, self.stride, self.step) = run.inner;
    }

    /// Advances to the next run, if there is one.
    #[cold]
    fn end_run(&mut self) {
        let Some(mut rest) = self.rest.take() else { return };
        if rest.advance() {
            self.begin(&mut rest);
            self.rest = Some(rest);
        }
    }
}

impl Rest {
    /// Returns the addresses of a run and the level around it, if the runs follow each other
    /// without a gap and their length is a power of two.
    #[inline]
    fn period(&self) -> Option<(u64, Count)> {
        let run = self.lanes.get(self.lane)?;
        let (times, stride, _) = run.inner;
        let outer = run.levels.first()?;
        let is_periodic = stride == 1 && outer.stride == times && times.is_power_of_two() && times < 1 << 31;
        is_periodic.then_some((times, *outer))
    }

    /// Advances by `runs` runs of the level around the run.
    fn pass(&mut self, runs: u64) {
        let outer = self.lanes.get_mut(self.lane).and_then(|run| run.levels.first_mut());
        outer.into_iter().for_each(|outer| outer.done += runs);
    }

    /// Advances to the next run; returns false after the last.
    fn advance(&mut self) -> bool {
        let lane = self.lanes.get_mut(self.lane);
        if lane.is_some_and(|lane| lane.levels.iter_mut().any(Count::advance)) {
            return true;
        }
        self.lane += 1;
        if self.lane < self.lanes.len() {
            return true;
        }
        self.lane = 0;
        let before = self.outer_offset();
        let goes_on = self.outer.iter_mut().any(Count::advance);
        let after = self.outer_offset();
        let cycle = self.start.0.wrapping_add(after.0).wrapping_sub(before.0);
        self.start = (cycle, self.start.1.wrapping_add(after.1).wrapping_sub(before.1));
        goes_on
    }

    fn outer_offset(&self) -> (u64, i64) {
        self.outer.iter().map(Count::offset).fold((0, 0), |(cycle, address), (cycles, addresses)| {
            (cycle.wrapping_add(cycles), address.wrapping_add(addresses))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Lane;
    use super::*;

    fn levels() -> impl Strategy<Value = Vec<Level>> {
        let level =
            (0_u32..5, -9_i32..10, 0_u32..4).prop_map(|(iter, step, delay)| Level { iter, step, delay });
        proptest::collection::vec(level, 0..4)
    }

    fn patterns() -> impl Strategy<Value = Pattern> {
        let lane = (0_i64..20, levels()).prop_map(|(base, levels)| Lane { base, levels });
        let lanes = proptest::collection::vec((lane, 0_u32..5), 0..4);
        (lanes, levels()).prop_map(|(lanes, outer)| {
            let transitions = lanes.iter().skip(1).map(|(_, delay)| *delay).collect();
            let lanes = lanes.into_iter().map(|(lane, _)| lane).collect();
            Pattern { lanes, transitions, outer: outer.into_iter().take(2).collect(), last: None }
        })
    }

    proptest! {
        #[test]
        fn a_walk_gives_what_the_definition_says(pattern in patterns(), start in 0_u64..100) {
            let mut walk = Walk::new(&pattern, start);
            let span = pattern.span().min(5000);
            let mut events = 0;
            for offset in 0..span {
                let expected = pattern.at(offset);
                prop_assert_eq!(walk.next_cycle() == start + offset, expected.is_some());
                prop_assert_eq!(walk.take(start + offset), expected, "{}", offset);
                events += u64::from(expected.is_some());
            }
            if span == pattern.span() {
                prop_assert!(walk.is_over());
                prop_assert_eq!(walk.next_cycle(), u64::MAX);
                prop_assert_eq!(events, pattern.events());
            }
        }
    }
}
