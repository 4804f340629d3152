//! [`Distribution`]: distribution of the elements of a value over samples.

use std::collections::BTreeMap;

use npukit_numeric::Tensor;

use super::mask::{is_mask, least_maximum};
use crate::ir::{Graph, ValueId};
use crate::observe::{Observations, Statistic};
use crate::op::Op;

/// The distribution of each value over samples.
pub type Distributions = Observations<Distribution>;

/// Number of histogram steps between 0 and the power of two above the largest magnitude, for each
/// sign.
const STEPS: usize = 2048;

/// Histogram of the finite elements of a value; its range grows by powers of two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Smallest element, at most 0, and largest, at least 0.
    extremes: [f32; 2],
    /// Exponent such that all magnitudes are below `2^top`.
    top: i32,
    /// Whether there were masks, which are not in the histogram.
    has_masks: bool,
    /// Number of elements that are 0.
    zeros: u64,
    /// Number of elements per magnitude step, negative elements first. Empty steps are omitted, so
    /// that a tensor takes no more memory than it has elements.
    counts: BTreeMap<u16, u64>,
    /// Axes that a Softmax sums the value over, first and one past the last; `None` for other
    /// values.
    softmax: Option<[usize; 2]>,
    /// Smallest row maximum over the rows of a Softmax, without completely masked rows.
    least_maximum: Option<f32>,
}

impl Distribution {
    /// Returns the smallest row maximum over the rows of a Softmax, without completely masked rows.
    /// `None` for a value that no Softmax reads.
    pub(super) fn least_maximum(&self) -> Option<f64> {
        self.least_maximum.map(f64::from)
    }

    /// Returns the smallest element, at most 0, and the largest, at least 0.
    pub(super) fn extremes(&self) -> [f64; 2] {
        self.extremes.map(f64::from)
    }

    /// Whether there were masks, which the other figures do not include.
    pub(super) const fn has_masks(&self) -> bool {
        self.has_masks
    }

    /// Returns the middle of each step with its number of elements, without zeros.
    pub(super) fn points(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let step = 2f64.powi(self.top) / STEPS as f64;
        self.counts.iter().map(move |(&place, &count)| {
            let (below_zero, index) = split(place);
            let middle = (f64::from(index) + 0.5) * step;
            (if below_zero { -middle } else { middle }, count)
        })
    }

    /// Returns the magnitude, rounded to a step, that at most a fraction `1 - share` of the
    /// elements exceeds.
    pub(super) fn magnitude_of(&self, share: f64) -> f64 {
        let all = self.counts.values().sum::<u64>() + self.zeros;
        let mut above = ((1.0 - share) * all as f64) as u64;
        let step = 2f64.powi(self.top) / STEPS as f64;
        let mut magnitudes: BTreeMap<u16, u64> = BTreeMap::new();
        for (&place, count) in &self.counts {
            *magnitudes.entry(split(place).1).or_default() += count;
        }
        for (index, count) in magnitudes.into_iter().rev() {
            if count > above {
                let largest = self.extremes().map(f64::abs).into_iter().fold(0.0, f64::max);
                return (f64::from(index + 1) * step).min(largest);
            }
            above -= count;
        }
        0.0
    }

    /// Returns how many times, up to `bits`, the elements can be doubled without exceeding
    /// `bounds`.
    fn room(&self, bits: u32, [low, high]: [f64; 2]) -> u32 {
        let [least, largest] = self.extremes();
        let fits =
            |bits: u32| least * f64::from(bits).exp2() >= low && largest * f64::from(bits).exp2() <= high;
        // Doubling once more may be needed to reach the bounds.
        (0..bits).rev().find(|&room| fits(room)).map_or(0, |room| room + 1)
    }

    /// Returns the distribution of values that are `2^bits` times as large.
    fn enlarged(mut self, bits: u32) -> Self {
        self.extremes = self.extremes.map(|x| (f64::from(x) * f64::from(bits).exp2()) as f32);
        self.top += if self.counts.is_empty() { 0 } else { bits as i32 };
        self.least_maximum =
            self.least_maximum.map(|x| x.min((f64::from(x) * f64::from(bits).exp2()) as f32));
        self
    }

    /// Extends the range to magnitudes below `2^top`.
    fn widen(&mut self, top: i32) {
        if self.counts.is_empty() {
            self.top = top;
        }
        if top <= self.top {
            return;
        }
        let further = (top - self.top) as u32;
        let mut counts = BTreeMap::new();
        for (&place, count) in &self.counts {
            let (below_zero, index) = split(place);
            // Default: a shift by the full width merges all steps into the first.
            let merged = index.checked_shr(further).unwrap_or(0);
            *counts.entry(joined(below_zero, merged)).or_default() += count;
        }
        (self.counts, self.top) = (counts, top);
    }
}

fn least_of(a: Option<f32>, b: Option<f32>) -> Option<f32> {
    [a, b].into_iter().flatten().reduce(f32::min)
}

/// Splits a histogram key into the sign (true for negative) and the magnitude step.
fn split(place: u16) -> (bool, u16) {
    (usize::from(place) < STEPS, place % STEPS as u16)
}

/// Returns the histogram key of a sign and a magnitude step.
fn joined(below_zero: bool, index: u16) -> u16 {
    if below_zero { index } else { index + STEPS as u16 }
}

impl Distributions {
    /// Creates empty distributions. For values that a Softmax reads, they also record the row
    /// maxima.
    pub fn of(graph: &Graph) -> Self {
        let mut axes: BTreeMap<ValueId, [usize; 2]> = BTreeMap::new();
        for node in &graph.nodes {
            if let (Op::Softmax(softmax), Some(&x)) = (&node.op, node.inputs.first()) {
                axes.insert(x, [softmax.axis, softmax.axis_end]);
            }
        }
        Self::with(graph, |id| Distribution { softmax: axes.get(&id).copied(), ..Distribution::default() })
    }

    /// Returns the distributions of values `2^bits` times as large: fraction lengths chosen from
    /// them leave `bits` bits of headroom for values beyond the samples. A value with `bounds`, by
    /// [`ValueId`], gets only the bits that its bounds need.
    pub fn with_headroom(self, bits: u32, bounds: &[Option<[f64; 2]>]) -> Self {
        self.map(|id, seen| {
            let bounds = bounds.get(id.0 as usize).copied().flatten();
            let room = bounds.map_or(bits, |bounds| seen.room(bits, bounds));
            seen.enlarged(room)
        })
    }
}

impl Statistic for Distribution {
    fn note(&mut self, tensor: &Tensor) {
        // Default: integers are not quantized.
        let values = tensor.as_f32().unwrap_or_default();
        let finite = || values.iter().copied().filter(|&x| x.is_finite() && x != 0.0 && !is_mask(x));
        self.has_masks |= values.iter().copied().any(is_mask);
        self.zeros += values.iter().filter(|x| **x == 0.0).count() as u64;
        if let Some(axes) = self.softmax {
            self.least_maximum = least_of(self.least_maximum, least_maximum(values, tensor.shape(), axes));
        }
        let Some(top) = finite().map(exponent).max() else { return };
        self.widen(top);
        // An array during counting, which is faster per element than a map.
        let mut counts = vec![0u32; 2 * STEPS];
        // Magnitudes are below 2^top: every step index is in range.
        let scale = 2f64.powi(-self.top) * STEPS as f64;
        for x in finite() {
            self.extremes = [self.extremes[0].min(x), self.extremes[1].max(x)];
            let index = (f64::from(x.abs()) * scale) as usize;
            counts[usize::from(joined(x.is_sign_negative(), index as u16))] += 1;
        }
        for (place, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            *self.counts.entry(place as u16).or_default() += u64::from(count);
        }
    }

    fn merge(&mut self, other: &Self) {
        let ([low, high], [other_low, other_high]) = (self.extremes, other.extremes);
        self.extremes = [low.min(other_low), high.max(other_high)];
        self.zeros += other.zeros;
        self.least_maximum = least_of(self.least_maximum, other.least_maximum);
        self.has_masks |= other.has_masks;
        if other.counts.is_empty() {
            return;
        }
        let mut other = other.clone();
        self.widen(other.top);
        other.widen(self.top);
        for (place, count) in other.counts {
            *self.counts.entry(place).or_default() += count;
        }
    }
}

/// Returns the smallest `e` with `|x| < 2^e`, from the bits of a finite nonzero `x`.
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

    /// A network of ten thousand values once took gigabytes.
    #[test]
    fn a_tensor_takes_no_more_memory_than_it_has_elements() {
        assert_eq!(of(&[0.5]).counts.len(), 1);
        assert_eq!(of(&[0.0; 9]).counts.len(), 0);
        let many: Vec<f32> = (0..100_000).map(|i| i as f32 - 50_000.0).collect();
        assert!(of(&many).counts.len() <= 2 * STEPS);
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
        /// Samples may be added in any order and in parts.
        #[test]
        fn parts_merge(a in values(), b in values()) {
            let (mut parts, mut swapped) = (of(&a), of(&b));
            parts.merge(&of(&b));
            swapped.merge(&of(&a));
            prop_assert_eq!(&parts, &of(&[a, b].concat()));
            prop_assert_eq!(&parts, &swapped);
        }

        /// Headroom has the effect of larger values.
        #[test]
        fn headroom_is_for_larger_values(values in values(), bits in 0u32..5) {
            let larger: Vec<f32> = values.iter().map(|x| x * (1 << bits) as f32).collect();
            prop_assert_eq!(of(&values).enlarged(bits), of(&larger));
        }

        /// No element is further than half a step from the middle of its step.
        #[test]
        fn steps_hold_their_elements(x in prop::num::f32::NORMAL | prop::num::f32::POSITIVE | prop::num::f32::NEGATIVE) {
            if is_mask(x) {
                prop_assert!(of(&[x]).has_masks() && of(&[x]).points().next().is_none());
                return Ok(());
            }
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
