//! ONNX Runtime's FusedMatMul, FusedGemm and FusedConv: a product fused with the operators before
//! or after it.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Clip, LeakyRelu, MatMul, Relu, Transpose, Unary, UnaryKind};
use npukit_numeric::TensorData;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::{conv, gemm};
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    match context.op_type() {
        "FusedMatMul" => matmul(context),
        "FusedGemm" => {
            let product = gemm::translate(context)?;
            let names = ["activation_alpha", "activation_beta", "activation_gamma"];
            let mut values = Vec::new();
            for name in names {
                values.extend(context.attributes.float(name)?);
            }
            activated(context, product[0], &values)
        }
        "FusedConv" => {
            let (x, weights, bias) = (context.input(0, "X")?, context.input(1, "W")?, context.optional(2));
            let y = conv::conv(context, x, weights, bias)?;
            let y = match context.optional(3) {
                Some(z) => context.helper("sum", Binary { kind: BinaryKind::Add }, vec![y, z])?,
                None => y,
            };
            // Default: omitted parameters are empty.
            let values = context.attributes.floats("activation_params")?.unwrap_or_default().to_vec();
            activated(context, y, &values)
        }
        other => Err(Reason::Operator { operator: other.to_owned() }),
    }
}

/// Returns `alpha * A * B`, with either operand transposed: the last two axes or, with
/// `transBatch`, all but the last.
fn matmul(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    let a = turned(context, a, "transA", "transBatchA")?;
    let b = turned(context, b, "transB", "transBatchB")?;
    let alpha = context.attributes.float_or("alpha", 1.0)?;
    if alpha == 1.0 {
        return Ok(vec![context.emit(MatMul, vec![a, b])?]);
    }
    let product = context.helper("product", MatMul, vec![a, b])?;
    let alpha = typed(context.element(product), Vec::new(), TensorData::F32(vec![alpha]))?;
    let alpha = context.make_constant(alpha);
    Ok(vec![context.emit(Binary { kind: BinaryKind::Mul }, vec![product, alpha])?])
}

/// Returns an operand with its axes permuted by the attributes. `transBatch` moves the first axis
/// after the other batch axes, and past one more axis with `trans`.
fn turned(
    context: &mut Context<'_>,
    x: ValueId,
    swap: &'static str,
    batch: &'static str,
) -> Result<ValueId, Reason> {
    let (swap, batch) = (context.attributes.flag(swap, false)?, context.attributes.flag(batch, false)?);
    let rank = context.shape(x).len();
    let mut perm: Vec<usize> = (0..rank).collect();
    if batch && rank > 2 {
        perm[..rank - 1].rotate_left(1);
    }
    if swap && rank > 1 {
        perm.swap(rank - 2, rank - 1);
    }
    if perm.is_sorted() { Ok(x) } else { context.helper("turned", Transpose { perm }, vec![x]) }
}

/// Applies the activation that the node names.
fn activated(context: &mut Context<'_>, x: ValueId, values: &[f32]) -> Result<Vec<ValueId>, Reason> {
    let Some(name) = context.attributes.string("activation")?.filter(|name| !name.is_empty()) else {
        return Ok(vec![x]);
    };
    let value = |index: usize, default: f32| values.get(index).copied().unwrap_or(default);
    let unary = |context: &mut Context<'_>, kind| context.helper("activated", Unary { kind }, vec![x]);
    Ok(vec![match name.as_str() {
        "Relu" => context.helper("activated", Relu, vec![x])?,
        "LeakyRelu" => context.helper("activated", LeakyRelu { alpha: value(0, 0.01) }, vec![x])?,
        "Clip" => {
            let op = Clip { min: value(0, f32::NEG_INFINITY), max: value(1, f32::INFINITY) };
            context.helper("activated", op, vec![x])?
        }
        "Sigmoid" => unary(context, UnaryKind::Sigmoid)?,
        "Tanh" => unary(context, UnaryKind::Tanh)?,
        "HardSigmoid" => {
            unary(context, UnaryKind::HardSigmoid { alpha: value(0, 0.2), beta: value(1, 0.5) })?
        }
        "HardSwish" => unary(context, UnaryKind::HardSwish)?,
        _ => {
            let legal = "Clip, HardSigmoid, HardSwish, LeakyRelu, Relu, Sigmoid or Tanh";
            return Err(unsupported("activation", name, legal));
        }
    }])
}
