//! Sums of products: rounded product by product, [`Bounds::products`], or once, [`Bounds::dot`].

use std::ops::RangeInclusive;

use super::{Affine, Bounded, Bounds, Grid, Overflow, times};

/// Largest number of possible values for which the roundings are examined one by one.
const LOOKED_AT: f64 = 16.0;
/// Limit up to which integers and their halves are exact in `f64`.
const EXACT: f64 = (1_u64 << 52) as f64;

/// The two factors of a product.
type Factors<'a> = (&'a Bounded, &'a Bounded);

impl Bounds {
    /// Returns `left * right`, rounded and saturated at `place`.
    pub fn multiply(&mut self, place: usize, left: &Bounded, right: &Bounded) -> Bounded {
        self.products(place, &Bounded::default(), std::iter::once((left, right)))
    }

    /// Returns `start` plus the sum of products, added one after the other. Each step is rounded to
    /// nearest (ties to the even sum) and saturated, at `place`.
    pub fn products<'a>(
        &mut self,
        place: usize,
        start: &Bounded,
        factors: impl Iterator<Item = Factors<'a>> + Clone,
    ) -> Bounded {
        let factors = factors.filter(|(left, right)| !left.is_zero() && !right.is_zero());
        if factors.clone().next().is_none() {
            return start.clone();
        }
        if let Some(machine) = self.literal(place, start, factors.clone()) {
            return Bounded::known(self.sums(1.0, start, 1.0, factors, false).0, machine);
        }
        let Some(machine) = self.fit(start, factors.clone()) else {
            return self.one_by_one(place, start, factors);
        };
        let roundings = factors.clone().map(|(left, right)| self.rounding(left, right));
        let (center, radius) = roundings.fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
        let (exact, error) = self.sums(1.0, start, 1.0, factors, true);
        let rounding = self.symbols.around(center, radius);
        let error = self.symbols.sum([(1.0, &error), (1.0, &rounding)]);
        self.settled(self.grid, exact, error, machine)
    }

    /// Returns the machine's sum, if all its operands are known.
    fn literal<'a>(
        &mut self,
        place: usize,
        start: &Bounded,
        factors: impl Iterator<Item = Factors<'a>> + Clone,
    ) -> Option<f64> {
        let points = |(l, r): Factors<'_>| Some((l.machine_point()?, r.machine_point()?));
        let start = start.machine_point().filter(|_| self.is_literal())?;
        if !factors.clone().all(|pair| points(pair).is_some()) {
            return None;
        }
        let (format, step) = (self.grid.format()?, self.grid.step());
        let raw = |number: f64| (number / step) as i64;
        let sum = factors.filter_map(points).fold(start, |sum, (left, right)| {
            let product = raw(left) * raw(right) + (raw(sum) << format.binary_point);
            let sum = format.round_half_even(product) as f64 * step;
            self.note(place, Overflow::of(self.grid, &(sum..=sum)), 0.0);
            self.grid.clamp(sum)
        });
        Some(sum)
    }

    /// Returns the rounding error of a product on the machine: its middle and its radius.
    fn rounding(&self, left: &Bounded, right: &Bounded) -> (f64, f64) {
        if is_whole(left) || is_whole(right) {
            return (0.0, 0.0);
        }
        let half = (0.0, self.half_step());
        match (left.machine_point(), right.machine_point()) {
            _ if !self.is_literal() => half,
            (_, Some(factor)) => self.looked_at(factor, left).unwrap_or(half), // Default: the general bound.
            (Some(factor), _) => self.looked_at(factor, right).unwrap_or(half), // Default: the general bound.
            _ => half,
        }
    }

    /// Returns the rounding errors of all products of a factor and the few values that the other
    /// may have.
    fn looked_at(&self, factor: f64, other: &Bounded) -> Option<(f64, f64)> {
        let step = self.grid.step();
        let (low, high) = other.machine().into_inner();
        let count = (high - low) / step;
        let is_exact = (factor / step).abs() * (low.abs().max(high.abs()) / step) < EXACT;
        if count >= LOOKED_AT || !is_exact {
            return None;
        }
        let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
        for index in 0..=count as u32 {
            let product = factor * (low + f64::from(index) * step) / step;
            // For a tie, the sum decides the direction.
            let (down, up) = ((product - 0.5).ceil() - product, (product + 0.5).floor() - product);
            ends = (ends.0.min(down).min(up), ends.1.max(up).max(down));
        }
        Some(((ends.0 + ends.1) / 2.0 * step, (ends.1 - ends.0) / 2.0 * step))
    }

    /// Returns the exact sum and, if requested, the machine's error before rounding, for `start`
    /// and products, each times a power of two.
    fn sums<'a>(
        &mut self,
        first_scale: f64,
        start: &Bounded,
        scale: f64,
        factors: impl Iterator<Item = Factors<'a>>,
        has_error: bool,
    ) -> (Affine, Affine) {
        let (mut scaled, mut others) = (Vec::new(), Vec::new());
        for (left, right) in factors {
            match (left.points(), right.points()) {
                (_, Some(factor)) => scaled.push((factor, left.pair())),
                (Some(factor), _) => scaled.push((factor, right.pair())),
                _ => others.push(self.product(left, right)),
            }
        }
        let first = start.pair();
        let exacts = scaled.iter().map(|((exact, _), pair)| (*exact * scale, &pair.exact));
        let exacts = exacts.chain(others.iter().map(|(exact, _)| (scale, exact)));
        let exact = self.symbols.sum(exacts.chain([(first_scale, &first.exact)]));
        if !has_error {
            return (exact, Affine::default());
        }
        // (x + d) w' - x w = d w' + x (w' - w)
        let errors = scaled.iter().flat_map(|((exact, machine), pair)| {
            [(*machine * scale, &pair.error), ((machine - exact) * scale, &pair.exact)]
        });
        let errors = errors.chain(others.iter().map(|(_, error)| (scale, error)));
        let error = self.symbols.sum(errors.chain([(first_scale, &first.error)]));
        (exact, error)
    }

    /// Returns the exact product, and the machine's error before rounding.
    fn product(&mut self, left: &Bounded, right: &Bounded) -> (Affine, Affine) {
        let (l, r) = (left.pair(), right.pair());
        let exact = self.symbols.product(&l.exact, &r.exact);
        // (x + d)(y + e) - xy = (x + d) e + d y
        let machine = self.symbols.sum([(1.0, &l.exact), (1.0, &l.error)]);
        let [first, second] =
            [self.symbols.product(&machine, &r.error), self.symbols.product(&l.error, &r.exact)];
        (exact, self.symbols.sum([(1.0, &first), (1.0, &second)]))
    }

    /// Returns the machine's sum from the ranges of its numbers alone, if all partial sums are
    /// certainly in the format.
    fn fit<'a>(
        &self,
        first: &Bounded,
        factors: impl Iterator<Item = Factors<'a>>,
    ) -> Option<RangeInclusive<f64>> {
        let (mut low, mut high) = first.machine().into_inner();
        let mut factors = factors;
        let is_in = factors.all(|(left, right)| {
            let product = self.rounded(&times(&left.pair().machine, &right.pair().machine));
            low += product.start();
            high += product.end();
            // For an unbounded number, the product with 0 is NaN.
            (high - low).is_finite() && Overflow::of(self.grid, &(low..=high)).is_none()
        });
        is_in.then_some(low..=high)
    }

    /// Returns a range of products after rounding, with ties in either direction.
    fn rounded(&self, products: &RangeInclusive<f64>) -> RangeInclusive<f64> {
        let (low, high) = (*products.start(), *products.end());
        let step = self.grid.step();
        let is_small = low.abs().max(high.abs()) / step * (1.0 / step).max(1.0) < EXACT;
        if self.is_literal() && is_small {
            return (low / step - 0.5).ceil() * step..=(high / step + 0.5).floor() * step;
        }
        // The other half of the step covers the rounding of `f64`.
        let slack = if is_small { self.half_step() } else { step };
        low - slack..=high + slack
    }

    /// Returns the sum as the machine computes it, with a separate range for each partial sum.
    fn one_by_one<'a>(
        &mut self,
        place: usize,
        start: &Bounded,
        factors: impl Iterator<Item = Factors<'a>>,
    ) -> Bounded {
        factors.fold(start.clone(), |sum, (left, right)| {
            let (exact, error) = self.product(left, right);
            let before = sum.pair();
            let exact = self.symbols.sum([(1.0, &before.exact), (1.0, &exact)]);
            let error = self.symbols.sum([(1.0, &before.error), (1.0, &error)]);
            let all = f64::NEG_INFINITY..=f64::INFINITY;
            let (center, radius) = self.rounding(left, right);
            let error = error.shifted(center).widened(radius);
            self.saturated(place, self.grid, exact, error, all)
        })
    }

    /// Returns `start` times a power of two plus the sum of products times another, computed
    /// exactly, then rounded once (ties to the greater) and saturated.
    pub fn dot<'a>(
        &mut self,
        GridRounding { place, grid, unit }: GridRounding,
        start: (f64, &Bounded),
        scale: f64,
        factors: impl Iterator<Item = Factors<'a>> + Clone,
    ) -> Bounded {
        let factors = factors.filter(|(left, right)| !left.is_zero() && !right.is_zero());
        if start.1.is_zero() && factors.clone().next().is_none() {
            return Bounded::default();
        }
        let Sum { range, magnitude, count } = Sum::of(start.0, start.1, scale, factors.clone());
        let is_exact = magnitude / unit < EXACT;
        if self.is_literal() && is_exact && range.start() == range.end() {
            let exact = self.sums(start.0, start.1, scale, factors, false).0;
            return self.known(place, grid, exact, grid.rounded(*range.start()));
        }
        let (exact, error) = self.sums(start.0, start.1, scale, factors, true);
        let radius = if unit < grid.step() { grid.step() / 2.0 } else { 0.0 };
        let slack = if is_exact { 0.0 } else { magnitude * f64::EPSILON * count };
        let range = range.start() - slack..=range.end() + slack;
        let machine = match self.is_literal() {
            true => grid.rounded(*range.start())..=grid.rounded(*range.end()),
            false => range.start() - radius..=range.end() + radius,
        };
        let rounding = self.symbols.around(0.0, radius);
        let error = self.symbols.sum([(1.0, &error), (1.0, &rounding)]);
        self.saturated(place, grid, exact, error, machine)
    }
}

/// Rounding of an exact sum.
#[derive(Clone, Copy, Debug)]
pub struct GridRounding {
    /// Place of the number, for reports of saturation.
    pub place: usize,
    /// Numbers to which the sum is rounded and saturated.
    pub grid: Grid,
    /// Power of two that divides the machine's sums before rounding.
    pub unit: f64,
}

/// Bounds of a sum before rounding, from the ranges of the machine's numbers alone.
struct Sum {
    range: RangeInclusive<f64>,
    /// Bound on the magnitude of every partial sum.
    magnitude: f64,
    /// Number of summands, plus two.
    count: f64,
}

impl Sum {
    fn of<'a>(
        first_scale: f64,
        start: &Bounded,
        scale: f64,
        factors: impl Iterator<Item = Factors<'a>>,
    ) -> Self {
        let first = times(&(first_scale..=first_scale), &start.pair().machine);
        let size = |range: &RangeInclusive<f64>| range.start().abs().max(range.end().abs());
        let (mut low, mut high, mut magnitude, mut count) = (*first.start(), *first.end(), size(&first), 3.0);
        for (left, right) in factors {
            let product = times(&left.pair().machine, &right.pair().machine);
            low += product.start() * scale;
            high += product.end() * scale;
            magnitude += size(&product) * scale;
            count += 1.0;
        }
        // For an unbounded number, the product with 0 is NaN.
        let range = if magnitude.is_finite() { low..=high } else { f64::NEG_INFINITY..=f64::INFINITY };
        Self { range, magnitude, count }
    }
}

/// Whether the machine always has the same integer: multiplying by it does not round.
fn is_whole(number: &Bounded) -> bool {
    number.machine_point().is_some_and(|machine| machine.fract() == 0.0)
}
