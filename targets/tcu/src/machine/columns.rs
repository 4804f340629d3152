//! The rows of an array, by output lane: [`Columns`].

use crate::machine::arith::Weights;

/// The rows of an array of any scalars, by output lane: what a product reads of them lies together.
#[derive(Clone, Debug)]
pub(crate) struct Columns<T> {
    lanes: usize,
    scalars: Vec<T>,
}

impl<T> Columns<T> {
    /// Output lanes, and as many input lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// For each output lane the bias and the weight of each input lane.
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
