//! [`InputMoments`]: second moments of the inputs of a matrix.

use rayon::prelude::*;

use crate::product::{Layout, PackedMatrix};

/// Inputs that are added together.
const TOKENS: usize = 512;

/// Sums of the products of each two inputs of a matrix, over typical inputs.
#[derive(Clone, Debug)]
pub struct InputMoments {
    columns: usize,
    /// Sums, `[columns, columns]`.
    sums: Vec<f32>,
}

impl InputMoments {
    /// Returns the moments of no inputs, for a matrix of `columns` columns.
    pub fn new(columns: usize) -> Self {
        Self { columns, sums: vec![0.0; columns * columns] }
    }

    /// Adds inputs, `[count, columns]`.
    pub fn add(&mut self, inputs: &[f32]) {
        let columns = self.columns.max(1);
        for inputs in inputs.chunks(TOKENS * columns) {
            let count = inputs.len() / columns;
            let by_input: Vec<f32> = (0..columns)
                .into_par_iter()
                .flat_map_iter(|column| inputs.iter().skip(column).step_by(columns).copied())
                .collect();
            let right = PackedMatrix::new(inputs, count, columns, Layout::row_major(columns));
            right.multiply(&by_input, &mut self.sums, columns);
        }
    }

    /// Returns the number of inputs.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the sum of the products of two inputs.
    pub fn get(&self, first: usize, second: usize) -> f32 {
        self.sums[first * self.columns + second]
    }

    /// Returns the mean sum of the squares of an input; `None` unless it is a positive number.
    pub(super) fn mean_square(&self) -> Option<f32> {
        let squares = (0..self.columns).map(|column| f64::from(self.get(column, column)));
        let mean = (squares.sum::<f64>() / self.columns.max(1) as f64) as f32;
        (mean.is_normal() && mean > 0.0).then_some(mean)
    }
}
