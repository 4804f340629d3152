//! Maximum of two bounded numbers, and the functions derived from it: minimum and magnitude.

use std::ops::RangeInclusive;

use super::{Affine, Bounded, Bounds, Pair};

impl Bounds {
    /// Returns the larger of two numbers.
    pub fn max(&mut self, left: &Bounded, right: &Bounded) -> Bounded {
        let (exact, error) = self.summed([(1.0, left), (-1.0, right)]);
        let (real, machine) = (exact.range(), self.machine(&exact, &error));
        if *real.start() >= 0.0 && *machine.start() >= 0.0 {
            return left.clone();
        }
        if *real.end() <= 0.0 && *machine.end() <= 0.0 {
            return right.clone();
        }
        if !exact.spread().is_finite() || !error.spread().is_finite() {
            return Bounded::any();
        }
        let (l, r) = (left.pair(), right.pair());
        let rest = (self.rectified_exact(&exact), self.rectified_error(&real, &error));
        let exact = self.symbols.sum([(1.0, &r.exact), (1.0, &rest.0)]);
        let exact = larger(exact, &l.exact.range(), &r.exact.range());
        let error = self.symbols.sum([(1.0, &r.error), (1.0, &rest.1)]);
        let error = self.no_larger(error, &l.error.range(), &r.error.range());
        let machine = l.machine.start().max(*r.machine.start())..=l.machine.end().max(*r.machine.end());
        self.settled(self.grid, exact, error, machine)
    }

    /// Returns the smaller of two numbers.
    pub fn min(&mut self, left: &Bounded, right: &Bounded) -> Bounded {
        self.max(&left.negated(), &right.negated()).negated()
    }

    /// Returns the magnitude. The machine leaves the smallest number of its format unchanged.
    pub fn abs(&mut self, number: &Bounded) -> Bounded {
        let smallest = self.grid.smallest();
        let magnitude = self.max(number, &number.negated());
        let range = number.machine();
        if let Some(machine) = number.machine_point().filter(|_| self.is_literal()) {
            let machine = if machine > smallest { machine.abs() } else { machine };
            return Bounded::known(magnitude.pair().exact.clone(), machine);
        }
        if *range.start() > smallest {
            return magnitude;
        }
        let Pair { exact, error, .. } = magnitude.pair().clone();
        // If the machine has the smallest number, it is too low by twice that magnitude.
        let error = error.shifted(smallest).widened(-smallest);
        let largest = self.grid.largest().min(range.start().abs().max(range.end().abs()));
        self.settled(self.grid, exact, error, smallest..=largest)
    }

    /// Returns the larger of an exact number and 0: a band around the chord.
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
        self.symbols.sum([(slope, exact), (1.0, &band)]).within(0.0, high)
    }

    /// Returns `max(x + e, 0) - max(x, 0)` for a real number `x`: a band along the chord of its
    /// largest value.
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
        let (least, most) = (below(a).min(above(a)), above(b).max(below(b)));
        self.symbols.sum([(slope, error), (1.0, &band)]).within(least - slack, most + slack)
    }

    /// Returns the error of the larger of two numbers, which is between the errors of the two.
    fn no_larger(
        &mut self,
        error: Affine,
        left: &RangeInclusive<f64>,
        right: &RangeInclusive<f64>,
    ) -> Affine {
        let (low, high) = (left.start().min(*right.start()), left.end().max(*right.end()));
        if high - low < error.spread() { self.symbols.between(low, high) } else { error.within(low, high) }
    }
}

/// Returns the larger of two numbers with these ranges.
fn larger(form: Affine, left: &RangeInclusive<f64>, right: &RangeInclusive<f64>) -> Affine {
    form.within(left.start().max(*right.start()), left.end().max(*right.end()))
}
