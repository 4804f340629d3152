//! GridSample: sampling at the positions of a grid. The channels become the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{GridPlaces, GridSample, Outside, SampleMode, Transpose};

use super::super::attributes::unsupported;
use super::super::channels::{channels_first, channels_last};
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, grid) = (context.input(0, "X")?, context.input(1, "grid")?);
    let mode = match context.attributes.string("mode")?.as_deref() {
        None | Some("bilinear" | "linear") => SampleMode::Linear,
        Some("nearest") => SampleMode::Nearest,
        Some("bicubic" | "cubic") => SampleMode::Cubic,
        Some(other) => return Err(unsupported("mode", other, "linear, nearest or cubic")),
    };
    let outside = match context.attributes.string("padding_mode")?.as_deref() {
        None | Some("zeros") => Outside::Zeros,
        Some("border") => Outside::Border,
        Some("reflection") => Outside::Reflection,
        Some(other) => return Err(unsupported("padding_mode", other, "zeros, border or reflection")),
    };
    let places = match context.attributes.flag("align_corners", false)? {
        true => GridPlaces::Centers,
        false => GridPlaces::Edges,
    };
    let rank = context.shape(x).len();
    if rank < 3 {
        let (found, legal) = (format!("{:?}", context.shape(x)), "[n, c, ..] with image axes".to_owned());
        return Err(Reason::OperandValue { operand: "X", found, legal });
    }
    let image = context.permute(x, &channels_last(rank), "nhwc")?;
    let y = context.emit(GridSample { mode, outside, places }, vec![image, grid])?;
    Ok(vec![context.helper("nchw", Transpose { perm: channels_first(rank) }, vec![y])?])
}
