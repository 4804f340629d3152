//! RotaryEmbedding; positions first select their angles from the tables.

use npukit_graph::ValueId;
use npukit_graph::op::{Gather, RotaryEmbedding};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let (mut cos, mut sin) = (context.input(1, "cos_cache")?, context.input(2, "sin_cache")?);
    if let Some(positions) = context.optional(3) {
        cos = context.helper("cos", Gather { axis: 0 }, vec![cos, positions])?;
        sin = context.helper("sin", Gather { axis: 0 }, vec![sin, positions])?;
    }
    let heads = count(context, "num_heads")?;
    let stated = count(context, "rotary_embedding_dim")?;
    let head = match *context.shape(x) {
        [_, _, _, head] => head,
        [.., hidden] if heads > 0 => hidden / heads,
        _ => return Err(unsupported("num_heads", heads, "at least 1 for an operand of 3 axes")),
    };
    let size = if stated == 0 { head } else { stated };
    let interleaved = context.attributes.flag("interleaved", false)?;
    Ok(vec![context.emit(RotaryEmbedding { heads, size, interleaved }, vec![x, cos, sin])?])
}

/// Reads a number, which defaults to 0.
fn count(context: &mut Context<'_>, name: &'static str) -> Result<usize, Reason> {
    let stated = context.attributes.int_or(name, 0)?;
    usize::try_from(stated).map_err(|_| unsupported(name, stated, "0 or more"))
}
