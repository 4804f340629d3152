//! [`Grid`]: the numbers of a fixed-point type. [`Overflow`]: how far a result may exceed them.

use std::ops::RangeInclusive;

use crate::format::FixedFormat;
use crate::quantized::{Ties, quantized};

/// The multiples of a step between two limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    width: u32,
    fraction: i32,
    step: f64,
    smallest: f64,
    largest: f64,
}

impl Grid {
    /// Creates the grid of a type of `width` bits (2 to 32), including the sign, in units of
    /// `2^-fraction` (-512 to 512).
    pub fn new(width: u32, fraction: i32) -> Self {
        let step = 2f64.powi(-fraction);
        let half = 2f64.powi(width as i32 - 1);
        Self { width, fraction, step, smallest: -half * step, largest: (half - 1.0) * step }
    }

    /// Returns the distance of neighbors.
    pub const fn step(self) -> f64 {
        self.step
    }

    /// Returns the smallest number.
    pub const fn smallest(self) -> f64 {
        self.smallest
    }

    /// Returns the largest number.
    pub const fn largest(self) -> f64 {
        self.largest
    }

    /// Returns the number nearest to `x`, ties to the greater; saturates at the limits.
    pub fn nearest(self, x: f64) -> f64 {
        quantized(x, self.fraction, self.width, Ties::HalfUp).value * self.step
    }

    /// Returns the multiple of the step nearest to `x`, ties to the greater, without limits.
    pub(super) fn rounded(self, x: f64) -> f64 {
        let (scaled, below) = (x / self.step, (x / self.step).floor());
        (below + f64::from(u8::from(scaled - below >= 0.5))) * self.step
    }

    /// Returns the grid as a format, if the format can represent it.
    pub(super) fn format(self) -> Option<FixedFormat> {
        let binary_point = u32::try_from(self.fraction).ok().filter(|&fraction| fraction < self.width)?;
        Some(FixedFormat { width: self.width, binary_point })
    }

    /// Returns the range of all numbers that round to the same number as `x`, extended to include
    /// `x`.
    pub fn cell(self, x: f64) -> (f64, f64) {
        let nearest = self.nearest(x);
        let (low, high) = (nearest - self.step / 2.0, (nearest + self.step / 2.0).next_down());
        (low.min(x), high.max(x))
    }

    /// Clamps `x` to the limits.
    pub(super) fn clamp(self, x: f64) -> f64 {
        x.clamp(self.smallest, self.largest)
    }

    /// Returns the range of grid numbers within a range, if there are any.
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

/// Largest distances by which results may exceed a format, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overflow {
    /// Distance below the smallest number.
    pub below: f64,
    /// Distance above the largest number.
    pub above: f64,
}

impl Overflow {
    /// Whether everything is within the format.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Returns the distances in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { below: self.below * factor, above: self.above * factor }
    }

    pub(super) fn of(grid: Grid, range: &RangeInclusive<f64>) -> Self {
        Self { below: (grid.smallest - range.start()).max(0.0), above: (range.end() - grid.largest).max(0.0) }
    }
}
