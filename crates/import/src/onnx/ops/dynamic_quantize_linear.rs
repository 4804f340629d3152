//! DynamicQuantizeLinear: quantizes to unsigned bytes with a scale from the operand's extremes, as
//! the standard defines it.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Clip, Compare, CompareKind, QuantizeLinear, Reduce, ReduceKind, Unary,
    UnaryKind, Where,
};
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::quantized::number;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "x")?;
    Ok(of(context, x)?.to_vec())
}

/// Returns the bytes that represent `x`, their scale, and their zero point.
pub(super) fn of(context: &mut Context<'_>, x: ValueId) -> Result<[ValueId; 3], Reason> {
    let zero = number(context, Vec::new(), 0.0)?;
    let binary = |context: &mut Context<'_>, kind, left, right| {
        context.helper("range", Binary { kind }, vec![left, right])
    };
    // Zero must be representable.
    let extreme = |context: &mut Context<'_>, of: ReduceKind, kind: BinaryKind| {
        let axes = (0..context.shape(x).len()).collect();
        let found = context.helper("extreme", Reduce { kind: of, axes, keep_dims: false }, vec![x])?;
        binary(context, kind, found, zero)
    };
    let least = extreme(context, ReduceKind::Min, BinaryKind::Min)?;
    let largest = extreme(context, ReduceKind::Max, BinaryKind::Max)?;
    let range = binary(context, BinaryKind::Sub, largest, least)?;
    let steps = number(context, Vec::new(), 255.0)?;
    // An operand of zeros has no range. Any scale is valid; ONNX Runtime uses 1.
    let is_flat = context.helper("flat", Compare { kind: CompareKind::Equal }, vec![range, zero])?;
    let range = context.helper("range", Where, vec![is_flat, steps, range])?;
    let scale = context.helper("scale", Binary { kind: BinaryKind::Div }, vec![range, steps])?;
    let below = binary(context, BinaryKind::Div, least, scale)?;
    let place = binary(context, BinaryKind::Sub, zero, below)?;
    let place = context.helper("clip", Clip { min: 0.0, max: 255.0 }, vec![place])?;
    let place = context.helper("round", Unary { kind: UnaryKind::Round }, vec![place])?;
    let zero_point = context.helper("zero_point", Cast::new(ElementType::U8), vec![place])?;
    let op = QuantizeLinear {
        to: ElementType::U8,
        axis: 0,
        block: 0,
        saturate: true,
        precision: ElementType::F32,
        away: false,
    };
    let y = context.emit(op, vec![x, scale, zero_point])?;
    Ok([y, scale, zero_point])
}
