//! What a systolic array holds: [`ArrayWeights`].

use super::{NARROW, WIDE};
use crate::number::Number;

/// The weights in a systolic array: row 0 is the bias, row `k` belongs to input lane `k - 1`.
///
/// Weights are kept twice, as stored and as the floats the fast paths compute with, so that
/// converting costs once per load and not once per product.
#[derive(Clone, Debug)]
pub struct ArrayWeights<F: Number> {
    size: Size,
    raw: Vec<F::Raw>,
    floats: Vec<F::Sum>,
}

/// How weights lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Input lanes.
    pub inputs: usize,
    /// Output lanes.
    pub outputs: usize,
    /// Scalars from row to row: `outputs` rounded up to whole tiles, filled up with zeros.
    pub pitch: usize,
}

impl<F: Number> ArrayWeights<F> {
    /// All zero.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        let tile = if outputs <= NARROW { NARROW } else { WIDE };
        let pitch = outputs.next_multiple_of(tile);
        let scalars = pitch * (inputs + 1);
        let zero = F::Raw::default();
        let size = Size { inputs, outputs, pitch };
        Self { size, raw: vec![zero; scalars], floats: vec![F::sum_weight(zero); scalars] }
    }

    /// Input lanes.
    pub fn inputs(&self) -> usize {
        self.size.inputs
    }

    /// Output lanes.
    pub fn outputs(&self) -> usize {
        self.size.outputs
    }

    /// Row `k`, `0..=inputs`. Panics when there is none.
    pub fn row(&self, k: usize) -> &[F::Raw] {
        &self.raw[k * self.size.pitch..][..self.size.outputs]
    }

    /// Replaces row `k`. Panics when there is none, or when `row` has not `outputs` scalars.
    pub fn set_row(&mut self, k: usize, row: &[F::Raw]) {
        let at = k * self.size.pitch;
        self.raw[at..][..self.size.outputs].copy_from_slice(row);
        for (float, &raw) in self.floats[at..][..self.size.outputs].iter_mut().zip(row) {
            *float = F::sum_weight(raw);
        }
    }

    /// Makes row `k` zero. Panics when there is none.
    pub fn clear_row(&mut self, k: usize) {
        let at = k * self.size.pitch;
        self.raw[at..][..self.size.outputs].fill(F::Raw::default());
        self.floats[at..][..self.size.outputs].fill(F::sum_weight(F::Raw::default()));
    }

    /// Moves row `k` to `k + count`; rows moved past the last are lost, the first `count` stay as they were.
    pub fn shift(&mut self, count: usize) {
        let rows = self.size.inputs + 1;
        if count < rows {
            let (moved, to) = (..(rows - count) * self.size.pitch, count * self.size.pitch);
            self.raw.copy_within(moved, to);
            self.floats.copy_within(moved, to);
        }
    }

    /// How [`Self::raw`] and [`Self::floats`] lie.
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// All rows as stored.
    pub(super) fn raw(&self) -> &[F::Raw] {
        &self.raw
    }

    /// All rows as floats.
    pub(super) fn floats(&self) -> &[F::Sum] {
        &self.floats
    }
}
