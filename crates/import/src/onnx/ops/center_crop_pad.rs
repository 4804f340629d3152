//! CenterCropPad: crops axes or pads them with zeros, equally at both ends.

use npukit_graph::ValueId;
use npukit_graph::op::{Pad, PadMode};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor;

/// Adds the operators of one node to the graph and returns its results. The larger half of an odd
/// number of elements is at the end.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input_data")?;
    let sizes =
        tensor::shape(&context.integers(1, "shape")?.ok_or(Reason::OperandMissing { operand: "shape" })?)?;
    let from = context.shape(x).to_vec();
    let axes = match context.attributes.ints("axes")? {
        None => (0..from.len()).collect(),
        Some(axes) => {
            axes.iter().map(|&axis| Context::axis("axes", axis, from.len())).collect::<Result<Vec<_>, _>>()?
        }
    };
    if axes.len() != sizes.len() || (1..axes.len()).any(|index| axes[..index].contains(&axes[index])) {
        return Err(unsupported("axes", axes, format!("{} different axes, one per size", sizes.len())));
    }
    let mut pads = vec![[0; 2]; from.len()];
    for (&axis, &to) in axes.iter().zip(&sizes) {
        // Rounded toward zero, like the halves of a crop.
        let total = to as isize - from[axis] as isize;
        pads[axis] = [total / 2, total - total / 2];
    }
    Ok(vec![context.emit(Pad { pads, mode: PadMode::Constant(0.0) }, vec![x])?])
}
