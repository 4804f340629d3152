//! [`ModelRows`]: weights of a product before they are quantised, and what they are.

use npukit_graph::Graph;
use npukit_graph::quantise::rows::Int4Rows;

use super::split::step_of_integers;
use crate::lower::work::Product;

/// Weights of a product row by row, as the model has them.
#[derive(Clone, Copy, Debug)]
pub struct ModelRows<'a> {
    values: &'a [f32],
    /// Number of weights of a row, and of rows.
    size: [usize; 2],
    /// Whether they lie with a row for each result.
    by_rows: bool,
    /// Whether rows have scales of their own, and inputs no gains.
    are_plain: bool,
}

/// The rows of a product; none where they are no floats.
pub fn rows_of<'a>(graph: &'a Graph, product: &Product) -> Option<ModelRows<'a>> {
    let values = graph.constant(product.weights)?.as_f32()?;
    let [_, k, n] = product.size;
    let are_plain = product.gain.is_none() && !product.one_scale;
    Some(ModelRows { values, size: [k, n], by_rows: product.by_rows, are_plain })
}

/// As many weights are no integers by chance.
const MANY: usize = 16;
/// A row of fewer is integers by chance.
const LONG: usize = 3;
/// A share of the weights that roundings are.
const ROUNDING: f64 = 1e-5;

impl ModelRows<'_> {
    fn row(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        let [k, n] = self.size;
        let (first, step) = if self.by_rows { (row * k, 1) } else { (row, n.max(1)) };
        self.values.iter().skip(first).step_by(step).take(k).copied()
    }

    /// Whether rows of 4 bits with a scale each are not these.
    pub fn lose_by_4_bits(&self) -> bool {
        let [k, n] = self.size;
        let values: Vec<f32> = (0..n).flat_map(|row| self.row(row)).collect();
        // Weights that are not finite are told of where they are quantised.
        let error = Int4Rows::keeping(n, k, &values).map(|quantised| quantised.error(&values).relative);
        !self.are_plain || error.is_ok_and(|error| error > ROUNDING)
    }

    /// Whether all rows are integers of 8 bits times a scale, and not of 4.
    pub fn are_integers_of_8_bits(&self) -> bool {
        let [k, n] = self.size;
        let is_row = |row: usize| {
            let row: Vec<f32> = self.row(row).collect();
            row.iter().all(|&value| value == 0.0) || step_of_integers(&row).is_some()
        };
        // The first row tells of most matrices.
        let are_integers = self.are_plain && k >= LONG && (0..n).all(is_row);
        are_integers
            && self.values.iter().filter(|value| **value != 0.0).count() >= MANY
            && self.lose_by_4_bits()
    }
}
