//! Resize of images: opset 10 has scales only and no word on coordinates, opset 11 adds both
//! sizes and coordinates, opset 18 the axes.

use npukit_graph::ValueId;
use npukit_graph::op::{Coordinates, NearestMode, Resize, ResizeMode};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{require_rank_4, to_nchw, to_nhwc};
use super::super::tensor::MAX_ELEMENTS;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    if context.opset < 11 {
        let scales = context.floats(1, "scales")?.ok_or(Reason::OperandMissing { operand: "scales" })?;
        return without_coordinates(context, x, &scales);
    }
    require_rank_4(context, x, "X")?;
    context.optional(1); // roi: only tf_crop_and_resize, which is refused, looks at it
    let (size, scales) = target(context, x)?;
    let coordinates = coordinates(context)?;
    let nearest = nearest_mode(context)?;
    let mode = mode(context, nearest)?;
    refuse_refinements(context)?;
    emit(context, x, Resize { size, scales, mode, coordinates })
}

/// Resize at opset 10 and Upsample. The standard's examples are asymmetric (index / scale); the
/// option reads half-pixel centres instead. The nearest element is the one below when growing
/// and the one above when shrinking, as ONNX Runtime has it.
pub(super) fn without_coordinates(
    context: &mut Context<'_>,
    x: ValueId,
    scales: &[f32],
) -> Result<Vec<ValueId>, Reason> {
    require_rank_4(context, x, "X")?;
    let scales = image_scales(scales, &[0, 1, 2, 3])?;
    let size = scaled(context, x, scales)?;
    let (coordinates, nearest) = if context.options.resize_half_pixel {
        (Coordinates::HalfPixel, NearestMode::RoundPreferFloor)
    } else if scales.iter().all(|&scale| scale >= 1.0) {
        (Coordinates::Asymmetric, NearestMode::Floor)
    } else {
        (Coordinates::Asymmetric, NearestMode::Ceil)
    };
    let mode = mode(context, nearest)?;
    let mixed = scales.iter().any(|&scale| scale > 1.0) && scales.iter().any(|&scale| scale < 1.0);
    if mixed && mode == ResizeMode::Nearest(NearestMode::Ceil) {
        let legal = "both at least 1 or both at most 1 with mode nearest".to_owned();
        return Err(Reason::OperandValue { operand: "scales", found: format!("{scales:?}"), legal });
    }
    emit(context, x, Resize { size, scales, mode, coordinates })
}

fn emit(context: &mut Context<'_>, x: ValueId, op: Resize) -> Result<Vec<ValueId>, Reason> {
    let x = to_nhwc(context, x, "X")?;
    let y = context.emit(op, vec![x])?;
    Ok(vec![to_nchw(context, y)?])
}

/// Size of the result and scales, from whichever of the two operands is present.
fn target(context: &mut Context<'_>, x: ValueId) -> Result<([usize; 2], [f32; 2]), Reason> {
    let axes = match context.attributes.ints("axes")? {
        None => vec![0, 1, 2, 3],
        Some(axes) if axes.len() > 4 => return Err(unsupported("axes", axes.len(), "at most 4 axes")),
        Some(axes) => {
            axes.iter().map(|&axis| Context::axis("axes", axis, 4)).collect::<Result<Vec<_>, _>>()?
        }
    };
    let scales = context.floats(2, "scales")?;
    let sizes = context.integers(3, "sizes")?;
    match (scales, sizes.filter(|sizes| !sizes.is_empty())) {
        (Some(scales), None) => {
            let scales = image_scales(&scales, &axes)?;
            Ok((scaled(context, x, scales)?, scales))
        }
        (None, Some(sizes)) => {
            let from = context.shape(x);
            let size = image_size(&sizes, &axes, from)?;
            let scale = |axis: usize| size[axis] as f32 / from[axis + 2] as f32;
            Ok((size, [scale(0), scale(1)]))
        }
        _ => Err(Reason::OperandMissing { operand: "exactly one of scales and sizes" }),
    }
}

/// Scales of rows and columns, from those of `axes` of an NCHW image.
fn image_scales(stated: &[f32], axes: &[usize]) -> Result<[f32; 2], Reason> {
    let wrong = |legal: &str| Reason::OperandValue {
        operand: "scales",
        found: format!("{stated:?}"),
        legal: legal.to_owned(),
    };
    if stated.len() != axes.len() {
        return Err(wrong("one per axis"));
    }
    let mut all = [1.0; 4];
    axes.iter().zip(stated).for_each(|(&axis, &scale)| all[axis] = scale);
    let [batch, channels, rows, columns] = all;
    if batch != 1.0 || channels != 1.0 {
        return Err(wrong("1 for batch and channels"));
    }
    let sensible = |scale: f32| scale.is_finite() && scale > 0.0;
    if sensible(rows) && sensible(columns) { Ok([rows, columns]) } else { Err(wrong("positive numbers")) }
}

/// `floor(size * scale)` in single precision, as ONNX Runtime computes it.
fn scaled(context: &Context<'_>, x: ValueId, scales: [f32; 2]) -> Result<[usize; 2], Reason> {
    let from = context.shape(x);
    let size = [(from[2] as f32 * scales[0]).floor(), (from[3] as f32 * scales[1]).floor()];
    if size.iter().all(|size| (1.0..=MAX_ELEMENTS as f32).contains(size)) {
        return Ok([size[0] as usize, size[1] as usize]);
    }
    let found = format!("{scales:?} for an image of {} x {}", from[2], from[3]);
    let legal = format!("sizes of the result from 1 to {MAX_ELEMENTS}");
    Err(Reason::OperandValue { operand: "scales", found, legal })
}

/// Rows and columns of the result, from the sizes of `axes`; the others must stay.
fn image_size(stated: &[i64], axes: &[usize], from: &[usize]) -> Result<[usize; 2], Reason> {
    let wrong = |legal: String| Reason::OperandValue {
        operand: "sizes",
        found: format!("{stated:?} for an image of shape {from:?}"),
        legal,
    };
    if stated.len() != axes.len() {
        return Err(wrong("one per axis".to_owned()));
    }
    let mut all: Vec<i64> = from.iter().map(|&size| size as i64).collect();
    axes.iter().zip(stated).for_each(|(&axis, &size)| all[axis] = size);
    let same = |axis: usize| usize::try_from(all[axis]) == Ok(from[axis]);
    if !same(0) || !same(1) {
        return Err(wrong("batch and channels unchanged".to_owned()));
    }
    let size = |axis: usize| usize::try_from(all[axis]).ok().filter(|size| (1..=MAX_ELEMENTS).contains(size));
    size(2)
        .zip(size(3))
        .map(|(rows, columns)| [rows, columns])
        .ok_or_else(|| wrong(format!("1 to {MAX_ELEMENTS}")))
}

fn coordinates(context: &mut Context<'_>) -> Result<Coordinates, Reason> {
    const NAME: &str = "coordinate_transformation_mode";
    match context.attributes.string(NAME)?.as_deref() {
        None | Some("half_pixel") => Ok(Coordinates::HalfPixel),
        Some("pytorch_half_pixel") => Ok(Coordinates::PytorchHalfPixel),
        Some("align_corners") => Ok(Coordinates::AlignCorners),
        Some("asymmetric") => Ok(Coordinates::Asymmetric),
        Some(other) => {
            Err(unsupported(NAME, other, "half_pixel, pytorch_half_pixel, align_corners or asymmetric"))
        }
    }
}

fn nearest_mode(context: &mut Context<'_>) -> Result<NearestMode, Reason> {
    match context.attributes.string("nearest_mode")?.as_deref() {
        None | Some("round_prefer_floor") => Ok(NearestMode::RoundPreferFloor),
        Some("round_prefer_ceil") => Ok(NearestMode::RoundPreferCeil),
        Some("floor") => Ok(NearestMode::Floor),
        Some("ceil") => Ok(NearestMode::Ceil),
        Some(other) => {
            Err(unsupported("nearest_mode", other, "round_prefer_floor, round_prefer_ceil, floor or ceil"))
        }
    }
}

fn mode(context: &mut Context<'_>, nearest: NearestMode) -> Result<ResizeMode, Reason> {
    match context.attributes.string("mode")?.as_deref() {
        None | Some("nearest") => Ok(ResizeMode::Nearest(nearest)),
        Some("linear" | "bilinear") => Ok(ResizeMode::Linear),
        Some(other) => Err(unsupported("mode", other, "nearest or linear")),
    }
}

/// Reads the attributes that refine modes we do not have, and refuses those that change ours.
fn refuse_refinements(context: &mut Context<'_>) -> Result<(), Reason> {
    context.attributes.without_effect("cubic_coeff_a"); // of mode cubic
    context.attributes.without_effect("exclude_outside"); // of mode cubic
    context.attributes.without_effect("extrapolation_value"); // of tf_crop_and_resize
    if context.attributes.flag("antialias", false)? {
        return Err(unsupported("antialias", 1, "0"));
    }
    match context.attributes.string("keep_aspect_ratio_policy")?.as_deref() {
        None | Some("stretch") => Ok(()),
        Some(other) => Err(unsupported("keep_aspect_ratio_policy", other, "stretch")),
    }
}
