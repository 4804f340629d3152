//! [`Product`]: rows times the weights of a direction, in floats, or in bytes with a scale after
//! each operand.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Cast, MatMul, Reshape, Slice, SliceRange, Transpose};
use npukit_numeric::ElementType;

use super::super::dynamic_quantize_linear;
use super::{Context, Reason, of_direction};

/// Product of rows and weights.
pub(super) struct Product {
    /// `[rows, columns]`: floats, or integers minus their zero point as floats.
    weights: ValueId,
    /// Scale of integer weights: one, or one per column.
    scale: Option<ValueId>,
}

impl Product {
    /// Reads the weights of a direction in operand `index`, `[rows, columns]` in the product.
    pub(super) fn read(
        context: &mut Context<'_>,
        index: usize,
        direction: usize,
        [rows, columns]: [usize; 2],
    ) -> Result<Self, Reason> {
        let operand = if index == 1 { "W" } else { "R" };
        let weights = context.input(index, operand)?;
        let is_quantized = context.op_type() == "DynamicQuantizeLSTM";
        let expected = if is_quantized { [rows, columns] } else { [columns, rows] };
        if context.shape(weights).get(1..) != Some(&expected[..]) {
            let (found, legal) = (
                format!("shape {:?}", context.shape(weights)),
                format!("{expected:?} after the axis of directions"),
            );
            return Err(Reason::OperandValue { operand, found, legal });
        }
        let weights = of_direction(context, weights, direction)?;
        if !is_quantized {
            return Ok(Self {
                weights: context.helper("transposed", Transpose { perm: vec![1, 0] }, vec![weights])?,
                scale: None,
            });
        }
        let (scale, zero) = if index == 1 { (8, 9) } else { (10, 11) };
        let scale = context.input(scale, "W_scale or R_scale")?;
        let zero = context.input(zero, "W_zero_point or R_zero_point")?;
        let [scale, zero] = [scale, zero].map(|x| per_column(context, x, direction, columns));
        let float =
            |context: &mut Context<'_>, x| context.helper("integers", Cast::new(ElementType::F32), vec![x]);
        let (weights, zero) = (float(context, weights)?, float(context, zero?)?);
        let weights = context.helper("integers", Binary { kind: BinaryKind::Sub }, vec![weights, zero])?;
        Ok(Self { weights, scale: Some(scale?) })
    }

    /// Returns the product with all columns.
    pub(super) fn of(&self, context: &mut Context<'_>, rows: ValueId) -> Result<ValueId, Reason> {
        let Some(scale) = self.scale else {
            return context.helper("product", MatMul, vec![rows, self.weights]);
        };
        let [bytes, step, zero] = dynamic_quantize_linear::of(context, rows)?;
        let float =
            |context: &mut Context<'_>, x| context.helper("integers", Cast::new(ElementType::F32), vec![x]);
        let (bytes, zero) = (float(context, bytes)?, float(context, zero)?);
        let integers = context.helper("integers", Binary { kind: BinaryKind::Sub }, vec![bytes, zero])?;
        let sums = context.helper("product", MatMul, vec![integers, self.weights])?;
        let multiply = Binary { kind: BinaryKind::Mul };
        let scale = context.helper("scale", multiply.clone(), vec![step, scale])?;
        context.helper("product", multiply, vec![sums, scale])
    }

    /// Product with the columns starting at `first`.
    pub(super) fn part(
        &self,
        context: &mut Context<'_>,
        rows: ValueId,
        first: usize,
        count: usize,
    ) -> Result<ValueId, Reason> {
        let ranges = vec![SliceRange { axis: 1, start: first, length: count, step: 1 }];
        let weights = context.helper("weights", Slice { ranges }, vec![self.weights])?;
        Self { weights, scale: self.scale }.of(context, rows)
    }
}

/// A direction's part of a value that is stated once, per direction, or per direction and column.
fn per_column(
    context: &mut Context<'_>,
    x: ValueId,
    direction: usize,
    columns: usize,
) -> Result<ValueId, Reason> {
    match context.shape(x) {
        [] | [1] => context.helper("scale", Reshape { shape: vec![] }, vec![x]),
        [_] => of_direction(context, x, direction),
        [_, found] if *found == columns => of_direction(context, x, direction),
        found => {
            let (found, legal) =
                (format!("shape {found:?}"), format!("[directions, {columns}] or one number"));
            Err(Reason::OperandValue { operand: "W_scale or R_scale", found, legal })
        }
    }
}
