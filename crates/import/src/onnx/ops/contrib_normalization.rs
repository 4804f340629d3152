//! ONNX Runtime's normalizations of sums: SkipLayerNormalization, its variant without means, and
//! EmbedLayerNormalization, whose terms are rows of tables.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Gather, LayerNormalization, Reduce, ReduceKind, Reshape, RmsNormalization,
    Slice, SliceRange,
};
use npukit_numeric::{ElementType, TensorData};

use super::super::context::Context;
use super::super::error::Reason;
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    match context.op_type() {
        "SkipLayerNormalization" => {
            let bias = context.optional(4);
            let sum = skipped(context, bias)?;
            let (scale, shift) = (context.input(2, "gamma")?, context.optional(3));
            let y = normalized(context, sum, scale, shift)?;
            shown(context, y, sum)
        }
        "SkipSimplifiedLayerNormalization" => {
            let bias = context.optional(3);
            let sum = skipped(context, bias)?;
            let scale = context.input(2, "gamma")?;
            let (axis, epsilon) = (last_axis(context, sum), context.attributes.float_or("epsilon", 1e-5)?);
            let y = context.emit(RmsNormalization { axis, epsilon }, vec![sum, scale])?;
            shown(context, y, sum)
        }
        _ => embedded(context),
    }
}

/// Returns the results. The statistics in between are only used in training.
fn shown(context: &mut Context<'_>, y: ValueId, sum: ValueId) -> Result<Vec<ValueId>, Reason> {
    for index in [1, 2] {
        if context.is_wanted(index) {
            return Err(Reason::Output { index, name: "mean or inv_std_var".to_owned() });
        }
    }
    Ok(vec![y, y, y, sum])
}

fn last_axis(context: &Context<'_>, x: ValueId) -> usize {
    context.shape(x).len().saturating_sub(1)
}

fn add(context: &mut Context<'_>, left: ValueId, right: ValueId) -> Result<ValueId, Reason> {
    context.helper("sum", Binary { kind: BinaryKind::Add }, vec![left, right])
}

/// Returns the sum of the first two operands and a bias.
fn skipped(context: &mut Context<'_>, bias: Option<ValueId>) -> Result<ValueId, Reason> {
    let (x, skip) = (context.input(0, "input")?, context.input(1, "skip")?);
    let sum = add(context, x, skip)?;
    match bias {
        Some(bias) => add(context, sum, bias),
        None => Ok(sum),
    }
}

fn normalized(
    context: &mut Context<'_>,
    x: ValueId,
    scale: ValueId,
    shift: Option<ValueId>,
) -> Result<ValueId, Reason> {
    let (axis, epsilon) = (last_axis(context, x), context.attributes.float_or("epsilon", 1e-12)?);
    let operands = [x, scale].into_iter().chain(shift).collect();
    context.emit(LayerNormalization { axis, epsilon }, operands)
}

/// Translates EmbedLayerNormalization: embeddings of words, positions and optional segments.
fn embedded(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let words = context.input(0, "input_ids")?;
    let &[batch, sequence] = context.shape(words) else {
        let (found, legal) = (format!("shape {:?}", context.shape(words)), "[batch, sequence]".to_owned());
        return Err(Reason::OperandValue { operand: "input_ids", found, legal });
    };
    let (segments, places) = (context.optional(1), context.optional(8));
    let table = context.input(2, "word_embedding")?;
    let mut sum = context.helper("words", Gather { axis: 0 }, vec![table, words])?;
    let table = context.input(3, "position_embedding")?;
    let place = match places {
        Some(places) => context.helper("places", Gather { axis: 0 }, vec![table, places])?,
        None => {
            let ranges = vec![SliceRange { axis: 0, start: 0, length: sequence, step: 1 }];
            context.helper("places", Slice { ranges }, vec![table])?
        }
    };
    sum = add(context, sum, place)?;
    if let (Some(segments), Some(table)) = (segments, context.optional(4)) {
        let segment = context.helper("segments", Gather { axis: 0 }, vec![table, segments])?;
        sum = add(context, sum, segment)?;
    }
    let (scale, shift, mask) = (context.input(5, "gamma")?, context.input(6, "beta")?, context.optional(7));
    context.attributes.without_effect("mask_index_type"); // determined by the outputs
    let y = normalized(context, sum, scale, Some(shift))?;
    if !context.is_wanted(1) && !context.is_wanted(2) {
        return Ok(vec![y]);
    }
    // Number of words per text that the mask shows; 0 without a mask.
    let count = match mask {
        Some(mask) => {
            let mask = context.helper("mask", Cast::new(ElementType::I32), vec![mask])?;
            let op = Reduce { kind: ReduceKind::Sum, axes: vec![1], keep_dims: false };
            let sum = context.helper("mask", op, vec![mask])?;
            context.helper("mask", Reshape { shape: vec![batch] }, vec![sum])?
        }
        None => {
            context.reserve(&[batch])?;
            let none = typed(ElementType::I32, vec![batch], TensorData::I32(vec![0; batch]))?;
            context.make_constant(none)
        }
    };
    Ok(vec![y, count, sum])
}
