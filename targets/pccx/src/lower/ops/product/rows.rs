//! [`ModelRows`]: weights of a product before quantization, and their properties.

use npukit_graph::Graph;
use npukit_graph::quantize::rows::Int4Rows;

use super::split::step_of_integers;
use crate::lower::work::Product;

/// Weights of a product row by row, as in the model.
#[derive(Clone, Copy, Debug)]
pub struct ModelRows<'a> {
    values: &'a [f32],
    /// Number of weights per row, and of rows.
    size: [usize; 2],
    /// Whether the matrix has a row for each result.
    by_rows: bool,
    /// Whether rows have separate scales, and inputs no gains.
    are_plain: bool,
}

/// Returns the rows of a product; `None` if they are not floats.
pub fn rows_of<'a>(graph: &'a Graph, product: &Product) -> Option<ModelRows<'a>> {
    let values = graph.constant(product.weights)?.as_f32()?;
    let [_, k, n] = product.size;
    let are_plain = product.gain.is_none() && !product.one_scale;
    Some(ModelRows { values, size: [k, n], by_rows: product.by_rows, are_plain })
}

/// Minimum number of weights that are unlikely to be integers by chance.
const MANY: usize = 16;
/// Minimum length of a row. Shorter rows may be integers by chance.
const LONG: usize = 3;
/// Tolerated rounding error relative to the weights.
const ROUNDING: f64 = 1e-5;

impl ModelRows<'_> {
    fn row(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        let [k, n] = self.size;
        let (first, step) = if self.by_rows { (row * k, 1) } else { (row, n.max(1)) };
        self.values.iter().skip(first).step_by(step).take(k).copied()
    }

    /// Whether quantization to rows of 4 bits with one scale each changes the weights.
    pub fn lose_by_4_bits(&self) -> bool {
        let [k, n] = self.size;
        let values: Vec<f32> = (0..n).flat_map(|row| self.row(row)).collect();
        // Weights that are not finite do not decide here: quantization reports them.
        let error = Int4Rows::keeping(n, k, &values).map(|quantized| quantized.error(&values).relative);
        !self.are_plain || error.is_ok_and(|error| error > ROUNDING)
    }

    /// Whether all rows are 8-bit integers times a scale, and not 4-bit integers.
    pub fn are_integers_of_8_bits(&self) -> bool {
        let [k, n] = self.size;
        let is_row = |row: usize| {
            let row: Vec<f32> = self.row(row).collect();
            row.iter().all(|&value| value == 0.0) || step_of_integers(&row).is_some()
        };
        // For most matrices, the first row already shows the answer.
        let are_integers = self.are_plain && k >= LONG && (0..n).all(is_row);
        are_integers
            && self.values.iter().filter(|value| **value != 0.0).count() >= MANY
            && self.lose_by_4_bits()
    }
}
