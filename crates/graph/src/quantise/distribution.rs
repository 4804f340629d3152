//! [`Distribution`]: where the elements of a value lie, from samples.

use npukit_numeric::Tensor;

use crate::observe::{Observations, Statistic};

/// The distribution of each value over the samples seen.
pub type Distributions = Observations<Distribution>;

/// Steps between 0 and the power of two above the largest magnitude, on either side.
const STEPS: usize = 2048;

/// Where the finite elements of a value lie: a histogram that widens by powers of two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// The smallest element, at most 0, and the largest, at least 0.
    extremes: [f32; 2],
    /// All magnitudes are below `2^top`.
    top: i32,
    /// Elements that are 0.
    zeros: u64,
    /// By step of the magnitude: elements below 0 first, then those above; empty when there are none.
    counts: Vec<u64>,
}

impl Distribution {
    /// The smallest element, at most 0, and the largest, at least 0.
    pub(super) fn extremes(&self) -> [f64; 2] {
        self.extremes.map(f64::from)
    }

    /// The middles of steps with how many elements lie there, zeros left out.
    pub(super) fn points(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let step = 2f64.powi(self.top) / STEPS as f64;
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(index, &count)| {
            let middle = ((index % STEPS) as f64 + 0.5) * step;
            (if index < STEPS { -middle } else { middle }, count)
        })
    }

    /// The magnitude, to a step, that at most the share `1 - share` of the elements exceeds.
    pub(super) fn magnitude_of(&self, share: f64) -> f64 {
        let all = self.counts.iter().sum::<u64>() + self.zeros;
        let mut above = ((1.0 - share) * all as f64) as u64;
        let step = 2f64.powi(self.top) / STEPS as f64;
        let (below_zero, above_zero) = self.counts.split_at(self.counts.len() / 2);
        for (index, (negative, positive)) in below_zero.iter().zip(above_zero).enumerate().rev() {
            let count = negative + positive;
            if count > above {
                let largest = self.extremes().map(f64::abs).into_iter().fold(0.0, f64::max);
                return ((index + 1) as f64 * step).min(largest);
            }
            above -= count;
        }
        0.0
    }

    fn note_one(&mut self, x: f32) {
        if x == 0.0 {
            self.zeros += 1;
        } else if x.is_finite() {
            self.extremes = [self.extremes[0].min(x), self.extremes[1].max(x)];
            self.widen(exponent(x));
            let place = (f64::from(x.abs()) * 2f64.powi(-self.top) * STEPS as f64) as usize;
            let side = if x < 0.0 { 0 } else { STEPS };
            self.counts[side + place.min(STEPS - 1)] += 1;
        }
    }

    /// Makes room for magnitudes below `2^top`.
    fn widen(&mut self, top: i32) {
        if self.counts.is_empty() {
            (self.counts, self.top) = (vec![0; 2 * STEPS], top);
        }
        if top <= self.top {
            return;
        }
        let merged = |place: usize| place.checked_shr((top - self.top) as u32).unwrap_or(0);
        let mut counts = vec![0; 2 * STEPS];
        for (index, count) in self.counts.iter().enumerate() {
            counts[index / STEPS * STEPS + merged(index % STEPS)] += count;
        }
        (self.counts, self.top) = (counts, top);
    }
}

impl Statistic for Distribution {
    fn note(&mut self, tensor: &Tensor) {
        tensor.as_f32().unwrap_or_default().iter().for_each(|&x| self.note_one(x));
    }

    fn merge(&mut self, other: &Self) {
        let ([low, high], [other_low, other_high]) = (self.extremes, other.extremes);
        self.extremes = [low.min(other_low), high.max(other_high)];
        self.zeros += other.zeros;
        if other.counts.is_empty() {
            return;
        }
        let mut other = other.clone();
        self.widen(other.top);
        other.widen(self.top);
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// The least `e` with `|x| < 2^e`, from the bits of a finite `x` other than 0.
fn exponent(x: f32) -> i32 {
    let bits = f64::from(x).to_bits();
    // Every f32 is a normal f64.
    ((bits >> 52) & 0x7ff) as i32 - 1022
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[f32]) -> Distribution {
        let mut found = Distribution::default();
        found.note(&Tensor::from_f32(vec![values.len()], values.to_vec()).unwrap());
        found
    }

    #[test]
    fn powers_of_two_open_a_new_range() {
        for (x, top) in [(1.0, 1), (0.99, 0), (-0.5, 0), (f32::MIN_POSITIVE / 2.0, -126), (f32::MAX, 128)] {
            assert_eq!(exponent(x), top, "{x}");
        }
    }

    #[test]
    fn shares_are_of_all_elements() {
        let mut values = vec![1.0; 990];
        values.extend([100.0; 10]);
        let found = of(&values);
        assert_eq!(found.magnitude_of(1.0), 100.0);
        let most = found.magnitude_of(0.99);
        assert!((1.0..1.1).contains(&most), "{most}");
        assert_eq!(of(&[0.0, f32::NAN, f32::INFINITY]).magnitude_of(1.0), 0.0);
    }

    proptest! {
        /// Samples may be taken in any order and in parts.
        #[test]
        fn parts_merge(a in values(), b in values()) {
            let (mut parts, mut swapped) = (of(&a), of(&b));
            parts.merge(&of(&b));
            swapped.merge(&of(&a));
            prop_assert_eq!(&parts, &of(&[a, b].concat()));
            prop_assert_eq!(&parts, &swapped);
        }

        /// No element is further from its step's middle than half a step.
        #[test]
        fn steps_hold_their_elements(x in prop::num::f32::NORMAL) {
            let (middle, count) = of(&[x]).points().next().unwrap();
            prop_assert_eq!(count, 1);
            let half = 2f64.powi(exponent(x)) / STEPS as f64 / 2.0;
            prop_assert!((middle - f64::from(x)).abs() <= half);
        }
    }

    fn values() -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(prop_oneof![Just(0.0), -1e3..1e3f32, -1e-3..1e-3f32], 0..20)
    }
}
