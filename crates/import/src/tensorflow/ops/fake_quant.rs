//! FakeQuantWithMinMaxArgs, FakeQuantWithMinMaxVars and FakeQuantWithMinMaxVarsPerChannel. They
//! round numbers to the nearest of 2^bits levels between two bounds, which are moved so that 0 is a
//! level. They become QuantizeLinear and DequantizeLinear.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, DequantizeLinear, QuantizeLinear};
use npukit_numeric::{ElementType, TensorData};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::elements::typed;
use crate::shape::tensor;

/// Adjusted bounds, the distance of two levels, and the level of 0.
struct Range {
    bounds: [f32; 2],
    scale: f32,
    zero: f32,
}

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "inputs")?;
    let bits = context.attributes.int_or("num_bits", 8)?;
    if !(2..=16).contains(&bits) {
        return Err(unsupported("num_bits", bits, "2 to 16"));
    }
    let least = u8::from(context.attributes.flag("narrow_range", false)?);
    let steps = [f32::from(least), ((1u32 << bits) - 1) as f32];
    let (min, max) = match context.op() {
        "FakeQuantWithMinMaxArgs" => {
            (vec![context.attributes.float("min", -6.0)?], vec![context.attributes.float("max", 6.0)?])
        }
        _ => (bound(context, 1, "min")?, bound(context, 2, "max")?),
    };
    let channels = context.shape(x).last().copied();
    if min.len() != max.len() || min.len() != 1 && channels != Some(min.len()) {
        return Err(unsupported("min", min.len(), "the size of max: 1, or the number of channels"));
    }
    let pairs = min.iter().zip(&max).map(|(&min, &max)| Range::new([min, max], steps));
    let ranges = pairs.collect::<Result<Vec<_>, _>>()?;
    let to = if bits <= 8 { ElementType::U8 } else { ElementType::U16 };
    let axis = context.shape(x).len().saturating_sub(1);
    let shape = if context.op().ends_with("PerChannel") { vec![ranges.len()] } else { vec![] };
    let mut floats = |of: fn(&Range) -> f32| {
        let values = TensorData::F32(ranges.iter().map(of).collect());
        Ok::<_, Reason>(context.make_constant(tensor(shape.clone(), values)?))
    };
    let (low, high) = (floats(|range| range.bounds[0])?, floats(|range| range.bounds[1])?);
    let scale = floats(|range| range.scale)?;
    let zeros = TensorData::I32(ranges.iter().map(|range| range.zero as i32).collect());
    let zero = context.make_constant(typed(to, shape, zeros)?);
    let x = context.helper("below", Binary { kind: BinaryKind::Min }, vec![x, high])?;
    let x = context.helper("within", Binary { kind: BinaryKind::Max }, vec![x, low])?;
    let quantize =
        QuantizeLinear { to, axis, block: 0, saturate: true, precision: ElementType::F32, away: false };
    let integers = context.helper("integers", quantize, vec![x, scale, zero])?;
    let dequantize = DequantizeLinear { to: ElementType::F32, axis, block: 0 };
    Ok(vec![context.emit(dequantize, vec![integers, scale, zero])?])
}

/// Returns the floats of a constant operand.
fn bound(context: &mut Context<'_>, index: usize, operand: &'static str) -> Result<Vec<f32>, Reason> {
    let id = context.input(index, operand)?;
    let constant = context.constant(id, operand)?;
    context.reserve(constant.shape())?;
    Ok(constant.reals().iter().map(|&value| value as f32).collect())
}

impl Range {
    /// Moves the bounds as TensorFlow does (`Nudge`), in single precision.
    fn new([min, max]: [f32; 2], [least, largest]: [f32; 2]) -> Result<Self, Reason> {
        let scale = (max - min) / (largest - least);
        if !(scale > 0.0 && scale.is_finite() && min <= 0.0 && max >= 0.0) {
            return Err(unsupported("min and max", [min, max], "0 between them, and not equal"));
        }
        let zero = (least - min / scale).clamp(least, largest).round();
        let bounds = [(least - zero) * scale, (largest - zero) * scale];
        Ok(Self { bounds, scale, zero })
    }
}
