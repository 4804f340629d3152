use super::*;
use crate::split_mix::SplitMix64;

/// A number on both sides, for one choice of the inputs, beside what is known for all.
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
        // What is exact here is a float of 53 bits itself.
        let float = 1e-12 * (1.0 + self.exact.abs());
        assert!(error <= self.bounded.error() + float, "{error} of {self:?}");
        let (low, high) = self.bounded.exact().into_inner();
        assert!((low - float..=high + float).contains(&self.exact), "{self:?}");
    }
}

struct Trial {
    random: SplitMix64,
    bounds: Bounds,
    numbers: Vec<Known>,
}

impl Trial {
    fn new(seed: u64, terms: usize) -> Self {
        Self { random: SplitMix64::new(seed), bounds: Bounds::new(FORMAT, terms), numbers: Vec::new() }
    }

    /// From 0 to 1.
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

/// The literal arithmetic of a format, on one choice of the inputs, stays within what is said of all of them.
#[test]
fn what_is_computed_is_within_its_bounds() {
    for seed in 0..400 {
        let mut trial = Trial::new(seed, [0, 2, 100][seed as usize % 3]);
        let reach = [0.01, 2.0, 40.0][seed as usize / 3 % 3];
        (0..4).for_each(|_| trial.input(reach));
        (0..12).for_each(|_| trial.step());
    }
}

/// Rounding of one product is half a step, and what is not rounded is exact.
#[test]
fn a_rounding_is_half_a_step() {
    let mut bounds = Bounds::new(FORMAT, 100);
    let x = bounds.input(0.5, 0.5);
    let half = bounds.multiply(0, &x, &Bounded::constant(0.25, 0.25));
    assert!((half.error() - 1.0 / 512.0).abs() < 1e-9, "{half:?}");
    let double = bounds.multiply(0, &x, &Bounded::constant(2.0, 2.0));
    assert!(double.error() < 1e-12, "{double:?}");
}

/// What may leave the format is told, and by how much.
#[test]
fn saturation_is_told() {
    let mut bounds = Bounds::new(FORMAT, 100);
    let x = bounds.input(100.0, 120.0);
    assert!(bounds.take_beyond().is_empty());
    let sum = bounds.add(7, &x, &x);
    let told = bounds.take_beyond();
    assert!(
        matches!(told[..], [(7, Beyond { below: 0.0, above })] if (112.0..112.1).contains(&above)),
        "{told:?}"
    );
    assert!(sum.error() > 112.0);
}
