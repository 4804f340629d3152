//! Attention with one product for the projections of queries, keys and values, on floats or
//! (QAttention) on bytes.

use npukit_graph::ValueId;
use npukit_graph::op::{Concat, Reshape, Split};

use super::super::super::attributes::unsupported;
use super::super::super::quantized::{Scales, dequantized};
use super::{
    Attention, Context, Masks, Reason, attend, before, extended, number_of, projected, scale, shape,
    split_heads,
};

/// Operands that both operators have.
struct Operands {
    /// Queries, keys and values of all tokens, concatenated.
    all: ValueId,
    mask: Option<ValueId>,
    past: Option<ValueId>,
    attention_bias: Option<ValueId>,
}

impl Operands {
    fn of_floats(context: &mut Context<'_>) -> Result<Self, Reason> {
        let (x, weights) = (context.input(0, "input")?, context.input(1, "weights")?);
        let bias = context.optional(2);
        let (mask, past, attention_bias) = (context.optional(3), context.optional(4), context.optional(5));
        Ok(Self { all: projected(context, x, weights, bias)?, mask, past, attention_bias })
    }

    fn of_bytes(context: &mut Context<'_>) -> Result<Self, Reason> {
        let (x, weights) = (context.input(0, "input")?, context.input(1, "weight")?);
        let bias = context.optional(2);
        let of_x = Scales::at(context, (3, "input_scale"), 6)?;
        let of_weights = Scales::at(context, (4, "weight_scale"), 7)?;
        let x = dequantized(context, x, of_x, 0)?;
        let weights = dequantized(context, weights, of_weights, 1)?;
        let (mask, past) = (context.optional(5), context.optional(8));
        Ok(Self { all: projected(context, x, weights, bias)?, mask, past, attention_bias: None })
    }
}

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let Operands { all, mask, past, attention_bias } = match context.op_type() {
        "QAttention" => Operands::of_bytes(context)?,
        _ => Operands::of_floats(context)?,
    };
    let heads = number_of(context, "num_heads")?;
    let width = context.shape(all).last().copied().unwrap_or(0);
    let sizes = match context.attributes.ints("qkv_hidden_sizes")? {
        Some(sizes) => sizes.iter().filter_map(|&size| usize::try_from(size).ok()).collect(),
        None => vec![width / 3; 3],
    };
    if sizes.len() != 3 || sizes.iter().sum::<usize>() != width {
        return Err(unsupported("qkv_hidden_sizes", sizes, format!("three sizes whose sum is {width}")));
    }
    if context.attributes.flag("do_rotary", false)? {
        return Err(unsupported("do_rotary", 1, "0: GroupQueryAttention rotates"));
    }
    let parts = context.split("projections", all, 2, &sizes)?.into_iter();
    let by_head = parts.map(|part| split_heads(context, part, None, heads, "input"));
    let by_head = by_head.collect::<Result<Vec<_>, _>>()?;
    let &[query, key, value] = by_head.as_slice() else { return Ok(Vec::new()) };
    // The past holds keys and values in one value, `[2, batch, heads, sequence, head]`.
    let past = match past {
        Some(past) => Some(halves(context, past)?),
        None => None,
    };
    let (keys, values) = extended(context, past, key, value)?;
    let net = Attention::new(context, query, keys, before(context, past))?;
    let hidden = context.attributes.float_or("mask_filter_value", -10_000.0)?;
    let mut masks = Masks { hidden, ..Masks::default() };
    masks.biases.extend(attention_bias);
    if let Some(mask) = mask {
        masks.padding(context, &net, mask)?;
    }
    if context.attributes.flag("unidirectional", false)? {
        masks.visible.push(net.causal(context)?);
    }
    let scale = scale(context, &net)?;
    let seen = attend(context, &net, [query, keys, values], masks, scale, 0.0)?;
    if !context.is_wanted(1) {
        return Ok(vec![seen]);
    }
    let mut present = Vec::new();
    for part in [keys, values] {
        let shape = [&[1], context.shape(part)].concat();
        present.push(context.helper("present", Reshape { shape }, vec![part])?);
    }
    Ok(vec![seen, context.helper("present", Concat { axis: 0 }, present)?])
}

/// Splits the first axis in two halves.
fn halves(context: &mut Context<'_>, x: ValueId) -> Result<(ValueId, ValueId), Reason> {
    let &[2, ref rest @ ..] = context.shape(x) else {
        return Err(shape(context, x, "past", "[2, batch, heads, sequence, head]"));
    };
    let rest = rest.to_vec();
    let parts = context.helpers("past", Split { axis: 0, sizes: vec![1, 1] }, vec![x])?;
    let mut halves = Vec::new();
    for part in parts {
        halves.push(context.helper("past", Reshape { shape: rest.clone() }, vec![part])?);
    }
    match halves.as_slice() {
        &[key, value] => Ok((key, value)),
        _ => Err(shape(context, x, "past", "two halves")),
    }
}
