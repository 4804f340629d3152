//! [`Columns`]: the rows of an array, stored by output lane.

use crate::machine::arith::Weights;

/// The rows of an array with any scalars, stored by output lane, so that a product reads contiguous
/// memory.
#[derive(Clone, Debug)]
pub(crate) struct Columns<T> {
    lanes: usize,
    scalars: Vec<T>,
}

impl<T> Columns<T> {
    /// Returns the number of output lanes, which equals the number of input lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Yields, for each output lane, the bias and the weight of each input lane.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        self.scalars.chunks_exact(self.lanes + 1)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.scalars.chunks_exact_mut(self.lanes + 1)
    }
}

impl<T: Clone + Default + Send> Weights<T> for Columns<T> {
    fn zeros(lanes: usize) -> Self {
        Self { lanes, scalars: vec![T::default(); lanes * (lanes + 1)] }
    }
    fn set_row(&mut self, k: usize, row: &[T]) {
        self.iter_mut().zip(row).for_each(|(column, scalar)| column[k] = scalar.clone());
    }
    fn clear_row(&mut self, k: usize) {
        self.iter_mut().for_each(|column| column[k] = T::default());
    }
    fn shift(&mut self, count: usize) {
        for column in self.iter_mut() {
            for k in (count..column.len()).rev() {
                column[k] = column[k - count].clone();
            }
        }
    }
}
