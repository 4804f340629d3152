//! QLinearAveragePool and QLinearGlobalAveragePool of ONNX Runtime.

use npukit_graph::ValueId;
use npukit_graph::op::AveragePool;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::pool::{global_pool, pool};
use super::super::quantized::{operand, places, quantized};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    if context.attributes.flag("channels_last", false)? {
        return Err(unsupported("channels_last", 1, "0: channels in front of the image"));
    }
    let x = operand(context, places(0, ["X", "x_scale", "x_zero_point"]), 0)?;
    let count_include_pad = context.attributes.flag("count_include_pad", false)?;
    let make = |window| AveragePool { window, count_include_pad }.into();
    let y = match context.op_type() {
        "QLinearGlobalAveragePool" => global_pool(context, x, make)?,
        _ => pool(context, x, make)?,
    };
    Ok(vec![quantized(context, y, 3)?])
}
