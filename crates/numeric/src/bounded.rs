//! Bounds of a number in exact arithmetic, and of the machine's error, for all inputs at once:
//! [`Bounded`], computed by [`Bounds`]. Sums of products are in `products`, maxima of two numbers
//! in `maximum`.

mod grid;
mod maximum;
mod products;

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::affine::{Affine, Symbols};
pub use grid::{Grid, Overflow};
pub use products::GridRounding;

/// A fixed-point number of a machine together with its counterpart in exact arithmetic. The default
/// is 0 on both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounded(Option<Arc<Pair>>);

/// The number in exact arithmetic, the error of the machine's number, and the range of the
/// machine's number.
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

/// Assumption about the machine's rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RoundingModel {
    /// As the machine rounds: an operation on known numbers gives a known number.
    #[default]
    Machine,
    /// Each result is off by at most half a step, in either direction.
    Any,
}

/// Arithmetic on bounded numbers, for a machine with a fixed-point format that rounds to nearest.
#[derive(Clone, Debug)]
pub struct Bounds {
    symbols: Symbols,
    grid: Grid,
    rounding: RoundingModel,
    beyond: Vec<(usize, Overflow)>,
}

impl Bounded {
    fn new(exact: Affine, error: Affine, machine: RangeInclusive<f64>) -> Self {
        Self(Some(Arc::new(Pair { exact, error, machine })))
    }

    /// Creates a number of exact arithmetic for which the machine always has the same number.
    fn known(exact: Affine, machine: f64) -> Self {
        let error = exact.clone().negated().shifted(machine);
        Self::new(exact, error, machine..=machine)
    }

    fn pair(&self) -> &Pair {
        self.0.as_deref().unwrap_or(&ZERO) // Default: zero on both sides.
    }

    /// Creates a constant with its exact value in the model and its value on the machine.
    pub fn constant(exact: f64, machine: f64) -> Self {
        if exact == 0.0 && machine == 0.0 {
            return Self::default();
        }
        Self::known(Affine::constant(exact), machine)
    }

    /// Creates a constant that is from `low` to `high` in the model, with its value on the machine.
    pub fn constant_between(low: f64, high: f64, machine: f64) -> Self {
        if low == high {
            return Self::constant(low, machine);
        }
        let middle = low.midpoint(high);
        let radius = (high - middle).max(middle - low).next_up();
        Self::known(Affine::constant(middle).widened(radius).within(low, high), machine)
    }

    /// Creates a number whose exact value is unknown.
    pub fn any() -> Self {
        Self::new(Affine::ANY, Affine::ANY, f64::NEG_INFINITY..=f64::INFINITY)
    }

    fn is_zero(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the range in exact arithmetic.
    pub fn exact(&self) -> RangeInclusive<f64> {
        self.pair().exact.range()
    }

    /// Returns the largest difference of the machine's number from the exact number; infinite if
    /// unknown.
    pub fn error(&self) -> f64 {
        self.pair().error.magnitude()
    }

    /// Returns the range of the machine's number.
    pub fn machine(&self) -> RangeInclusive<f64> {
        self.pair().machine.clone()
    }

    /// Returns, for each input, whether it is at its maximum (true) or minimum at the corner where
    /// this number's error is largest, to first order.
    pub fn worst<'a>(&self, inputs: impl IntoIterator<Item = &'a Self>) -> Vec<bool> {
        let error = &self.pair().error;
        let (coefficients, range) = (error.coefficients(), error.range());
        let is_upwards = range.end().abs() >= range.start().abs();
        let is_high = |input: &Self| {
            let Some((symbol, grows)) = input.pair().exact.symbol() else { return false };
            let falls = coefficients.get(&symbol).is_some_and(|&coefficient| coefficient < 0.0);
            (falls != grows) == is_upwards
        };
        inputs.into_iter().map(is_high).collect()
    }

    /// Returns the machine's number, if it is always the same.
    fn machine_point(&self) -> Option<f64> {
        let machine = &self.pair().machine;
        (machine.start() == machine.end()).then_some(*machine.start())
    }

    /// Returns the exact number and the machine's number, if both are always the same.
    fn points(&self) -> Option<(f64, f64)> {
        Some((self.pair().exact.point()?, self.machine_point()?))
    }

    /// Returns the negated number, for any format.
    fn negated(&self) -> Self {
        match &self.0 {
            None => Self::default(),
            Some(pair) => {
                let Pair { exact, error, machine } = Pair::clone(pair);
                Self::new(exact.negated(), error.negated(), -machine.end()..=-machine.start())
            }
        }
    }
}

impl Bounds {
    /// Creates bounds for numbers of a format; each number keeps at most `terms` sources of its
    /// range and of its error.
    pub fn new(grid: impl Into<Grid>, terms: usize, rounding: RoundingModel) -> Self {
        Self { symbols: Symbols::new(terms), grid: grid.into(), rounding, beyond: Vec::new() }
    }

    /// Returns the places and amounts of possible saturation since the last call.
    pub fn take_overflow(&mut self) -> Vec<(usize, Overflow)> {
        std::mem::take(&mut self.beyond)
    }

    fn half_step(&self) -> f64 {
        self.grid.step() / 2.0
    }

    /// Whether the machine's own numbers are tracked where they are known.
    fn is_literal(&self) -> bool {
        self.rounding == RoundingModel::Machine
    }

    /// Creates an input from `low` to `high`, which the machine rounds to its format.
    pub fn input(&mut self, low: f64, high: f64) -> Bounded {
        let exact = self.symbols.between(low, high);
        let [first, last] = [low, high].map(|end| self.grid.nearest(end));
        let is_known = low == high || (self.is_literal() && first == last);
        let beyond = Overflow::of(self.grid, &(low..=high));
        self.note(0, beyond, self.half_step());
        if is_known {
            return Bounded::known(exact, first);
        }
        let cut = Affine::constant((beyond.below - beyond.above) / 2.0);
        let error = self.symbols.around(0.0, self.half_step() + (beyond.below + beyond.above) / 2.0);
        let error = self.symbols.sum([(1.0, &error), (1.0, &cut)]);
        self.settled(self.grid, exact, error, first..=last)
    }

    /// Records a possible saturation at `place`, if it exceeds `slack`.
    fn note(&mut self, place: usize, beyond: Overflow, slack: f64) {
        if beyond.below > slack || beyond.above > slack {
            self.beyond.push((place, beyond));
        }
    }

    /// Returns the sum of numbers, each times a factor of 1 or -1, saturated at `place`.
    fn combined<const N: usize>(&mut self, place: usize, numbers: [(f64, &Bounded); N]) -> Bounded {
        if numbers.iter().all(|(_, number)| number.is_zero()) {
            return Bounded::default();
        }
        let points = numbers.map(|(factor, number)| number.machine_point().map(|point| factor * point));
        if self.is_literal() && points.iter().all(Option::is_some) {
            let sum: f64 = points.iter().flatten().sum();
            let exact = self.symbols.sum(numbers.map(|(factor, number)| (factor, &number.pair().exact)));
            return self.known(place, self.grid, exact, sum);
        }
        let (exact, error) = self.summed(numbers);
        let ends = numbers.iter().fold((0.0, 0.0), |(low, high), (factor, number)| {
            let machine = times(&(*factor..=*factor), &number.pair().machine);
            (low + machine.start(), high + machine.end())
        });
        self.saturated(place, self.grid, exact, error, ends.0..=ends.1)
    }

    /// Returns a number for which the machine always has the same number, after saturating it to
    /// the grid at `place`.
    fn known(&mut self, place: usize, grid: Grid, exact: Affine, machine: f64) -> Bounded {
        self.note(place, Overflow::of(grid, &(machine..=machine)), 0.0);
        Bounded::known(exact, grid.clamp(machine))
    }

    fn summed<const N: usize>(&mut self, numbers: [(f64, &Bounded); N]) -> (Affine, Affine) {
        let pairs = numbers.map(|(factor, number)| (factor, number.pair()));
        let exact = self.symbols.sum(pairs.map(|(factor, pair)| (factor, &pair.exact)));
        let error = self.symbols.sum(pairs.map(|(factor, pair)| (factor, &pair.error)));
        (exact, error)
    }

    /// Returns a number times a power of two, in any format, without rounding.
    pub fn scaled(&mut self, number: &Bounded, factor: f64) -> Bounded {
        if number.is_zero() || factor == 1.0 {
            return number.clone();
        }
        let Pair { exact, error, machine } = number.pair();
        let [exact, error] = [exact, error].map(|form| self.symbols.sum([(factor, form)]));
        Bounded::new(exact, error, times(&(factor..=factor), machine))
    }

    /// Returns `left + right`, with saturation recorded at `place`.
    pub fn add(&mut self, place: usize, left: &Bounded, right: &Bounded) -> Bounded {
        match (left.is_zero(), right.is_zero()) {
            (true, _) => right.clone(),
            (_, true) => left.clone(),
            _ => self.combined(place, [(1.0, left), (1.0, right)]),
        }
    }

    /// Returns `left - right`, with saturation recorded at `place`.
    pub fn subtract(&mut self, place: usize, left: &Bounded, right: &Bounded) -> Bounded {
        self.combined(place, [(1.0, left), (-1.0, right)])
    }

    /// Returns a number on the grid, given that the machine's number is also in the range
    /// `machine`.
    fn settled(&mut self, grid: Grid, exact: Affine, error: Affine, machine: RangeInclusive<f64>) -> Bounded {
        let by_parts = self.machine(&exact, &error);
        let mut machine = common(&by_parts, &machine);
        if self.is_literal() {
            // Default: `f64` rounding may have removed the only number of the grid.
            machine = grid.in_range(&machine).unwrap_or(machine);
            if machine.start() == machine.end() {
                return Bounded::known(exact, *machine.start());
            }
        }
        let error = self.less(&exact, error, &machine);
        Bounded::new(exact, error, machine)
    }

    /// Returns the error as given, or as implied by the machine's range, whichever is narrower.
    fn less(&mut self, exact: &Affine, error: Affine, machine: &RangeInclusive<f64>) -> Affine {
        if machine.end() - machine.start() + exact.width() < error.width() {
            let machine = self.symbols.between(*machine.start(), *machine.end());
            return self.symbols.sum([(1.0, &machine), (-1.0, exact)]);
        }
        let real = exact.range();
        error.within((machine.start() - real.end()).next_down(), (machine.end() - real.start()).next_up())
    }

    /// Returns the range of the machine's number, from the exact number and the error.
    fn machine(&mut self, exact: &Affine, error: &Affine) -> RangeInclusive<f64> {
        self.symbols.sum([(1.0, exact), (1.0, error)]).range()
    }

    /// Saturates a number to the grid at `place`, given that the machine's number would be in the
    /// range `machine`.
    fn saturated(
        &mut self,
        place: usize,
        grid: Grid,
        exact: Affine,
        error: Affine,
        machine: RangeInclusive<f64>,
    ) -> Bounded {
        let machine = common(&self.machine(&exact, &error), &machine);
        let beyond = Overflow::of(grid, &machine);
        if beyond.is_none() {
            return self.settled(grid, exact, error, machine);
        }
        self.beyond.push((place, beyond));
        let error = self.clamped_error(&exact, error, grid, &machine);
        self.settled(grid, exact, error, grid.clamp(*machine.start())..=grid.clamp(*machine.end()))
    }

    /// Returns the error of a clamped number: the error before plus the amount cut off, or the
    /// clamped machine range minus the exact number, whichever is narrower.
    fn clamped_error(
        &mut self,
        exact: &Affine,
        error: Affine,
        grid: Grid,
        machine: &RangeInclusive<f64>,
    ) -> Affine {
        let kept = self.symbols.between(grid.clamp(*machine.start()), grid.clamp(*machine.end()));
        let anew = self.symbols.sum([(1.0, &kept), (-1.0, exact)]);
        let Overflow { below, above } = Overflow::of(grid, machine);
        let (center, radius) = ((below - above) / 2.0, (below + above) / 2.0);
        let slack = (below + above) * f64::EPSILON;
        if error.spread() + radius < anew.spread() {
            error.shifted(center).widened(radius + slack)
        } else {
            anew
        }
    }

    /// Whether `left` is larger than `right` in exact arithmetic and on the machine, for all
    /// inputs.
    pub fn is_surely_larger(&mut self, left: &Bounded, right: &Bounded) -> bool {
        let (exact, error) = self.summed([(1.0, left), (-1.0, right)]);
        let on_machine = *self.machine(&exact, &error).start() > 0.0
            || left.pair().machine.start() > right.pair().machine.end();
        *exact.range().start() > 0.0 && on_machine
    }

    /// Returns an unknown number that is 0 or 1, the same on both sides.
    pub fn truth(&mut self) -> Bounded {
        let exact = self.symbols.between(0.0, 1.0);
        Bounded::new(exact, self.symbols.around(0.0, 1.0), 0.0..=1.0)
    }
}

/// Returns the intersection of two ranges of the same number.
fn common(left: &RangeInclusive<f64>, right: &RangeInclusive<f64>) -> RangeInclusive<f64> {
    let (low, high) = (left.start().max(*right.start()), left.end().min(*right.end()));
    // They intersect, apart from the rounding of `f64`.
    if low <= high { low..=high } else { high..=low }
}

/// Returns the range of products of numbers of two ranges.
fn times(left: &RangeInclusive<f64>, right: &RangeInclusive<f64>) -> RangeInclusive<f64> {
    let ends = [left.start() * right.start(), left.start() * right.end(), left.end() * right.start()];
    let last = left.end() * right.end();
    ends.iter().fold(last, |low, &end| low.min(end))..=ends.iter().fold(last, |high, &end| high.max(end))
}

#[cfg(test)]
mod tests;
