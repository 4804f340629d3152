//! Attention, decomposed into matrix products and a softmax. Query heads that share keys become
//! rows of one product.

mod mask;

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Concat, MatMul, Reshape, Softmax, Transpose, Unary, UnaryKind,
};
use npukit_numeric::{ElementType, TensorData};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (query, key, value) = (context.input(0, "Q")?, context.input(1, "K")?, context.input(2, "V")?);
    let by_token = context.shape(query).len() == 3;
    let query = by_head(context, query, "Q", "q_num_heads", "query")?;
    let key = by_head(context, key, "K", "kv_num_heads", "key")?;
    let value = by_head(context, value, "V", "kv_num_heads", "value")?;
    let past = context.optional(4).zip(context.optional(5));
    let (keys, values, before) = match past {
        None => (key, value, 0),
        Some((past_key, past_value)) => {
            // Default: the concatenation below refuses an operand without that axis.
            let before = context.shape(past_key).get(2).copied().unwrap_or(0);
            let keys = context.helper("present_key", Concat { axis: 2 }, vec![past_key, key])?;
            (keys, context.helper("present_value", Concat { axis: 2 }, vec![past_value, value])?, before)
        }
    };
    // Narrow floats are rounded once, at the end: the standard does not define the rounding of each
    // step.
    let own = context.element(query);
    let wide = if own.small_float().is_some() { ElementType::F32 } else { own };
    let query = cast(context, query, own, wide)?;
    let (wide_keys, wide_values) = (cast(context, keys, own, wide)?, cast(context, values, own, wide)?);
    let net = Attention::new(context, query, wide_keys, before)?;
    let (probabilities, shown) = net.probabilities(context, query, wide_keys)?;
    let seen = net.seen(context, probabilities, wide_values, by_token)?;
    Ok(vec![cast(context, seen, wide, own)?, keys, values, cast(context, shown, wide, own)?])
}

/// Casts a value from type `from` to `to`. Operands of other types are left unchanged and refused
/// later.
fn cast(
    context: &mut Context<'_>,
    x: ValueId,
    from: ElementType,
    to: ElementType,
) -> Result<ValueId, Reason> {
    if from == to || context.element(x) != from {
        return Ok(x);
    }
    context.helper("cast", Cast::new(to), vec![x])
}

/// Returns an operand as `[batch, heads, sequence, head]`. An operand with three axes, `[batch,
/// sequence, heads * head]`, is split.
fn by_head(
    context: &mut Context<'_>,
    x: ValueId,
    operand: &'static str,
    attribute: &'static str,
    name: &str,
) -> Result<ValueId, Reason> {
    let heads = context.attributes.int_or(attribute, 0)?;
    match *context.shape(x) {
        [_, _, _, _] => Ok(x),
        [batch, sequence, hidden] => {
            let count =
                usize::try_from(heads).ok().filter(|&count| count > 0 && hidden.is_multiple_of(count));
            let legal =
                || unsupported(attribute, heads, format!("a divisor of the {hidden} features of a token"));
            let count = count.ok_or_else(legal)?;
            let shape = vec![batch, sequence, count, hidden / count];
            let split = context.helper(&format!("{name}_split"), Reshape { shape }, vec![x])?;
            context.helper(&format!("{name}_heads"), Transpose { perm: vec![0, 2, 1, 3] }, vec![split])
        }
        ref other => {
            let (found, legal) = (format!("shape {other:?}"), "3 or 4 axes".to_owned());
            Err(Reason::OperandValue { operand, found, legal })
        }
    }
}

/// Sizes of an attention, and the element type of its computation.
pub(super) struct Attention {
    pub(super) batch: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) head: usize,
    /// Number of keys before the keys of the queries' own tokens.
    pub(super) before: usize,
    pub(super) element: ElementType,
}

impl Attention {
    pub(super) fn new(
        context: &Context<'_>,
        query: ValueId,
        keys: ValueId,
        before: usize,
    ) -> Result<Self, Reason> {
        let element = context.element(query);
        match (context.shape(query), context.shape(keys)) {
            (&[batch, heads, queries, head], &[_, kv_heads, keys, _])
                if kv_heads > 0 && heads.is_multiple_of(kv_heads) =>
            {
                Ok(Self { batch, heads, kv_heads, queries, keys, head, before, element })
            }
            (query, keys) => {
                let (found, legal) =
                    (format!("shape {keys:?}"), format!("heads that divide the heads of Q, {query:?}"));
                Err(Reason::OperandValue { operand: "K", found, legal })
            }
        }
    }

    /// Number of query rows that use the same keys.
    fn rows(&self) -> usize {
        self.heads / self.kv_heads * self.queries
    }

    pub(super) fn number(&self, context: &mut Context<'_>, value: f32) -> Result<ValueId, Reason> {
        let number = typed(self.element, Vec::new(), TensorData::F32(vec![value]))?;
        Ok(context.make_constant(number))
    }

    /// Returns the attention weight of each key for each query, `[batch, heads, queries, keys]`,
    /// and the intermediate value that the node outputs.
    fn probabilities(
        &self,
        context: &mut Context<'_>,
        query: ValueId,
        keys: ValueId,
    ) -> Result<(ValueId, ValueId), Reason> {
        let scale = context.attributes.float_or("scale", 1.0 / (self.head as f32).sqrt())?;
        let scaled = self.scores(context, query, keys, scale)?;
        let capped = self.capped(context, scaled)?;
        let masked = self.masked(context, capped)?;
        context.attributes.without_effect("softmax_precision"); // we compute in 32-bit floats
        let softmax = context.helper("softmax", Softmax { axis: 3, axis_end: 4 }, vec![masked])?;
        let probabilities = if masked == capped { softmax } else { self.guarded(context, masked, softmax)? };
        let shown = match context.attributes.int_or("qk_matmul_output_mode", 0)? {
            0 => scaled,
            1 => capped,
            2 => masked,
            3 => probabilities,
            mode => return Err(unsupported("qk_matmul_output_mode", mode, "0 to 3")),
        };
        Ok((probabilities, shown))
    }

    /// Returns the score of each key for each query, `[batch, heads, queries, keys]`.
    pub(super) fn scores(
        &self,
        context: &mut Context<'_>,
        query: ValueId,
        keys: ValueId,
        scale: f32,
    ) -> Result<ValueId, Reason> {
        let shape = vec![self.batch, self.kv_heads, self.rows(), self.head];
        let grouped = context.helper("query_groups", Reshape { shape }, vec![query])?;
        let transposed = context.helper("keys", Transpose { perm: vec![0, 1, 3, 2] }, vec![keys])?;
        let products = context.helper("products", MatMul, vec![grouped, transposed])?;
        let shape = vec![self.batch, self.heads, self.queries, self.keys];
        let products = context.helper("scores", Reshape { shape }, vec![products])?;
        self.scaled(context, products, scale)
    }

    /// Returns `factor * x`.
    pub(super) fn scaled(
        &self,
        context: &mut Context<'_>,
        x: ValueId,
        factor: f32,
    ) -> Result<ValueId, Reason> {
        if factor == 1.0 {
            return Ok(x);
        }
        let factor = self.number(context, factor)?;
        context.helper("scaled", Binary { kind: BinaryKind::Mul }, vec![x, factor])
    }

    /// Returns `cap * tanh(x / cap)`, or `x` without a cap.
    fn capped(&self, context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
        let cap = context.attributes.float_or("softcap", 0.0)?;
        if cap == 0.0 { Ok(x) } else { self.capped_by(context, x, cap) }
    }

    /// `cap * tanh(x / cap)`.
    pub(super) fn capped_by(
        &self,
        context: &mut Context<'_>,
        x: ValueId,
        cap: f32,
    ) -> Result<ValueId, Reason> {
        let cap = self.number(context, cap)?;
        let x = context.helper("uncapped", Binary { kind: BinaryKind::Div }, vec![x, cap])?;
        let x = context.helper("tanh", Unary { kind: UnaryKind::Tanh }, vec![x])?;
        context.helper("capped", Binary { kind: BinaryKind::Mul }, vec![x, cap])
    }

    /// Returns the attention results in the layout of the queries: by token or by head.
    pub(super) fn seen(
        &self,
        context: &mut Context<'_>,
        probabilities: ValueId,
        values: ValueId,
        by_token: bool,
    ) -> Result<ValueId, Reason> {
        let Self { batch, heads, kv_heads, queries, keys, .. } = *self;
        // Default: the product below refuses an operand without axes.
        let size = context.shape(values).last().copied().unwrap_or(0);
        let shape = vec![batch, kv_heads, self.rows(), keys];
        let grouped = context.helper("probability_groups", Reshape { shape }, vec![probabilities])?;
        let seen = context.helper("seen_groups", MatMul, vec![grouped, values])?;
        let shape = vec![batch, heads, queries, size];
        if !by_token {
            return context.emit(Reshape { shape }, vec![seen]);
        }
        let seen = context.helper("seen", Reshape { shape }, vec![seen])?;
        let seen = context.helper("seen_by_token", Transpose { perm: vec![0, 2, 1, 3] }, vec![seen])?;
        context.emit(Reshape { shape: vec![batch, queries, heads * size] }, vec![seen])
    }
}
