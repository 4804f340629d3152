//! [`scheme`]: how the machine holds numbers.

use npukit_graph::quantise::{Rounding, Scheme};

use crate::config::Types;

/// The integers of the machine; none when its features are floats.
pub(super) fn scheme(types: &Types) -> Option<Scheme> {
    let width = |data_type: crate::DataType| data_type.fixed().map(|fixed| fixed.width());
    Some(Scheme {
        activations: width(types.itype)?,
        weights: width(types.ktype)?,
        biases: width(types.btype)?,
        partial_sums: width(types.otype)?,
        shifts: -128..=127,
        rounding: Rounding::HalfUp,
    })
}
