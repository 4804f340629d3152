//! [`Rep`]: a repetition with values that may exceed the fields of `rep`, and its instructions in a
//! revision.

use crate::config::component::Component;
use crate::config::revision::{Revision, Widths};
use crate::isa::op::ResourceOp;

/// Repetition level with its full values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rep {
    /// Number of repetitions.
    pub iter: i64,
    /// Added to the address in each repetition.
    pub step: i64,
    /// Idle cycles between repetitions.
    pub delay: i64,
}

/// Maximum number of levels for one repetition.
const MAX_PARTS: u32 = 3;

impl Rep {
    /// Returns the name, smallest and largest value of each field that a revision can express at
    /// best.
    pub fn limits(revision: Revision, component: Component) -> [(&'static str, i64, i64); 3] {
        let Widths { iter, step, delay } = revision.widths(component);
        let most = |bits: u32| (1_i64 << bits) - 1;
        if revision.is_released() {
            let step = 1_i64 << (step - 1);
            let times = most(iter).pow(MAX_PARTS).min(most(16));
            return [("iter", 1, times), ("step", -step, step - 1), ("delay", 0, most(delay))];
        }
        let step = 1_i64 << (2 * step - 1);
        [("iter", 1, most(2 * iter)), ("step", -step, step - 1), ("delay", 0, most(2 * delay))]
    }

    /// Returns the instructions: `rep`, and if needed `repx`, or nested levels if the revision
    /// reads `repx` differently. `None` if the repetition cannot be expressed.
    pub fn instructions(self, port: u8, revision: Revision, component: Component) -> Option<Vec<ResourceOp>> {
        let widths = revision.widths(component);
        if revision.is_released() {
            let levels = self.nested(widths, MAX_PARTS)?;
            return Some(levels.into_iter().map(|level| level.low(port, widths)).collect());
        }
        let rep = self.low(port, widths);
        let most = |bits: u32| 1_i64 << bits;
        let is_low_step = if revision.is_seed() {
            (0..most(widths.step)).contains(&self.step)
        } else {
            (-most(widths.step - 1)..most(widths.step - 1)).contains(&self.step)
        };
        if self.iter < most(widths.iter) && is_low_step && self.delay < most(widths.delay) {
            return Some(vec![rep]);
        }
        let high = |value: i64, bits: u32| ((value >> bits) & ((1 << bits) - 1)) as u8;
        let repx = ResourceOp::Repx {
            port,
            iter: high(self.iter, widths.iter),
            step: high(self.step, widths.step),
            delay: high(self.delay, widths.delay),
        };
        Some(vec![rep, repx])
    }

    /// Returns a `rep` with the low parts.
    fn low(self, port: u8, widths: Widths) -> ResourceOp {
        let low = |value: i64, bits: u32| (value & ((1 << bits) - 1)) as u8;
        // The highest bit of a step is its sign, so the shifts extend it.
        let unused = 8 - widths.step;
        let step = (low(self.step, widths.step) << unused) as i8 >> unused;
        ResourceOp::Rep {
            port,
            iter: low(self.iter, widths.iter),
            step,
            delay: low(self.delay, widths.delay),
        }
    }

    /// Splits the repetition into at most `parts` levels that fit, innermost first.
    fn nested(self, widths: Widths, parts: u32) -> Option<Vec<Self>> {
        let (most, step) = ((1_i64 << widths.iter) - 1, 1_i64 << (widths.step - 1));
        if parts == 0 || self.delay >= 1 << widths.delay || !(-step..step).contains(&self.step) {
            return None;
        }
        if self.iter <= most {
            return Some(vec![self]);
        }
        // A large inner count is tried first because addresses then keep equal steps for longer.
        (2..=most).rev().filter(|inner| self.iter % inner == 0).find_map(|inner| {
            let outer = Self { iter: self.iter / inner, step: self.step * inner, ..self };
            let rest = outer.nested(widths, parts - 1)?;
            Some([vec![Self { iter: inner, ..self }], rest].concat())
        })
    }

    /// Returns the smallest number of repetitions, starting at `iter`, that at most `parts` levels
    /// of a port can express.
    pub fn countable(iter: usize, step: i64, component: Component, revision: Revision, parts: u32) -> usize {
        let is_countable = |iter: &usize| {
            let rep = Self { iter: *iter as i64, step, delay: 0 };
            !revision.is_released() || rep.nested(revision.widths(component), parts).is_some()
        };
        // Default: an inexpressible number is refused when the instructions are made.
        (iter..2 * iter).find(is_countable).unwrap_or(iter)
    }

    /// Combines a `rep` with the high parts of the following `repx`.
    pub fn extended(self, iter: i64, step: i64, delay: i64, widths: Widths) -> Self {
        let width = 2 * widths.step;
        let bits = (step << widths.step | self.step & ((1 << widths.step) - 1)) & ((1 << width) - 1);
        let step = if bits >> (width - 1) == 1 { bits - (1 << width) } else { bits };
        Self { iter: self.iter + (iter << widths.iter), step, delay: self.delay + (delay << widths.delay) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn wide_values_are_split_and_joined() {
        for rep in [
            Rep { iter: 300, step: 1, delay: 0 },
            Rep { iter: 2, step: -3, delay: 200 },
            Rep { iter: 2, step: -100, delay: 3 },
            Rep { iter: 65535, step: 8191, delay: 16383 },
            Rep { iter: 1, step: 64, delay: 0 },
        ] {
            let parts = rep.instructions(1, Revision::Text, Component::Rf).unwrap();
            let [
                ResourceOp::Rep { iter, step, delay, .. },
                ResourceOp::Repx { iter: a, step: b, delay: c, .. },
            ] = parts[..]
            else {
                panic!("{parts:?}")
            };
            let low = Rep { iter: iter.into(), step: step.into(), delay: delay.into() };
            assert_eq!(low.extended(a.into(), b.into(), c.into(), Revision::Text.widths(Component::Rf)), rep);
        }
        let small = Rep { iter: 255, step: -64, delay: 127 };
        assert_eq!(small.instructions(0, Revision::Text, Component::Rf).unwrap().len(), 1);
    }

    #[test]
    fn the_released_circuit_counts_in_levels() {
        let parts = |iter, step, component| -> Option<Vec<(u8, i8)>> {
            let found = Rep { iter, step, delay: 5 }.instructions(0, Revision::Released, component)?;
            let part = |op: &ResourceOp| match *op {
                ResourceOp::Rep { iter, step, delay: 5, .. } => (iter, step),
                ref other => panic!("{other:?}"),
            };
            Some(found.iter().map(part).collect())
        };
        assert_eq!(parts(255, 1, Component::Rf), Some(vec![(255, 1)]));
        assert_eq!(parts(256, 1, Component::Rf), Some(vec![(32, 1), (8, 32)]));
        assert_eq!(parts(130, 0, Component::Dpu), Some(vec![(65, 0), (2, 0)]));
        assert_eq!(parts(61 * 61, 1, Component::Rf), Some(vec![(61, 1), (61, 61)]));
        assert_eq!(parts(257, 1, Component::Rf), None, "a prime");
        assert_eq!(parts(2 * 101 * 103, 1, Component::Rf), None, "a step of 101");
        let long = Rep { iter: 2, step: 0, delay: 64 };
        assert_eq!(long.instructions(0, Revision::Released, Component::Dpu), None);
        assert_eq!(Rep::countable(257, 1, Component::Rf, Revision::Released, 2), 258);
        assert_eq!(Rep::countable(257, 1, Component::Rf, Revision::Text, 2), 257);
    }
}
