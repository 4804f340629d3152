//! GlobalAveragePool: an average over one window, the whole image.

use npukit_graph::ValueId;
use npukit_graph::op::{AveragePool, Window};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{to_nchw, to_nhwc};

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let x = to_nhwc(context, x, "X")?;
    let kernel = [context.shape(x)[1], context.shape(x)[2]];
    let window = Window { kernel, strides: [1, 1], dilations: [1, 1], pads: [0; 4], ceil_mode: false };
    let y = context.emit(AveragePool { window, count_include_pad: false }, vec![x])?;
    Ok(vec![to_nchw(context, y)?])
}
