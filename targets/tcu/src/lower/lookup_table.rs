//! Tables for the lookup extension: [`build`] makes the keys of a function, and the polynomial around each.
//!
//! Intervals are halved until the polynomial around the key in the middle of each is close enough, so that
//! keys are dense where the function bends. A lookup takes the closest key, so polynomials are fitted, and
//! judged with the coefficients the format holds, on the arguments that are closest to their key.

use npukit_graph::op::UnaryKind;
use npukit_numeric::NumberFormat;

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    /// An operator's.
    Unary(UnaryKind),
    /// The power with this exponent.
    Power(f32),
}

/// What a table may take.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Format of keys and values.
    pub format: NumberFormat,
    /// Coefficients of a polynomial: 1 gives steps, 2 lines.
    pub coefficients: usize,
    /// The most keys.
    pub keys: usize,
}

/// Keys, and a polynomial of the difference to the key for each.
#[derive(Clone, Debug)]
pub struct Table {
    /// The keys, ascending.
    pub keys: Vec<f32>,
    /// For each key, the coefficients, the constant one first.
    pub coefficients: Vec<Vec<f32>>,
    /// The largest error found over `1 + |value|`, that of the machine's own roundings left out.
    pub error: f64,
}

/// How far a table of floats reaches; beyond, its last polynomial goes on.
const FLOAT_REACH: f64 = 65536.0;
/// How close to a pole a table of floats comes.
const FLOAT_POLE: f64 = 1.0 / 16384.0;
/// How close is close enough for floats, over `1 + |value|`.
const FLOAT_TOLERANCE: f64 = 1.0 / 131_072.0;
/// Points of an interval that are looked at, beside the powers of two in it.
const SAMPLES: usize = 16;
/// Narrower intervals of floats are not halved.
const FLOAT_NARROWEST: f64 = 1.0 / 16_777_216.0;
/// A table is not worth having beyond this tolerance.
const COARSEST: f64 = 1.0;
/// How much a tolerance grows when it asks for too many keys.
const RELAXATION: f64 = 1.4;

/// The best table there is room for; `None` without room for one of any use.
pub fn build(function: Function, room: &Room) -> Option<Table> {
    let fit = Fit::new(function, room);
    let pieces = function.domain(room.format);
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
    /// Its value.
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Self::Unary(kind) => kind.apply(x),
            Self::Power(exponent) => x.powf(exponent),
        }
    }

    /// Where it is defined among the numbers of `format`, in pieces without a pole inside.
    fn domain(self, format: NumberFormat) -> Vec<[f64; 2]> {
        let fixed = format.step().map(|step| (-format.largest() - step, format.largest(), -step, 0.0));
        // Of the fixed numbers zero itself is one: a pole there gives the largest number.
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
            Self::Unary(UnaryKind::Asin | UnaryKind::Acos | UnaryKind::Atanh) => vec![[-1.0, 1.0]],
            Self::Unary(UnaryKind::Acosh) => vec![[1.0, high]],
            _ => vec![[low, high]],
        }
    }
}

/// How many times as wide as its neighbour an interval may be: the border between two keys is in the middle,
/// so that a narrow one's cell reaches far into a wide one.
const GRADE: f64 = 2.0;

/// An interval that one polynomial is good for, and the piece of the domain it is of.
#[derive(Clone, Copy)]
struct Leaf {
    interval: [f64; 2],
    piece: [f64; 2],
}

/// The arguments that are closest to a key, and what they get.
struct Cell {
    key: f64,
    coefficients: Vec<f64>,
    error: f64,
}

/// Fits polynomials to a function.
struct Fit {
    function: Function,
    format: NumberFormat,
    coefficients: usize,
    keys: usize,
    /// The distance of neighbouring numbers of a fixed format; 0 of floats.
    step: f64,
    /// Arguments that are looked at in whatever interval they are.
    probes: Vec<f64>,
}

impl Fit {
    fn new(function: Function, room: &Room) -> Self {
        let &Room { format, coefficients, keys } = room;
        let magnitudes = (-6..=16).flat_map(|k| [f64::from(k).exp2(), 1.5 * f64::from(k).exp2()]);
        let probes = magnitudes.flat_map(|x| [-x, x]).collect();
        Self { function, format, coefficients, keys, step: format.step().unwrap_or(0.0), probes }
    }

    /// The cells of leaves halved until all are within `tolerance`, as far as they can be halved, and none is
    /// much wider than its neighbours; `None` when they are more than there may be keys.
    fn refined(&self, leaves: impl Iterator<Item = Leaf>, tolerance: f64) -> Option<Vec<Cell>> {
        let mut leaves: Vec<Leaf> = leaves.collect();
        loop {
            let cells = self.cells(&leaves);
            let halved = |i: usize| {
                let wanted = cells[i].error > tolerance || self.is_wide(&leaves, i);
                if wanted && self.is_divisible(leaves[i]) {
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

    fn is_divisible(&self, leaf: Leaf) -> bool {
        let [low, high] = leaf.interval;
        high - low > if self.step > 0.0 { 0.0 } else { FLOAT_NARROWEST }
    }

    /// Whether leaf `i` is much wider than a neighbour.
    fn is_wide(&self, leaves: &[Leaf], i: usize) -> bool {
        let width = |leaf: &Leaf| leaf.interval[1] - leaf.interval[0] + self.step;
        let neighbours = [i.checked_sub(1), Some(i + 1)];
        let mut others = neighbours.into_iter().flatten().filter_map(|other| leaves.get(other));
        others.any(|other| width(&leaves[i]) > GRADE * width(other))
    }

    /// The two halves; in a fixed format, of numbers of it.
    fn halves(&self, Leaf { interval: [low, high], piece }: Leaf) -> [Leaf; 2] {
        let at = self.below((low + high) / 2.0);
        [[low, at], [at + self.step, high]].map(|interval| Leaf { interval, piece })
    }

    /// The keys in the middle of each leaf, with polynomials for the arguments that are closest to them.
    fn cells(&self, leaves: &[Leaf]) -> Vec<Cell> {
        let keys: Vec<f64> = leaves.iter().map(|leaf| self.middle(leaf.interval)).collect();
        // Of two keys equally close the first is taken.
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

    /// The number of the format in the middle, or below it.
    fn middle(&self, [low, high]: [f64; 2]) -> f64 {
        self.rounded(self.below((low + high) / 2.0)).clamp(low, high)
    }

    /// The number of a fixed format at or below `x`.
    fn below(&self, x: f64) -> f64 {
        if self.step > 0.0 { (x / self.step).floor() * self.step } else { x }
    }

    /// The number of the format closest to `x`, which may be outside its range.
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

    /// The polynomial of `x - key` through the function at the Chebyshev points of the interval, its
    /// coefficients rounded to the format, the constant one first.
    fn polynomial(&self, [low, high]: [f64; 2], key: f64) -> Vec<f64> {
        let n = self.coefficients;
        let mut points: Vec<f64> = (0..n)
            .map(|k| (std::f64::consts::PI * (2 * k + 1) as f64 / (2 * n) as f64).cos())
            .map(|cosine| (low + high) / 2.0 - (high - low) / 2.0 * cosine)
            .map(|x| if self.step > 0.0 { self.below(x + self.step / 2.0).clamp(low, high) } else { x })
            .collect();
        points.dedup();
        let points: Vec<(f64, f64)> = points.into_iter().map(|x| (x - key, self.value(x))).collect();
        let mut coefficients: Vec<f64> = interpolate(&points).into_iter().map(|c| self.rounded(c)).collect();
        coefficients.resize(n, 0.0);
        coefficients
    }

    /// The largest error on the interval over `1 + |value|`. Where the function has no value there is none.
    fn error(&self, [low, high]: [f64; 2], key: f64, coefficients: &[f64]) -> f64 {
        let even = (0..=SAMPLES).map(|i| low + (high - low) * i as f64 / SAMPLES as f64);
        let probes = self.probes.iter().copied().filter(|&x| low < x && x < high);
        let points = even.chain(probes);
        let error = |x: f64| {
            let x = if self.step > 0.0 { self.below(x) } else { x };
            let polynomial = coefficients.iter().rev().fold(0.0, |sum, c| sum * (x - key) + c);
            let value = self.value(x);
            (self.limited(polynomial) - value).abs() / (1.0 + value.abs())
        };
        // `max` passes over what is no number.
        points.map(error).fold(0.0, f64::max)
    }
}

/// The coefficients of the polynomial through points, by Newton's divided differences.
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
        // Times `(argument - x)`, plus the difference.
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
            let table = build(Function::Unary(UnaryKind::Reciprocal), &room).expect("there is room");
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
}
