//! ConvTranspose over one to three axes. Constant weights are permuted to HWIO during the import,
//! as in Conv.

use npukit_graph::ValueId;
use npukit_graph::op::{ConvTranspose, Reshape, Slice, SliceRange, Transpose};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{
    Image, WindowAxis, Windows, auto_pad, image_sizes, same_pads, signed, stated_pads,
};
use super::super::volume;
use super::conv::{group, kernel};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights) = (context.input(0, "X")?, context.input(1, "W")?);
    let bias = context.optional(2);
    let kernel = kernel(context, x, weights)?;
    let sizes = image_sizes(context.shape(x)).to_vec();
    let mut windows = Windows::without_pads(context, sizes.len(), Some(&kernel))?;
    let output_padding = resolve(context, &sizes, &mut windows)?;
    let group = group(context, x)?;
    let window = windows.image();
    let op = ConvTranspose {
        strides: window.strides,
        dilations: window.dilations,
        pads: window.pads,
        output_padding: match output_padding[..] {
            [.., rows, columns] => [rows, columns],
            // Default: without output padding, 0.
            _ => [0, output_padding.last().copied().unwrap_or(0)],
        },
        group,
    };
    if let ([depth, ..], &[depth_padding, _, _]) = (&windows.axes[..], &output_padding[..]) {
        let size = full_size(sizes[0], depth) + depth_padding as i64 - depth.pads[0] - depth.pads[1];
        let size =
            usize::try_from(size).map_err(|_| unsupported("pads", depth.pads, "less than the result has"))?;
        let tap = |context: &mut Context<'_>, tap: usize| {
            let weights = slice(context, weights, tap)?;
            hwio(context, weights, group)
        };
        return Ok(vec![volume::conv_transpose(context, x, bias, &op, *depth, size, tap)?]);
    }
    let image = Image::new(context, x, "X")?;
    let weights = hwio(context, weights, group)?;
    let operands = [image.value, weights].into_iter().chain(bias).collect();
    let y = context.emit(op, operands)?;
    Ok(vec![image.restore(context, y)?])
}

/// Returns one slice of the kernel: weights `[ci, co / group, kd, kh, kw]` without their axis 2.
fn slice(context: &mut Context<'_>, weights: ValueId, index: usize) -> Result<ValueId, Reason> {
    let mut shape = context.shape(weights).to_vec();
    let range = SliceRange { axis: 2, start: index, length: 1, step: 1 };
    let slice = context.helper("tap", Slice { ranges: vec![range] }, vec![weights])?;
    shape.remove(2);
    context.reshape(slice, shape)
}

/// Sets the pads and returns the output padding, from `pads`, `output_padding`, `output_shape` and
/// `auto_pad`.
fn resolve(context: &mut Context<'_>, sizes: &[usize], windows: &mut Windows) -> Result<Vec<usize>, Reason> {
    let axes = sizes.len();
    let extra = signed(context, "output_padding", axes, 0)?.unwrap_or_else(|| vec![0; axes]);
    let stated = output_shape(context, axes)?;
    let rule = auto_pad(context)?;
    // A stated shape always takes precedence.
    let pads = stated_pads(context, axes, 0, if stated.is_none() { &rule } else { "NOTSET" })?;
    let pads = pads.unwrap_or_else(|| vec![0; 2 * axes]);
    let mut output_padding = Vec::with_capacity(axes);
    for (axis, window) in windows.axes.iter_mut().enumerate() {
        let all = full_size(sizes[axis], window) + extra[axis];
        let wanted = match (&stated, rule.as_str()) {
            (Some(stated), _) => Some(stated[axis]),
            (None, "SAME_UPPER" | "SAME_LOWER") => Some((sizes[axis] * window.stride) as i64),
            _ => None,
        };
        let (pads, missing) = match wanted {
            // Elements beyond the last kernel only hold the bias.
            Some(wanted) => (halves(&rule, (all - wanted).max(0)), (wanted - all).max(0)),
            None => ([pads[axis], pads[axis + axes]], 0),
        };
        window.pads = pads;
        output_padding.push((extra[axis] + missing) as usize);
    }
    Ok(output_padding)
}

/// Splits the cropped total in two halves. The odd element is at the beginning unless the rule is
/// SAME_UPPER.
fn halves(rule: &str, total: i64) -> [i64; 2] {
    same_pads(if rule == "SAME_UPPER" { rule } else { "SAME_LOWER" }, total)
}

/// Size of the result before cropping and padding.
fn full_size(size: usize, window: &WindowAxis) -> i64 {
    let last = size.saturating_sub(1) * window.stride;
    (last + (window.kernel - 1) * window.dilation + 1) as i64
}

/// Reads attribute `output_shape`: the image axes, optionally preceded by batch and channels.
fn output_shape(context: &mut Context<'_>, axes: usize) -> Result<Option<Vec<i64>>, Reason> {
    let Some(stated) = context.attributes.ints("output_shape")? else { return Ok(None) };
    let image = stated.len().checked_sub(axes).filter(|before| matches!(before, 0 | 2));
    let image = image.map(|before| &stated[before..]);
    match image.filter(|image| image.iter().all(|size| (1..=1 << 28).contains(size))) {
        Some(image) => Ok(Some(image.to_vec())),
        None => {
            let found = &stated[..stated.len().min(8)];
            Err(unsupported("output_shape", found, format!("{axes} sizes from 1 to 2^28")))
        }
    }
}

/// Permutes weights `[ci, co / group, kh, kw]` or `[ci, co / group, kw]` to `[kh, kw, ci / group,
/// co]`.
fn hwio(context: &mut Context<'_>, weights: ValueId, group: usize) -> Result<ValueId, Reason> {
    let shape = context.shape(weights);
    if !shape[0].is_multiple_of(group) {
        let (found, legal) = (format!("{shape:?}"), format!("a multiple of {group} input channels"));
        return Err(Reason::OperandValue { operand: "W", found, legal });
    }
    if group == 1 && shape.len() == 4 {
        return context.permute(weights, &[2, 3, 0, 1], "hwio");
    }
    let (channels, filters, kernel) = (shape[0], shape[1], image_sizes(shape));
    let [rows, columns] = if let &[rows, columns] = kernel { [rows, columns] } else { [1, kernel[0]] };
    let inner = channels / group;
    // The output channels of the groups are concatenated.
    let split = Reshape { shape: vec![group, inner, filters, rows, columns] };
    let weights = context.helper("groups", split, vec![weights])?;
    let weights = context.helper("hwigo", Transpose { perm: vec![3, 4, 1, 0, 2] }, vec![weights])?;
    let joined = Reshape { shape: vec![rows, columns, inner, group * filters] };
    context.helper("hwio", joined, vec![weights])
}
