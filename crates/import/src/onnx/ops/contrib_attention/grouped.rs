//! GroupQueryAttention: groups of query heads share keys, positions rotate, and a text may be
//! shorter than its cache.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Gather, Logic, LogicKind, Reshape, RmsNormalization,
    RotaryEmbedding,
};
use npukit_numeric::{ElementType, TensorData};

use super::super::super::attributes::unsupported;
use super::{
    Attention, Context, Masks, Reason, attend, before, extended, number_of, scale, shape, split_heads,
};
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (heads, kv_heads) = (number_of(context, "num_heads")?, number_of(context, "kv_num_heads")?);
    let parts = parts(context, heads, kv_heads)?;
    let past = context.optional(3).zip(context.optional(4));
    let lengths = context.input(5, "seqlens_k")?;
    context.optional(6); // the length of the longest text, which the shapes determine
    let tables = context.optional(7).zip(context.optional(8));
    let (positions, bias) = (context.optional(9), context.optional(10));
    let sink = context.optional(11);
    plain_cache(context)?;
    let counts = [heads, kv_heads, kv_heads];
    let parts = parts.into_iter().zip(counts).zip(["query", "key", "value"]);
    let by_head = parts.map(|((part, heads), operand)| split_heads(context, part, None, heads, operand));
    let by_head = by_head.collect::<Result<Vec<_>, _>>()?;
    let &[mut query, mut key, value] = by_head.as_slice() else { return Ok(Vec::new()) };
    (query, key) = normalized(context, query, key)?;
    let &[batch, _, queries, head] = context.shape(query) else { return Ok(Vec::new()) };
    // Number of earlier tokens of each text, from the lengths; 0 without a past.
    let past = past.filter(|&past| before(context, Some(past)) > 0);
    let filled = past.map(|_| filled(context, lengths, batch, queries)).transpose()?;
    if context.attributes.flag("do_rotary", false)? {
        let positions = match positions {
            Some(positions) => positions,
            None => places(context, filled, batch, queries)?,
        };
        let rotation = Rotation::new(context, tables, positions, head)?;
        query = rotation.applied(context, query)?;
        key = rotation.applied(context, key)?;
    } else {
        context.attributes.without_effect("rotary_interleaved");
    }
    let (keys, values) = extended(context, past, key, value)?;
    let net = Attention::new(context, query, keys, before(context, past))?;
    let mut masks = masks(context, &net, lengths, filled, bias)?;
    let cap = context.attributes.float_or("softcap", 0.0)?;
    let is_smooth = context.attributes.int_or("smooth_softmax", 0)? > 0;
    masks.sink = match sink {
        Some(sink) => Some(context.reshaped("sink", sink, vec![1, heads, 1, 1])?),
        None => is_smooth.then(|| net.number(context, 0.0)).transpose()?,
    };
    let scale = scale(context, &net)?;
    let seen = attend(context, &net, [query, keys, values], masks, scale, cap)?;
    Ok(vec![seen, keys, values])
}

/// Returns the masks of the scores, with `bias` added. Texts have `lengths` tokens or, with a past,
/// `filled` earlier ones.
fn masks(
    context: &mut Context<'_>,
    net: &Attention,
    lengths: ValueId,
    filled: Option<ValueId>,
    bias: Option<ValueId>,
) -> Result<Masks, Reason> {
    let batch = net.batch;
    let mut masks = Masks { hidden: f32::NEG_INFINITY, ..Masks::default() };
    masks.biases.extend(bias);
    if context.attributes.flag("causal", true)? {
        masks.visible.push(net.causal(context)?);
    } else if filled.is_none() {
        let texts = texts(context, lengths, batch)?;
        masks.padding(context, net, texts)?;
    }
    let filled = match filled {
        Some(filled) => {
            Some(context.helper("filled", Reshape { shape: vec![batch, 1, 1, 1] }, vec![filled])?)
        }
        None => None,
    };
    if let Some(filled) = filled {
        masks.visible.push(held(context, net, filled)?);
    }
    let window = context.attributes.int_or("local_window_size", -1)?;
    if window > 0 {
        masks.visible.push(net.lately(context, window, filled)?);
    }
    Ok(masks)
}

/// Rotation of queries and keys by their positions.
struct Rotation {
    op: RotaryEmbedding,
    cos: ValueId,
    sin: ValueId,
}

impl Rotation {
    /// Looks up the rotations of `positions`, for heads of `head` elements.
    fn new(
        context: &mut Context<'_>,
        tables: Option<(ValueId, ValueId)>,
        positions: ValueId,
        head: usize,
    ) -> Result<Self, Reason> {
        let Some((cos, sin)) = tables else { return Err(Reason::OperandMissing { operand: "cos_cache" }) };
        let interleaved = context.attributes.flag("rotary_interleaved", false)?;
        let cos = context.helper("cos", Gather { axis: 0 }, vec![cos, positions])?;
        let sin = context.helper("sin", Gather { axis: 0 }, vec![sin, positions])?;
        let size = 2 * context.shape(cos).last().copied().unwrap_or(0);
        Ok(Self { op: RotaryEmbedding { heads: 0, size: size.min(head), interleaved }, cos, sin })
    }

    fn applied(&self, context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
        context.helper("rotated", self.op.clone(), vec![x, self.cos, self.sin])
    }
}

/// Returns which places of the cache hold tokens. It may have room after its last token, which no
/// query sees.
fn held(context: &mut Context<'_>, net: &Attention, filled: ValueId) -> Result<ValueId, Reason> {
    let places = net.places(context)?;
    let old = context.helper("old", Compare { kind: CompareKind::Less }, vec![places, filled])?;
    let first = integers(context, Vec::new(), vec![net.before as i64])?;
    let new = context.helper("new", Compare { kind: CompareKind::GreaterOrEqual }, vec![places, first])?;
    context.helper("held", Logic { kind: LogicKind::Or }, vec![old, new])
}

/// Returns queries, keys and values: from one operand each, or all from the first.
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

/// Number of earlier tokens of each text, `[batch, 1]`: the last token's position plus 1, minus the
/// number of new tokens.
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

/// Position of each new token, `[batch, queries]`.
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

/// Returns queries and keys, each head divided by its root mean square if the node has weights for
/// that.
fn normalized(context: &mut Context<'_>, query: ValueId, key: ValueId) -> Result<(ValueId, ValueId), Reason> {
    let weights = context.optional(14).zip(context.optional(15));
    let epsilon = context.attributes.float_or("qk_norm_epsilon", 1e-6)?;
    let Some((of_query, of_key)) = weights else { return Ok((query, key)) };
    let norm = RmsNormalization { axis: 3, epsilon };
    let query = context.helper("normalized", norm.clone(), vec![query, of_query])?;
    Ok((query, context.helper("normalized", norm, vec![key, of_key])?))
}

/// Number of tokens of each text, `[batch]`.
fn texts(context: &mut Context<'_>, lengths: ValueId, batch: usize) -> Result<ValueId, Reason> {
    let lengths = context.helper("lengths", Cast::new(ElementType::I64), vec![lengths])?;
    let lengths = context.helper("lengths", Reshape { shape: vec![batch] }, vec![lengths])?;
    let one = integers(context, Vec::new(), vec![1])?;
    context.helper("lengths", Binary { kind: BinaryKind::Add }, vec![lengths, one])
}

/// Refuses attributes that change the cache of keys and values: a sliding window, and narrow
/// numbers with scales.
fn plain_cache(context: &mut Context<'_>) -> Result<(), Reason> {
    for name in ["qk_output", "sliding_window_cache"] {
        let found = context.attributes.int_or(name, 0)?;
        if found != 0 {
            return Err(unsupported(name, found, "0"));
        }
    }
    for name in ["k_quant_type", "v_quant_type"] {
        let found = context.attributes.string(name)?;
        if let Some(found) = found.filter(|found| found != "NONE") {
            return Err(unsupported(name, found, "NONE: keys and values of the past are floats"));
        }
    }
    for (index, operand) in [(12, "k_scale"), (13, "v_scale")] {
        if let Some(scale) = context.optional(index) {
            return Err(shape(context, scale, operand, "absent: keys and values of the past are floats"));
        }
    }
    context.attributes.without_effect("kv_cache_bit_width");
    Ok(())
}

impl Attention {
    /// Whether a key is among the last `size` keys that a query may see, including the query's own.
    /// `filled` is the number of earlier tokens of each text, `[batch, 1, 1, 1]`. New tokens follow
    /// them, independent of the size of the past.
    fn lately(
        &self,
        context: &mut Context<'_>,
        size: i64,
        filled: Option<ValueId>,
    ) -> Result<ValueId, Reason> {
        let add = Binary { kind: BinaryKind::Add };
        let (keys, queries) = (self.keys as i64, self.queries as i64);
        context.reserve(&[self.keys, 2])?;
        context.reserve(&[self.queries])?;
        let mut places = self.places(context)?;
        let bounds = (0..queries).map(|query| query.saturating_sub(size)).collect();
        let mut bounds = integers(context, vec![self.queries, 1], bounds)?;
        if let Some(filled) = filled {
            let before = self.before as i64;
            let is_new = (0..keys).map(|key| i64::from(key >= before)).collect();
            let is_new = integers(context, vec![self.keys], is_new)?;
            let back = integers(context, Vec::new(), vec![-before])?;
            let back = context.helper("shift", add.clone(), vec![filled, back])?;
            let shift = context.helper("shift", Binary { kind: BinaryKind::Mul }, vec![is_new, back])?;
            places = context.helper("key_positions", add.clone(), vec![places, shift])?;
            bounds = context.helper("oldest", add, vec![bounds, filled])?;
        }
        context.helper("lately", Compare { kind: CompareKind::Greater }, vec![places, bounds])
    }
}
