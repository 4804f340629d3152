//! RoiAlign: the channels become the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{RoiAlign, RoiMode, Transpose};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, regions, indices) =
        (context.input(0, "X")?, context.input(1, "rois")?, context.input(2, "batch_indices")?);
    let mode = match context.attributes.string("mode")?.as_deref() {
        None | Some("avg") => RoiMode::Average,
        Some("max") => RoiMode::Max,
        Some(other) => return Err(unsupported("mode", other, "avg or max")),
    };
    let half_pixel = match context.attributes.string("coordinate_transformation_mode")?.as_deref() {
        None => context.opset >= 16,
        Some("half_pixel") => true,
        Some("output_half_pixel") => false,
        Some(other) => {
            let legal = "half_pixel or output_half_pixel";
            return Err(unsupported("coordinate_transformation_mode", other, legal));
        }
    };
    let size = [size(context, "output_height", 1)?, size(context, "output_width", 1)?];
    let sampling_ratio = size_from(context, "sampling_ratio", 0, 0)?;
    let spatial_scale = context.attributes.float_or("spatial_scale", 1.0)?;
    if context.shape(x).len() != 4 {
        let (found, legal) = (format!("{:?}", context.shape(x)), "[n, c, h, w]".to_owned());
        return Err(Reason::OperandValue { operand: "X", found, legal });
    }
    let image = context.permute(x, &[0, 2, 3, 1], "nhwc")?;
    let op = RoiAlign { size, sampling_ratio, spatial_scale, half_pixel, mode };
    let y = context.emit(op, vec![image, regions, indices])?;
    Ok(vec![context.helper("nchw", Transpose { perm: vec![0, 3, 1, 2] }, vec![y])?])
}

fn size(context: &mut Context<'_>, name: &'static str, default: i64) -> Result<usize, Reason> {
    size_from(context, name, default, 1)
}

fn size_from(
    context: &mut Context<'_>,
    name: &'static str,
    default: i64,
    least: i64,
) -> Result<usize, Reason> {
    const MOST: i64 = 1 << 16;
    let stated = context.attributes.int_or(name, default)?;
    let legal = || unsupported(name, stated, format!("{least} to {MOST}"));
    if (least..=MOST).contains(&stated) { Ok(stated as usize) } else { Err(legal()) }
}
