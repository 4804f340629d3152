//! [`Hadamard`]: an orthogonal matrix that spreads each value over many others.
//!
//! Rounding to few bits loses less if the numbers of a row have similar magnitudes. A Hadamard
//! matrix has elements of one magnitude, so its product with a row of outliers has none. Its size
//! is a product of the orders 2, 12 and 20; for another size, blocks of the largest such divisor
//! are multiplied one by one.

use npukit_numeric::SplitMix64;

/// Sizes of Hadamard matrices after Paley's first construction, with a prime factor each that only
/// they provide.
const PALEY: [[usize; 2]; 2] = [[3, 12], [5, 20]];
/// Largest order of a factor.
const LARGEST: usize = 20;
/// Seed of the signs.
const SEED: u64 = 0x4ADA;

/// Orthogonal matrix of equal blocks: signs, then a Kronecker product of Hadamard matrices, divided
/// by the root of its size.
#[derive(Clone, Debug, PartialEq)]
pub struct Hadamard {
    /// Factors of a block.
    factors: Vec<Factor>,
    /// Size of a block.
    block: usize,
    /// Sign of each value before the product.
    signs: Vec<f32>,
}

/// Hadamard matrix of an order.
#[derive(Clone, Debug, PartialEq)]
struct Factor {
    order: usize,
    /// Elements, row by row.
    elements: Vec<f32>,
}

impl Hadamard {
    /// Returns a matrix for vectors of `width` values, with pseudorandom signs. Its blocks are as
    /// large as possible, and divide `within`, a divisor of `width`; so does the period of the
    /// signs.
    pub fn new(width: usize, within: usize) -> Self {
        let mut random = SplitMix64::new(SEED);
        let signs: Vec<f32> =
            (0..within).map(|_| if random.bits() >> 63 == 0 { 1.0 } else { -1.0 }).collect();
        let signs = signs.into_iter().cycle().take(width).collect();
        Self { signs, ..Self::without_signs(width, within) }
    }

    /// Like [`Self::new`], without a change of signs.
    pub fn without_signs(width: usize, within: usize) -> Self {
        let divisors = (1..=within).rev().filter(|block| within.is_multiple_of(*block));
        let mut found = divisors.filter_map(|block| Some((block, orders(block)?)));
        // Default: blocks of one value have no factors.
        let (block, orders) = found.next().unwrap_or((1, Vec::new()));
        Self { factors: orders.into_iter().map(Factor::new).collect(), block, signs: vec![1.0; width] }
    }

    /// Returns the size of a block. An element of a block has the magnitude of the root of its
    /// inverse.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Multiplies a row vector by the matrix, in place.
    pub fn apply(&self, x: &mut [f32]) {
        x.iter_mut().zip(&self.signs).for_each(|(x, sign)| *x *= sign);
        self.multiply(x, false);
    }

    /// Multiplies a row vector by the inverse of the matrix, which is its transpose, in place.
    pub fn invert(&self, x: &mut [f32]) {
        self.multiply(x, true);
        x.iter_mut().zip(&self.signs).for_each(|(x, sign)| *x *= sign);
    }

    /// Multiplies each block of a row vector by the product of the factors or its transpose.
    fn multiply(&self, x: &mut [f32], transposed: bool) {
        let scale = 1.0 / (self.block as f32).sqrt();
        for x in x.chunks_exact_mut(self.block) {
            let mut stride = 1;
            for factor in &self.factors {
                factor.multiply(x, stride, transposed);
                stride *= factor.order;
            }
            x.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

/// Returns the orders of Hadamard matrices whose product is `size`; `None` if there are none.
fn orders(size: usize) -> Option<Vec<usize>> {
    let (mut left, mut orders) = (size, Vec::new());
    for [prime, order] in PALEY {
        while left.is_multiple_of(prime) {
            if !left.is_multiple_of(order) {
                return None;
            }
            left /= order;
            orders.push(order);
        }
    }
    orders.extend(std::iter::repeat_n(2, left.trailing_zeros() as usize));
    left.is_power_of_two().then_some(orders)
}

impl Factor {
    /// Returns the matrix of an order: 2, or a prime of the form `4 n + 3`, plus 1.
    fn new(order: usize) -> Self {
        let elements = (0..order * order).map(|place| element(order, place / order, place % order));
        Self { order, elements: elements.collect() }
    }

    /// Multiplies the values at a distance of `stride` by the matrix or its transpose.
    fn multiply(&self, x: &mut [f32], stride: usize, transposed: bool) {
        let (order, mut values) = (self.order, [0.0; LARGEST]);
        let [down, right] = if transposed { [1, order] } else { [order, 1] };
        for group in x.chunks_exact_mut(order * stride) {
            for offset in 0..stride {
                let of_group = group[offset..].iter().step_by(stride);
                values.iter_mut().zip(of_group).for_each(|(value, x)| *value = *x);
                for (to, x) in group[offset..].iter_mut().step_by(stride).enumerate() {
                    let column = self.elements[to * right..].iter().step_by(down);
                    *x = values[..order].iter().zip(column).map(|(value, element)| value * element).sum();
                }
            }
        }
    }
}

/// Returns an element of the Hadamard matrix of an order.
fn element(order: usize, row: usize, column: usize) -> f32 {
    let prime = order - 1;
    let is_positive = match (row, column) {
        _ if row == column => row == 0 || order > 2,
        (0, _) => true,
        (_, 0) => order == 2,
        _ => is_square((row + prime - column) % prime, prime),
    };
    if is_positive { 1.0 } else { -1.0 }
}

/// Whether a number is a square modulo a prime.
fn is_square(number: usize, prime: usize) -> bool {
    (1..prime).any(|root| root * root % prime == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_products_of_orders() {
        let block = |width| Hadamard::new(width, width).block();
        assert_eq!([576, 2048, 960, 896, 36, 7].map(block), [576, 2048, 960, 128, 12, 1]);
        assert_eq!(Hadamard::new(576, 64).block(), 64);
    }

    #[test]
    fn matrices_are_orthogonal_with_elements_of_one_magnitude() {
        for (width, within) in [(2, 2), (12, 12), (20, 20), (48, 48), (240, 240), (36, 36), (64, 16)] {
            let matrix = Hadamard::new(width, within);
            let unit = |place| {
                let mut row: Vec<f32> = (0..width).map(|index| f32::from(index == place)).collect();
                matrix.apply(&mut row);
                row
            };
            let rows: Vec<Vec<f32>> = (0..width).map(unit).collect();
            for (i, a) in rows.iter().enumerate() {
                let magnitude = 1.0 / (matrix.block() as f32).sqrt();
                let is_element = |x: &&f32| (x.abs() - magnitude).abs() < 1e-6;
                assert_eq!(a.iter().filter(is_element).count(), matrix.block(), "{width}");
                for (j, b) in rows.iter().enumerate() {
                    let product: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    assert!((product - f32::from(i == j)).abs() < 1e-5, "{width}: {i} {j}");
                }
            }
            let mut back = rows[width / 2].clone();
            matrix.invert(&mut back);
            let expected = |index: usize| f32::from(index == width / 2);
            assert!(back.iter().enumerate().all(|(index, x)| (x - expected(index)).abs() < 1e-5), "{width}");
        }
    }
}
