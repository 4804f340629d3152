//! RESHAPE: the shape is an operand or, if it is absent, in the options.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::context::Context;
use crate::error::Reason;
use crate::shape::resolve;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let stated = match context.integers(1, "shape")? {
        Some(stated) => stated,
        None => context.ints(0)?.into_iter().map(i64::from).collect(),
    };
    let shape = resolve(context.shape(x), &stated, true)?;
    Ok(vec![context.emit(Reshape { shape }, vec![x])?])
}
