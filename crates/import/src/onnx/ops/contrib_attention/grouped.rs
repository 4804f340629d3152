//! GroupQueryAttention: heads of queries share keys, positions rotate, and a text may be shorter than its cache.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Gather, Logic, LogicKind, Reshape, RotaryEmbedding,
};
use npukit_numeric::{ElementType, TensorData};

use super::super::super::attributes::unsupported;
use super::{
    Attention, Context, Masks, Reason, attend, before, extended, number_of, scale, shape, split_heads,
};
use crate::elements::typed;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (heads, kv_heads) = (number_of(context, "num_heads")?, number_of(context, "kv_num_heads")?);
    let parts = parts(context, heads, kv_heads)?;
    let past = context.optional(3).zip(context.optional(4));
    let lengths = context.input(5, "seqlens_k")?;
    context.optional(6); // the length of the longest text: the shapes say it
    let tables = context.optional(7).zip(context.optional(8));
    let (positions, bias) = (context.optional(9), context.optional(10));
    let counts = [heads, kv_heads, kv_heads];
    let mut by_head = Vec::new();
    for ((part, heads), operand) in parts.into_iter().zip(counts).zip(["query", "key", "value"]) {
        by_head.push(split_heads(context, part, None, heads, operand)?);
    }
    let &[mut query, mut key, value] = by_head.as_slice() else { return Ok(Vec::new()) };
    let &[batch, _, queries, head] = context.shape(query) else { return Ok(Vec::new()) };
    // Tokens of each text before these ones: as many as the lengths leave, none where there is no past.
    let past = past.filter(|&past| before(context, Some(past)) > 0);
    let filled = match past {
        Some(_) => Some(filled(context, lengths, batch, queries)?),
        None => None,
    };
    if context.attributes.flag("do_rotary", false)? {
        let Some((cos, sin)) = tables else { return Err(Reason::OperandMissing { operand: "cos_cache" }) };
        let positions = match positions {
            Some(positions) => positions,
            None => places(context, filled, batch, queries)?,
        };
        let interleaved = context.attributes.flag("rotary_interleaved", false)?;
        let cos = context.helper("cos", Gather { axis: 0 }, vec![cos, positions])?;
        let sin = context.helper("sin", Gather { axis: 0 }, vec![sin, positions])?;
        let size = 2 * context.shape(cos).last().copied().unwrap_or(0);
        let rotate = RotaryEmbedding { heads: 0, size: size.min(head), interleaved };
        query = context.helper("rotated", rotate.clone(), vec![query, cos, sin])?;
        key = context.helper("rotated", rotate, vec![key, cos, sin])?;
    } else {
        context.attributes.without_effect("rotary_interleaved");
    }
    let (keys, values) = extended(context, past, key, value)?;
    let net = Attention::new(context, query, keys, before(context, past))?;
    let mut masks = Masks { hidden: f32::NEG_INFINITY, ..Masks::default() };
    masks.biases.extend(bias);
    masks.visible.push(net.causal(context)?);
    if let Some(filled) = filled {
        // The past may have room behind its last token, which no query sees.
        let places = net.places(context)?;
        let lengths = context.helper("filled", Reshape { shape: vec![batch, 1, 1, 1] }, vec![filled])?;
        let old = context.helper("old", Compare { kind: CompareKind::Less }, vec![places, lengths])?;
        let first = integers(context, Vec::new(), vec![net.before as i64])?;
        let new =
            context.helper("new", Compare { kind: CompareKind::GreaterOrEqual }, vec![places, first])?;
        masks.visible.push(context.helper("held", Logic { kind: LogicKind::Or }, vec![old, new])?);
    }
    let window = context.attributes.int_or("local_window_size", -1)?;
    if window > 0 {
        masks.visible.push(net.lately(context, window as usize, past.is_some())?);
    }
    let cap = context.attributes.float_or("softcap", 0.0)?;
    let smooth = context.attributes.int_or("smooth_softmax", 0)?;
    if smooth > 0 {
        return Err(unsupported("smooth_softmax", smooth, "0 or -1"));
    }
    let scale = scale(context, &net)?;
    let seen = attend(context, &net, [query, keys, values], masks, (scale, cap))?;
    Ok(vec![seen, keys, values])
}

/// Queries, keys and values: an operand each, or all in the first.
fn parts(context: &mut Context<'_>, heads: usize, kv_heads: usize) -> Result<Vec<ValueId>, Reason> {
    let all = context.input(0, "query")?;
    if let Some((key, value)) = context.optional(1).zip(context.optional(2)) {
        return Ok(vec![all, key, value]);
    }
    let &[_, _, width] = context.shape(all) else {
        return Err(shape(context, all, "query", "[batch, sequence, hidden]"));
    };
    let head = width / (heads + 2 * kv_heads);
    context.split("projections", all, 2, &[heads * head, kv_heads * head, kv_heads * head])
}

/// How many tokens of each text came before, `[batch, 1]`: the last one's place and 1 more, without the new ones.
fn filled(
    context: &mut Context<'_>,
    lengths: ValueId,
    batch: usize,
    queries: usize,
) -> Result<ValueId, Reason> {
    let lengths = context.helper("lengths", Cast::new(ElementType::I64), vec![lengths])?;
    let lengths = context.helper("lengths", Reshape { shape: vec![batch, 1] }, vec![lengths])?;
    let new = integers(context, Vec::new(), vec![1 - queries as i64])?;
    context.helper("filled", Binary { kind: BinaryKind::Add }, vec![lengths, new])
}

/// The position of each new token, `[batch, queries]`.
fn places(
    context: &mut Context<'_>,
    filled: Option<ValueId>,
    batch: usize,
    queries: usize,
) -> Result<ValueId, Reason> {
    context.reserve(&[batch, queries])?;
    let places = (0..batch * queries).map(|place| (place % queries) as i64).collect();
    let places = integers(context, vec![batch, queries], places)?;
    match filled {
        Some(filled) => context.helper("positions", Binary { kind: BinaryKind::Add }, vec![places, filled]),
        None => Ok(places),
    }
}

fn integers(context: &mut Context<'_>, shape: Vec<usize>, values: Vec<i64>) -> Result<ValueId, Reason> {
    Ok(context.make_constant(typed(ElementType::I64, shape, TensorData::I64(values))?))
}

impl Attention {
    /// Whether a key is one of the last `size` that a query may see, `[queries, keys]`.
    fn lately(&self, context: &mut Context<'_>, size: usize, has_past: bool) -> Result<ValueId, Reason> {
        if has_past {
            let legal = "-1 with a past: how far back a key is depends on the length of the text";
            return Err(unsupported("local_window_size", size, legal));
        }
        let shape = vec![self.queries, self.keys];
        context.reserve(&shape)?;
        let places = 0..self.queries * self.keys;
        let seen = places.map(|place| place % self.keys + size > place / self.keys).collect();
        Ok(context.make_constant(typed(ElementType::Bool, shape, TensorData::Bool(seen))?))
    }
}
