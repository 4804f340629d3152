//! Attention with the projections of queries, keys and values in one product.

use npukit_graph::ValueId;
use npukit_graph::op::{Concat, Reshape, Split};

use super::super::super::attributes::unsupported;
use super::{
    Attention, Context, Masks, Reason, attend, before, extended, number_of, projected, scale, shape,
    split_heads,
};

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights, bias) = (context.input(0, "input")?, context.input(1, "weights")?, context.optional(2));
    let (mask, past, attention_bias) = (context.optional(3), context.optional(4), context.optional(5));
    let heads = number_of(context, "num_heads")?;
    let all = projected(context, x, weights, bias)?;
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
    let parts = context.split("projections", all, 2, &sizes)?;
    let mut by_head = Vec::new();
    for part in parts {
        by_head.push(split_heads(context, part, None, heads, "input")?);
    }
    let &[query, key, value] = by_head.as_slice() else { return Ok(Vec::new()) };
    // Keys and values of the past are one value, `[2, batch, heads, sequence, head]`.
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
    let seen = attend(context, &net, [query, keys, values], masks, (scale, 0.0))?;
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

/// The two halves of the first axis.
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
