//! TopK, whose count is an attribute, and TopKV2: the largest elements along the last axis, and
//! their indices.

use npukit_graph::ValueId;
use npukit_graph::op::{Cast, TopK};
use npukit_numeric::ElementType;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let k = match context.op() {
        "TopKV2" => context.integer(1, "k")?,
        _ => context.attributes.int("k")?.ok_or(Reason::AttributeMissing { name: "k" })?,
    };
    let k = usize::try_from(k).map_err(|_| unsupported("k", k, "0 or more"))?;
    // Unsorted results may be sorted, so the flag has no effect.
    context.attributes.flag("sorted", true)?;
    let to = match context.attributes.element_type("index_type")? {
        Some(code) => element_type(code)?,
        None => ElementType::I32,
    };
    let axis = context.shape(x).len().checked_sub(1).ok_or_else(|| unsupported("input", "[]", "an axis"))?;
    let results = context.emit_all(TopK { axis, k, largest: true }, vec![x])?;
    let [values, positions] = results[..] else { return Ok(results) };
    match context.element(positions) == to {
        true => Ok(vec![values, positions]),
        false => Ok(vec![values, context.helper("positions", Cast::new(to), vec![positions])?]),
    }
}
