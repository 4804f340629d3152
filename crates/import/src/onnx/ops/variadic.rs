//! Max, Min, Sum and Mean of any number of operands, with NumPy broadcasting (since opset 8).

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::error::Reason;
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results: a chain of operators of two
/// operands, first ones first.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let operator = context.op_type();
    let kind = match operator {
        "Max" => BinaryKind::Max,
        "Min" => BinaryKind::Min,
        "Mean" | "Sum" => BinaryKind::Add,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    let mut result = context.input(0, "data_0")?;
    let count = context.operands();
    for index in 1..count {
        let operand = context.input(index, "data_0")?;
        result = context.emit(Binary { kind }, vec![result, operand])?;
    }
    if operator == "Mean" && count > 1 {
        let divisor = typed(context.element(result), Vec::new(), TensorData::F32(vec![count as f32]))?;
        let divisor = context.make_constant(divisor);
        result = context.emit(Binary { kind: BinaryKind::Div }, vec![result, divisor])?;
    }
    Ok(vec![result])
}
