//! FULLY_CONNECTED: rows of the operand times weights `[n, k]`, whose rows are the columns of the
//! product.

use npukit_graph::ValueId;
use npukit_graph::op::Gemm;

use super::super::context::Context;
use crate::error::Reason;
use crate::node::unsupported;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights) = (context.input(0, "input")?, context.input(1, "weights")?);
    let &[columns, depth] = context.shape(weights) else {
        let (found, legal) = (format!("{:?}", context.shape(weights)), "[n, k]".to_owned());
        return Err(Reason::OperandValue { operand: "weights", found, legal });
    };
    match context.code(1)? {
        0 => {}
        other => return Err(unsupported("weights_format", other, "DEFAULT (0)")),
    }
    let shape = context.shape(x).to_vec();
    let elements: usize = shape.iter().product();
    let rows = elements.checked_div(depth).filter(|rows| rows * depth == elements);
    let rows = rows.ok_or_else(|| Reason::OperandValue {
        operand: "input",
        found: format!("{shape:?}"),
        legal: format!("rows of {depth} elements, as the weights have"),
    })?;
    let result = match (context.flag(2)?, shape.as_slice()) {
        (true, [outer @ .., _]) => [outer, &[columns]].concat(),
        _ => vec![rows, columns],
    };
    let flat = context.reshaped("rows", x, vec![rows, depth])?;
    let operands = [flat, weights].into_iter().chain(context.optional(2)).collect();
    let op = Gemm { trans_b: true, ..Gemm::PLAIN };
    let y = context.emit(op, operands)?;
    let y = context.activated(y, 0)?;
    Ok(vec![context.reshaped("shaped", y, result)?])
}
