//! What the image operators share: the NHWC side of the graph, and windows with their padding.

use npukit_graph::ValueId;
use npukit_graph::op::{Transpose, Window};

use super::attributes::unsupported;
use super::context::Context;
use super::error::Reason;

/// Largest stride, dilation, kernel or pad: keeps every size computed from them in 64 bits.
const MAX_WINDOW: i64 = 1 << 24;

/// An NCHW operand as the graph wants it: NHWC.
pub(super) fn to_nhwc(
    context: &mut Context<'_>,
    x: ValueId,
    operand: &'static str,
) -> Result<ValueId, Reason> {
    require_rank_4(context, x, operand)?;
    context.permute(x, &[0, 2, 3, 1], "nhwc")
}

/// An NHWC result as the model wants it: NCHW.
pub(super) fn to_nchw(context: &mut Context<'_>, y: ValueId) -> Result<ValueId, Reason> {
    context.helper("nchw", Transpose { perm: vec![0, 3, 1, 2] }, vec![y])
}

/// Refuses operands that are not images of two axes.
pub(super) fn require_rank_4(context: &Context<'_>, x: ValueId, operand: &'static str) -> Result<(), Reason> {
    let shape = context.shape(x);
    if shape.len() == 4 {
        return Ok(());
    }
    let legal = "4 axes [n, c, h, w] (1-D and 3-D windows are not supported)".to_owned();
    Err(Reason::OperandValue { operand, found: format!("{shape:?}"), legal })
}

/// The window that the attributes describe over an NHWC image `x`, with `auto_pad` resolved.
/// `kernel` overrides the attribute `kernel_shape` for Conv, whose weights say it.
pub(super) fn window(
    context: &mut Context<'_>,
    x: ValueId,
    kernel: Option<[usize; 2]>,
) -> Result<Window, Reason> {
    let stated = pair(context, "kernel_shape")?;
    let kernel = match (kernel, stated) {
        (Some(kernel), Some(stated)) if kernel != stated => {
            return Err(unsupported("kernel_shape", stated, format!("{kernel:?}, as the weights")));
        }
        (Some(kernel), _) | (None, Some(kernel)) => kernel,
        (None, None) => return Err(Reason::AttributeMissing { name: "kernel_shape" }),
    };
    let strides = pair(context, "strides")?.unwrap_or([1, 1]);
    let dilations = pair(context, "dilations")?.unwrap_or([1, 1]);
    let mut window = Window { kernel, strides, dilations, pads: [0; 4], ceil_mode: false };
    let pads = pads(context)?;
    let auto_pad = context.attributes.string("auto_pad")?.unwrap_or_else(|| "NOTSET".to_owned());
    if auto_pad == "NOTSET" || auto_pad.is_empty() {
        window.pads = pads;
        return Ok(window);
    }
    if pads != [0; 4] {
        return Err(unsupported("pads", pads, format!("zeros beside auto_pad {auto_pad}")));
    }
    let shape = context.shape(x);
    let size = [shape.get(1).copied().unwrap_or_default(), shape.get(2).copied().unwrap_or_default()];
    window.pads = auto_pads(&auto_pad, size, &window)?;
    Ok(window)
}

/// Attribute `ceil_mode` of a pool. The SAME rules state the output size themselves, so the flag
/// has no say there; it has with VALID, as in ONNX's shape inference and ONNX Runtime.
pub(super) fn ceil_mode(context: &mut Context<'_>) -> Result<bool, Reason> {
    let ceil = context.attributes.flag("ceil_mode", false)?;
    let auto_pad = context.attributes.string("auto_pad")?.unwrap_or_default();
    Ok(ceil && !auto_pad.starts_with("SAME"))
}

/// Padding by rule, for an image of `size` rows and columns. SAME gives `ceil(size / stride)`
/// outputs and puts the odd element at the end (UPPER) or the beginning (LOWER).
fn auto_pads(rule: &str, size: [usize; 2], window: &Window) -> Result<[usize; 4], Reason> {
    let lower = match rule {
        "VALID" => return Ok([0; 4]),
        "SAME_UPPER" => false,
        "SAME_LOWER" => true,
        _ => return Err(unsupported("auto_pad", rule, "NOTSET, SAME_UPPER, SAME_LOWER or VALID")),
    };
    let mut pads = [0; 4];
    for axis in 0..2 {
        let extent = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
        let outputs = size[axis].div_ceil(window.strides[axis]);
        let covered = outputs.saturating_sub(1) * window.strides[axis] + extent;
        let total = covered.saturating_sub(size[axis]);
        let before = if lower { total.div_ceil(2) } else { total / 2 };
        pads[axis] = before;
        pads[axis + 2] = total - before;
    }
    Ok(pads)
}

/// Two positive sizes, when present.
fn pair(context: &mut Context<'_>, name: &'static str) -> Result<Option<[usize; 2]>, Reason> {
    let Some(values) = context.attributes.ints(name)? else { return Ok(None) };
    match values {
        &[rows, columns] if [rows, columns].iter().all(|value| (1..=MAX_WINDOW).contains(value)) => {
            Ok(Some([rows as usize, columns as usize]))
        }
        _ => Err(unsupported(name, preview(values), format!("two numbers from 1 to {MAX_WINDOW}"))),
    }
}

/// Attribute `pads`, rows and columns before, then after.
fn pads(context: &mut Context<'_>) -> Result<[usize; 4], Reason> {
    let Some(values) = context.attributes.ints("pads")? else { return Ok([0; 4]) };
    match values {
        &[top, left, bottom, right]
            if [top, left, bottom, right].iter().all(|value| (0..=MAX_WINDOW).contains(value)) =>
        {
            Ok([top as usize, left as usize, bottom as usize, right as usize])
        }
        _ => Err(unsupported("pads", preview(values), format!("four numbers from 0 to {MAX_WINDOW}"))),
    }
}

/// The first few values: a damaged file may hold millions.
fn preview(values: &[i64]) -> &[i64] {
    &values[..values.len().min(8)]
}
