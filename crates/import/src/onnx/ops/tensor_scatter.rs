//! TensorScatter: replaces a part of a cache, starting at the position of each sequence.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, ScatterElements, ScatterKind, Tile};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (cache, update) = (context.input(0, "past_cache")?, context.input(1, "update")?);
    let (sizes, shape) = (context.shape(cache).to_vec(), context.shape(update).to_vec());
    let axis = Context::axis("axis", context.attributes.int_or("axis", -2)?, sizes.len())?;
    let circular = match context.attributes.string("mode")?.as_deref() {
        None | Some("linear") => false,
        Some("circular") => true,
        Some(other) => return Err(unsupported("mode", other, "linear or circular")),
    };
    let fits = shape.len() == sizes.len() && axis > 0 && (0..axis).all(|axis| shape[axis] == sizes[axis]);
    if !fits {
        let (found, legal) =
            (format!("{shape:?}"), format!("as {sizes:?} except axis {axis}, which must not be 0"));
        return Err(Reason::OperandValue { operand: "update", found, legal });
    }
    let along =
        |axis: usize| (0..shape.len()).map(|i| if i == axis { shape[i] } else { 1 }).collect::<Vec<_>>();
    context.reserve(&along(axis))?;
    let mut positions = context.indices(along(axis), (0..shape[axis] as i64).collect())?;
    if let Some(starts) = context.optional(2) {
        let starts = context.reshape(starts, along(0))?;
        positions = context.binary(BinaryKind::Add, positions, starts)?;
    }
    if circular {
        let size = context.indices(Vec::new(), vec![sizes[axis] as i64])?;
        positions = context.binary(BinaryKind::Mod, positions, size)?;
    }
    let repeats =
        shape.iter().zip(context.shape(positions)).map(|(&to, &from)| if from == to { 1 } else { to });
    let repeats = repeats.collect();
    let positions = context.helper("positions", Tile { repeats }, vec![positions])?;
    let op = ScatterElements { axis, kind: ScatterKind::Replace };
    Ok(vec![context.emit(op, vec![cache, positions, update])?])
}
