//! Operators on quantized integers, expressed as operators on floats: [`Scales`], [`dequantized`]
//! and [`quantized`].
//!
//! Operands are converted to real numbers first and results to integers last, as if the model had
//! DequantizeLinear and QuantizeLinear there. Compilers need this form. Evaluation restores the
//! operators on integers (`npukit_graph::integer_forms`), whose sums are exact, as in the standard.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, DequantizeLinear, QuantizeLinear};
use npukit_numeric::{ElementType, Tensor};

use super::context::Context;
use super::error::Reason;

/// Operand positions and names of a tensor, its scale and its zero point.
pub(super) type Places = [(usize, &'static str); 3];

/// A scale and an optional zero point.
#[derive(Clone, Copy)]
pub(super) struct Scales {
    pub(super) scale: ValueId,
    pub(super) zero_point: Option<ValueId>,
}

impl Scales {
    /// Reads the scale and zero point at two operands.
    pub(super) fn at(
        context: &mut Context<'_>,
        scale: (usize, &'static str),
        zero: usize,
    ) -> Result<Self, Reason> {
        Ok(Self { scale: context.input(scale.0, scale.1)?, zero_point: context.optional(zero) })
    }

    /// Scale 1, with the zero point at operand `index` if it is present. Used for unscaled
    /// integers.
    pub(super) fn units(context: &mut Context<'_>, index: usize) -> Result<Self, Reason> {
        let zero_point = context.optional(index);
        let shape = zero_point.map_or(Vec::new(), |id| context.shape(id).to_vec());
        context.reserve(&shape)?;
        let scale = number(context, shape, 1.0)?;
        Ok(Self { scale, zero_point })
    }

    /// Scale of the products of two tensors.
    pub(super) fn times(self, context: &mut Context<'_>, other: ValueId) -> Result<Self, Reason> {
        let op = Binary { kind: BinaryKind::Mul };
        Ok(Self { scale: context.helper("scale", op, vec![self.scale, other])?, zero_point: None })
    }

    fn operands(self, x: ValueId) -> Vec<ValueId> {
        [x, self.scale].into_iter().chain(self.zero_point).collect()
    }
}

/// Makes a constant of `shape`, filled with one number. The budget must already be reserved.
pub(super) fn number(context: &mut Context<'_>, shape: Vec<usize>, value: f32) -> Result<ValueId, Reason> {
    let count = shape.iter().product();
    let tensor = Tensor::from_f32(shape.clone(), vec![value; count]);
    let tensor = tensor.map_err(|_| Reason::TooLarge { shape, limit: count })?;
    Ok(context.make_constant(tensor))
}

/// Converts integers to the real numbers that they represent. If there are several scales, they
/// apply along `axis`.
pub(super) fn dequantized(
    context: &mut Context<'_>,
    x: ValueId,
    scales: Scales,
    axis: usize,
) -> Result<ValueId, Reason> {
    let op = DequantizeLinear { to: ElementType::F32, axis, block: 0 };
    context.helper("real", op, scales.operands(x))
}

/// Converts an operand with one scale, or with scales along `axis`, to real numbers.
pub(super) fn operand(context: &mut Context<'_>, places: Places, axis: usize) -> Result<ValueId, Reason> {
    let [(x, name), scale, (zero, _)] = places;
    let x = context.input(x, name)?;
    let scales = Scales::at(context, scale, zero)?;
    dequantized(context, x, scales, axis)
}

/// Positions of consecutive operands, starting at `first`.
pub(super) fn places(first: usize, names: [&'static str; 3]) -> Places {
    let [x, scale, zero] = names;
    [(first, x), (first + 1, scale), (first + 2, zero)]
}

/// Quantizes real numbers, with the scale at operand `scale` and the zero point after it.
pub(super) fn quantized(context: &mut Context<'_>, y: ValueId, scale: usize) -> Result<ValueId, Reason> {
    let scales = Scales::at(context, (scale, "y_scale"), scale + 1)?;
    let to = scales.zero_point.map_or(ElementType::U8, |zero| context.element(zero));
    let op =
        QuantizeLinear { to, axis: 0, block: 0, saturate: true, precision: ElementType::F32, away: false };
    context.helper("quantized", op, scales.operands(y))
}
