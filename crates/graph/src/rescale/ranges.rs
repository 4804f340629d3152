//! [`Ranges`]: how large each value becomes, from samples. Masks and infinities are no values.

use npukit_numeric::Tensor;

use super::roles::is_float;
use crate::ir::{Graph, ValueId};
use crate::observe::{Observations, Statistic};
use crate::qdq_scales::QdqScales;
use crate::quantise::is_mask;

/// Magnitudes of each value over the samples seen.
pub type Ranges = Observations<Magnitude>;

/// How many times the root mean square of its elements a value reaches, where only the latter is stated.
const USUAL_CREST: f64 = 5.0;

/// The largest magnitude of a value, and its elements' squares.
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
    /// That of the elements of a tensor which are values.
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

    /// That of numbers that integers stand for, of which most are small.
    fn stated(stated: &QdqScales) -> Self {
        let largest = stated.range().into_iter().map(f64::abs).fold(0.0, f64::max);
        Self { largest: largest as f32, squares: (largest / USUAL_CREST).powi(2), count: 1 }
    }

    /// That of the largest element; 0 of none.
    pub(super) fn largest(&self) -> f64 {
        self.largest.into()
    }

    /// Root mean square of the elements; 0 of none.
    pub(super) fn root_mean_square(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}

impl Ranges {
    /// The ranges that a model states of its values, as [`Graph::scales`] has them: the numbers that integers stand for.
    /// `None` of one that states none of what its nodes compute.
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

    /// The largest magnitude of a value; 0 when it was never seen.
    pub fn of(&self, id: ValueId) -> f32 {
        self.get(id).map_or(0.0, |magnitude| magnitude.largest)
    }

    /// Root mean square of a value; 0 when it was never seen.
    pub(super) fn root_mean_square(&self, id: ValueId) -> f64 {
        self.get(id).map_or(0.0, Magnitude::root_mean_square)
    }
}

/// The largest magnitude of a value among the elements; infinities pad windows, and no scale makes them fit.
pub(super) fn magnitude(tensor: &Tensor) -> f32 {
    Magnitude::of(tensor).largest
}
