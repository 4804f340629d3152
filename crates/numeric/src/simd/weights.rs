//! Weights stored in a systolic array: [`ArrayWeights`].

use super::{NARROW, WIDE};
use crate::number::Number;

/// The weights in a systolic array: row 0 is the bias, row `k` belongs to input lane `k - 1`.
///
/// Weights are kept twice, as stored and as the floats for the fast paths, so that they are
/// converted once per load instead of once per product.
#[derive(Clone, Debug)]
pub struct ArrayWeights<F: Number> {
    size: Size,
    raw: Vec<F::Raw>,
    floats: Vec<F::Sum>,
}

/// Layout of weights in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Number of input lanes.
    pub inputs: usize,
    /// Number of output lanes.
    pub outputs: usize,
    /// Distance between rows, in scalars: `outputs` rounded up to whole tiles, padded with zeros.
    pub pitch: usize,
}

impl<F: Number> ArrayWeights<F> {
    /// Creates weights that are all zero.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        let tile = if outputs <= NARROW { NARROW } else { WIDE };
        let pitch = outputs.next_multiple_of(tile);
        let scalars = pitch * (inputs + 1);
        let zero = F::Raw::default();
        let size = Size { inputs, outputs, pitch };
        Self { size, raw: vec![zero; scalars], floats: vec![F::sum_weight(zero); scalars] }
    }

    /// Returns the number of input lanes.
    pub fn inputs(&self) -> usize {
        self.size.inputs
    }

    /// Returns the number of output lanes.
    pub fn outputs(&self) -> usize {
        self.size.outputs
    }

    /// Returns row `k`, `0..=inputs`. Panics if it does not exist.
    pub fn row(&self, k: usize) -> &[F::Raw] {
        &self.raw[k * self.size.pitch..][..self.size.outputs]
    }

    /// Replaces row `k`. Panics if it does not exist, or if `row` does not have `outputs` scalars.
    pub fn set_row(&mut self, k: usize, row: &[F::Raw]) {
        let at = k * self.size.pitch;
        self.raw[at..][..self.size.outputs].copy_from_slice(row);
        for (float, &raw) in self.floats[at..][..self.size.outputs].iter_mut().zip(row) {
            *float = F::sum_weight(raw);
        }
    }

    /// Sets row `k` to zero. Panics if it does not exist.
    pub fn clear_row(&mut self, k: usize) {
        let at = k * self.size.pitch;
        self.raw[at..][..self.size.outputs].fill(F::Raw::default());
        self.floats[at..][..self.size.outputs].fill(F::sum_weight(F::Raw::default()));
    }

    /// Moves row `k` to `k + count`; rows moved past the last are lost, and the first `count` stay
    /// unchanged.
    pub fn shift(&mut self, count: usize) {
        let rows = self.size.inputs + 1;
        if count < rows {
            let (moved, to) = (..(rows - count) * self.size.pitch, count * self.size.pitch);
            self.raw.copy_within(moved, to);
            self.floats.copy_within(moved, to);
        }
    }

    /// Returns the layout of [`Self::raw`] and [`Self::floats`].
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Returns all rows as stored.
    pub(super) fn raw(&self) -> &[F::Raw] {
        &self.raw
    }

    /// Returns all rows as floats.
    pub(super) fn floats(&self) -> &[F::Sum] {
        &self.floats
    }
}
