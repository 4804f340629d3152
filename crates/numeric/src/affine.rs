//! Affine arithmetic: ranges that keep track of common sources. [`Affine`] forms are created by
//! [`Symbols`].
//!
//! A form is `center + sum of coefficient * symbol`, plus or minus a radius. Each symbol is an
//! unknown number from -1 to 1, the same in all forms.
//!
//! Source: L. H. de Figueiredo and J. Stolfi, *Affine arithmetic: concepts and applications*, 2004.

use std::collections::HashMap;
use std::ops::RangeInclusive;

/// A number with partial knowledge: `center`, plus each coefficient times its symbol, plus or minus
/// `radius`. In addition, it is within `limits`, which may be narrower.
#[derive(Clone, Debug, PartialEq)]
pub struct Affine {
    center: f64,
    /// Symbol and coefficient, each symbol once.
    terms: Vec<(u32, f64)>,
    radius: f64,
    limits: Limits,
}

/// The default is 0.
impl Default for Affine {
    fn default() -> Self {
        Self::constant(0.0)
    }
}

impl Affine {
    /// Creates the form of an exact number.
    pub const fn constant(center: f64) -> Self {
        Self { center, terms: Vec::new(), radius: 0.0, limits: Limits { low: center, high: center } }
    }

    /// Any number, without further knowledge.
    pub const ANY: Self = Self { center: 0.0, terms: Vec::new(), radius: f64::INFINITY, limits: Limits::ANY };

    /// Returns the form with its radius increased by `radius`.
    #[must_use]
    pub fn widened(mut self, radius: f64) -> Self {
        self.radius += radius;
        self.limits = self.limits.plus(Limits { low: -radius, high: radius });
        self
    }

    /// Returns the form plus a number.
    #[must_use]
    pub fn shifted(mut self, by: f64) -> Self {
        let sum = self.center + by;
        // The rounding error of the `f64` addition, exactly.
        let part = sum - self.center;
        self.radius += ((self.center - (sum - part)) + (by - part)).abs();
        self.center = sum;
        self.limits = self.limits.plus(Limits { low: by, high: by });
        self
    }

    /// Returns the negated form.
    #[must_use]
    pub fn negated(mut self) -> Self {
        self.center = -self.center;
        self.terms.iter_mut().for_each(|(_, coefficient)| *coefficient = -*coefficient);
        self.limits = Limits { low: -self.limits.high, high: -self.limits.low };
        self
    }

    /// Returns the form with the additional knowledge that it is from `low` to `high`.
    #[must_use]
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.limits = self.limits.and(Limits { low, high });
        self
    }

    /// Returns the number if it is known exactly.
    pub fn point(&self) -> Option<f64> {
        (self.terms.is_empty() && self.radius == 0.0).then_some(self.center)
    }

    /// Returns the coefficients by symbol.
    pub fn coefficients(&self) -> HashMap<u32, f64> {
        self.terms.iter().copied().collect()
    }

    /// Returns the symbol of a form made by [`Symbols::between`], and whether the number increases
    /// with it. `None` for a constant.
    pub fn symbol(&self) -> Option<(u32, bool)> {
        self.terms.first().map(|&(symbol, coefficient)| (symbol, coefficient > 0.0))
    }

    /// Returns the largest deviation from the center through the terms.
    pub fn spread(&self) -> f64 {
        self.terms.iter().map(|(_, coefficient)| coefficient.abs()).sum::<f64>() + self.radius
    }

    /// Returns the range of the number.
    pub const fn range(&self) -> RangeInclusive<f64> {
        self.limits.low..=self.limits.high
    }

    /// Returns the length of the range.
    pub fn width(&self) -> f64 {
        self.limits.high - self.limits.low
    }

    /// Returns the largest magnitude of the number.
    pub const fn magnitude(&self) -> f64 {
        self.limits.magnitude()
    }

    /// Intersects the limits with the range that the terms imply.
    fn limited(mut self) -> Self {
        let spread = self.spread() * (1.0 + (self.terms.len() + 1) as f64 * f64::EPSILON);
        let terms =
            Limits { low: self.center, high: self.center }.plus(Limits { low: -spread, high: spread });
        self.limits = self.limits.and(terms);
        self
    }
}

/// Smallest and largest value of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limits {
    low: f64,
    high: f64,
}

impl Limits {
    const ANY: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Returns the limits of a sum, including the rounding of `f64`.
    fn plus(self, other: Self) -> Self {
        let add = |a: f64, b: f64, outward: fn(f64) -> f64| {
            let sum = a + b;
            if sum - a == b && sum - b == a { sum } else { outward(sum) }
        };
        Self { low: add(self.low, other.low, f64::next_down), high: add(self.high, other.high, f64::next_up) }
    }

    /// Returns the intersection.
    const fn and(self, other: Self) -> Self {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        // Ranges of the same number intersect, apart from the rounding of `f64`.
        if low <= high { Self { low, high } } else { Self { low: high, high: low } }
    }

    const fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Returns the limits of a product.
    fn times(self, other: Self) -> Self {
        let ends =
            [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high];
        // 0 times an unbounded number.
        if ends.iter().any(|end| end.is_nan()) {
            return Self::ANY;
        }
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        Self { low: low.next_down(), high: ends.iter().copied().fold(f64::NEG_INFINITY, f64::max).next_up() }
    }
}

/// Symbols, and operations on forms that use them.
#[derive(Clone, Debug)]
pub struct Symbols {
    /// Coefficients of a sum under construction, by symbol; all 0 between sums.
    coefficients: Vec<f64>,
    /// Symbols with a coefficient in the sum.
    touched: Vec<u32>,
    /// Maximum number of terms of a form; the smallest excess terms are moved to the radius.
    most: usize,
}

impl Symbols {
    /// Creates an empty set of symbols, for forms of at most `most` terms.
    pub fn new(most: usize) -> Self {
        Self { coefficients: Vec::new(), touched: Vec::new(), most }
    }

    /// Creates a number from `low` to `high`, with a new symbol; a constant if both are equal.
    pub fn between(&mut self, low: f64, high: f64) -> Affine {
        let (center, radius) = (low.midpoint(high), (high - low) / 2.0);
        let slack = (low.abs() + high.abs()) * f64::EPSILON;
        if low == high {
            Affine::constant(low)
        } else {
            self.around(center, radius).widened(slack).within(low, high)
        }
    }

    /// Creates a number at most `radius` from `center`, with a new symbol.
    pub fn around(&mut self, center: f64, radius: f64) -> Affine {
        let symbol = self.coefficients.len() as u32;
        self.coefficients.push(0.0);
        let limits = Limits { low: center, high: center }.plus(Limits { low: -radius, high: radius });
        Affine { center, terms: vec![(symbol, radius)], radius: 0.0, limits }
    }

    /// Returns the sum of forms, each times a factor. The radius includes the rounding of `f64`.
    pub fn sum<'a>(&mut self, forms: impl IntoIterator<Item = (f64, &'a Affine)>) -> Affine {
        let mut sum = Affine::default();
        let (mut magnitude, mut operations) = (0.0, 0_u32);
        let (mut limits, mut furthest) = (Limits { low: 0.0, high: 0.0 }, 0.0);
        for (factor, form) in forms {
            if factor == 0.0 {
                continue;
            }
            let center = factor * form.center;
            sum.center += center;
            sum.radius += factor.abs() * form.radius;
            magnitude += center.abs();
            operations += 1;
            let [one, other] = [factor * form.limits.low, factor * form.limits.high];
            limits.low += one.min(other);
            limits.high += one.max(other);
            furthest += one.abs().max(other.abs());
            for &(symbol, coefficient) in &form.terms {
                let place = &mut self.coefficients[symbol as usize];
                if *place == 0.0 {
                    self.touched.push(symbol);
                }
                let term = factor * coefficient;
                *place += term;
                magnitude += term.abs();
            }
        }
        self.collect(&mut sum.terms);
        let share = f64::from(operations + 1) * f64::EPSILON;
        let rounded = (magnitude + sum.radius) * share;
        sum.radius += rounded + self.reduce(&mut sum.terms);
        sum.limits = Limits { low: limits.low - furthest * share, high: limits.high + furthest * share };
        sum.limited()
    }

    /// Moves the coefficients of the sum to `terms`, and resets them to 0.
    fn collect(&mut self, terms: &mut Vec<(u32, f64)>) {
        for symbol in self.touched.drain(..) {
            let coefficient = std::mem::take(&mut self.coefficients[symbol as usize]);
            // A coefficient that was 0 in between is listed twice.
            if coefficient != 0.0 {
                terms.push((symbol, coefficient));
            }
        }
    }

    /// Keeps the largest terms up to the maximum number; returns the largest sum of the others.
    fn reduce(&self, terms: &mut Vec<(u32, f64)>) -> f64 {
        if terms.len() <= self.most {
            return 0.0;
        }
        let by_size = |(_, a): &(u32, f64), (_, b): &(u32, f64)| b.abs().total_cmp(&a.abs());
        if self.most > 0 {
            terms.select_nth_unstable_by(self.most - 1, by_size);
        }
        let rest = terms.drain(self.most..).map(|(_, coefficient)| coefficient.abs());
        rest.sum::<f64>() * (1.0 + 1e-12)
    }

    /// Returns the product of two forms; its nonlinear part becomes a radius.
    pub fn product(&mut self, left: &Affine, right: &Affine) -> Affine {
        if let Some(factor) = right.point() {
            return self.sum([(factor, left)]);
        }
        if let Some(factor) = left.point() {
            return self.sum([(factor, right)]);
        }
        let linear = self.sum([(right.center, left), (left.center, right)]);
        let both = left.center * right.center;
        let slack = both.abs() * f64::EPSILON * 4.0;
        let bent = left.spread() * right.spread() * (1.0 + 1e-12);
        let mut product = linear.shifted(-both).widened(bent + slack);
        product.limits = left.limits.times(right.limits);
        product.limited()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_forms_have_in_common_cancels() {
        let mut symbols = Symbols::new(8);
        let x = symbols.between(1.0, 3.0);
        let y = symbols.between(-1.0, 1.0);
        let sum = symbols.sum([(1.0, &x), (2.0, &y)]);
        assert!((sum.spread() - 3.0).abs() < 1e-12);
        let difference = symbols.sum([(1.0, &sum), (-1.0, &x), (-2.0, &y)]);
        assert!(difference.magnitude() < 1e-12, "{difference:?}");
    }

    #[test]
    fn terms_that_are_too_many_become_a_radius() {
        let mut symbols = Symbols::new(2);
        let forms: Vec<Affine> = [4.0, 1.0, 3.0, 2.0].map(|radius| symbols.around(0.0, radius)).into();
        let mut sum = symbols.sum(forms.iter().map(|form| (1.0, form)));
        sum.terms.sort_by_key(|&(symbol, _)| symbol);
        assert_eq!(sum.terms, [(0, 4.0), (2, 3.0)]);
        assert!((3.0..3.0001).contains(&sum.radius), "{sum:?}");
        assert!((10.0..10.0001).contains(&sum.magnitude()), "{sum:?}");
    }

    #[test]
    fn a_product_holds_every_product() {
        let mut symbols = Symbols::new(8);
        let (x, y) = (symbols.between(-1.0, 2.0), symbols.between(3.0, 5.0));
        let product = symbols.product(&x, &y).range();
        for corner in [-3.0, -5.0, 6.0, 10.0] {
            assert!(product.contains(&corner), "{product:?}");
        }
        // The square of a number from -1 to 2.
        let square = symbols.product(&x, &x).range();
        assert!(square.contains(&0.0) && square.contains(&4.0), "{square:?}");
    }
}
