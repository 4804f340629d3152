//! [`Ranges`]: how large each value becomes, from samples.

use npukit_numeric::Tensor;

use crate::ir::ValueId;
use crate::observe::{Observations, Statistic};

/// The largest finite magnitude of each value over the samples seen.
pub type Ranges = Observations<Magnitude>;

/// The largest finite magnitude of a value; 0 when it was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Magnitude(f32);

impl Statistic for Magnitude {
    fn note(&mut self, tensor: &Tensor) {
        self.0 = self.0.max(magnitude(tensor));
    }

    fn merge(&mut self, other: &Self) {
        self.0 = self.0.max(other.0);
    }
}

impl Ranges {
    /// The largest magnitude of a value; 0 when it was never seen.
    pub fn of(&self, id: ValueId) -> f32 {
        self.get(id).map_or(0.0, |magnitude| magnitude.0)
    }
}

/// The largest finite magnitude; infinities pad windows, and no scale makes them fit.
pub(super) fn magnitude(tensor: &Tensor) -> f32 {
    // Default: integers have no magnitude to scale.
    let finite = tensor.as_f32().unwrap_or_default().iter().map(|x| x.abs()).filter(|x| x.is_finite());
    finite.fold(0.0, f32::max)
}
