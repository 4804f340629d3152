//! [`WeightedRounding`]: rounding of weights to 4 bits that changes the results least, for typical
//! inputs.
//!
//! With `H` the second moments of the inputs and `H = L L^T`, the error `e` of a row of weights
//! changes the squares of its results by `e H e^T`, the squared length of `e L`. Weights are
//! rounded one after the other, from the last column to the first. Each is first corrected by the
//! errors of the weights before it, such that its element of `e L` would be 0 without rounding.
//!
//! Source: Frantar, Ashkboos, Hoefler and Alistarh, "GPTQ", 2023; the form without an inverse is
//! Babai's nearest plane.

use npukit_numeric::Rows;
use rayon::prelude::*;

use super::cholesky::cholesky;
use super::{InputMoments, Int4Rows, RowsError, check, nearest, searched_scale};
use crate::product::{Layout, PackedMatrix};

/// Columns whose errors correct the earlier columns together.
const BLOCK: usize = 64;
/// Rows that a worker rounds at once.
const ROWS: usize = 32;
/// Scales that are tried, relative to the best one without corrections.
const FACTORS: [f32; 5] = [0.84, 0.92, 1.0, 1.08, 1.16];
/// Part of the mean square that is added to each square, as other texts have other moments.
const DAMPING: f32 = 0.01;
/// Number of factors of 10 by which it is increased, if rounding needs that.
const TRIES: i32 = 6;

/// Rounding for a matrix whose inputs have known second moments.
pub struct WeightedRounding {
    /// Column at each place; those with the largest inputs are last, and so rounded first.
    order: Vec<usize>,
    /// Mean square of the input at each place, up to a factor.
    squares: Vec<f32>,
    /// Diagonal of `L`.
    diagonal: Vec<f32>,
    /// Rows of `L`, with each column divided by its diagonal element.
    factor: Vec<f32>,
    /// Parts of `factor` with which the errors of a block correct the columns before it.
    corrections: Vec<PackedMatrix>,
}

impl WeightedRounding {
    /// Prepares the rounding. Moments that are 0 or not finite are ignored, and weights are then
    /// rounded to nearest.
    pub fn new(moments: &InputMoments) -> Self {
        let size = moments.columns();
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by(|&a, &b| moments.get(a, a).total_cmp(&moments.get(b, b)));
        let damped = |damping: f32| -> Option<(Vec<f32>, Vec<f32>)> {
            let more = damping * moments.mean_square()?;
            let value = |place: usize| {
                let (row, column) = (place / size, place % size);
                moments.get(order[row], order[column]) + if row == column { more } else { 0.0 }
            };
            let matrix: Vec<f32> = (0..size * size).into_par_iter().map(value).collect();
            let squares = (0..size).map(|place| matrix[place * (size + 1)]).collect();
            Some((cholesky(matrix, size)?, squares))
        };
        let found = (0..TRIES).find_map(|power| damped(DAMPING * 10f32.powi(power)));
        let (mut factor, squares) = found.unwrap_or_else(|| (identity(size), vec![1.0; size]));
        let diagonal: Vec<f32> = (0..size).map(|place| factor[place * (size + 1)]).collect();
        factor.par_chunks_exact_mut(size.max(1)).for_each(|row| {
            row.iter_mut().zip(&diagonal).for_each(|(value, diagonal)| *value /= diagonal);
        });
        let correction = |first: usize| {
            let layout = Layout { offset: first * size, row_stride: size, column_stride: 1 };
            PackedMatrix::new(&factor, BLOCK.min(size - first), first, layout)
        };
        let corrections = (0..size).step_by(BLOCK).map(correction).collect();
        Self { order, squares, diagonal, factor, corrections }
    }

    /// Quantizes `values`, `[rows, columns]`.
    ///
    /// # Errors
    ///
    /// [`RowsError::Length`] if there are not `rows` times as many values as inputs;
    /// [`RowsError::NotFinite`] for the first value that is infinite or NaN.
    pub fn quantize(&self, rows: usize, values: &[f32]) -> Result<Int4Rows, RowsError> {
        let columns = self.order.len();
        check(rows, columns, values)?;
        let mut quantized = Int4Rows { columns, codes: vec![0; values.len()], scales: vec![1.0; rows] };
        let size = ROWS * columns.max(1);
        let codes = quantized.codes.par_chunks_mut(size);
        let each = codes.zip(quantized.scales.par_chunks_mut(ROWS)).zip(values.par_chunks(size));
        each.for_each(|((codes, scales), values)| self.quantize_some(values, codes, scales));
        Ok(quantized)
    }

    /// Quantizes a few rows, each with the scale of least error.
    fn quantize_some(&self, values: &[f32], codes: &mut [i8], scales: &mut [f32]) {
        let columns = self.order.len();
        let ordered = |row: &[f32]| self.order.iter().map(|&column| row[column]).collect::<Vec<f32>>();
        let weights: Vec<f32> = values.chunks_exact(columns).flat_map(ordered).collect();
        let rows = weights.chunks_exact(columns);
        let usual: Vec<f32> = rows.map(|row| searched_scale(row, Some(&self.squares))).collect();
        let mut least = vec![f64::INFINITY; scales.len()];
        for factor in FACTORS {
            let tried: Vec<f32> = usual.iter().map(|scale| scale * factor).collect();
            let (found, errors) = self.rounded(&weights, &tried);
            for (row, error) in errors.into_iter().enumerate().filter(|(_, error)| error.is_finite()) {
                if error < least[row] {
                    (least[row], scales[row]) = (error, tried[row]);
                    let found = &found[row * columns..][..columns];
                    let codes = &mut codes[row * columns..][..columns];
                    self.order.iter().zip(found).for_each(|(&column, &code)| codes[column] = code);
                }
            }
        }
    }

    /// Returns the codes of rows of weights, in order, and the error of each row's results.
    fn rounded(&self, weights: &[f32], scales: &[f32]) -> (Vec<i8>, Vec<f64>) {
        let (size, count) = (self.order.len(), scales.len());
        let (mut corrected, mut codes) = (weights.to_vec(), vec![0; weights.len()]);
        let mut errors = vec![0.0; count];
        let mut missed = vec![0.0; count * BLOCK];
        for (index, correction) in self.corrections.iter().enumerate().rev() {
            let first = index * BLOCK;
            let width = BLOCK.min(size - first);
            for (row, (&scale, error)) in scales.iter().zip(&mut errors).enumerate() {
                let place = row * size + first..row * size + first + width;
                let (weights, codes) = (&weights[place.clone()], &mut codes[place.clone()]);
                let missed = &mut missed[row * width..][..width];
                *error += self.block([first, width], weights, &mut corrected[place], scale, codes, missed);
            }
            let missed = Rows { values: &missed[..count * width], pitch: width, count };
            correction.multiply_rows(missed, &mut corrected, size);
        }
        (codes, errors)
    }

    /// Rounds a block of a row; returns its part of the error.
    fn block(
        &self,
        [first, width]: [usize; 2],
        weights: &[f32],
        corrected: &mut [f32],
        scale: f32,
        codes: &mut [i8],
        missed: &mut [f32],
    ) -> f64 {
        let (size, mut error) = (self.order.len(), 0.0);
        for place in (0..width).rev() {
            let code = nearest(corrected[place] / scale);
            let value = code * scale;
            let own = (corrected[place] - value) * self.diagonal[first + place];
            error += f64::from(own).powi(2);
            codes[place] = code as i8;
            missed[place] = weights[place] - value;
            let factors = &self.factor[(first + place) * size + first..][..place];
            let by = missed[place];
            corrected[..place].iter_mut().zip(factors).for_each(|(value, factor)| *value += by * factor);
        }
        error
    }
}

fn identity(size: usize) -> Vec<f32> {
    (0..size * size).map(|place| f32::from(place / size == place % size)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Returns the sum of the squares by which results of rows differ.
    fn loss(rows: &Int4Rows, values: &[f32], inputs: &[f32], columns: usize) -> f64 {
        let missed: Vec<f32> = rows.dequantized().iter().zip(values).map(|(a, b)| a - b).collect();
        let result = |row: &[f32], x: &[f32]| row.iter().zip(x).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        let of_input =
            |x: &[f32]| missed.chunks_exact(columns).map(|row| result(row, x).powi(2)).sum::<f64>();
        inputs.chunks_exact(columns).map(of_input).sum()
    }

    #[test]
    fn results_change_less_than_by_nearest_codes() {
        let (rows, columns, count) = (70, 150, 400);
        let number = |index: usize| (index * 7919 % 10_007) as f32 / 10_007.0 - 0.5;
        let values: Vec<f32> = (0..rows * columns).map(|index| number(index * 13)).collect();
        // Correlated inputs: neighbors share most of their value.
        let inputs: Vec<f32> = (0..count * columns)
            .map(|index| number(index / 10 * 31) + 0.3 * number(index * 17) + f32::from(index % columns == 4))
            .collect();
        let mut moments = InputMoments::new(columns);
        inputs.chunks(7 * columns).for_each(|inputs| moments.add(inputs));
        let rounding = WeightedRounding::new(&moments);
        let ours = rounding.quantize(rows, &values).unwrap();
        let nearest = Int4Rows::new(rows, columns, &values).unwrap();
        let [ours, nearest] = [&ours, &nearest].map(|found| loss(found, &values, &inputs, columns));
        assert!(ours < 0.4 * nearest, "{ours} {nearest}");
        assert!(rounding.quantize(rows, &values[1..]).is_err());
    }

    #[test]
    fn inputs_without_correlation_give_nearest_codes() {
        let values = [0.9, -0.21, 0.33, 0.02, 0.5, -0.77, 0.0, 0.64];
        let rounding = WeightedRounding::new(&InputMoments::new(4));
        let found = rounding.quantize(2, &values).unwrap();
        for ((codes, scale), row) in found.iter().zip(values.chunks(4)) {
            let expected: Vec<i8> = row.iter().map(|value| nearest(value / scale) as i8).collect();
            assert_eq!(codes, expected);
        }
    }
}
