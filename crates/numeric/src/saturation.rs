//! Statistics of results that leave a fixed-point format: [`Saturations`].
//!
//! An excess is the distance between the exact (already rounded) result and the limit it was
//! clamped to, in raw units: one unit is `2^-binary_point`. Upstream's `Maximum delta` is the same
//! number shifted right by the binary point; here nothing is shifted.

use crate::format::FixedFormat;

/// Statistics of results beyond one end of the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overshoot {
    /// Number of results.
    pub count: u64,
    /// Largest excess in raw units.
    pub maximum: u64,
    /// Sum of all excesses in raw units.
    pub total: u128,
}

impl Overshoot {
    /// Adds a result that was `excess` raw units beyond the limit.
    pub fn note(&mut self, excess: u64) {
        self.count += 1;
        self.maximum = self.maximum.max(excess);
        self.total += u128::from(excess);
    }

    /// Adds the statistics of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.maximum = self.maximum.max(other.maximum);
        self.total += other.total;
    }

    /// Returns the mean excess in raw units; 0 without results.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total as f64 / self.count as f64 }
    }

    /// Returns the largest excess as a real value of `format`.
    pub fn maximum_real(&self, format: FixedFormat) -> f64 {
        self.maximum as f64 / format.one() as f64
    }

    /// Returns the mean excess as a real value of `format`.
    pub fn mean_real(&self, format: FixedFormat) -> f64 {
        self.mean() / format.one() as f64
    }
}

/// Statistics of results that did not fit a fixed-point format and were clamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saturations {
    /// Results above the largest value.
    pub overflow: Overshoot,
    /// Results below the smallest value.
    pub underflow: Overshoot,
}

impl Saturations {
    /// Returns the number of clamped results.
    pub fn count(&self) -> u64 {
        self.overflow.count + self.underflow.count
    }

    /// Whether no result was clamped.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Adds the statistics of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.overflow.merge(&other.overflow);
        self.underflow.merge(&other.underflow);
    }

    /// Clamps `v` to the range of `format`, and records it if that changes it.
    pub fn saturate(&mut self, format: FixedFormat, v: i64) -> i64 {
        if v > format.max() {
            self.overflow.note(v.abs_diff(format.max()));
        } else if v < format.min() {
            self.underflow.note(v.abs_diff(format.min()));
        }
        format.saturate(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let mut one = Saturations::default();
        one.overflow.note(3);
        one.underflow.note(10);
        let mut other = Saturations::default();
        other.overflow.note(5);
        other.overflow.note(1);
        other.underflow.note(2);
        one.merge(&other);
        assert_eq!(one.overflow, Overshoot { count: 3, maximum: 5, total: 9 });
        assert_eq!(one.underflow, Overshoot { count: 2, maximum: 10, total: 12 });
    }

    const FP16: FixedFormat = FixedFormat { width: 16, binary_point: 8 };

    #[test]
    fn both_ends_are_counted_apart() {
        let mut s = Saturations::default();
        assert_eq!(s.saturate(FP16, 32767), 32767);
        assert!(s.is_empty());
        assert_eq!(s.saturate(FP16, 32767 + 512), 32767);
        assert_eq!(s.saturate(FP16, 32767 + 256), 32767);
        assert_eq!(s.saturate(FP16, -32768 - 1), -32768);
        assert_eq!(s.overflow, Overshoot { count: 2, maximum: 512, total: 768 });
        assert_eq!(s.underflow, Overshoot { count: 1, maximum: 1, total: 1 });
        assert_eq!(s.overflow.maximum_real(FP16), 2.0);
        assert_eq!(s.overflow.mean_real(FP16), 1.5);
        assert_eq!(Overshoot::default().mean(), 0.0);
    }
}
