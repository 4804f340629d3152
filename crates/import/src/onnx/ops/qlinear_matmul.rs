//! QLinearMatMul, MatMulInteger, whose integers stand for themselves, and QGemm: products between real numbers.

use npukit_graph::ValueId;
use npukit_graph::op::{Cast, Gemm, MatMul};
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::quantised::{Scales, dequantised, number, operand, places, quantised};

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    match context.op_type() {
        "MatMulInteger" => integer(context),
        "QGemm" => gemm(context),
        _ => {
            let a = context.input(0, "a")?;
            let rows = context.shape(a).len().saturating_sub(2);
            let a = operand(context, places(0, ["a", "a_scale", "a_zero_point"]), rows)?;
            let b = context.input(3, "b")?;
            let columns = context.shape(b).len().saturating_sub(1);
            let b = operand(context, places(3, ["b", "b_scale", "b_zero_point"]), columns)?;
            let y = context.emit(MatMul, vec![a, b])?;
            Ok(vec![quantised(context, y, 6)?])
        }
    }
}

fn integer(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    let (of_a, of_b) = (Scales::units(context, 2)?, Scales::units(context, 3)?);
    let [rows, columns] = [(a, 2), (b, 1)].map(|(id, back)| context.shape(id).len().saturating_sub(back));
    let a = dequantised(context, a, of_a, rows)?;
    let b = dequantised(context, b, of_b, columns)?;
    let y = context.emit(MatMul, vec![a, b])?;
    Ok(vec![context.helper("integer", Cast::new(ElementType::I32), vec![y])?])
}

/// Of ONNX Runtime: real results where no scale is given for them.
fn gemm(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let alpha = context.attributes.float_or("alpha", 1.0)?;
    let trans_a = context.attributes.flag("transA", false)?;
    let trans_b = context.attributes.flag("transB", false)?;
    let (a, b) = (context.input(0, "A")?, context.input(3, "B")?);
    let of_a = Scales::at(context, (1, "a_scale"), 2)?;
    let of_b = Scales::at(context, (4, "b_scale"), 5)?;
    let mut operands =
        vec![dequantised(context, a, of_a, 0)?, dequantised(context, b, of_b, usize::from(!trans_b))?];
    if let Some(c) = context.optional(6) {
        let factor = number(context, Vec::new(), alpha)?;
        let scales = of_b.times(context, of_a.scale)?.times(context, factor)?;
        let axis = context.shape(c).len().saturating_sub(1);
        operands.push(dequantised(context, c, scales, axis)?);
    }
    let y = context.emit(Gemm { alpha, beta: 1.0, trans_a, trans_b }, operands)?;
    Ok(vec![if context.optional(7).is_some() { quantised(context, y, 7)? } else { y }])
}
