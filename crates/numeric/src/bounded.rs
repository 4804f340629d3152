//! What exact arithmetic has, and how far a machine's number is from it, for all inputs at once: [`Bounded`].

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::affine::{Affine, Symbols};
use crate::format::FixedFormat;

/// A number of a machine in fixed point beside the one that exact arithmetic has in its place. The default is 0 on both
/// sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounded(Option<Arc<Pair>>);

/// The number of exact arithmetic, and what the machine's is more.
#[derive(Clone, Debug, Default, PartialEq)]
struct Pair {
    exact: Affine,
    error: Affine,
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
    fn new(exact: Affine, error: Affine) -> Self {
        Self(Some(Arc::new(Pair { exact, error })))
    }

    /// A constant of the model, and what the machine has for it.
    pub fn constant(exact: f64, machine: f64) -> Self {
        if exact == 0.0 && machine == 0.0 {
            return Self::default();
        }
        Self::new(Affine::constant(exact), Affine::constant(machine - exact))
    }

    /// Nothing is known of the number of exact arithmetic.
    pub fn any() -> Self {
        Self::new(Affine::ANY, Affine::ANY)
    }

    fn is_zero(&self) -> bool {
        self.0.is_none()
    }

    /// What exact arithmetic may have.
    pub fn exact(&self) -> RangeInclusive<f64> {
        self.0.as_ref().map_or(0.0..=0.0, |pair| pair.exact.range())
    }

    /// The most that the machine's number is from that; infinite where nothing is known.
    pub fn error(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |pair| pair.error.magnitude())
    }

    /// The machine's number, where it is always the same.
    fn machine_point(&self) -> Option<f64> {
        let Some(pair) = &self.0 else { return Some(0.0) };
        Some(pair.exact.point()? + pair.error.point()?)
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
        let pairs = numbers.map(|(factor, number)| (factor, number.0.as_deref()));
        let pairs = pairs.into_iter().filter_map(|(factor, pair)| Some((factor, pair?)));
        let exact = self.symbols.sum(pairs.clone().map(|(factor, pair)| (factor, &pair.exact)));
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
        Bounded::new(exact, error)
    }

    /// Whether `left` is larger than `right` in exact arithmetic and on the machine, whatever the inputs are.
    pub fn is_surely_larger(&mut self, left: &Bounded, right: &Bounded) -> bool {
        let (exact, error) = self.summed([(1.0, left), (-1.0, right)]);
        let machine = self.symbols.sum([(1.0, &exact), (1.0, &error)]);
        *exact.range().start() > 0.0 && *machine.range().start() > 0.0
    }

    /// The number without its sign. The machine leaves the smallest number of its format as it is.
    pub fn abs(&mut self, number: &Bounded) -> Bounded {
        let (exact, error) = self.summed([(-1.0, number)]);
        let machine = self.symbols.sum([(-1.0, &exact), (-1.0, &error)]).range();
        let magnitude = self.max(number, &Bounded::new(exact, error));
        let smallest = self.format.min() as f64 / self.format.one() as f64;
        if *machine.start() > smallest {
            return magnitude;
        }
        let unchanged = Bounded::new(Affine::default(), Affine::default().widened(-2.0 * smallest));
        self.exactly(&magnitude, 1.0, &unchanged)
    }

    /// A number that is 1 or 0 on both sides, whichever.
    pub fn truth(&mut self) -> Bounded {
        let exact = self.symbols.between(0.0, 1.0);
        Bounded::new(exact, self.symbols.around(0.0, 1.0))
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
        let mut parts: Vec<(Affine, Affine)> = Vec::new();
        let mut roundings = 0;
        for (left, right) in factors {
            parts.push(self.product(left, right));
            let is_whole = |number: &Bounded| number.machine_point().is_some_and(|x| x.fract() == 0.0);
            roundings += u32::from(!is_whole(left) && !is_whole(right));
        }
        if parts.is_empty() {
            return start.clone();
        }
        let zero = Pair::default();
        let first = start.0.as_deref().unwrap_or(&zero); // Default: it begins with 0.
        let partial_sums_fit = self.fit(first, &parts);
        if !partial_sums_fit {
            return self.one_by_one(place, start, &parts);
        }
        let rounding = self.symbols.around(0.0, f64::from(roundings) * self.half_step());
        let exacts = parts.iter().map(|(exact, _)| (1.0, exact)).chain([(1.0, &first.exact)]);
        let exact = self.symbols.sum(exacts);
        let errors = parts.iter().map(|(_, error)| error).chain([&first.error, &rounding]);
        let error = self.symbols.sum(errors.map(|error| (1.0, error)));
        Bounded::new(exact, error)
    }

    /// The exact product, and what the machine's is more before it is rounded.
    fn product(&mut self, left: &Bounded, right: &Bounded) -> (Affine, Affine) {
        let zero = Pair::default();
        let [l, r] = [left, right].map(|number| number.0.as_deref().unwrap_or(&zero)); // Default: 0.
        let exact = self.symbols.product(&l.exact, &r.exact);
        // (x + d)(y + e) - xy = (x + d) e + d y
        let machine = self.symbols.sum([(1.0, &l.exact), (1.0, &l.error)]);
        let [first, second] =
            [self.symbols.product(&machine, &r.error), self.symbols.product(&l.error, &r.exact)];
        (exact, self.symbols.sum([(1.0, &first), (1.0, &second)]))
    }

    /// Whether all partial sums are surely in the format, by their ranges alone.
    fn fit(&self, first: &Pair, parts: &[(Affine, Affine)]) -> bool {
        let ends = |exact: &Affine, error: &Affine| {
            let (exact, error) = (exact.range(), error.range());
            (exact.start() + error.start(), exact.end() + error.end())
        };
        let (mut low, mut high) = ends(&first.exact, &first.error);
        parts.iter().all(|(exact, error)| {
            let (below, above) = ends(exact, error);
            low += below - self.half_step();
            high += above + self.half_step();
            Beyond::of(self.format, &(low..=high)).is_none()
        })
    }

    /// The sum as the machine makes it, each partial sum with a range of its own.
    fn one_by_one(&mut self, place: usize, start: &Bounded, parts: &[(Affine, Affine)]) -> Bounded {
        let half_step = self.half_step();
        parts.iter().fold(start.clone(), |sum, (exact, error)| {
            let error = error.clone().widened(half_step);
            let part = Bounded::new(exact.clone(), error);
            self.combined(place, [(1.0, &sum), (1.0, &part)])
        })
    }

    /// What is in the format of a number at `place`.
    fn saturated(&mut self, place: usize, exact: Affine, error: Affine) -> Bounded {
        let machine = self.symbols.sum([(1.0, &exact), (1.0, &error)]).range();
        let beyond = Beyond::of(self.format, &machine);
        if beyond.is_none() {
            return Bounded::new(exact, error);
        }
        self.beyond.push((place, beyond));
        let error = self.clamped_error(&exact, error, &machine, beyond);
        Bounded::new(exact, error)
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

    /// The larger of a number and 0; none where that surely is the number.
    fn rectified(&mut self, exact: Affine, error: Affine) -> Option<Bounded> {
        let machine = self.symbols.sum([(1.0, &exact), (1.0, &error)]).range();
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
        Some(Bounded::new(self.rectified_exact(&exact), error))
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

#[cfg(test)]
mod tests;
