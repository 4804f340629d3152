use super::*;
use crate::format::FixedFormat;
use crate::split_mix::SplitMix64;

/// A number on both sides for one choice of the inputs, and its bounds for all inputs.
#[derive(Clone, Debug)]
struct Known {
    exact: f64,
    machine: i64,
    bounded: Bounded,
}

const FORMAT: FixedFormat = FixedFormat { width: 16, binary_point: 8 };

impl Known {
    fn check(&self) {
        let one = FORMAT.one() as f64;
        let error = (self.machine as f64 / one - self.exact).abs();
        // The exact number here is an `f64` as well.
        let float = 1e-12 * (1.0 + self.exact.abs());
        assert!(error <= self.bounded.error() + float, "{error} of {self:?}");
        let (low, high) = self.bounded.exact().into_inner();
        assert!((low - float..=high + float).contains(&self.exact), "{self:?}");
        assert!(self.bounded.machine().contains(&(self.machine as f64 / one)), "{self:?}");
    }

    /// Whether the machine's number is known exactly.
    fn is_known(&self) -> bool {
        self.bounded.machine_point() == Some(self.machine as f64 / FORMAT.one() as f64)
    }
}

struct Trial {
    random: SplitMix64,
    bounds: Bounds,
    numbers: Vec<Known>,
}

impl Trial {
    fn new(seed: u64, terms: usize, rounding: RoundingModel) -> Self {
        let bounds = Bounds::new(FORMAT, terms, rounding);
        Self { random: SplitMix64::new(seed), bounds, numbers: Vec::new() }
    }

    /// Returns a random number from 0 to 1.
    fn unit(&mut self) -> f64 {
        self.random.between(0.0, 1.0)
    }

    fn pick(&mut self) -> Known {
        let at = self.random.bits() as usize % self.numbers.len();
        self.numbers[at].clone()
    }

    fn machine_of(exact: f64) -> i64 {
        FORMAT.saturate((exact * FORMAT.one() as f64 + 0.5).floor() as i64)
    }

    fn input(&mut self, reach: f64) {
        let (low, width) = (reach * (2.0 * self.unit() - 1.0), self.unit() * reach);
        let width = if self.unit() < 0.3 { 0.0 } else { width };
        let exact = low + width * self.unit();
        let bounded = self.bounds.input(low, low + width);
        self.numbers.push(Known { exact, machine: Self::machine_of(exact), bounded });
    }

    fn constant(&mut self) -> Known {
        let exact = match self.random.bits() % 4 {
            0 => (self.unit() * 4.0).floor() - 2.0,
            _ => self.unit() * 3.0 - 1.5,
        };
        let machine = Self::machine_of(exact);
        let bounded = Bounded::constant(exact, machine as f64 / FORMAT.one() as f64);
        Known { exact, machine, bounded }
    }

    fn products(&mut self) -> Known {
        let start = if self.unit() < 0.5 { self.constant() } else { self.pick() };
        let pairs: Vec<(Known, Known)> = (0..1 + self.random.bits() % 6)
            .map(|_| (self.pick(), if self.unit() < 0.9 { self.constant() } else { self.pick() }))
            .collect();
        let exact = pairs.iter().fold(start.exact, |sum, (x, w)| sum + x.exact * w.exact);
        let machine = pairs.iter().fold(start.machine, |sum, (x, w)| FORMAT.mac(x.machine, w.machine, sum));
        let factors = pairs.iter().map(|(x, w)| (&x.bounded, &w.bounded));
        let bounded = self.bounds.products(0, &start.bounded, factors);
        Known { exact, machine, bounded }
    }

    fn step(&mut self) {
        let known = if self.unit() < 0.5 { self.products() } else { self.operation() };
        known.check();
        self.numbers.push(known);
    }

    fn operation(&mut self) -> Known {
        let (l, r) = (self.pick(), if self.unit() < 0.3 { self.constant() } else { self.pick() });
        let kind = self.random.bits() % 6;
        let bounds = &mut self.bounds;
        let (exact, machine, bounded) = match kind {
            0 => (l.exact + r.exact, FORMAT.add(l.machine, r.machine), bounds.add(0, &l.bounded, &r.bounded)),
            1 => (
                l.exact - r.exact,
                FORMAT.sub(l.machine, r.machine),
                bounds.subtract(0, &l.bounded, &r.bounded),
            ),
            2 => (
                l.exact * r.exact,
                FORMAT.mul(l.machine, r.machine),
                bounds.multiply(0, &l.bounded, &r.bounded),
            ),
            3 => (l.exact.max(r.exact), l.machine.max(r.machine), bounds.max(&l.bounded, &r.bounded)),
            4 => {
                let magnitude = if l.machine == FORMAT.min() { l.machine } else { l.machine.abs() };
                (l.exact.abs(), magnitude, bounds.abs(&l.bounded))
            }
            _ => (l.exact.min(r.exact), l.machine.min(r.machine), bounds.min(&l.bounded, &r.bounded)),
        };
        Known { exact, machine, bounded }
    }
}

/// The reference arithmetic of a format, on one choice of the inputs, stays within the bounds for
/// all inputs.
#[test]
fn what_is_computed_is_within_its_bounds() {
    for seed in 0..1200 {
        let rounding = [RoundingModel::Machine, RoundingModel::Any][seed as usize % 2];
        let mut trial = Trial::new(seed, [0, 2, 100][seed as usize % 3], rounding);
        let reach = [0.003, 0.01, 2.0, 40.0][seed as usize / 3 % 4];
        (0..4).for_each(|_| trial.input(reach));
        (0..12).for_each(|_| trial.step());
    }
}

/// For single-valued inputs, and inputs that the machine rounds to one number, all results are
/// known.
#[test]
fn what_is_computed_of_known_numbers_is_the_machines_own() {
    for seed in 0..400 {
        let mut trial = Trial::new(seed, 100, RoundingModel::Machine);
        for _ in 0..4 {
            let reach = [2.0, 40.0, 120.0][seed as usize % 3];
            let (low, high) = Grid::from(FORMAT).cell(reach * (2.0 * trial.unit() - 1.0));
            let exact = [low, high, low + (high - low) * trial.unit()][seed as usize % 3];
            let bounded = trial.bounds.input(low, high);
            trial.numbers.push(Known { exact, machine: Trial::machine_of(exact), bounded });
        }
        (0..12).for_each(|_| trial.step());
        assert!(trial.numbers.iter().all(Known::is_known), "{seed}");
    }
}

/// Sums that are rounded once, of numbers of other formats, to a third one.
#[test]
fn sums_that_are_rounded_once_are_within_their_bounds() {
    for seed in 0..1200 {
        let mut random = SplitMix64::new(seed);
        let mut bounds = Bounds::new(
            Grid::new(8, 5),
            100,
            [RoundingModel::Machine, RoundingModel::Any][seed as usize % 2],
        );
        let reach = [0.0, 0.01, 0.3, 5.0][seed as usize / 2 % 4];
        let mut input = || {
            let low = random.between(-4.0, 4.0);
            let exact = low + reach * random.between(0.0, 1.0);
            (bounds.input(low, low + reach), exact, bounds.grid.nearest(exact))
        };
        let inputs = [input(), input(), input(), input()];
        let weights: Vec<(Bounded, f64, f64)> = (0..3)
            .map(|_| {
                let exact = random.between(-1.0, 1.0);
                let machine = Grid::new(8, 7).nearest(exact);
                (Bounded::constant(exact, machine), exact, machine)
            })
            .collect();
        let (scale, start, grid) = ([1.0, 0.25, 8.0][seed as usize % 3], 0.5, Grid::new(10, 6));
        let unit = scale / 4096.0_f64;
        let pairs = || weights.iter().zip(&inputs);
        let factors = pairs().map(|(weight, input)| (&weight.0, &input.0));
        let sum = bounds.dot(
            GridRounding { place: 3, grid, unit: unit.min(1.0 / 64.0) },
            (start, &inputs[3].0),
            scale,
            factors,
        );
        let of = |side: fn(&(Bounded, f64, f64)) -> f64| {
            let products: f64 = pairs().map(|(weight, input)| side(weight) * side(input)).sum();
            products * scale + start * side(&inputs[3])
        };
        let (exact, machine) = (of(|number| number.1), grid.nearest(of(|number| number.2)));
        assert!((machine - exact).abs() <= sum.error() + 1e-12, "{seed}: {machine} {exact} {sum:?}");
        assert!(sum.machine().contains(&machine), "{seed}: {machine} {sum:?}");
        let is_point = reach == 0.0 && bounds.is_literal();
        assert!(!is_point || sum.machine_point() == Some(machine), "{seed}: {machine} {sum:?}");
    }
}

/// The error of rounding one product is half a step if the product is unknown; without rounding it
/// is exact.
#[test]
fn a_rounding_is_half_a_step() {
    let mut bounds = Bounds::new(FORMAT, 100, RoundingModel::Any);
    let x = bounds.input(0.5, 0.5);
    let half = bounds.multiply(0, &x, &Bounded::constant(0.25, 0.25));
    assert!((half.error() - 1.0 / 512.0).abs() < 1e-9, "{half:?}");
    let double = bounds.multiply(0, &x, &Bounded::constant(2.0, 2.0));
    assert!(double.error() < 1e-12, "{double:?}");
    let mut bounds = Bounds::new(FORMAT, 100, RoundingModel::Machine);
    let x = bounds.input(0.5, 0.5);
    let half = bounds.multiply(0, &x, &Bounded::constant(0.25, 0.25));
    assert!(half.error() < 1e-12, "{half:?}");
}

/// The error of the larger of two numbers is at most the larger error of the two.
#[test]
fn the_error_of_a_maximum_is_no_more_than_that_of_its_operands() {
    let mut bounds = Bounds::new(FORMAT, 100, RoundingModel::Machine);
    let inputs: Vec<Bounded> = (0..4).map(|_| bounds.input(-1.0, 1.0)).collect();
    let largest = inputs.iter().skip(1).fold(inputs[0].clone(), |most, next| bounds.max(&most, next));
    assert!(largest.error() < 0.5 / 256.0 + 1e-9, "{largest:?}");
}

/// A possible saturation is reported with its amount.
#[test]
fn saturation_is_told() {
    let mut bounds = Bounds::new(FORMAT, 100, RoundingModel::Machine);
    let x = bounds.input(100.0, 120.0);
    assert!(bounds.take_overflow().is_empty());
    let sum = bounds.add(7, &x, &x);
    let overflow = bounds.take_overflow();
    assert!(
        matches!(overflow[..], [(7, Overflow { below: 0.0, above })] if (112.0..112.1).contains(&above)),
        "{overflow:?}"
    );
    assert!(sum.error() > 112.0);
    let x = bounds.input(100.0, 100.0);
    let sum = bounds.add(7, &x, &x);
    assert_eq!(bounds.take_overflow(), [(7, Overflow { below: 0.0, above: 200.0 - 32767.0 / 256.0 })]);
    assert_eq!(sum.machine_point(), Some(32767.0 / 256.0));
}

/// The error of 3 a - 2 b + c, with all numbers known on the machine, is largest at a corner of the
/// exact ranges.
#[test]
fn the_worst_corner_has_the_error_that_the_bound_says() {
    let mut bounds = Bounds::new(FORMAT, 8, RoundingModel::Machine);
    let cells = [0.5, -1.25, 0.125].map(|number| Grid::from(FORMAT).cell(number));
    let inputs = cells.map(|(low, high)| bounds.input(low, high));
    let twice = |bounds: &mut Bounds, number: &Bounded| bounds.add(0, number, number);
    let [a, b] = [&inputs[0], &inputs[1]].map(|number| twice(&mut bounds, number));
    let a = bounds.add(0, &a, &inputs[0]);
    let difference = bounds.subtract(0, &a, &b);
    let sum = bounds.add(0, &difference, &inputs[2]);
    let corner = sum.worst(&inputs);
    assert!(corner[0] != corner[1] && corner[0] == corner[2], "{corner:?}");
    let ends: Vec<f64> =
        cells.iter().zip(corner).map(|((low, high), up)| if up { *high } else { *low }).collect();
    let exact = 3.0 * ends[0] - 2.0 * ends[1] + ends[2];
    let machine = 3.0 * 0.5 + 2.0 * 1.25 + 0.125;
    let error = (machine - exact).abs();
    assert!(error <= sum.error() && error > 0.999 * sum.error(), "{error} of {}", sum.error());
}
