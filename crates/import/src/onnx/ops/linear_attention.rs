//! LinearAttention: each token updates and reads a state. It is decomposed into products and sums,
//! token by token.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Cast, Concat, MatMul, Reshape, Split, Transpose, UnaryKind};
use npukit_numeric::ElementType;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Maximum number of nodes per token.
const NODES_PER_TOKEN: usize = 24;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let net = Sizes::new(context)?;
    let rule = context.attributes.string("update_rule")?.unwrap_or_else(|| "gated_delta".to_owned());
    let (gated, delta) = match rule.as_str() {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        _ => return Err(unsupported("update_rule", rule, "linear, gated, delta or gated_delta")),
    };
    context.attributes.without_effect("chunk_size"); // how it may be computed, not what
    let stated = context.attributes.float("scale")?.filter(|&scale| scale != 0.0);
    let scale = stated.unwrap_or(1.0 / (net.key as f32).sqrt());
    context.reserve_results(net.tokens.saturating_mul(NODES_PER_TOKEN))?;

    let (query, element) = (context.input(0, "query")?, net.element);
    let queries = net.tokens_of(context, query, [net.heads, net.group, net.key])?;
    let (key, value) = (context.input(1, "key")?, context.input(2, "value")?);
    let keys = net.tokens_of(context, key, [net.heads, net.key, 1])?;
    let values = net.tokens_of(context, value, [net.heads, 1, net.value])?;
    let decays = net.optional_tokens(context, 4, "decay", gated, net.key)?;
    let betas = net.optional_tokens(context, 5, "beta", delta, 1)?;
    let (mut state, of_state) = match context.optional(3) {
        Some(past) => (context.cast(past, ElementType::F32)?, context.element(past)),
        None => (context.filled(keys[0], 0.0, &[net.batch, net.heads, net.key, net.value])?, element),
    };
    let scale = context.scalar(state, scale)?;
    let mut seen = Vec::with_capacity(net.tokens);
    for token in 0..net.tokens {
        let (key, mut value) = (keys[token], values[token]);
        if let Some(decays) = &decays {
            let decay = context.unary(UnaryKind::Exp, decays[token])?;
            state = context.binary(BinaryKind::Mul, state, decay)?;
        }
        if let Some(betas) = &betas {
            let row = context.reshape(key, vec![net.batch, net.heads, 1, net.key])?;
            let found = context.helper("retrieved", MatMul, vec![row, state])?;
            let missing = context.binary(BinaryKind::Sub, value, found)?;
            value = context.binary(BinaryKind::Mul, missing, betas[token])?;
        }
        let written = context.binary(BinaryKind::Mul, key, value)?;
        state = context.binary(BinaryKind::Add, state, written)?;
        let read = context.helper("read", MatMul, vec![queries[token], state])?;
        let read = context.binary(BinaryKind::Mul, read, scale)?;
        seen.push(context.reshape(read, vec![net.batch, 1, net.heads * net.group * net.value])?);
    }
    let seen = context.helper("tokens", Concat { axis: 1 }, seen)?;
    Ok(vec![context.cast(seen, element)?, context.helper("state", Cast::new(of_state), vec![state])?])
}

/// Sizes of the operands.
struct Sizes {
    batch: usize,
    tokens: usize,
    /// Number of heads of keys and values.
    heads: usize,
    /// Query heads per head of keys.
    group: usize,
    key: usize,
    value: usize,
    element: ElementType,
}

impl Sizes {
    fn new(context: &mut Context<'_>) -> Result<Self, Reason> {
        let (query, value) = (context.input(0, "query")?, context.input(2, "value")?);
        let [queries, heads] = [count(context, "q_num_heads")?, count(context, "kv_num_heads")?];
        let (shape, of_values) = (context.shape(query).to_vec(), context.shape(value).to_vec());
        let fits = |width: usize, heads: usize| width > 0 && width.is_multiple_of(heads);
        match (&shape[..], &of_values[..]) {
            (&[batch, tokens, width], &[.., values])
                if tokens > 0
                    && fits(width, queries)
                    && fits(values, heads)
                    && queries.is_multiple_of(heads) =>
            {
                let (key, value, group) = (width / queries, values / heads, queries / heads);
                Ok(Self { batch, tokens, heads, group, key, value, element: context.element(query) })
            }
            _ => {
                let found = format!("{shape:?} with values {of_values:?}");
                let legal = format!("[batch, tokens, {queries} * head], values of {heads} heads, a divisor");
                Err(Reason::OperandValue { operand: "query", found, legal })
            }
        }
    }

    /// Splits an operand `[batch, tokens, ..]` into one value `[batch, ..]` of the sizes `each` per
    /// token, in single precision.
    fn tokens_of(
        &self,
        context: &mut Context<'_>,
        x: ValueId,
        each: [usize; 3],
    ) -> Result<Vec<ValueId>, Reason> {
        let x = context.cast(x, ElementType::F32)?;
        let shape = [&[self.batch, self.tokens], &each[..]].concat();
        let x = context.helper("by_token", Reshape { shape }, vec![x])?;
        let x = context.helper("token_first", Transpose { perm: vec![1, 0, 2, 3, 4] }, vec![x])?;
        let parts = context.emit_all(Split { axis: 0, sizes: vec![1; self.tokens] }, vec![x])?;
        let shape = [&[self.batch], &each[..]].concat();
        parts.into_iter().map(|part| context.reshape(part, shape.clone())).collect()
    }

    /// Returns an operand that must be present exactly if `wanted`: numbers for all heads, one per
    /// head, or `width` per head.
    fn optional_tokens(
        &self,
        context: &mut Context<'_>,
        index: usize,
        operand: &'static str,
        wanted: bool,
        width: usize,
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let Some(x) = context.optional(index).filter(|_| wanted) else {
            let is_given = context.optional(index).is_some();
            let legal = "given if update_rule uses it, otherwise left out";
            return if is_given == wanted { Ok(None) } else { Err(unsupported(operand, is_given, legal)) };
        };
        // Default: an operand without axes is refused by the reshape.
        let last = context.shape(x).last().copied().unwrap_or_default();
        let each = match last {
            1 if width == 1 => [1, 1, 1],
            _ if last == self.heads => [self.heads, 1, 1],
            _ => [self.heads, width, 1],
        };
        self.tokens_of(context, x, each).map(Some)
    }
}

/// Reads an attribute that is a number of heads.
fn count(context: &mut Context<'_>, name: &'static str) -> Result<usize, Reason> {
    let stated = context.attributes.int(name)?.ok_or(Reason::AttributeMissing { name })?;
    let known = usize::try_from(stated).ok().filter(|heads| (1..=1 << 20).contains(heads));
    known.ok_or_else(|| unsupported(name, stated, "1 to 2^20"))
}
