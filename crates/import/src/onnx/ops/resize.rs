//! Resize. Opset 10 only has scales, and does not define coordinates. Opset 11 adds sizes,
//! coordinates and a region of interest; opset 18 adds axes, antialiasing and the aspect ratio.
//!
//! Rows and columns are resampled like an image; other axes one by one.

use npukit_graph::ValueId;
use npukit_graph::op::{Coordinates, Crop, Cubic, NearestMode, Reshape, Resize, ResizeMode};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::Image;
use super::super::tensor::MAX_ELEMENTS;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    if context.opset < 11 {
        let scales = context.floats(1, "scales")?.ok_or(Reason::OperandMissing { operand: "scales" })?;
        return without_coordinates(context, "Resize", x, &scales);
    }
    let axes = axes(context, x)?;
    let nearest = nearest_mode(context)?;
    let mode = mode(context, nearest)?;
    let (coordinates, extrapolation) = coordinates(context)?;
    let cropped = matches!(coordinates, Coordinates::TfCropAndResize(_));
    let mut samplings = target(context, x, &axes)?;
    if cropped {
        add_roi(context, &axes, &mut samplings)?;
    } else {
        context.optional(1); // roi: of tf_crop_and_resize alone
    }
    if coordinates == Coordinates::AlignCorners {
        require_whole_sizes(&samplings)?;
    }
    emit(context, x, &samplings, mode, |[rows, columns]| match coordinates {
        Coordinates::TfCropAndResize(_) => {
            Coordinates::TfCropAndResize(Crop { roi: [rows.roi, columns.roi], extrapolation })
        }
        other => other,
    })
}

/// Translates Resize at opset 10 and Upsample. The standard's examples are asymmetric (index /
/// scale); the option selects half-pixel centers instead. As in ONNX Runtime, the nearest element
/// is the lower one when enlarging, and the upper one when shrinking. `op` is the operator's name.
pub(super) fn without_coordinates(
    context: &mut Context<'_>,
    op: &'static str,
    x: ValueId,
    scales: &[f32],
) -> Result<Vec<ValueId>, Reason> {
    let axes: Vec<usize> = (0..context.shape(x).len()).collect();
    let samplings = scaled(context.shape(x), &axes, scales)?;
    if context.options.resize_half_pixel.is_none() {
        context.remark_coordinates(op);
    }
    let (coordinates, nearest) = if context.options.resize_half_pixel == Some(true) {
        (Coordinates::HalfPixel, NearestMode::RoundPreferFloor)
    } else if scales.iter().all(|&scale| scale >= 1.0) {
        (Coordinates::Asymmetric, NearestMode::Floor)
    } else {
        (Coordinates::Asymmetric, NearestMode::Ceil)
    };
    let mode = mode(context, nearest)?;
    // When shrinking, the upper element is the nearest one.
    let grows = scales.iter().any(|&scale| scale > 1.0);
    if grows && mode == ResizeMode::Nearest(NearestMode::Ceil) {
        let legal = "all at least 1 or all at most 1 with mode nearest".to_owned();
        return Err(Reason::OperandValue { operand: "scales", found: format!("{scales:?}"), legal });
    }
    emit(context, x, &samplings, mode, |_| coordinates)
}

/// Resampling of one axis.
#[derive(Clone, Copy)]
struct Sampling {
    from: usize,
    to: usize,
    /// Size of the result divided by that of the operand, as the model states it.
    scale: f32,
    /// First and last coordinate, for tf_crop_and_resize.
    roi: [f32; 2],
}

impl Sampling {
    /// An axis of `size` that is not resampled.
    fn none(size: usize) -> Self {
        Self { from: size, to: size, scale: 1.0, roi: [0.0, 1.0] }
    }

    fn changes(&self) -> bool {
        self.scale != 1.0 || self.from != self.to || self.roi != [0.0, 1.0]
    }
}

/// Adds the operators for all axes of `x`.
fn emit(
    context: &mut Context<'_>,
    x: ValueId,
    samplings: &[Sampling],
    mode: ResizeMode,
    coordinates: impl Fn([Sampling; 2]) -> Coordinates,
) -> Result<Vec<ValueId>, Reason> {
    let resize = |pair: [Sampling; 2]| Resize {
        size: pair.map(|axis| axis.to),
        scales: pair.map(|axis| axis.scale),
        mode,
        coordinates: coordinates(pair),
    };
    let image = match *samplings {
        [n, c, columns] if !n.changes() && !c.changes() => Some([Sampling::none(1), columns]),
        [n, c, rows, columns] if !n.changes() && !c.changes() => Some([rows, columns]),
        _ => None,
    };
    if let Some(pair) = image {
        let image = Image::new(context, x, "X")?;
        let y = context.emit(resize(pair), vec![image.value])?;
        return Ok(vec![image.restore(context, y)?]);
    }
    let mut y = x;
    let mut shape = context.shape(x).to_vec();
    for (axis, sampling) in samplings.iter().enumerate().filter(|(_, sampling)| sampling.changes()) {
        // The axis becomes the rows of images with one column; the axes after it become channels.
        let (outer, inner) = (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
        let rows = vec![outer, sampling.from, 1, inner];
        y = context.helper("rows", Reshape { shape: rows }, vec![y])?;
        y = context.emit(resize([*sampling, Sampling::none(1)]), vec![y])?;
        shape[axis] = sampling.to;
        y = context.helper("resized", Reshape { shape: shape.clone() }, vec![y])?;
    }
    Ok(vec![y])
}

/// Returns the axes to which scales, sizes and roi refer.
fn axes(context: &mut Context<'_>, x: ValueId) -> Result<Vec<usize>, Reason> {
    let rank = context.shape(x).len();
    let Some(stated) = context.attributes.ints("axes")? else { return Ok((0..rank).collect()) };
    if stated.len() > rank {
        return Err(unsupported("axes", stated.len(), format!("at most {rank} axes")));
    }
    let axes = stated.iter().map(|&axis| Context::axis("axes", axis, rank));
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    if (1..axes.len()).any(|index| axes[..index].contains(&axes[index])) {
        return Err(unsupported("axes", stated, "each axis once"));
    }
    Ok(axes)
}

/// Returns sizes and scales of all axes, from the operand that is present.
fn target(context: &mut Context<'_>, x: ValueId, axes: &[usize]) -> Result<Vec<Sampling>, Reason> {
    let policy = context.attributes.string("keep_aspect_ratio_policy")?;
    let scales = context.floats(2, "scales")?;
    let sizes = context.integers(3, "sizes")?;
    let shape = context.shape(x);
    match (scales, sizes.filter(|sizes| !sizes.is_empty())) {
        (Some(scales), None) => scaled(shape, axes, &scales),
        (None, Some(sizes)) => sized(shape, axes, &sizes, policy.as_deref()),
        _ => Err(Reason::OperandMissing { operand: "exactly one of scales and sizes" }),
    }
}

/// Computes the sizes `floor(size * scale)` in single precision, as ONNX Runtime does.
fn scaled(shape: &[usize], axes: &[usize], scales: &[f32]) -> Result<Vec<Sampling>, Reason> {
    let wrong = |legal: String| Reason::OperandValue {
        operand: "scales",
        found: format!("{scales:?} for shape {shape:?}"),
        legal,
    };
    if scales.len() != axes.len() {
        return Err(wrong("one per axis".to_owned()));
    }
    let mut samplings: Vec<Sampling> = shape.iter().map(|&size| Sampling::none(size)).collect();
    for (&axis, &scale) in axes.iter().zip(scales) {
        let to = (shape[axis] as f32 * scale).floor();
        // A scale that is not a positive number does not give a valid size either.
        if !(1.0..=MAX_ELEMENTS as f32).contains(&to) && scale != 1.0 {
            return Err(wrong(format!("sizes of the result from 1 to {MAX_ELEMENTS}")));
        }
        let to = if scale == 1.0 { shape[axis] } else { to as usize };
        samplings[axis] = Sampling { to, scale, ..samplings[axis] };
    }
    Ok(samplings)
}

/// Resamples to sizes; the scales are their quotients. The policies that keep the aspect ratio use
/// the smallest or the largest scale for all axes.
fn sized(
    shape: &[usize],
    axes: &[usize],
    sizes: &[i64],
    policy: Option<&str>,
) -> Result<Vec<Sampling>, Reason> {
    let legal = |size: &&i64| (1..=MAX_ELEMENTS as i64).contains(*size);
    if sizes.len() != axes.len() || sizes.iter().filter(legal).count() != sizes.len() {
        let found = format!("{sizes:?} for axes {axes:?} of shape {shape:?}");
        let legal = format!("one per axis from 1 to {MAX_ELEMENTS}");
        return Err(Reason::OperandValue { operand: "sizes", found, legal });
    }
    let scales: Vec<f32> =
        axes.iter().zip(sizes).map(|(&axis, &size)| size as f32 / shape[axis] as f32).collect();
    let common = match policy {
        None | Some("stretch") => None,
        Some("not_larger") => Some(scales.iter().copied().fold(f32::INFINITY, f32::min)),
        Some("not_smaller") => Some(scales.iter().copied().fold(0.0, f32::max)),
        Some(other) => {
            let legal = "stretch, not_larger or not_smaller";
            return Err(unsupported("keep_aspect_ratio_policy", other, legal));
        }
    };
    let mut samplings: Vec<Sampling> = shape.iter().map(|&size| Sampling::none(size)).collect();
    for ((&axis, &size), scale) in axes.iter().zip(sizes).zip(scales) {
        let from = shape[axis];
        let (to, scale) = match common {
            None => (size as usize, scale),
            // The cast saturates; the graph refuses sizes that are too large.
            Some(scale) => ((from as f32 * scale + 0.5).floor() as usize, scale),
        };
        samplings[axis] = Sampling { to, scale, ..samplings[axis] };
    }
    Ok(samplings)
}

/// Reads operand `roi`: the first coordinates of all axes, then the last ones.
fn add_roi(context: &mut Context<'_>, axes: &[usize], samplings: &mut [Sampling]) -> Result<(), Reason> {
    let roi = context.floats(1, "roi")?.ok_or(Reason::OperandMissing { operand: "roi" })?;
    if roi.len() != 2 * axes.len() || !roi.iter().all(|end| end.is_finite()) {
        let legal = format!("{} numbers, first and last coordinate of each axis", 2 * axes.len());
        return Err(Reason::OperandValue { operand: "roi", found: format!("{roi:?}"), legal });
    }
    let (starts, ends) = roi.split_at(axes.len());
    for ((&axis, &start), &end) in axes.iter().zip(starts).zip(ends) {
        samplings[axis].roi = [start, end];
    }
    Ok(())
}

/// Refuses fractional sizes with aligned corners. The standard divides by the size of the result
/// before rounding down, ONNX Runtime by the size after; where they differ, neither is chosen.
fn require_whole_sizes(samplings: &[Sampling]) -> Result<(), Reason> {
    let whole =
        |sampling: &&Sampling| (sampling.from as f32 * sampling.scale - sampling.to as f32).abs() < 1e-3;
    let Some(broken) = samplings.iter().find(|sampling| !whole(sampling)) else { return Ok(()) };
    let found = format!("{} for an axis of {}", broken.scale, broken.from);
    let legal = "a whole size of the result with align_corners (or sizes instead of scales)".to_owned();
    Err(Reason::OperandValue { operand: "scales", found, legal })
}

/// Reads the coordinate mode, still without the region of a crop, and attribute
/// `extrapolation_value`.
fn coordinates(context: &mut Context<'_>) -> Result<(Coordinates, f32), Reason> {
    const NAME: &str = "coordinate_transformation_mode";
    let extrapolation = context.attributes.float_or("extrapolation_value", 0.0)?;
    let coordinates = match context.attributes.string(NAME)?.as_deref() {
        None | Some("half_pixel") => Coordinates::HalfPixel,
        Some("half_pixel_symmetric") => Coordinates::HalfPixelSymmetric,
        Some("pytorch_half_pixel") => Coordinates::PytorchHalfPixel,
        Some("align_corners") => Coordinates::AlignCorners,
        Some("asymmetric") => Coordinates::Asymmetric,
        Some("tf_half_pixel_for_nn") => Coordinates::TfHalfPixelForNn,
        Some("tf_crop_and_resize") => {
            Coordinates::TfCropAndResize(Crop { roi: [[0.0, 1.0]; 2], extrapolation })
        }
        Some(other) => {
            let legal = "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, \
                         tf_half_pixel_for_nn or tf_crop_and_resize";
            return Err(unsupported(NAME, other, legal));
        }
    };
    Ok((coordinates, extrapolation))
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
    let slope = context.attributes.float_or("cubic_coeff_a", -0.75)?;
    let antialias = context.attributes.flag("antialias", false)?;
    let exclude_outside = context.attributes.flag("exclude_outside", false)?;
    let mode = match context.attributes.string("mode")?.as_deref() {
        None | Some("nearest") => ResizeMode::Nearest(nearest),
        Some("linear" | "bilinear") if antialias => ResizeMode::LinearAntialiased,
        Some("linear" | "bilinear") => ResizeMode::Linear,
        Some("cubic") => ResizeMode::Cubic(Cubic { slope, antialias, exclude_outside }),
        Some(other) => return Err(unsupported("mode", other, "nearest, linear or cubic")),
    };
    // It changes the weights of elements beyond the border.
    if exclude_outside && mode == ResizeMode::LinearAntialiased {
        return Err(unsupported("exclude_outside", 1, "0 with antialias"));
    }
    Ok(mode)
}
