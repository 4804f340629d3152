//! RotaryEmbedding, whose tables are indexed by position.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Gather, RotaryEmbedding};
use npukit_numeric::{ElementType, TensorData};

use super::super::super::attributes::unsupported;
use super::{Context, Reason, shape};
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, positions) = (context.input(0, "input")?, context.input(1, "position_ids")?);
    let (cos, sin) = (context.input(2, "cos_cache")?, context.input(3, "sin_cache")?);
    let mut count = |name| {
        let stated = context.attributes.int_or(name, 0)?;
        usize::try_from(stated).map_err(|_| unsupported(name, stated, "0 or more"))
    };
    let (heads, stated) = (count("num_heads")?, count("rotary_embedding_dim")?);
    let interleaved = context.attributes.flag("interleaved", false)?;
    for (name, neutral) in [("scale", 1.0), ("is_packed_batching", 0.0)] {
        let found = if name == "scale" {
            context.attributes.float_or(name, 1.0)?
        } else {
            context.attributes.int_or(name, 0)? as f32
        };
        if found != neutral {
            return Err(unsupported(name, found, neutral.to_string()));
        }
    }
    let width = 2 * context.shape(cos).last().copied().unwrap_or(0);
    let (batch, sequence, heads) = match *context.shape(x) {
        [batch, heads, sequence, _] => (batch, sequence, heads),
        [batch, sequence, hidden] if heads == 0 && width > 0 => (batch, sequence, hidden / width),
        [batch, sequence, _] => (batch, sequence, heads),
        _ => return Err(shape(context, x, "input", "3 or 4 axes")),
    };
    let positions = match *context.shape(positions) {
        [1] | [] => {
            // The operand is the position of the first token; the others follow.
            context.reserve(&[batch, sequence])?;
            let places = (0..batch * sequence).map(|place| (place % sequence) as i64).collect();
            let places = typed(ElementType::I64, vec![batch, sequence], TensorData::I64(places))?;
            let places = context.make_constant(places);
            context.helper("positions", Binary { kind: BinaryKind::Add }, vec![places, positions])?
        }
        _ => positions,
    };
    let cos = context.helper("cos", Gather { axis: 0 }, vec![cos, positions])?;
    let sin = context.helper("sin", Gather { axis: 0 }, vec![sin, positions])?;
    let size = if stated == 0 { width } else { stated };
    Ok(vec![context.emit(RotaryEmbedding { heads, size, interleaved }, vec![x, cos, sin])?])
}
