//! MaxUnpool: puts elements back to their positions before a MaxPool; other elements are zero.

use npukit_graph::ValueId;
use npukit_graph::op::{Pad, PadMode, ScatterElements, ScatterKind};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Windows, image_sizes};
use super::super::tensor;

/// Adds the operators of one node to the graph and returns its results. The indices count the
/// elements of the whole tensor that was pooled. A stated shape of the result adds zeros at the
/// end.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, indices) = (context.input(0, "X")?, context.input(1, "I")?);
    let shape = context.shape(x).to_vec();
    let windows = Windows::new(context, image_sizes(&shape), None, 0)?;
    let mut pooled: Vec<i64> = shape.iter().take(2).map(|&size| size as i64).collect();
    for (window, &size) in windows.axes.iter().zip(image_sizes(&shape)) {
        let reach = (size.saturating_sub(1) * window.stride + window.kernel) as i64;
        pooled.push(reach - window.pads[0] - window.pads[1]);
    }
    let pooled = tensor::shape(&pooled)?;
    let (count, total) = (shape.iter().product(), pooled.iter().product());
    let zeros = context.filled(x, 0.0, &[total])?;
    let (x, indices) = (context.reshape(x, vec![count])?, context.reshape(indices, vec![count])?);
    let op = ScatterElements { axis: 0, kind: ScatterKind::Replace };
    let y = context.emit(op, vec![zeros, indices, x])?;
    let y = context.reshape(y, pooled.clone())?;
    let Some(stated) = context.integers(2, "output_shape")? else { return Ok(vec![y]) };
    let stated = tensor::shape(&stated)?;
    if stated.len() != pooled.len() || stated.iter().zip(&pooled).any(|(stated, pooled)| stated < pooled) {
        return Err(unsupported("output_shape", stated, format!("at least {pooled:?}")));
    }
    let pads = stated.iter().zip(&pooled).map(|(to, from)| [0, (to - from) as isize]).collect();
    Ok(vec![context.helper("zeros", Pad { pads, mode: PadMode::Constant(0.0) }, vec![y])?])
}
