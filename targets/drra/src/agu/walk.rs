//! [`Walk`]: the addresses of a [`Pattern`] one after the other, with their cycles.

use super::{Level, Pattern};

/// A pattern under way.
///
/// The innermost repetition is a run of equal steps, so most addresses cost an addition; the other levels are counted
/// only when a run ends.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// Cycle of the next address.
    cycle: u64,
    /// The next address, not wrapped.
    address: i64,
    /// Addresses left in the run, with the next one; 0 when the walk is over.
    left: u64,
    /// Cycles from an address of the run to the next.
    stride: u64,
    /// What is added to the address.
    step: i64,
    /// The levels around the runs; none when there is a single run.
    rest: Option<Box<Rest>>,
}

/// The levels beyond a run.
#[derive(Clone, Debug, Default)]
struct Rest {
    lanes: Vec<Run>,
    outer: Vec<Count>,
    /// The lane under way.
    lane: usize,
    /// Where the current pass over all lanes began.
    start: (u64, i64),
}

/// A lane: where it starts within a pass, its run, the levels around that.
#[derive(Clone, Debug, Default)]
struct Run {
    start: u64,
    base: i64,
    inner: (u64, u64, i64),
    levels: Vec<Count>,
}

/// A level and how far it is.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    done: u64,
    times: u64,
    stride: u64,
    step: i64,
}

impl Count {
    /// Goes on to the next time; false, and back to the first, when there is none.
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

/// The levels around something of `span` cycles, and the span of all.
fn counts(levels: &[Level], mut span: u64) -> Vec<Count> {
    let count = |level: &Level| {
        let (stride, times) = (level.stride(span), level.times());
        span = level.span(span);
        Count { done: 0, times, stride, step: level.step.into() }
    };
    levels.iter().map(count).collect()
}

impl Walk {
    /// The walk of a pattern whose first address is in cycle `start`.
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

    /// Cycle of the next address; `u64::MAX` when there is none.
    #[inline]
    pub const fn next_cycle(&self) -> u64 {
        if self.left == 0 { u64::MAX } else { self.cycle }
    }

    /// Whether all addresses were given.
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The address of `cycle`, if there is one, and goes on. Cycles must not be skipped over.
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

    /// Takes up the run that `rest` is at.
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

    /// Goes on to the next run, if there is one.
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
    /// Goes on to the next run; false when there is none.
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
