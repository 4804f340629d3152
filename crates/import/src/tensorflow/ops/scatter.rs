//! ScatterNd, which adds to zeros; and sums, products and extremes of segments. A segment number
//! assigns each row to a segment.

use npukit_graph::ValueId;
use npukit_graph::op::{ScatterKind, ScatterNd};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::shape::{MAX_ELEMENTS, shape};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    if context.op() == "ScatterNd" { scatter(context) } else { segments(context) }
}

fn scatter(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (indices, updates) = (context.input(0, "indices")?, context.input(1, "updates")?);
    context.attributes.without_effect("bad_indices_policy");
    let size = shape(&context.required_integers(2, "shape")?)?;
    let zeros = context.filled(updates, 0.0, &size)?;
    Ok(vec![context.emit(ScatterNd { kind: ScatterKind::Add }, vec![zeros, indices, updates])?])
}

fn segments(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (data, ids) = (context.input(0, "data")?, context.input(1, "segment_ids")?);
    let count = match context.op().starts_with("Unsorted") {
        true => context.integer(2, "num_segments")?,
        // The last segment number is the largest.
        false => context.decides(ids, "segment_ids")?.reals().last().map_or(0, |&last| last as i64 + 1),
    };
    let legal = usize::try_from(count).ok().filter(|&count| count <= MAX_ELEMENTS);
    let count = legal.ok_or_else(|| unsupported("num_segments", count, format!("0 to {MAX_ELEMENTS}")))?;
    let (kind, nothing) = match context.op() {
        "UnsortedSegmentProd" => (ScatterKind::Mul, 1.0),
        "UnsortedSegmentMax" => (ScatterKind::Max, f32::MIN),
        "UnsortedSegmentMin" => (ScatterKind::Min, f32::MAX),
        _ => (ScatterKind::Add, 0.0),
    };
    let (of_data, of_ids) = (context.shape(data).to_vec(), context.shape(ids).to_vec());
    let inner = of_data.strip_prefix(&of_ids[..]).ok_or_else(|| {
        let legal = format!("the first axes of {of_data:?}");
        Reason::OperandValue { operand: "segment_ids", found: format!("{of_ids:?}"), legal }
    })?;
    let rows = context.filled(data, nothing, &[&[count], inner].concat())?;
    let ids = context.reshaped("places", ids, [&of_ids[..], &[1]].concat())?;
    Ok(vec![context.emit(ScatterNd { kind }, vec![rows, ids, data])?])
}
