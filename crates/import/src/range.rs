//! Constants that are ranges of numbers: [`range`].

use npukit_graph::ValueId;
use npukit_numeric::{Tensor, TensorData};

use crate::elements::typed;
use crate::error::Reason;
use crate::node::{NodeBuilder, described};
use crate::shape::MAX_ELEMENTS;

/// Makes the constant `start, start + delta, ..` before `limit`. Operands 0, 1 and 2 (`start`,
/// `limit`, `delta`) must be constants.
pub(crate) fn range(context: &mut NodeBuilder<'_>) -> Result<ValueId, Reason> {
    let [start, limit, delta] =
        [number(context, 0, "start")?, number(context, 1, "limit")?, number(context, 2, "delta")?];
    let data = match (start.data(), limit.data(), delta.data()) {
        (TensorData::F32(start), TensorData::F32(limit), TensorData::F32(delta)) => {
            TensorData::F32(floats(context, start[0], limit[0], delta[0])?)
        }
        (TensorData::I64(start), TensorData::I64(limit), TensorData::I64(delta)) => {
            TensorData::I64(integers(context, start[0], limit[0], delta[0])?)
        }
        (TensorData::I32(start), TensorData::I32(limit), TensorData::I32(delta)) => {
            let values = integers(context, start[0].into(), limit[0].into(), delta[0].into())?;
            TensorData::I32(values.into_iter().map(|value| value as i32).collect())
        }
        _ => {
            let found = format!("{}, {}, {}", described(&start), described(&limit), described(&delta));
            let legal = "numbers of one type".to_owned();
            return Err(Reason::OperandValue { operand: "start, limit, delta", found, legal });
        }
    };
    let values = typed(start.element(), vec![data.len()], data)?;
    Ok(context.make_constant(values))
}

/// Returns a constant operand of one element.
fn number(
    context: &mut NodeBuilder<'_>,
    index: usize,
    operand: &'static str,
) -> Result<std::sync::Arc<Tensor>, Reason> {
    let id = context.input(index, operand)?;
    let tensor = context.constant(id, operand)?;
    if tensor.data().len() == 1 {
        return Ok(tensor);
    }
    Err(Reason::OperandValue { operand, found: described(&tensor), legal: "one number".to_owned() })
}

fn floats(context: &mut NodeBuilder<'_>, start: f32, limit: f32, delta: f32) -> Result<Vec<f32>, Reason> {
    let count = ((f64::from(limit) - f64::from(start)) / f64::from(delta)).ceil();
    let count = length(context, count, format!("{start} to {limit} by {delta}"))?;
    Ok((0..count).map(|i| start + i as f32 * delta).collect())
}

fn integers(context: &mut NodeBuilder<'_>, start: i64, limit: i64, delta: i64) -> Result<Vec<i64>, Reason> {
    let distance = (i128::from(limit) - i128::from(start)) * i128::from(delta.signum());
    let count = match i128::from(delta).abs() {
        0 => f64::NAN,
        step => -(-distance).div_euclid(step) as f64, // rounded up
    };
    let count = length(context, count, format!("{start} to {limit} by {delta}"))?;
    Ok((0..count as i64).map(|i| start.wrapping_add(i.wrapping_mul(delta))).collect())
}

/// Number of elements, after reserving the budget for them.
fn length(context: &mut NodeBuilder<'_>, count: f64, found: String) -> Result<usize, Reason> {
    if count.is_nan() || count > MAX_ELEMENTS as f64 {
        let legal = format!("a step that is not 0, and at most {} elements", MAX_ELEMENTS);
        return Err(Reason::OperandValue { operand: "start, limit, delta", found, legal });
    }
    let count = count.max(0.0) as usize;
    context.reserve(&[count])?;
    Ok(count)
}
