//! ConvTranspose: the terms of a convolution in which each tap covers only every stride-th pixel.
//! Pixels that a tap does not cover cost nothing.

use npukit_graph::{NodeId, op};

use super::conv::{self, Taps};
use crate::lower::layers::{Builder, Lowered, Reject};

/// Lowers a transposed convolution with constant weights.
///
/// # Errors
///
/// Fails like a convolution.
pub fn lower(builder: &mut Builder, id: NodeId, conv: &op::ConvTranspose) -> Result<Lowered, Reject> {
    // Returns the index of the operand element whose kernel has its `tap` at `out`.
    let source = |axis: usize, out: usize, tap: usize| {
        let distance = (out + conv.pads[axis]).checked_sub(tap * conv.dilations[axis])?;
        distance.is_multiple_of(conv.strides[axis]).then_some(distance / conv.strides[axis])
    };
    conv::product(builder, id, &Taps { group: conv.group, source: &source })
}
