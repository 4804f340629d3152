//! Number format of the machine: [`scheme`].

use npukit_graph::quantize::{Rounding, Scheme};

use crate::config::Types;

/// Returns the integer format of the machine; `None` if its features are floats.
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
