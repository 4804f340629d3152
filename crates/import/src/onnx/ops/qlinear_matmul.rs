//! Products of quantized matrices, as products of real numbers: QLinearMatMul, MatMulInteger (scale
//! 1), and ONNX Runtime's QGemm, MatMulIntegerToFloat and DynamicQuantizeMatMul.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Cast, Gemm, MatMul};
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::quantized::{Scales, dequantized, number, operand, places, quantized};
use super::dynamic_quantize_linear;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    match context.op_type() {
        "MatMulInteger" => integer(context),
        "QGemm" => gemm(context),
        "MatMulIntegerToFloat" => to_float(context),
        "DynamicQuantizeMatMul" => dynamic(context),
        _ => {
            let a = context.input(0, "a")?;
            let rows = context.shape(a).len().saturating_sub(2);
            let a = operand(context, places(0, ["a", "a_scale", "a_zero_point"]), rows)?;
            let b = context.input(3, "b")?;
            let columns = context.shape(b).len().saturating_sub(1);
            let b = operand(context, places(3, ["b", "b_scale", "b_zero_point"]), columns)?;
            let y = context.emit(MatMul, vec![a, b])?;
            Ok(vec![quantized(context, y, 6)?])
        }
    }
}

fn integer(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    let (of_a, of_b) = (Scales::units(context, 2)?, Scales::units(context, 3)?);
    let [rows, columns] = [(a, 2), (b, 1)].map(|(id, back)| context.shape(id).len().saturating_sub(back));
    let a = dequantized(context, a, of_a, rows)?;
    let b = dequantized(context, b, of_b, columns)?;
    let y = context.emit(MatMul, vec![a, b])?;
    Ok(vec![context.helper("integer", Cast::new(ElementType::I32), vec![y])?])
}

/// Translates QGemm of ONNX Runtime. Without a scale, the results are real numbers.
fn gemm(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let alpha = context.attributes.float_or("alpha", 1.0)?;
    let trans_a = context.attributes.flag("transA", false)?;
    let trans_b = context.attributes.flag("transB", false)?;
    let (a, b) = (context.input(0, "A")?, context.input(3, "B")?);
    let of_a = Scales::at(context, (1, "a_scale"), 2)?;
    let of_b = Scales::at(context, (4, "b_scale"), 5)?;
    let mut operands =
        vec![dequantized(context, a, of_a, 0)?, dequantized(context, b, of_b, usize::from(!trans_b))?];
    if let Some(c) = context.optional(6) {
        let factor = number(context, Vec::new(), alpha)?;
        let scales = of_b.times(context, of_a.scale)?.times(context, factor)?;
        let axis = context.shape(c).len().saturating_sub(1);
        operands.push(dequantized(context, c, scales, axis)?);
    }
    let y = context.emit(Gemm { alpha, beta: 1.0, trans_a, trans_b }, operands)?;
    Ok(vec![if context.optional(7).is_some() { quantized(context, y, 7)? } else { y }])
}

/// Translates MatMulIntegerToFloat of ONNX Runtime: products of bytes as real numbers.
fn to_float(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    let of_a = Scales::at(context, (2, "a_scale"), 4)?;
    let of_b = Scales::at(context, (3, "b_scale"), 5)?;
    let [of_a_axis, of_b_axis] = [a, b].map(|id| context.shape(id).len().saturating_sub(1));
    let a = dequantized(context, a, of_a, of_a_axis)?;
    let b = dequantized(context, b, of_b, of_b_axis)?;
    let bias = context.optional(6);
    product(context, a, b, bias)
}

/// Translates DynamicQuantizeMatMul of ONNX Runtime: real numbers, quantized by their extremes,
/// times bytes.
fn dynamic(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    let of_b = Scales::at(context, (2, "b_scale"), 3)?;
    let bias = context.optional(4);
    let [bytes, scale, zero_point] = dynamic_quantize_linear::of(context, a)?;
    let a = dequantized(context, bytes, Scales { scale, zero_point: Some(zero_point) }, 0)?;
    let columns = context.shape(b).len().saturating_sub(1);
    let b = dequantized(context, b, of_b, columns)?;
    product(context, a, b, bias)
}

fn product(
    context: &mut Context<'_>,
    a: ValueId,
    b: ValueId,
    bias: Option<ValueId>,
) -> Result<Vec<ValueId>, Reason> {
    let Some(bias) = bias else { return Ok(vec![context.emit(MatMul, vec![a, b])?]) };
    let y = context.helper("product", MatMul, vec![a, b])?;
    Ok(vec![context.emit(Binary { kind: BinaryKind::Add }, vec![y, bias])?])
}
