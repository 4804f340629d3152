//! ResizeBilinear and ResizeNearestNeighbor: resampling of rows and columns.

use npukit_graph::ValueId;
use npukit_graph::op::{Cast, Coordinates, NearestMode, Resize, ResizeMode};
use npukit_numeric::ElementType;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::require_rank_4;
use crate::shape::MAX_ELEMENTS;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut x = context.input(0, "images")?;
    require_rank_4(context, x, "images")?;
    let size = size(context)?;
    let (coordinates, nearest) = coordinates(context)?;
    let mode = match context.op() {
        "ResizeBilinear" => ResizeMode::Linear,
        _ => ResizeMode::Nearest(nearest),
    };
    if mode == ResizeMode::Linear && context.element(x) != ElementType::F32 {
        // The result has floats for any type of the image.
        x = context.helper("floats", Cast::new(ElementType::F32), vec![x])?;
    }
    let scale = |axis: usize| size[axis] as f32 / context.shape(x)[axis + 1].max(1) as f32;
    let scales = [scale(0), scale(1)];
    Ok(vec![context.emit(Resize { size, scales, mode, coordinates }, vec![x])?])
}

/// Returns rows and columns of the result.
pub(super) fn size(context: &mut Context<'_>) -> Result<[usize; 2], Reason> {
    let stated = context.required_integers(1, "size")?;
    let legal = |size: &i64| usize::try_from(*size).ok().filter(|size| (1..=MAX_ELEMENTS).contains(size));
    match stated.iter().map(legal).collect::<Option<Vec<_>>>().as_deref() {
        Some(&[rows, columns]) => Ok([rows, columns]),
        _ => Err(Reason::OperandValue {
            operand: "size",
            found: format!("{stated:?}"),
            legal: format!("rows and columns from 1 to {MAX_ELEMENTS}"),
        }),
    }
}

/// Returns the coordinate mode of results, and the rounding to the nearest element.
fn coordinates(context: &mut Context<'_>) -> Result<(Coordinates, NearestMode), Reason> {
    let align_corners = context.attributes.flag("align_corners", false)?;
    let half_pixel = context.attributes.flag("half_pixel_centers", false)?;
    match (align_corners, half_pixel) {
        (false, false) => Ok((Coordinates::Asymmetric, NearestMode::Floor)),
        (true, false) => Ok((Coordinates::AlignCorners, NearestMode::RoundPreferCeil)),
        (false, true) => Ok((Coordinates::HalfPixel, NearestMode::RoundPreferCeil)),
        (true, true) => Err(unsupported("half_pixel_centers", true, "false with align_corners")),
    }
}
