//! LpNormalization: division by the Lp norm along an axis.

use npukit_graph::ValueId;
use npukit_graph::op::{LpNormalization, Norm};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let rank = context.shape(x).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", -1)?, rank)?;
    let norm = match context.attributes.int("p")? {
        Some(1) => Norm::L1,
        None | Some(2) => Norm::L2,
        Some(other) => return Err(unsupported("p", other, "1 or 2")),
    };
    Ok(vec![context.emit(LpNormalization { axis, norm }, vec![x])?])
}
