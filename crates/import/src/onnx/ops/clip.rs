//! Clip: bounds are attributes before opset 11, and operands since.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Clip, Reshape};
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let (min, max) = if context.opset < 11 {
        (context.attributes.float("min")?, context.attributes.float("max")?)
    } else {
        let (min, max) = (context.optional(1), context.optional(2));
        match (known(context, min), known(context, max)) {
            (Some(min), Some(max)) => (min, max),
            _ => return computed(context, x, min, max),
        }
    };
    let op = Clip { min: min.unwrap_or(f32::NEG_INFINITY), max: max.unwrap_or(f32::INFINITY) };
    Ok(vec![context.emit(op, vec![x])?])
}

/// Returns a bound that is absent, or a constant that `f32` represents exactly.
fn known(context: &Context<'_>, bound: Option<ValueId>) -> Option<Option<f32>> {
    let Some(bound) = bound else { return Some(None) };
    let bound = context.constant(bound, "min, max").ok()?;
    let bound = match *bound.data() {
        TensorData::F32(ref values) if values.len() == 1 => values[0],
        // The operator casts back to integers with saturation.
        TensorData::I64(ref values) if values.len() == 1 && values[0] as f32 as i64 == values[0] => {
            values[0] as f32
        }
        TensorData::I32(ref values) if values.len() == 1 && values[0] as f32 as i32 == values[0] => {
            values[0] as f32
        }
        _ => return None,
    };
    Some(Some(bound))
}

/// Computes `min(max(x, lower), upper)` for bounds that are not constant, or too wide for `f32`.
fn computed(
    context: &mut Context<'_>,
    x: ValueId,
    lower: Option<ValueId>,
    upper: Option<ValueId>,
) -> Result<Vec<ValueId>, Reason> {
    let mut result = x;
    for (kind, bound, operand) in [(BinaryKind::Max, lower, "min"), (BinaryKind::Min, upper, "max")] {
        let Some(bound) = bound else { continue };
        let bound = scalar(context, bound, operand)?;
        result = context.emit(Binary { kind }, vec![result, bound])?;
    }
    Ok(vec![result])
}

/// Returns the bound as a scalar. Exporters also write bounds with one axis of size 1.
fn scalar(context: &mut Context<'_>, bound: ValueId, operand: &'static str) -> Result<ValueId, Reason> {
    let shape = context.shape(bound).to_vec();
    match shape.iter().product() {
        1 if shape.is_empty() => Ok(bound),
        1 => context.helper(operand, Reshape { shape: Vec::new() }, vec![bound]),
        _ => {
            Err(Reason::OperandValue { operand, found: format!("{shape:?}"), legal: "one number".to_owned() })
        }
    }
}
