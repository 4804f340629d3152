//! Tables for the lookup extension: [`build`] computes the keys of a function and the polynomial
//! around each key.
//!
//! Intervals are halved until the polynomial around the key in the middle of each is accurate
//! enough, so that keys are dense where the function bends. A lookup takes the closest key.
//! Polynomials are therefore fitted and judged on the arguments that are closest to their key, with
//! coefficients rounded to the number format.

use npukit_graph::op::UnaryKind;
use npukit_numeric::NumberFormat;

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    /// Function of a unary operator.
    Unary(UnaryKind),
    /// Power with this exponent.
    Power(f32),
}

/// A function between two factors: `after * function(before * x)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// Inner function.
    pub function: Function,
    /// Factor of the argument.
    pub before: f32,
    /// Factor of the value.
    pub after: f32,
}

impl Scaled {
    fn apply(self, x: f32) -> f32 {
        self.function.apply(self.before * x) * self.after
    }
}

/// Limits of a table.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Number format of keys and values.
    pub format: NumberFormat,
    /// Number of coefficients per polynomial: 1 for a step function, 2 for line segments.
    pub coefficients: usize,
    /// Maximum number of keys.
    pub keys: usize,
}

/// Lookup table: keys, and for each a polynomial of the difference to the key.
#[derive(Clone, Debug)]
pub struct Table {
    /// Keys, ascending.
    pub keys: Vec<f32>,
    /// For each key, the coefficients, constant term first.
    pub coefficients: Vec<Vec<f32>>,
    /// Largest error found, relative to `1 + |value|`, without the machine's rounding errors.
    pub error: f64,
}

/// Largest magnitude that a float table covers; beyond it, the last polynomial is extrapolated.
const FLOAT_REACH: f64 = 65536.0;
/// Distance to a pole that a float table keeps.
const FLOAT_POLE: f64 = 1.0 / 16384.0;
/// Initial tolerance for floats, relative to `1 + |value|`.
const FLOAT_TOLERANCE: f64 = 1.0 / 131_072.0;
/// Number of points per interval at which the error is measured, in addition to the powers of two
/// in it.
const SAMPLES: usize = 16;
/// Width below which intervals are not halved; adjacent numbers of the fixed-point formats are
/// farther apart.
const NARROWEST: f64 = 1.0 / 16_777_216.0;
/// Largest useful tolerance; a less accurate table is not built.
const COARSEST: f64 = 1.0;
/// Factor by which the tolerance grows when a table needs too many keys.
const RELAXATION: f64 = 1.4;

/// Builds the most accurate table within the limits; `None` if no useful table fits.
pub fn build(function: Scaled, room: &Room) -> Option<Table> {
    let fit = Fit::new(function, room);
    let pieces = function.function.domain(room.format, function.before.into());
    let mut tolerance = room.format.step().map_or(FLOAT_TOLERANCE, |step| step / 2.0);
    if room.keys < pieces.len() || room.coefficients == 0 {
        return None;
    }
    while tolerance <= COARSEST {
        if let Some(cells) =
            fit.refined(pieces.iter().map(|&piece| Leaf { interval: piece, piece }), tolerance)
        {
            return Some(Table::new(&cells));
        }
        tolerance *= RELAXATION;
    }
    None
}

impl Table {
    fn new(cells: &[Cell]) -> Self {
        let floats = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
        Self {
            keys: cells.iter().map(|cell| cell.key as f32).collect(),
            coefficients: cells.iter().map(|cell| floats(&cell.coefficients)).collect(),
            error: cells.iter().map(|cell| cell.error).fold(0.0, f64::max),
        }
    }
}

impl Function {
    /// Evaluates the function.
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Self::Unary(kind) => kind.apply(x),
            Self::Power(exponent) => x.powf(exponent),
        }
    }

    /// Returns the domain of the function for `before` times the numbers of `format`, in pieces
    /// without a pole inside.
    fn domain(self, format: NumberFormat, before: f64) -> Vec<[f64; 2]> {
        let fixed = format.step().map(|step| (-format.largest() - step, format.largest(), -step, 0.0));
        // In fixed point, zero is representable: a pole there gives the largest number. Default:
        // for floats, the range that occurs in networks.
        let (low, high, below, above) = fixed.unwrap_or((-FLOAT_REACH, FLOAT_REACH, -FLOAT_POLE, FLOAT_POLE));
        match self {
            Self::Unary(UnaryKind::Reciprocal) => vec![[low, below], [above, high]],
            Self::Power(exponent) if exponent < 0.0 && exponent.fract() == 0.0 => {
                vec![[low, below], [above, high]]
            }
            Self::Unary(UnaryKind::Log) => vec![[above, high]],
            Self::Power(exponent) if exponent < 0.0 => vec![[above, high]],
            Self::Power(exponent) if exponent.fract() != 0.0 => vec![[0.0, high]],
            Self::Unary(UnaryKind::Sqrt) => vec![[0.0, high]],
            Self::Unary(UnaryKind::Asin | UnaryKind::Acos | UnaryKind::Atanh) => {
                let end = (1.0 / before).min(high);
                vec![[-end, end]]
            }
            Self::Unary(UnaryKind::Acosh) => vec![[(1.0 / before).min(high), high]],
            _ => vec![[low, high]],
        }
    }
}

/// Maximum width ratio of adjacent intervals. The border between two keys is halfway, so the cell
/// of a narrow interval would extend far into a wide one.
const GRADE: f64 = 2.0;

/// An interval approximated by one polynomial, and the piece of the domain that contains it.
#[derive(Clone, Copy)]
struct Leaf {
    interval: [f64; 2],
    piece: [f64; 2],
}

/// The arguments closest to a key, with their polynomial.
struct Cell {
    key: f64,
    coefficients: Vec<f64>,
    error: f64,
}

/// Fits polynomials to a function.
struct Fit {
    function: Scaled,
    format: NumberFormat,
    coefficients: usize,
    keys: usize,
    /// Distance of adjacent numbers of a fixed-point format; 0 for floats.
    step: f64,
    /// Arguments at which the error is always measured, in whichever interval they are.
    probes: Vec<f64>,
}

impl Fit {
    fn new(function: Scaled, room: &Room) -> Self {
        let &Room { format, coefficients, keys } = room;
        let magnitudes = (-6..=16).flat_map(|k| [f64::from(k).exp2(), 1.5 * f64::from(k).exp2()]);
        let probes = magnitudes.flat_map(|x| [-x, x]).collect();
        // Default: floats have no fixed step.
        Self { function, format, coefficients, keys, step: format.step().unwrap_or(0.0), probes }
    }

    /// Halves leaves until each is within `tolerance` or indivisible, and none is much wider than
    /// its neighbors. Returns their cells; `None` if more keys are needed than allowed.
    fn refined(&self, leaves: impl Iterator<Item = Leaf>, tolerance: f64) -> Option<Vec<Cell>> {
        let mut leaves: Vec<Leaf> = leaves.collect();
        loop {
            let cells = self.cells(&leaves);
            let halved = |i: usize| {
                let wanted = cells[i].error > tolerance || self.is_wide(&leaves, i);
                if wanted && Self::is_divisible(leaves[i]) {
                    self.halves(leaves[i]).to_vec()
                } else {
                    vec![leaves[i]]
                }
            };
            let next: Vec<Leaf> = (0..leaves.len()).flat_map(halved).collect();
            if next.len() == leaves.len() {
                return Some(cells);
            }
            if next.len() > self.keys {
                return None;
            }
            leaves = next;
        }
    }

    fn is_divisible(leaf: Leaf) -> bool {
        let [low, high] = leaf.interval;
        high - low > NARROWEST
    }

    /// Whether leaf `i` is much wider than a neighbor.
    fn is_wide(&self, leaves: &[Leaf], i: usize) -> bool {
        let width = |leaf: &Leaf| leaf.interval[1] - leaf.interval[0] + self.step;
        let neighbors = [i.checked_sub(1), Some(i + 1)];
        let mut others = neighbors.into_iter().flatten().filter_map(|other| leaves.get(other));
        others.any(|other| width(&leaves[i]) > GRADE * width(other))
    }

    /// Returns the two halves of a leaf; in fixed point, their ends are numbers of the format.
    fn halves(&self, Leaf { interval: [low, high], piece }: Leaf) -> [Leaf; 2] {
        let at = self.below((low + high) / 2.0);
        [[low, at], [at + self.step, high]].map(|interval| Leaf { interval, piece })
    }

    /// Returns the keys in the middle of each leaf, with polynomials for the arguments closest to
    /// them.
    fn cells(&self, leaves: &[Leaf]) -> Vec<Cell> {
        let keys: Vec<f64> = leaves.iter().map(|leaf| self.middle(leaf.interval)).collect();
        // If two keys are equally close, a lookup takes the first one.
        let borders: Vec<f64> = keys.windows(2).map(|pair| self.below((pair[0] + pair[1]) / 2.0)).collect();
        let cell = |i: usize| {
            let [low, high] = leaves[i].piece;
            let before = i.checked_sub(1).and_then(|before| borders.get(before));
            let low = before.map_or(low, |border| low.max(border + self.step));
            let interval = [low, borders.get(i).map_or(high, |border| high.min(*border))];
            let coefficients = self.polynomial(interval, keys[i]);
            let error = self.error(interval, keys[i], &coefficients);
            Cell { key: keys[i], coefficients, error }
        };
        (0..leaves.len()).map(cell).collect()
    }

    /// Returns the number of the format in the middle, or the next lower one.
    fn middle(&self, [low, high]: [f64; 2]) -> f64 {
        self.rounded(self.below((low + high) / 2.0)).clamp(low, high)
    }

    /// Returns the largest fixed-point number at or below `x`; for floats, `x`.
    fn below(&self, x: f64) -> f64 {
        if self.step > 0.0 { (x / self.step).floor() * self.step } else { x }
    }

    /// Returns the number of the format closest to `x`, which may be out of range.
    fn rounded(&self, x: f64) -> f64 {
        let x = if x.is_nan() { 0.0 } else { self.limited(x) };
        f64::from(self.format.round(x as f32))
    }

    fn limited(&self, x: f64) -> f64 {
        x.clamp(-self.format.largest() - self.step, self.format.largest())
    }

    fn value(&self, x: f64) -> f64 {
        self.limited(f64::from(self.function.apply(x as f32)))
    }

    /// Returns the polynomial of `x - key` through the function at the Chebyshev points of the
    /// interval. Coefficients are rounded to the format, constant term first.
    fn polynomial(&self, [low, high]: [f64; 2], key: f64) -> Vec<f64> {
        let n = self.coefficients;
        let mut points: Vec<f64> = (0..n)
            .map(|k| (std::f64::consts::PI * (2 * k + 1) as f64 / (2 * n) as f64).cos())
            .map(|cosine| (low + high) / 2.0 - (high - low) / 2.0 * cosine)
            .map(|x| self.below(x + self.step / 2.0).clamp(low, high))
            .collect();
        points.dedup();
        let points: Vec<(f64, f64)> = points.into_iter().map(|x| (x - key, self.value(x))).collect();
        let mut coefficients: Vec<f64> = interpolate(&points).into_iter().map(|c| self.rounded(c)).collect();
        coefficients.resize(n, 0.0);
        coefficients
    }

    /// Returns the largest error on the interval, relative to `1 + |value|`. Points where the
    /// function is undefined are skipped.
    fn error(&self, [low, high]: [f64; 2], key: f64, coefficients: &[f64]) -> f64 {
        let even = (0..=SAMPLES).map(|i| low + (high - low) * i as f64 / SAMPLES as f64);
        let probes = self.probes.iter().copied().filter(|&x| low < x && x < high);
        let points = even.chain(probes);
        let error = |x: f64| {
            let x = self.below(x);
            let polynomial = coefficients.iter().rev().fold(0.0, |sum, c| sum * (x - key) + c);
            let value = self.value(x);
            (self.limited(polynomial) - value).abs() / (1.0 + value.abs())
        };
        // `max` ignores NaN.
        points.map(error).fold(0.0, f64::max)
    }
}

/// Returns the coefficients of the polynomial through `points`, by Newton's divided differences.
fn interpolate(points: &[(f64, f64)]) -> Vec<f64> {
    let n = points.len();
    let mut differences: Vec<f64> = points.iter().map(|point| point.1).collect();
    for order in 1..n {
        for i in (order..n).rev() {
            let rise = differences[i] - differences[i - 1];
            differences[i] = rise / (points[i].0 - points[i - order].0);
        }
    }
    let mut coefficients = vec![0.0; n];
    for (&(x, _), difference) in points.iter().zip(differences).rev() {
        // Each step multiplies the polynomial by `(argument - x)` and adds the difference.
        for k in (1..n).rev() {
            coefficients[k] = coefficients[k - 1] - x * coefficients[k];
        }
        coefficients[0] = difference - x * coefficients[0];
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_reciprocal_is_close_down_to_zero() {
        let format = NumberFormat::Fixed(npukit_numeric::FixedFormat { width: 16, binary_point: 8 });
        for coefficients in 1..=3 {
            let room = Room { format, coefficients, keys: 512 };
            let table = build(plain(Function::Unary(UnaryKind::Reciprocal)), &room).expect("there is room");
            assert!(table.error < 0.02, "{coefficients} coefficients: {}", table.error);
        }
    }

    #[test]
    fn a_polynomial_is_found_again() {
        let parabola = |x: f64| 2.0 - 3.0 * x + 0.5 * x * x;
        let points: Vec<(f64, f64)> = [-1.0, 0.5, 4.0].into_iter().map(|x| (x, parabola(x))).collect();
        let found = interpolate(&points);
        assert!(found.iter().zip([2.0, -3.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    /// Eight bits with four fraction bits: -8 to 7.9375.
    const BYTE: NumberFormat = NumberFormat::Fixed(npukit_numeric::FixedFormat { width: 8, binary_point: 4 });
    const STEP: f64 = 1.0 / 16.0;

    fn plain(function: Function) -> Scaled {
        Scaled { function, before: 1.0, after: 1.0 }
    }

    fn fit(function: Function, format: NumberFormat, coefficients: usize, keys: usize) -> Fit {
        Fit::new(plain(function), &Room { format, coefficients, keys })
    }

    fn leaf(low: f64, high: f64) -> Leaf {
        Leaf { interval: [low, high], piece: [low, high] }
    }

    #[test]
    fn functions_are_tabulated_where_they_are_defined() {
        use UnaryKind::{Acos, Acosh, Asin, Atanh, Log, Reciprocal, Sigmoid, Sqrt};
        let unary = Function::Unary;
        for (format, low, high, below, above) in [
            (BYTE, -8.0, 7.9375, -0.0625, 0.0),
            (NumberFormat::Float32, -65536.0, 65536.0, -1.0 / 16384.0, 1.0 / 16384.0),
        ] {
            let (all, poles, positive) =
                (vec![[low, high]], vec![[low, below], [above, high]], vec![[0.0, high]]);
            for (function, pieces) in [
                (unary(Sigmoid), &all),
                (unary(Reciprocal), &poles),
                (unary(Log), &vec![[above, high]]),
                (unary(Sqrt), &positive),
                (unary(Asin), &vec![[-1.0, 1.0]]),
                (unary(Acos), &vec![[-1.0, 1.0]]),
                (unary(Atanh), &vec![[-1.0, 1.0]]),
                (unary(Acosh), &vec![[1.0, high]]),
                (Function::Power(-2.0), &poles),
                (Function::Power(-0.5), &vec![[above, high]]),
                (Function::Power(0.0), &all),
                (Function::Power(0.5), &positive),
                (Function::Power(1.5), &positive),
                (Function::Power(3.0), &all),
            ] {
                assert_eq!(function.domain(format, 1.0), *pieces, "{function:?}");
            }
        }
    }

    /// `(m + d)^2` and `(m + d)^3` on `d` within `h`: at two Chebyshev points `d^2` is `h^2 / 2`,
    /// at three `d^3` is `3 h^2 d / 4`.
    #[test]
    fn polynomials_go_through_the_chebyshev_points() {
        for (low, high) in [(1.0, 3.0), (-2.0, 6.0), (0.5, 1.0)] {
            let (m, h): (f64, f64) = ((low + high) / 2.0, (high - low) / 2.0);
            for (exponent, expected) in [
                (2.0, vec![m * m]),
                (2.0, vec![m * m + h * h / 2.0, 2.0 * m]),
                (2.0, vec![m * m, 2.0 * m, 1.0]),
                (3.0, vec![m.powi(3), 3.0 * m * m + 0.75 * h * h, 3.0 * m]),
            ] {
                let fit = fit(Function::Power(exponent), NumberFormat::Float32, expected.len(), 1);
                let found = fit.polynomial([low, high], m);
                let close = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4);
                assert!(
                    close && found.len() == expected.len(),
                    "{low} to {high}: {found:?}, not {expected:?}"
                );
            }
        }
    }

    /// In fixed point, the sample points are the closest numbers of the format.
    #[test]
    fn points_and_keys_are_numbers_of_the_format() {
        let fit = fit(Function::Power(1.0), BYTE, 1, 9);
        for (last, point, key) in [(4.0, 2.0, 2.0), (5.0, 3.0, 2.0), (0.0, 0.0, 0.0), (1.0, 1.0, 0.0)] {
            let interval = [STEP, STEP * (1.0 + last)];
            assert_eq!(fit.polynomial(interval, 0.0), [STEP * (1.0 + point)], "0 to {last}");
            assert_eq!(fit.middle(interval), STEP * (1.0 + key), "0 to {last}");
        }
        assert_eq!([fit.below(0.49), fit.below(-0.01)], [7.0 * STEP, -STEP]);
        assert_eq!([fit.limited(-100.0), fit.limited(100.0)], [-8.0, 7.9375]);
    }

    #[test]
    fn the_error_is_that_of_the_worst_point_over_one_plus_its_value() {
        let fit = fit(Function::Power(2.0), NumberFormat::Float32, 2, 1);
        assert_eq!(fit.error([0.0, 4.0], 0.0, &[0.0, 0.0]), 16.0 / 17.0);
        // The chord has its largest error at 3/4, where it gives 3 instead of 9/16.
        assert_eq!(fit.error([0.0, 4.0], 0.0, &[0.0, 4.0]), (3.0 - 9.0 / 16.0) / (1.0 + 9.0 / 16.0));
    }

    #[test]
    fn what_cannot_be_halved_stays() {
        let is_divisible = |width| Fit::is_divisible(leaf(1.0, 1.0 + width));
        assert_eq!([0.0, STEP, NARROWEST, 2.0 * NARROWEST].map(is_divisible), [false, true, false, true]);
        // All four numbers are rounded, which gives four keys.
        let fit = fit(Function::Unary(UnaryKind::Sigmoid), BYTE, 1, 4);
        let cells = fit
            .refined([leaf(STEP, 4.0 * STEP)].into_iter(), 0.0)
            .expect("exactly the number of keys allowed");
        let keys: Vec<f64> = cells.iter().map(|cell| cell.key / STEP).collect();
        assert_eq!(keys, [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_tolerance_that_is_just_met_is_met() {
        // Of 1 and 1 + 1/16, the fit takes the second. Its error is 1/16 over 1 + 1.
        let fit = fit(Function::Power(1.0), BYTE, 1, 9);
        let cells =
            |tolerance| fit.refined([leaf(1.0, 1.0 + STEP)].into_iter(), tolerance).map(|cells| cells.len());
        assert_eq!([cells(STEP / 2.0), cells(STEP / 2.1)], [Some(1), Some(2)]);
    }

    #[test]
    fn no_interval_is_more_than_twice_as_wide_as_its_neighbors() {
        let fit = fit(Function::Power(1.0), BYTE, 1, 9);
        // Each row has the widths of the intervals in numbers, and whether each interval is too
        // wide.
        for (widths, wide) in [
            (vec![4, 2, 1], [false, false, false]),
            (vec![5, 2, 1], [true, false, false]),
            (vec![1, 2, 5], [false, false, true]),
            (vec![2, 5, 3], [false, true, false]),
            (vec![3, 5, 2], [false, true, false]),
        ] {
            let mut next = 1.0;
            let mut leaves = Vec::new();
            for &width in &widths {
                let end = next + f64::from(width) * STEP;
                leaves.push(leaf(next, end - STEP));
                next = end;
            }
            assert_eq!([0, 1, 2].map(|i| fit.is_wide(&leaves, i)), wide, "{widths:?}");
        }
    }

    #[test]
    fn a_table_takes_the_keys_there_are_and_no_more() {
        let reciprocal = Function::Unary(UnaryKind::Reciprocal);
        let sigmoid = Function::Unary(UnaryKind::Sigmoid);
        let keys = |function, coefficients, keys| {
            build(plain(function), &Room { format: BYTE, coefficients, keys }).map(|table| table.keys.len())
        };
        assert_eq!(keys(reciprocal, 1, 1), None, "it has two pieces");
        assert_eq!(keys(reciprocal, 1, 2), Some(2));
        assert_eq!(keys(sigmoid, 1, 1), Some(1));
        assert_eq!(keys(sigmoid, 0, 64), None, "no coefficients are allowed");
    }

    /// Checks every number of the format with its closest key, the first of two. With enough room,
    /// the error is at most half a step relative to `1 + |value|`.
    #[test]
    fn every_number_of_a_small_format_is_close() {
        for kind in [UnaryKind::Sigmoid, UnaryKind::Tanh, UnaryKind::Sqrt, UnaryKind::Softplus] {
            for coefficients in 1..=3 {
                let room = Room { format: BYTE, coefficients, keys: 256 };
                let table = build(plain(Function::Unary(kind)), &room).expect("there is room");
                assert!(table.error <= STEP / 2.0, "{kind:?}: {}", table.error);
                assert!(table.keys.windows(2).all(|pair| pair[0] < pair[1]));
                let first = if kind == UnaryKind::Sqrt { 0 } else { -128 };
                for x in (first..128).map(|raw| raw as f32 / 16.0) {
                    let distance = |i: &usize| (table.keys[*i] - x).abs();
                    let closest = (0..table.keys.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
                    let i = closest.expect("there are keys");
                    let sum =
                        table.coefficients[i].iter().rev().fold(0.0, |sum, c| sum * (x - table.keys[i]) + c);
                    let (sum, value) = (sum.clamp(-8.0, 7.9375), kind.apply(x).clamp(-8.0, 7.9375));
                    let error = f64::from((sum - value).abs() / (1.0 + value.abs()));
                    assert!(error <= STEP / 2.0 + 1e-6, "{kind:?} of {x}: {sum}, not {value}");
                }
            }
        }
    }
}
