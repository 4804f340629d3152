//! Visibility of keys to queries: masks, causality, windows, and texts shorter than their cache.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Concat, Logic, LogicKind, Reduce, ReduceKind, Reshape,
    Where,
};
use npukit_numeric::{ElementType, TensorData};

use super::Attention;
use crate::elements::typed;
use crate::onnx::context::Context;
use crate::onnx::error::Reason;
use crate::shape::tensor;

impl Attention {
    /// Returns scores with the mask added, and minus infinity for hidden keys.
    pub(super) fn masked(&self, context: &mut Context<'_>, mut scores: ValueId) -> Result<ValueId, Reason> {
        let mut visible = self.window(context)?;
        if let Some(mask) = context.optional(3) {
            let mask = self.widened(context, mask)?;
            if context.element(mask) == ElementType::Bool {
                visible.push(mask);
            } else {
                let mask = if context.element(mask).small_float().is_some() {
                    context.helper("mask_cast", Cast::new(self.element), vec![mask])?
                } else {
                    mask
                };
                scores = context.helper("biased", Binary { kind: BinaryKind::Add }, vec![scores, mask])?;
            }
        }
        let both = |context: &mut Context<'_>, left: ValueId, right| {
            context.helper("visible", Logic { kind: LogicKind::And }, vec![left, right])
        };
        let mut visible = visible.into_iter();
        let Some(first) = visible.next() else { return Ok(scores) };
        let visible = visible.try_fold(first, |left, right| both(context, left, right))?;
        let hidden = self.number(context, f32::NEG_INFINITY)?;
        context.helper("masked", Where, vec![visible, scores, hidden])
    }

    /// Truth values that limit the distance between a key and a query. They broadcast to the
    /// scores.
    fn window(&self, context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
        let causal = context.attributes.flag("is_causal", false)?;
        let right = context.attributes.int("right_window_size")?.filter(|&size| size >= 0);
        let left = context.attributes.int("left_window_size")?.filter(|&size| size >= 0);
        let right = if causal { Some(0) } else { right };
        let lengths = context.optional(6);
        let mut bounds = Vec::new();
        if right.is_none() && left.is_none() && lengths.is_none() {
            return Ok(bounds);
        }
        let own = self.keys_of(context, lengths)?;
        let place = |index: usize| (index % self.keys) as i64;
        let keys = self.integers(context, vec![self.keys], place)?;
        let distances = self.integers(context, vec![self.queries, self.keys], |index| {
            place(index) - (index / self.keys) as i64
        })?;
        if lengths.is_some() {
            let beyond = self.integers(context, Vec::new(), |_| self.queries as i64)?;
            let length = context.helper("length", Binary { kind: BinaryKind::Add }, vec![own, beyond])?;
            bounds.push(context.helper("filled", Compare { kind: CompareKind::Less }, vec![keys, length])?);
        }
        for (size, kind, sign) in
            [(right, CompareKind::LessOrEqual, 1), (left, CompareKind::GreaterOrEqual, -1)]
        {
            let Some(size) = size else { continue };
            let size = self.integers(context, Vec::new(), |_| size.saturating_mul(sign))?;
            let bound = context.helper("bound", Binary { kind: BinaryKind::Add }, vec![own, size])?;
            bounds.push(context.helper("within", Compare { kind }, vec![distances, bound])?);
        }
        Ok(bounds)
    }

    /// Number of keys before the first query's key: one number, or one per text of the batch.
    fn keys_of(&self, context: &mut Context<'_>, lengths: Option<ValueId>) -> Result<ValueId, Reason> {
        let Some(lengths) = lengths else {
            return self.integers(context, Vec::new(), |_| self.before as i64);
        };
        let shape = vec![self.batch, 1, 1, 1];
        let lengths = context.helper("lengths", Reshape { shape }, vec![lengths])?;
        let queries = self.integers(context, Vec::new(), |_| self.queries as i64)?;
        context.helper("offset", Binary { kind: BinaryKind::Sub }, vec![lengths, queries])
    }

    fn integers(
        &self,
        context: &mut Context<'_>,
        shape: Vec<usize>,
        value: impl Fn(usize) -> i64,
    ) -> Result<ValueId, Reason> {
        context.reserve(&shape)?;
        let values = (0..shape.iter().product()).map(value).collect();
        let constant = tensor(shape, TensorData::I64(values))?;
        Ok(context.make_constant(constant))
    }

    /// Extends a mask to all keys. Keys after the last one in the mask are hidden.
    fn widened(&self, context: &mut Context<'_>, mask: ValueId) -> Result<ValueId, Reason> {
        let mut shape = context.shape(mask).to_vec();
        let missing =
            shape.last().map_or(0, |&last| if last == 1 { 0 } else { self.keys.saturating_sub(last) });
        let Some(last) = shape.last_mut().filter(|_| missing > 0) else { return Ok(mask) };
        *last = missing;
        context.reserve(&shape)?;
        let (element, count) = (context.element(mask), shape.iter().product());
        let hidden = match element {
            ElementType::Bool => TensorData::Bool(vec![false; count]),
            _ => TensorData::F32(vec![f32::NEG_INFINITY; count]),
        };
        let axis = shape.len() - 1;
        let hidden = context.make_constant(typed(element, shape, hidden)?);
        context.helper("mask", Concat { axis }, vec![mask, hidden])
    }

    /// Returns the softmax, with 0 for a query without visible keys, whose softmax is NaN.
    pub(super) fn guarded(
        &self,
        context: &mut Context<'_>,
        scores: ValueId,
        softmax: ValueId,
    ) -> Result<ValueId, Reason> {
        let largest = Reduce { kind: ReduceKind::Max, axes: vec![3], keep_dims: true };
        let largest = context.helper("largest", largest, vec![scores])?;
        let (hidden, zero) = (self.number(context, f32::NEG_INFINITY)?, self.number(context, 0.0)?);
        let blind = context.helper("blind", Compare { kind: CompareKind::Equal }, vec![largest, hidden])?;
        context.helper("probabilities", Where, vec![blind, zero, softmax])
    }
}
