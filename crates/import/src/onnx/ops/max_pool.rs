//! MaxPool over images; the positions of the maxima are not computed.

use npukit_graph::ValueId;
use npukit_graph::op::{MaxPool, Window};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{ceil_mode, to_nchw, to_nhwc, window};

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let x = to_nhwc(context, x, "X")?;
    let window = window(context, x, None)?;
    let window = Window { ceil_mode: ceil_mode(context)?, ..window };
    context.attributes.without_effect("storage_order"); // of the positions
    let y = context.emit(MaxPool { window }, vec![x])?;
    Ok(vec![to_nchw(context, y)?])
}
