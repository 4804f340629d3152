//! The numbers that a fixed-point type has: [`Grid`], and how far beyond them a result may be, [`Beyond`].

use std::ops::RangeInclusive;

use crate::format::FixedFormat;
use crate::quantised::{Ties, quantised};

/// The multiples of a step between two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    width: u32,
    fraction: i32,
    step: f64,
    smallest: f64,
    largest: f64,
}

impl Grid {
    /// Those of a type of `width` bits (2 to 32), sign included, in units of `2^-fraction` (-512 to 512).
    pub fn new(width: u32, fraction: i32) -> Self {
        let step = 2f64.powi(-fraction);
        let half = 2f64.powi(width as i32 - 1);
        Self { width, fraction, step, smallest: -half * step, largest: (half - 1.0) * step }
    }

    /// The distance of neighbours.
    pub const fn step(self) -> f64 {
        self.step
    }

    /// The smallest number.
    pub const fn smallest(self) -> f64 {
        self.smallest
    }

    /// The largest number.
    pub const fn largest(self) -> f64 {
        self.largest
    }

    /// The number nearest to `x`, of two the greater; the first or last one beyond the ends.
    pub fn nearest(self, x: f64) -> f64 {
        quantised(x, self.fraction, self.width, Ties::HalfUp).value * self.step
    }

    /// The multiple of the step nearest to `x`, of two the greater, wherever the ends are.
    pub(super) fn rounded(self, x: f64) -> f64 {
        let (scaled, below) = (x / self.step, (x / self.step).floor());
        (below + f64::from(u8::from(scaled - below >= 0.5))) * self.step
    }

    /// The same as a format, where that can be.
    pub(super) fn format(self) -> Option<FixedFormat> {
        let binary_point = u32::try_from(self.fraction).ok().filter(|&fraction| fraction < self.width)?;
        Some(FixedFormat { width: self.width, binary_point })
    }

    /// All numbers that have the same nearest one as `x`, and `x`.
    pub fn cell(self, x: f64) -> (f64, f64) {
        let nearest = self.nearest(x);
        let (low, high) = (nearest - self.step / 2.0, (nearest + self.step / 2.0).next_down());
        (low.min(x), high.max(x))
    }

    /// `low` or `high`, whichever is between, else `x`.
    pub(super) fn clamp(self, x: f64) -> f64 {
        x.clamp(self.smallest, self.largest)
    }

    /// The numbers of the grid in a range, if there are some.
    pub(super) fn in_range(self, range: &RangeInclusive<f64>) -> Option<RangeInclusive<f64>> {
        let (low, high) = ((range.start() / self.step).ceil(), (range.end() / self.step).floor());
        (low <= high).then_some(low * self.step..=high * self.step)
    }
}

impl From<FixedFormat> for Grid {
    fn from(format: FixedFormat) -> Self {
        Self::new(format.width, format.binary_point as i32)
    }
}

/// How far, and on which side, results may leave a format.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beyond {
    /// Below the smallest number.
    pub below: f64,
    /// Above the largest.
    pub above: f64,
}

impl Beyond {
    /// Whether everything is in the format.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// The same in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { below: self.below * factor, above: self.above * factor }
    }

    pub(super) fn of(grid: Grid, range: &RangeInclusive<f64>) -> Self {
        Self { below: (grid.smallest - range.start()).max(0.0), above: (range.end() - grid.largest).max(0.0) }
    }
}
