//! Address generator of a port: [`Pattern`] is its configuration, [`Walk`] its address sequence.
//!
//! A pattern is a sequence of lanes, with repetitions around them. Each lane has a base address and
//! nested repetitions. [`Pattern::at`] is the specification's definition of the address of a cycle.
//! The simulator uses [`Walk`], which goes from address to address and skips idle cycles.
//!
//! Source: specification 3.6, 4.3 to 4.5.

mod registers;
mod walk;

use thiserror::Error;

use crate::config::revision::Widths;
pub use registers::{Circuit, Registers, Write};
pub use walk::{Affine, Steady, Walk};

/// Maximum number of lanes of a port.
pub const MAX_LANES: usize = 4;
/// Maximum number of repetition levels of a lane, and around all lanes.
pub const MAX_LEVELS: usize = 4;

/// Repetition level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// Number of repetitions; 0 means 1.
    pub iter: u32,
    /// Added to the address in each repetition.
    pub step: i32,
    /// Idle cycles between repetitions.
    pub delay: u32,
}

impl Level {
    fn times(self) -> u64 {
        u64::from(self.iter.max(1))
    }

    /// Cycles from one repetition to the next, for content of `span` cycles.
    fn stride(self, span: u64) -> u64 {
        span.saturating_add(self.delay.into())
    }

    /// Cycles of all repetitions.
    fn span(self, span: u64) -> u64 {
        self.stride(span).saturating_mul(self.times() - 1).saturating_add(span)
    }
}

/// Part of a pattern with its own base address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lane {
    /// First address.
    pub base: i64,
    /// Repetition levels, innermost first.
    pub levels: Vec<Level>,
}

impl Lane {
    fn span(&self) -> u64 {
        self.levels.iter().fold(1, |span, level| level.span(span))
    }
}

/// Configuration of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Lanes in opening order.
    pub lanes: Vec<Lane>,
    /// Idle cycles between each lane and the next.
    pub transitions: Vec<u32>,
    /// Repetition levels around all lanes, innermost first.
    pub outer: Vec<Level>,
    /// Field widths of the last `rep`, until a `repx` extends it.
    last: Option<Widths>,
}

/// Reason why an instruction does not fit a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// No lane is open.
    #[error("`rep` or `trans` before the first `dsu` or `evt` of the port")]
    NoLane,
    /// Too many lanes.
    #[error("too many lanes: a port has at most {MAX_LANES}")]
    Lanes,
    /// A lane is opened after a transition.
    #[error("a lane is opened after a `trans`; open all lanes first")]
    LateLane,
    /// Too many levels in a lane.
    #[error("too many levels: a lane has at most {MAX_LEVELS}")]
    Inner,
    /// Too many levels around all lanes.
    #[error("too many levels: at most {MAX_LEVELS} are around all lanes")]
    Outer,
    /// Too many transitions.
    #[error("`trans` {transitions}: {lanes} lanes have only {} transitions", .lanes - 1)]
    Transition {
        /// Number of the transition, starting at 1.
        transitions: usize,
        /// Number of lanes.
        lanes: usize,
    },
    /// Lanes are not connected.
    #[error("{lanes} lanes have {transitions} `trans` in between; they need {}", .lanes - 1)]
    Unconnected {
        /// Number of lanes.
        lanes: usize,
        /// Number of transitions.
        transitions: usize,
    },
    /// No `rep` to extend.
    #[error("`repx` must follow a `rep`, at most once")]
    Repx,
}

impl Pattern {
    /// `dsu` and `evt`: opens a lane.
    ///
    /// # Errors
    ///
    /// The port has the maximum number of lanes, or a `trans` came before.
    pub fn open(&mut self, base: i64) -> Result<(), PatternError> {
        if !self.transitions.is_empty() {
            return Err(PatternError::LateLane);
        }
        if self.lanes.len() == MAX_LANES {
            return Err(PatternError::Lanes);
        }
        self.last = None;
        self.lanes.push(Lane { base, levels: Vec::new() });
        Ok(())
    }

    /// `rep`: adds a level to the last lane, or around all lanes after a `trans`. With `spill`,
    /// further levels than a single lane has are placed around it.
    ///
    /// # Errors
    ///
    /// No lane is open, or there are too many levels.
    pub fn rep(&mut self, level: Level, widths: Widths, spill: bool) -> Result<(), PatternError> {
        let may_spill = spill && self.lanes.len() == 1;
        let lane = self.lanes.last_mut().ok_or(PatternError::NoLane)?;
        let is_inner = self.transitions.is_empty() && self.outer.is_empty();
        if is_inner && lane.levels.len() < MAX_LEVELS {
            lane.levels.push(level);
        } else if is_inner && !may_spill {
            return Err(PatternError::Inner);
        } else if self.outer.len() < MAX_LEVELS {
            self.outer.push(level);
        } else {
            return Err(PatternError::Outer);
        }
        self.last = Some(widths);
        Ok(())
    }

    /// `repx`: adds the high parts of the last `rep`.
    ///
    /// # Errors
    ///
    /// There is no `rep` that it could extend.
    pub fn repx(&mut self, iter: u32, step: u32, delay: u32) -> Result<(), PatternError> {
        let widths = self.last.take().ok_or(PatternError::Repx)?;
        let lane = self.lanes.last_mut().map(|lane| &mut lane.levels);
        let levels = if self.outer.is_empty() { lane } else { Some(&mut self.outer) };
        let level = levels.and_then(|levels| levels.last_mut()).ok_or(PatternError::Repx)?;
        level.iter |= iter << widths.iter;
        level.delay |= delay << widths.delay;
        let low = level.step & ((1 << widths.step) - 1);
        let bits = (step as i32) << widths.step | low;
        let unused = 32 - 2 * widths.step;
        level.step = bits << unused >> unused;
        Ok(())
    }

    /// `trans`: connects a lane with the next; has no effect after an outer level.
    ///
    /// # Errors
    ///
    /// No lane is open, or all lanes are connected.
    pub fn trans(&mut self, delay: u32) -> Result<(), PatternError> {
        let (lanes, transitions) = (self.lanes.len(), self.transitions.len() + 1);
        match lanes {
            0 => return Err(PatternError::NoLane),
            _ if !self.outer.is_empty() => {}
            _ if transitions >= lanes => return Err(PatternError::Transition { transitions, lanes }),
            _ => self.transitions.push(delay),
        }
        self.last = None;
        Ok(())
    }

    /// Whether nothing is configured.
    pub const fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Checks that all lanes are connected.
    ///
    /// # Errors
    ///
    /// Lanes are not connected.
    pub const fn check(&self) -> Result<(), PatternError> {
        let (lanes, transitions) = (self.lanes.len(), self.transitions.len());
        if lanes > transitions + 1 { Err(PatternError::Unconnected { lanes, transitions }) } else { Ok(()) }
    }

    /// Cycles from the first address to the last, both included. An empty pattern gives one
    /// address.
    pub fn span(&self) -> u64 {
        self.outer.iter().fold(self.lanes_span(), |span, level| level.span(span))
    }

    /// Returns the first cycle of each lane.
    fn starts(&self) -> Vec<u64> {
        let gaps = self.transitions.iter().copied().chain(std::iter::repeat(0));
        let mut start: u64 = 0;
        let ends = self.lanes.iter().zip(gaps).map(|(lane, gap)| {
            start = start.saturating_add(lane.span()).saturating_add(gap.into());
            start
        });
        std::iter::once(0).chain(ends).take(self.lanes.len()).collect()
    }

    fn lanes_span(&self) -> u64 {
        let last = self.lanes.last().zip(self.starts().last().copied());
        last.map_or(1, |(lane, start)| start.saturating_add(lane.span()))
    }

    /// Number of addresses.
    pub fn events(&self) -> u64 {
        let product =
            |levels: &[Level]| levels.iter().fold(1_u64, |all, level| all.saturating_mul(level.times()));
        let lanes =
            self.lanes.iter().fold(0_u64, |all, lane| all.saturating_add(product(&lane.levels))).max(1);
        lanes.saturating_mul(product(&self.outer))
    }

    /// Returns the address in a cycle, counted from the first address; `None` in an idle cycle.
    /// Addresses are not wrapped.
    pub fn at(&self, offset: u64) -> Option<i64> {
        let (offset, outer) = strip(&self.outer, self.lanes_span(), offset)?;
        if self.lanes.is_empty() {
            return (offset == 0).then_some(outer);
        }
        let lane = |(lane, start): (&Lane, u64)| {
            let offset = offset.checked_sub(start).filter(|offset| *offset < lane.span())?;
            let (offset, inner) = strip(&lane.levels, 1, offset)?;
            (offset == 0).then_some(lane.base + outer + inner)
        };
        self.lanes.iter().zip(self.starts()).find_map(lane)
    }
}

/// Removes all `levels` around content of `span` cycles: returns the remaining offset and the
/// address increment; `None` in an idle cycle.
fn strip(levels: &[Level], span: u64, mut offset: u64) -> Option<(u64, i64)> {
    let mut strides = Vec::new();
    let mut span = span;
    for level in levels {
        strides.push((level.stride(span), level));
        span = level.span(span);
    }
    let mut address = 0;
    for (stride, level) in strides.into_iter().rev() {
        let times = offset / stride;
        if times >= level.times() {
            return None;
        }
        offset -= times * stride;
        address += times as i64 * i64::from(level.step);
    }
    Some((offset, address))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const WIDTHS: Widths = Widths { iter: 8, step: 7, delay: 7 };

    fn level(iter: u32, step: i32, delay: u32) -> Level {
        Level { iter, step, delay }
    }

    fn pattern(lanes: &[(i64, &[Level])], transitions: &[u32], outer: &[Level]) -> Pattern {
        let mut pattern = Pattern::default();
        for (base, levels) in lanes {
            pattern.open(*base).unwrap();
            levels.iter().for_each(|level| pattern.rep(*level, WIDTHS, false).unwrap());
        }
        transitions.iter().for_each(|delay| pattern.trans(*delay).unwrap());
        outer.iter().for_each(|level| pattern.rep(*level, WIDTHS, false).unwrap());
        pattern
    }

    fn addresses(pattern: &Pattern) -> Vec<(u64, i64)> {
        (0..pattern.span()).filter_map(|offset| Some((offset, pattern.at(offset)?))).collect()
    }

    /// Test cases of the timing model (specification 8.1).
    #[test]
    fn published_cases() {
        assert_eq!(addresses(&Pattern::default()), [(0, 0)]);
        assert_eq!(addresses(&pattern(&[(0, &[]), (0, &[])], &[4], &[])), [(0, 0), (5, 0)]);
        let one = pattern(&[(100, &[level(3, 5, 1)])], &[], &[]);
        assert_eq!(addresses(&one), [(0, 100), (2, 105), (4, 110)]);
        let two = pattern(&[(0, &[level(2, 1, 0), level(2, 10, 0)])], &[], &[]);
        assert_eq!(addresses(&two), [(0, 0), (1, 1), (2, 10), (3, 11)]);
        let lanes = pattern(&[(0, &[]), (50, &[])], &[4], &[]);
        assert_eq!(addresses(&lanes), [(0, 0), (5, 50)]);
    }

    /// Example of specification 4.4.
    #[test]
    fn lanes_transitions_and_outer_levels() {
        let lanes: [(i64, &[Level]); 2] = [(0, &[level(2, 1, 0)]), (20, &[level(2, 1, 1)])];
        let found = addresses(&pattern(&lanes, &[3], &[level(2, 100, 4)]));
        let wanted = [(0, 0), (1, 1), (5, 20), (7, 21), (12, 100), (13, 101), (17, 120), (19, 121)];
        assert_eq!(found, wanted);
    }

    #[test]
    fn repx_extends_the_last_level() {
        let mut pattern = pattern(&[(0, &[level(4, -3, 127)])], &[], &[]);
        pattern.repx(1, 0, 2).unwrap();
        // The low 7 bits of -3 are 125. The high part is 0, so the step is positive.
        assert_eq!(pattern.lanes[0].levels, [level(260, 125, 2 * 128 + 127)]);
        assert_eq!(pattern.repx(1, 0, 0), Err(PatternError::Repx));
        let mut negative = self::pattern(&[(0, &[level(4, -3, 0)])], &[], &[]);
        negative.repx(0, 127, 0).unwrap();
        assert_eq!(negative.lanes[0].levels, [level(4, -3, 0)]);
    }

    #[test]
    fn repx_extends_an_outer_level() {
        let mut pattern = pattern(&[(0, &[]), (1, &[])], &[0], &[level(2, 1, 0)]);
        pattern.repx(0, 0, 1).unwrap();
        assert_eq!(pattern.outer, [level(2, 1, 128)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut empty = Pattern::default();
        let one = level(1, 1, 0);
        assert_eq!(empty.rep(one, WIDTHS, true), Err(PatternError::NoLane));
        assert_eq!(empty.trans(0), Err(PatternError::NoLane));
        assert_eq!(empty.repx(0, 0, 0), Err(PatternError::Repx));
        let mut four = pattern(&[(0, &[one; 4])], &[], &[]);
        assert_eq!(four.rep(one, WIDTHS, false), Err(PatternError::Inner));
        assert_eq!(four.trans(0), Err(PatternError::Transition { transitions: 1, lanes: 1 }));
        (0..4).for_each(|_| four.rep(one, WIDTHS, true).unwrap());
        assert_eq!(four.rep(one, WIDTHS, true), Err(PatternError::Outer));
        let mut lanes = pattern(&[(0, &[]), (0, &[]), (0, &[]), (0, &[])], &[0], &[]);
        assert_eq!(lanes.open(0), Err(PatternError::LateLane));
        assert_eq!(lanes.check(), Err(PatternError::Unconnected { lanes: 4, transitions: 1 }));
        lanes.rep(one, WIDTHS, false).unwrap();
        assert_eq!(lanes.trans(9), Ok(()), "ignored after an outer level");
        assert_eq!(lanes.transitions, [0]);
        let none: &[Level] = &[];
        assert_eq!(pattern(&[(0, none); 4], &[], &[]).open(0), Err(PatternError::Lanes));
    }

    #[test]
    fn spilled_levels_are_levels() {
        let levels = [level(2, 1, 0), level(2, 2, 1), level(2, 4, 0), level(2, 8, 2), level(3, 16, 1)];
        let mut spilled = pattern(&[(5, &levels[..4])], &[], &[]);
        spilled.rep(levels[4], WIDTHS, true).unwrap();
        let nested = Pattern { lanes: vec![Lane { base: 5, levels: levels.to_vec() }], ..Pattern::default() };
        assert_eq!(addresses(&spilled), addresses(&nested));
    }
}
