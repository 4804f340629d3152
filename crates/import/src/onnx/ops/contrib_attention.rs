//! ONNX Runtime's attention operators, decomposed into matrix products and a softmax: Attention
//! (which contains its projections), MultiHeadAttention and GroupQueryAttention; and ONNX Runtime's
//! RotaryEmbedding.

mod grouped;
mod packed;
mod rotary;

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Concat, Logic, LogicKind, MatMul, Reshape, Slice,
    SliceRange, Softmax, Transpose, Where,
};
use npukit_numeric::{ElementType, TensorData};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::attention::Attention;
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    match context.op_type() {
        "Attention" | "QAttention" => packed::translate(context),
        "MultiHeadAttention" => multi_head(context),
        "GroupQueryAttention" => grouped::translate(context),
        _ => rotary::translate(context),
    }
}

/// Terms added to the scores, and masks that hide scores.
#[derive(Default)]
struct Masks {
    /// Terms added to the scores.
    biases: Vec<ValueId>,
    /// Truth values. A score is visible where all are true.
    visible: Vec<ValueId>,
    /// Value of a hidden score.
    hidden: f32,
    /// Additional score without a value, which takes part in the softmax: a number, or one per
    /// head, `[1, heads, 1, 1]`.
    sink: Option<ValueId>,
}

/// Translates MultiHeadAttention. Queries are by token, `[batch, sequence, heads * head]`; keys and
/// values are by token or by head.
fn multi_head(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (query, key, value) =
        (context.input(0, "query")?, context.input(1, "key")?, context.input(2, "value")?);
    let heads = number_of(context, "num_heads")?;
    let (bias, padding) = (context.optional(3), context.optional(4));
    let (attention_bias, past) = (context.optional(5), context.optional(6).zip(context.optional(7)));
    let sizes = [query, value].map(|x| context.shape(x).last().copied());
    let [Some(width), Some(value_width)] = sizes else {
        return Err(shape(context, query, "query", "[batch, sequence, hidden]"));
    };
    let parts = match bias {
        Some(bias) if context.shape(value).len() == 3 => {
            context.split("biases", bias, 0, &[width, width, value_width])?.into_iter().map(Some).collect()
        }
        Some(bias) => {
            let sizes = context.shape(bias).first().map_or(0, |&size| size.saturating_sub(width));
            let parts = context.split("biases", bias, 0, &[width, sizes])?;
            vec![parts.first().copied(), None, None]
        }
        None => vec![None; 3],
    };
    let mut by_head = Vec::new();
    for ((x, bias), operand) in [query, key, value].into_iter().zip(parts).zip(["query", "key", "value"]) {
        by_head.push(split_heads(context, x, bias, heads, operand)?);
    }
    let &[query, key, value] = by_head.as_slice() else { return Ok(Vec::new()) };
    let (keys, values) = extended(context, past, key, value)?;
    let net = Attention::new(context, query, keys, before(context, past))?;
    let mut masks =
        Masks { hidden: context.attributes.float_or("mask_filter_value", -10_000.0)?, ..Masks::default() };
    masks.biases.extend(attention_bias);
    if let Some(padding) = padding {
        masks.padding(context, &net, padding)?;
    }
    if context.attributes.flag("unidirectional", false)? {
        masks.visible.push(net.causal(context)?);
    }
    let scale = scale(context, &net)?;
    let seen = attend(context, &net, [query, keys, values], masks, scale, 0.0)?;
    Ok(vec![seen, keys, values])
}

/// Appends keys and values to the past.
fn extended(
    context: &mut Context<'_>,
    past: Option<(ValueId, ValueId)>,
    key: ValueId,
    value: ValueId,
) -> Result<(ValueId, ValueId), Reason> {
    let Some((past_key, past_value)) = past else { return Ok((key, value)) };
    let keys = context.helper("present_key", Concat { axis: 2 }, vec![past_key, key])?;
    Ok((keys, context.helper("present_value", Concat { axis: 2 }, vec![past_value, value])?))
}

/// Number of earlier tokens.
fn before(context: &Context<'_>, past: Option<(ValueId, ValueId)>) -> usize {
    // Default: without a past, the number of earlier tokens is 0; a past without that axis is
    // refused where it is joined.
    past.and_then(|(key, _)| context.shape(key).get(2).copied()).unwrap_or(0)
}

/// Factor of the scores.
fn scale(context: &mut Context<'_>, net: &Attention) -> Result<f32, Reason> {
    let stated = context.attributes.float_or("scale", 0.0)?;
    Ok(if stated == 0.0 { 1.0 / (net.head as f32).sqrt() } else { stated })
}

/// Returns the attention results, `[batch, queries, heads * size]`.
fn attend(
    context: &mut Context<'_>,
    net: &Attention,
    [query, keys, values]: [ValueId; 3],
    masks: Masks,
    scale: f32,
    cap: f32,
) -> Result<ValueId, Reason> {
    let mut scores = net.scores(context, query, keys, scale)?;
    if cap > 0.0 {
        scores = net.capped_by(context, scores, cap)?;
    }
    for bias in masks.biases {
        scores = context.helper("biased", Binary { kind: BinaryKind::Add }, vec![scores, bias])?;
    }
    let both = |context: &mut Context<'_>, left, right| {
        context.helper("visible", Logic { kind: LogicKind::And }, vec![left, right])
    };
    let mut visible = masks.visible.into_iter();
    if let Some(first) = visible.next() {
        let visible = visible.try_fold(first, |left, right| both(context, left, right))?;
        let hidden = net.number(context, masks.hidden)?;
        scores = context.helper("masked", Where, vec![visible, scores, hidden])?;
    }
    let softmax = Softmax { axis: 3, axis_end: 4 };
    let shares = match masks.sink {
        None => context.helper("softmax", softmax, vec![scores])?,
        Some(sink) => {
            let sinks = net.sinks(context, sink)?;
            let scores = context.helper("with_sink", Concat { axis: 3 }, vec![scores, sinks])?;
            let shares = context.helper("softmax", softmax, vec![scores])?;
            let ranges = vec![SliceRange { axis: 3, start: 0, length: net.keys, step: 1 }];
            context.helper("shares", Slice { ranges }, vec![shares])?
        }
    };
    net.seen(context, shares, values, true)
}

/// Converts a value by token, after adding its bias, to one by head: `[batch, heads, sequence,
/// head]`. A value by head is returned unchanged.
fn split_heads(
    context: &mut Context<'_>,
    x: ValueId,
    bias: Option<ValueId>,
    heads: usize,
    operand: &'static str,
) -> Result<ValueId, Reason> {
    let x = match bias {
        Some(bias) => context.helper("biased", Binary { kind: BinaryKind::Add }, vec![x, bias])?,
        None => x,
    };
    match *context.shape(x) {
        [_, found, _, _] if found == heads => Ok(x),
        [batch, sequence, hidden] if hidden.is_multiple_of(heads) => {
            let split = Reshape { shape: vec![batch, sequence, heads, hidden / heads] };
            let split = context.helper("split", split, vec![x])?;
            context.helper("heads", Transpose { perm: vec![0, 2, 1, 3] }, vec![split])
        }
        _ => {
            let legal =
                "[batch, sequence, heads * head], or [batch, heads, sequence, head] for keys and values";
            Err(shape(context, x, operand, legal))
        }
    }
}

/// Reads an attribute that is a number of heads.
fn number_of(context: &mut Context<'_>, name: &'static str) -> Result<usize, Reason> {
    let stated = context.attributes.int(name)?.ok_or(Reason::AttributeMissing { name })?;
    usize::try_from(stated)
        .ok()
        .filter(|&heads| heads > 0)
        .ok_or_else(|| unsupported(name, stated, "1 or more"))
}

fn shape(context: &Context<'_>, x: ValueId, operand: &'static str, legal: &str) -> Reason {
    Reason::OperandValue { operand, found: format!("shape {:?}", context.shape(x)), legal: legal.to_owned() }
}

impl Masks {
    /// Hides padding keys. The mask is the number of keys of each text, or one number per key,
    /// which is 0 for padding.
    fn padding(&mut self, context: &mut Context<'_>, net: &Attention, mask: ValueId) -> Result<(), Reason> {
        let &Attention { batch, queries, keys, .. } = net;
        let mask = context.helper("mask", Cast::new(ElementType::I64), vec![mask])?;
        let (rows, compare) = match *context.shape(mask) {
            [found] if found == batch => {
                let places = net.places(context)?;
                let lengths =
                    context.helper("lengths", Reshape { shape: vec![batch, 1, 1, 1] }, vec![mask])?;
                self.visible.push(context.helper(
                    "filled",
                    Compare { kind: CompareKind::Less },
                    vec![places, lengths],
                )?);
                return Ok(());
            }
            [found, all] if found == batch && all == keys => (1, mask),
            [found, rows, all] if found == batch && rows == queries && all == keys => (rows, mask),
            _ => {
                let legal = format!("[{batch}], [{batch}, {keys}] or [{batch}, {queries}, {keys}]");
                return Err(shape(context, mask, "mask", &legal));
            }
        };
        let mask = context.helper("mask", Reshape { shape: vec![batch, 1, rows, keys] }, vec![compare])?;
        let zero = typed(ElementType::I64, Vec::new(), TensorData::I64(vec![0]))?;
        let zero = context.make_constant(zero);
        self.visible.push(context.helper(
            "shown",
            Compare { kind: CompareKind::Greater },
            vec![mask, zero],
        )?);
        Ok(())
    }
}

impl Attention {
    /// Position of each key, `[keys]`.
    fn places(&self, context: &mut Context<'_>) -> Result<ValueId, Reason> {
        context.reserve(&[self.keys])?;
        let places = TensorData::I64((0..self.keys as i64).collect());
        Ok(context.make_constant(typed(ElementType::I64, vec![self.keys], places)?))
    }

    /// Score without a value, for each head and query, `[batch, heads, queries, 1]`.
    fn sinks(&self, context: &mut Context<'_>, sink: ValueId) -> Result<ValueId, Reason> {
        let shape = vec![self.batch, self.heads, self.queries, 1];
        context.reserve(&shape)?;
        let zeros = TensorData::F32(vec![0.0; shape.iter().product()]);
        let zeros = context.make_constant(typed(self.element, shape, zeros)?);
        context.helper("sink", Binary { kind: BinaryKind::Add }, vec![zeros, sink])
    }

    /// Whether a key is not after the query's own, `[queries, keys]`.
    fn causal(&self, context: &mut Context<'_>) -> Result<ValueId, Reason> {
        let shape = vec![self.queries, self.keys];
        context.reserve(&shape)?;
        let places = 0..self.queries * self.keys;
        let seen = places.map(|place| place % self.keys <= self.before + place / self.keys).collect();
        Ok(context.make_constant(typed(ElementType::Bool, shape, TensorData::Bool(seen))?))
    }
}

/// Returns the product of rows and weights, plus a bias.
fn projected(
    context: &mut Context<'_>,
    x: ValueId,
    weights: ValueId,
    bias: Option<ValueId>,
) -> Result<ValueId, Reason> {
    let product = context.helper("projected", MatMul, vec![x, weights])?;
    match bias {
        Some(bias) => context.helper("projected", Binary { kind: BinaryKind::Add }, vec![product, bias]),
        None => Ok(product),
    }
}
