//! What exact arithmetic has, and how far a machine's number is from it, for all inputs at once: [`Bounded`].

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::affine::{Affine, Symbols};
use crate::format::FixedFormat;

/// A number of a machine in fixed point beside the one that exact arithmetic has in its place. The default is 0 on both
/// sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounded(Option<Arc<Pair>>);

/// The number of exact arithmetic, what the machine's is more, and what that may be.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    exact: Affine,
    error: Affine,
    machine: RangeInclusive<f64>,
}

static ZERO: Pair = Pair {
    exact: Affine::constant(0.0),
    error: Affine::constant(0.0),
    machine: RangeInclusive::new(0.0, 0.0),
};

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

    /// The smallest and the largest number of a format.
    fn limits(format: FixedFormat) -> [f64; 2] {
        [format.min(), format.max()].map(|raw| raw as f64 / format.one() as f64)
    }

    fn of(format: FixedFormat, range: &RangeInclusive<f64>) -> Self {
        let [smallest, largest] = Self::limits(format);
        Self { below: (smallest - range.start()).max(0.0), above: (range.end() - largest).max(0.0) }
    }
}

/// What makes bounded numbers of others: as a machine of `format` does that rounds to the nearest.
#[derive(Clone, Debug)]
pub struct Bounds {
    symbols: Symbols,
    format: FixedFormat,
    beyond: Vec<(usize, Beyond)>,
}

impl Bounded {
    fn new(exact: Affine, error: Affine, machine: RangeInclusive<f64>) -> Self {
        Self(Some(Arc::new(Pair { exact, error, machine })))
    }

    fn pair(&self) -> &Pair {
        self.0.as_deref().unwrap_or(&ZERO) // Default: 0 on both sides.
    }

    /// A constant of the model, and what the machine has for it.
    pub fn constant(exact: f64, machine: f64) -> Self {
        if exact == 0.0 && machine == 0.0 {
            return Self::default();
        }
        Self::new(Affine::constant(exact), Affine::constant(machine - exact), machine..=machine)
    }

    /// Nothing is known of the number of exact arithmetic.
    pub fn any() -> Self {
        Self::new(Affine::ANY, Affine::ANY, f64::NEG_INFINITY..=f64::INFINITY)
    }

    fn is_zero(&self) -> bool {
        self.0.is_none()
    }

    /// What exact arithmetic may have.
    pub fn exact(&self) -> RangeInclusive<f64> {
        self.pair().exact.range()
    }

    /// The most that the machine's number is from that; infinite where nothing is known.
    pub fn error(&self) -> f64 {
        self.pair().error.magnitude()
    }

    /// What exact arithmetic has and what the machine has, where these are always the same.
    fn points(&self) -> Option<(f64, f64)> {
        let pair = self.pair();
        let exact = pair.exact.point()?;
        Some((exact, exact + pair.error.point()?))
    }
}

impl Bounds {
    /// Numbers of `format`, of which each is to know at most `terms` sources of its range and error.
    pub fn new(format: FixedFormat, terms: usize) -> Self {
        Self { symbols: Symbols::new(terms), format, beyond: Vec::new() }
    }

    /// Places and extents of results that may have left the format since the last call.
    pub fn take_beyond(&mut self) -> Vec<(usize, Beyond)> {
        std::mem::take(&mut self.beyond)
    }

    fn half_step(&self) -> f64 {
        0.5 / self.format.one() as f64
    }

    /// An input from `low` to `high`, which the machine has as the nearest number of its format.
    pub fn input(&mut self, low: f64, high: f64) -> Bounded {
        let exact = self.symbols.between(low, high);
        let error = match exact.point() {
            Some(number) => {
                let one = self.format.one() as f64;
                Affine::constant((number * one + 0.5).floor() / one - number)
            }
            None => self.symbols.around(0.0, self.half_step()),
        };
        self.saturated(0, exact, error)
    }

    /// The sum of numbers, each times a factor that the machine has exactly; saturated at `place`.
    fn combined<const N: usize>(&mut self, place: usize, numbers: [(f64, &Bounded); N]) -> Bounded {
        if numbers.iter().all(|(_, number)| number.is_zero()) {
            return Bounded::default();
        }
        let (exact, error) = self.summed(numbers);
        self.saturated(place, exact, error)
    }

    fn summed<const N: usize>(&mut self, numbers: [(f64, &Bounded); N]) -> (Affine, Affine) {
        let pairs = numbers.map(|(factor, number)| (factor, number.pair()));
        let exact = self.symbols.sum(pairs.map(|(factor, pair)| (factor, &pair.exact)));
        let error = self.symbols.sum(pairs.map(|(factor, pair)| (factor, &pair.error)));
        (exact, error)
    }

    /// `left + right`.
    pub fn add(&mut self, place: usize, left: &Bounded, right: &Bounded) -> Bounded {
        match (left.is_zero(), right.is_zero()) {
            (true, _) => right.clone(),
            (_, true) => left.clone(),
            _ => self.combined(place, [(1.0, left), (1.0, right)]),
        }
    }

    /// `left - right`.
    pub fn subtract(&mut self, place: usize, left: &Bounded, right: &Bounded) -> Bounded {
        self.combined(place, [(1.0, left), (-1.0, right)])
    }

    /// The larger of two.
    pub fn max(&mut self, left: &Bounded, right: &Bounded) -> Bounded {
        self.rest(left, right).map_or_else(|| left.clone(), |rest| self.exactly(right, 1.0, &rest))
    }

    /// The smaller of two.
    pub fn min(&mut self, left: &Bounded, right: &Bounded) -> Bounded {
        self.rest(left, right).map_or_else(|| right.clone(), |rest| self.exactly(left, -1.0, &rest))
    }

    /// What `left` is more than `right`, 0 where it is less; none where it surely is not less.
    fn rest(&mut self, left: &Bounded, right: &Bounded) -> Option<Bounded> {
        let (exact, error) = self.summed([(1.0, left), (-1.0, right)]);
        self.rectified(exact, error)
    }

    /// `left + factor * right`, which is in the format.
    fn exactly(&mut self, left: &Bounded, factor: f64, right: &Bounded) -> Bounded {
        if right.is_zero() {
            return left.clone();
        }
        let (exact, error) = self.summed([(1.0, left), (factor, right)]);
        self.in_format(exact, error)
    }

    /// A number that the machine can have.
    fn in_format(&mut self, exact: Affine, error: Affine) -> Bounded {
        let machine = self.machine(&exact, &error);
        let [smallest, largest] = Beyond::limits(self.format);
        let machine = machine.start().clamp(smallest, largest)..=machine.end().clamp(smallest, largest);
        Bounded::new(exact, error, machine)
    }

    /// What the machine's number may be, by its parts.
    fn machine(&mut self, exact: &Affine, error: &Affine) -> RangeInclusive<f64> {
        self.symbols.sum([(1.0, exact), (1.0, error)]).range()
    }

    /// Whether `left` is larger than `right` in exact arithmetic and on the machine, whatever the inputs are.
    pub fn is_surely_larger(&mut self, left: &Bounded, right: &Bounded) -> bool {
        let (exact, error) = self.summed([(1.0, left), (-1.0, right)]);
        *exact.range().start() > 0.0 && *self.machine(&exact, &error).start() > 0.0
    }

    /// The number without its sign. The machine leaves the smallest number of its format as it is.
    pub fn abs(&mut self, number: &Bounded) -> Bounded {
        let (exact, error) = self.summed([(-1.0, number)]);
        let opposite = self.in_format(exact, error);
        let magnitude = self.max(number, &opposite);
        let [smallest, _] = Beyond::limits(self.format);
        if *number.pair().machine.start() > smallest {
            return magnitude;
        }
        let Pair { exact, error, .. } = magnitude.pair().clone();
        self.in_format(exact, error.widened(-2.0 * smallest))
    }

    /// A number that is 1 or 0 on both sides, whichever.
    pub fn truth(&mut self) -> Bounded {
        let exact = self.symbols.between(0.0, 1.0);
        Bounded::new(exact, self.symbols.around(0.0, 1.0), 0.0..=1.0)
    }

    /// `left * right`, rounded and saturated at `place`.
    pub fn multiply(&mut self, place: usize, left: &Bounded, right: &Bounded) -> Bounded {
        self.products(place, &Bounded::default(), std::iter::once((left, right)))
    }

    /// `start` and the sum of products, added one after the other and rounded and saturated after each, at `place`.
    pub fn products<'a>(
        &mut self,
        place: usize,
        start: &Bounded,
        factors: impl Iterator<Item = (&'a Bounded, &'a Bounded)> + Clone,
    ) -> Bounded {
        let factors = factors.filter(|(left, right)| !left.is_zero() && !right.is_zero());
        if factors.clone().next().is_none() {
            return start.clone();
        }
        if !self.fit(start.pair(), factors.clone()) {
            return self.one_by_one(place, start, factors);
        }
        let is_rounded = |(left, right): &(&Bounded, &Bounded)| !is_whole(left) && !is_whole(right);
        let roundings = factors.clone().filter(is_rounded).count() as f64;
        let rounding = self.symbols.around(0.0, roundings * self.half_step());
        let (mut scaled, mut others) = (Vec::new(), Vec::new());
        for (left, right) in factors {
            match (left.points(), right.points()) {
                (_, Some(factor)) => scaled.push((factor, left.pair())),
                (Some(factor), _) => scaled.push((factor, right.pair())),
                _ => others.push(self.product(left, right)),
            }
        }
        let first = start.pair();
        let exacts = scaled.iter().map(|((exact, _), pair)| (*exact, &pair.exact));
        let exacts = exacts.chain(others.iter().map(|(exact, _)| (1.0, exact)));
        let exact = self.symbols.sum(exacts.chain([(1.0, &first.exact)]));
        // (x + d) w' - x w = d w' + x (w' - w)
        let errors = scaled
            .iter()
            .flat_map(|((exact, machine), pair)| [(*machine, &pair.error), (machine - exact, &pair.exact)]);
        let errors = errors.chain(others.iter().map(|(_, error)| (1.0, error)));
        let error = self.symbols.sum(errors.chain([(1.0, &first.error), (1.0, &rounding)]));
        self.in_format(exact, error)
    }

    /// The exact product, and what the machine's is more before it is rounded.
    fn product(&mut self, left: &Bounded, right: &Bounded) -> (Affine, Affine) {
        let (l, r) = (left.pair(), right.pair());
        let exact = self.symbols.product(&l.exact, &r.exact);
        // (x + d)(y + e) - xy = (x + d) e + d y
        let machine = self.symbols.sum([(1.0, &l.exact), (1.0, &l.error)]);
        let [first, second] =
            [self.symbols.product(&machine, &r.error), self.symbols.product(&l.error, &r.exact)];
        (exact, self.symbols.sum([(1.0, &first), (1.0, &second)]))
    }

    /// Whether all partial sums are surely in the format, by the ranges of the machine's numbers alone.
    fn fit<'a>(&self, first: &Pair, factors: impl Iterator<Item = (&'a Bounded, &'a Bounded)>) -> bool {
        let (mut low, mut high) = (*first.machine.start(), *first.machine.end());
        let mut factors = factors;
        factors.all(|(left, right)| {
            let product = times(&left.pair().machine, &right.pair().machine);
            low += product.start() - self.half_step();
            high += product.end() + self.half_step();
            // Of what may be anything, the product with 0 is no number.
            (high - low).is_finite() && Beyond::of(self.format, &(low..=high)).is_none()
        })
    }

    /// The sum as the machine makes it, each partial sum with a range of its own.
    fn one_by_one<'a>(
        &mut self,
        place: usize,
        start: &Bounded,
        factors: impl Iterator<Item = (&'a Bounded, &'a Bounded)>,
    ) -> Bounded {
        factors.fold(start.clone(), |sum, (left, right)| {
            let (exact, error) = self.product(left, right);
            let before = sum.pair();
            let exact = self.symbols.sum([(1.0, &before.exact), (1.0, &exact)]);
            let error = self.symbols.sum([(1.0, &before.error), (1.0, &error)]);
            self.saturated(place, exact, error.widened(self.half_step()))
        })
    }

    /// What is in the format of a number at `place`.
    fn saturated(&mut self, place: usize, exact: Affine, error: Affine) -> Bounded {
        let machine = self.machine(&exact, &error);
        let beyond = Beyond::of(self.format, &machine);
        if beyond.is_none() {
            return Bounded::new(exact, error, machine);
        }
        self.beyond.push((place, beyond));
        let error = self.clamped_error(&exact, error, &machine, beyond);
        self.in_format(exact, error)
    }

    /// The error of a number that was clamped: as before, give or take what was cut off, or what the format has left of the
    /// machine's range, less the exact number. Whichever says more.
    fn clamped_error(
        &mut self,
        exact: &Affine,
        error: Affine,
        machine: &RangeInclusive<f64>,
        beyond: Beyond,
    ) -> Affine {
        let [smallest, largest] = Beyond::limits(self.format);
        let (low, high) = (machine.start().clamp(smallest, largest), machine.end().clamp(smallest, largest));
        let kept = self.symbols.between(low, high);
        let anew = self.symbols.sum([(1.0, &kept), (-1.0, exact)]);
        let (center, radius) = ((beyond.below - beyond.above) / 2.0, (beyond.below + beyond.above) / 2.0);
        if error.spread() + radius < anew.spread() { error.shifted(center).widened(radius) } else { anew }
    }

    /// The larger of a difference of two numbers and 0; none where that surely is the difference.
    fn rectified(&mut self, exact: Affine, error: Affine) -> Option<Bounded> {
        let machine = self.machine(&exact, &error);
        let real = exact.range();
        if *real.start() >= 0.0 && *machine.start() >= 0.0 {
            return None;
        }
        if *real.end() <= 0.0 && *machine.end() <= 0.0 {
            return Some(Bounded::default());
        }
        if !exact.spread().is_finite() || !error.spread().is_finite() {
            return Some(Bounded::any());
        }
        let error = self.rectified_error(&real, &error);
        let machine = machine.start().max(0.0)..=machine.end().max(0.0);
        Some(Bounded::new(self.rectified_exact(&exact), error, machine))
    }

    /// The larger of an exact number and 0: a band about the chord.
    fn rectified_exact(&mut self, exact: &Affine) -> Affine {
        let (low, high) = exact.range().into_inner();
        if low >= 0.0 {
            return exact.clone();
        }
        if high <= 0.0 {
            return Affine::default();
        }
        let slope = high / (high - low);
        let offset = -slope * low / 2.0;
        let band = self.symbols.around(offset, offset * (1.0 + 1e-12));
        self.symbols.sum([(slope, exact), (1.0, &band)])
    }

    /// max(x + e, 0) - max(x, 0), for a real number `x`: a band along the chord of its largest value.
    fn rectified_error(&mut self, x: &RangeInclusive<f64>, error: &Affine) -> Affine {
        let (low, high) = (*x.start(), *x.end());
        let (a, b) = error.range().into_inner();
        // Over all x, a convex function of e above and a concave one below.
        let above = |e: f64| if high <= 0.0 { (high + e).max(0.0) } else { e.max(-low.max(0.0)) };
        let below = |e: f64| match () {
            () if low >= 0.0 => e,
            () if high <= 0.0 => 0.0,
            () => e.min(0.0),
        };
        let slope = if b > a { ((above(b) - above(a)) / (b - a)).clamp(0.0, 1.0) } else { 0.0 };
        let from = (below(a) - slope * a).min(below(b) - slope * b);
        let to = (above(a) - slope * a).max(above(b) - slope * b);
        let slack = (a.abs() + b.abs()) * 1e-12;
        let band = self.symbols.around(from.midpoint(to), (to - from) / 2.0 + slack);
        self.symbols.sum([(slope, error), (1.0, &band)])
    }
}

/// Whether the machine always has the same number, without fraction: what it multiplies is not rounded.
fn is_whole(number: &Bounded) -> bool {
    number.points().is_some_and(|(_, machine)| machine.fract() == 0.0)
}

/// All products of numbers of two ranges.
fn times(left: &RangeInclusive<f64>, right: &RangeInclusive<f64>) -> RangeInclusive<f64> {
    let ends = [left.start() * right.start(), left.start() * right.end(), left.end() * right.start()];
    let last = left.end() * right.end();
    ends.iter().fold(last, |low, &end| low.min(end))..=ends.iter().fold(last, |high, &end| high.max(end))
}

#[cfg(test)]
mod tests;
