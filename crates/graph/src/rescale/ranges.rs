//! [`Ranges`]: magnitudes of each value over samples, without masks and infinities.

use npukit_numeric::Tensor;

use super::roles::is_float;
use crate::ir::{Graph, ValueId};
use crate::observe::{Observations, Statistic};
use crate::qdq_scales::QdqScales;
use crate::quantize::is_mask;

/// Magnitudes of each value over samples.
pub type Ranges = Observations<Magnitude>;

/// Assumed ratio of the largest magnitude to the root mean square, if only the integer range is
/// known.
const USUAL_CREST: f64 = 5.0;

/// Largest magnitude of a value, and the sum of squares of its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Magnitude {
    largest: f32,
    squares: f64,
    count: u64,
}

impl Statistic for Magnitude {
    fn note(&mut self, tensor: &Tensor) {
        self.merge(&Self::of(tensor));
    }

    fn merge(&mut self, other: &Self) {
        self.largest = self.largest.max(other.largest);
        self.squares += other.squares;
        self.count += other.count;
    }
}

impl Magnitude {
    /// Returns the magnitude of a tensor's elements, without masks.
    pub(super) fn of(tensor: &Tensor) -> Self {
        let mut found = Self::default();
        // Default: integers have no magnitude to scale.
        let elements = tensor.as_f32().unwrap_or_default().iter();
        for x in elements.filter(|x| x.is_finite() && !is_mask(**x)) {
            found.largest = found.largest.max(x.abs());
            found.squares += f64::from(*x).powi(2);
            found.count += 1;
        }
        found
    }

    /// Returns the magnitude that quantization parameters imply; most numbers are assumed to be
    /// small.
    fn stated(stated: &QdqScales) -> Self {
        let largest = stated.range().into_iter().map(f64::abs).fold(0.0, f64::max);
        Self { largest: largest as f32, squares: (largest / USUAL_CREST).powi(2), count: 1 }
    }

    /// Returns the largest magnitude; 0 without elements.
    pub(super) fn largest(&self) -> f64 {
        self.largest.into()
    }

    /// Returns the root mean square of the elements; 0 without elements.
    pub(super) fn root_mean_square(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}

impl Ranges {
    /// Returns the ranges that the model specifies in [`Graph::scales`]: the numbers that its
    /// integers represent. `None` if it specifies no range for the results of its nodes.
    pub fn stated(graph: &Graph) -> Option<Self> {
        let computed = |id: &ValueId| graph.constant(*id).is_none() && is_float(graph, *id);
        let mut ranges = Self::new(graph);
        let mut is_known = false;
        for (&id, stated) in graph.scales.iter().filter(|(id, _)| computed(id)) {
            is_known |= !graph.inputs.contains(&id);
            ranges.note_statistic(id, &Magnitude::stated(stated));
        }
        is_known.then_some(ranges)
    }

    /// Returns the largest magnitude of a value; 0 without observations.
    pub fn of(&self, id: ValueId) -> f32 {
        self.get(id).map_or(0.0, |magnitude| magnitude.largest)
    }

    /// Returns the root mean square of a value; 0 without observations.
    pub(super) fn root_mean_square(&self, id: ValueId) -> f64 {
        self.get(id).map_or(0.0, Magnitude::root_mean_square)
    }
}

/// Returns the largest magnitude of the elements. Infinities are ignored: they are padding, and fit
/// at no scale.
pub(super) fn magnitude(tensor: &Tensor) -> f32 {
    Magnitude::of(tensor).largest
}
