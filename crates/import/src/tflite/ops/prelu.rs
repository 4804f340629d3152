//! PRELU: one slope per element of `alpha`.

use npukit_graph::ValueId;
use npukit_graph::op::PRelu;

use super::super::context::Context;
use crate::error::Reason;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let operands = vec![context.input(0, "input")?, context.input(1, "alpha")?];
    Ok(vec![context.emit(PRelu, operands)?])
}
