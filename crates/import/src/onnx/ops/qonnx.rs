//! QONNX operators Quant (newer name: IntQuant), BipolarQuant and Trunc, which Brevitas exports.
//! They round floats to values that few bits can represent, and return floats.
//!
//! Computed literally, as the package `qonnx` does: divide by the scale, add the zero point, clip,
//! round, and invert. The bit width is a constant integer; scales and zero points are broadcast.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Clip, Compare, CompareKind, Pow, Unary, UnaryKind, Where};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::quantized::number;

/// Maximum bit width: floats represent all integers of this width.
const MAX_BITS: f32 = 24.0;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    Ok(vec![match context.op_type() {
        "BipolarQuant" => bipolar(context)?,
        "Trunc" => trunc(context)?,
        _ => quant(context)?,
    }])
}

fn binary(
    context: &mut Context<'_>,
    kind: BinaryKind,
    left: ValueId,
    right: ValueId,
) -> Result<ValueId, Reason> {
    context.helper("quant", Binary { kind }, vec![left, right])
}

/// Returns 1 where the operand is at least 0, and -1 elsewhere.
fn signs(context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
    let [zero, one, minus_one] = [0.0, 1.0, -1.0].map(|value| number(context, Vec::new(), value));
    let (zero, one, minus_one) = (zero?, one?, minus_one?);
    let positive =
        context.helper("positive", Compare { kind: CompareKind::GreaterOrEqual }, vec![x, zero])?;
    context.helper("sign", Where, vec![positive, one, minus_one])
}

fn bipolar(context: &mut Context<'_>) -> Result<ValueId, Reason> {
    let (x, scale) = (context.input(0, "x")?, context.input(1, "scale")?);
    let place = binary(context, BinaryKind::Div, x, scale)?;
    let sign = signs(context, place)?;
    context.emit(Binary { kind: BinaryKind::Mul }, vec![sign, scale])
}

fn quant(context: &mut Context<'_>) -> Result<ValueId, Reason> {
    let (x, scale, zero) = (context.input(0, "x")?, context.input(1, "scale")?, context.input(2, "zeropt")?);
    let bits = bits(context, 3, "bitwidth")?;
    let (clip, signed) = range(context, bits)?;
    let rounding = Rounding::of(context, "ROUND")?;
    let place = binary(context, BinaryKind::Div, x, scale)?;
    let place = binary(context, BinaryKind::Add, place, zero)?;
    let integer = if signed && bits == 1.0 {
        signs(context, place)?
    } else {
        let clipped = context.helper("clip", clip, vec![place])?;
        rounding.apply(context, clipped)?
    };
    let above = binary(context, BinaryKind::Sub, integer, zero)?;
    context.emit(Binary { kind: BinaryKind::Mul }, vec![above, scale])
}

/// Cuts off lower bits: by the difference of bit widths before version 2 of the domain (five
/// operands), by the quotient of scales since (six operands).
fn trunc(context: &mut Context<'_>) -> Result<ValueId, Reason> {
    let (x, scale, zero) = (context.input(0, "x")?, context.input(1, "scale")?, context.input(2, "zeropt")?);
    let from = bits(context, 3, "in_bitwidth")?;
    let rounding = Rounding::of(context, "FLOOR")?;
    let place = binary(context, BinaryKind::Div, x, scale)?;
    let place = binary(context, BinaryKind::Add, place, zero)?;
    let place = context.helper("integer", Unary { kind: UnaryKind::Round }, vec![place])?;
    if context.operands() <= 5 {
        let to = bits(context, 4, "out_bitwidth")?;
        let divisor = number(context, Vec::new(), (from - to).exp2())?;
        let cut = binary(context, BinaryKind::Div, place, divisor)?;
        let integer = rounding.apply(context, cut)?;
        let above = binary(context, BinaryKind::Sub, integer, zero)?;
        return context.emit(Binary { kind: BinaryKind::Mul }, vec![above, scale]);
    }
    let to_scale = context.input(4, "out_scale")?;
    let to = bits(context, 5, "out_bitwidth")?;
    let (clip, _) = range(context, to)?;
    let ratio = binary(context, BinaryKind::Div, to_scale, scale)?;
    let log = context.helper("log", Unary { kind: UnaryKind::Log }, vec![ratio])?;
    let of_two = number(context, Vec::new(), std::f32::consts::LN_2)?;
    let log = binary(context, BinaryKind::Div, log, of_two)?;
    let log = context.helper("power", Unary { kind: UnaryKind::Round }, vec![log])?;
    let two = number(context, Vec::new(), 2.0)?;
    let divisor = context.helper("divisor", Pow, vec![two, log])?;
    let cut = binary(context, BinaryKind::Div, place, divisor)?;
    let clipped = context.helper("clip", clip, vec![cut])?;
    let integer = rounding.apply(context, clipped)?;
    let zero = binary(context, BinaryKind::Div, zero, divisor)?;
    let above = binary(context, BinaryKind::Sub, integer, zero)?;
    context.emit(Binary { kind: BinaryKind::Mul }, vec![above, to_scale])
}

/// Returns a bit width.
fn bits(context: &mut Context<'_>, index: usize, operand: &'static str) -> Result<f32, Reason> {
    let found = context.number(index, operand)?.ok_or(Reason::OperandMissing { operand })?;
    if (1.0..=MAX_BITS).contains(&found) && found.fract() == 0.0 {
        return Ok(found);
    }
    let legal = format!("a whole number from 1 to {MAX_BITS}");
    Err(Reason::OperandValue { operand, found: found.to_string(), legal })
}

/// Returns the range of integers that the attributes allow for `bits`, and whether they are signed.
fn range(context: &mut Context<'_>, bits: f32) -> Result<(Clip, bool), Reason> {
    let (signed, narrow) =
        (context.attributes.flag("signed", true)?, context.attributes.flag("narrow", false)?);
    let less = f32::from(u8::from(narrow));
    let half = (bits - 1.0).exp2();
    Ok(match signed {
        true => (Clip { min: less - half, max: half - 1.0 }, true),
        false => (Clip { min: 0.0, max: 2.0 * half - 1.0 - less }, false),
    })
}

/// A rounding mode. Magnitudes are moved by `moved` and rounded by `kind`, then signs are restored;
/// or numbers are rounded by `kind` directly.
#[derive(Clone, Copy)]
struct Rounding {
    kind: UnaryKind,
    moved: Option<f32>,
}

impl Rounding {
    /// Reads attribute `rounding_mode`.
    fn of(context: &mut Context<'_>, default: &str) -> Result<Self, Reason> {
        let mode = context.attributes.string("rounding_mode")?.unwrap_or_else(|| default.to_owned());
        let (kind, moved) = match mode.to_uppercase().as_str() {
            "ROUND" | "HALF_EVEN" => (UnaryKind::Round, None),
            "CEIL" => (UnaryKind::Ceil, None),
            "FLOOR" => (UnaryKind::Floor, None),
            "UP" => (UnaryKind::Ceil, Some(0.0)),
            "DOWN" => (UnaryKind::Floor, Some(0.0)),
            "HALF_UP" => (UnaryKind::Floor, Some(0.5)),
            "HALF_DOWN" => (UnaryKind::Ceil, Some(-0.5)),
            _ => {
                let legal = "ROUND, HALF_EVEN, CEIL, FLOOR, UP, DOWN, HALF_UP or HALF_DOWN";
                return Err(unsupported("rounding_mode", mode, legal));
            }
        };
        Ok(Self { kind, moved })
    }

    fn apply(self, context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
        let round = Unary { kind: self.kind };
        let Some(moved) = self.moved else { return context.helper("round", round, vec![x]) };
        let magnitude = context.helper("magnitude", Unary { kind: UnaryKind::Abs }, vec![x])?;
        let moved = number(context, Vec::new(), moved)?;
        let magnitude = binary(context, BinaryKind::Add, magnitude, moved)?;
        let magnitude = context.helper("round", round, vec![magnitude])?;
        let sign = context.helper("sign", Unary { kind: UnaryKind::Sign }, vec![x])?;
        binary(context, BinaryKind::Mul, sign, magnitude)
    }
}
