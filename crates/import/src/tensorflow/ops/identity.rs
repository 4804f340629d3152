//! Identity and similar operators: the operands under other names. NoOp orders side effects, which
//! inference does not have.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    if context.op() == "NoOp" {
        return Ok(Vec::new());
    }
    context.attributes.without_effect("message"); // of CheckNumerics and PreventGradient
    context.attributes.without_effect("shape"); // of EnsureShape: the shapes are known
    context.inputs("input")
}
