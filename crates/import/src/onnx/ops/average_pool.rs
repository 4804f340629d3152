//! AveragePool over images.

use npukit_graph::ValueId;
use npukit_graph::op::{AveragePool, Window};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{ceil_mode, to_nchw, to_nhwc, window};

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let x = to_nhwc(context, x, "X")?;
    let window = window(context, x, None)?;
    let window = Window { ceil_mode: ceil_mode(context)?, ..window };
    let count_include_pad = context.attributes.flag("count_include_pad", false)?;
    let y = context.emit(AveragePool { window, count_include_pad }, vec![x])?;
    Ok(vec![to_nchw(context, y)?])
}
