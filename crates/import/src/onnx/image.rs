//! Parts shared by the image operators: [`Image`], an operand in NHWC order, and [`Windows`] with
//! their padding.
//!
//! Signals of one axis become images of one row, so that graph passes and targets always get two
//! axes.

use npukit_graph::ValueId;
use npukit_graph::op::{Reshape, Transpose, Window};

use super::attributes::unsupported;
use super::context::Context;
use super::error::Reason;
use crate::padding;

/// Maximum stride, dilation, kernel or pad, so that all computed sizes fit 64 bits.
const MAX_WINDOW: i64 = 1 << 24;

/// An operand with one or two image axes, in the layout of the graph.
pub(super) struct Image {
    /// Operand as `[n, h, w, c]`; `h` is 1 for a signal `[n, c, w]`.
    pub(super) value: ValueId,
    /// Whether the operand is a signal, with one image axis.
    is_signal: bool,
}

impl Image {
    /// Permutes an operand `[n, c, h, w]` or `[n, c, w]` to NHWC.
    pub(super) fn new(context: &mut Context<'_>, x: ValueId, operand: &'static str) -> Result<Self, Reason> {
        match *context.shape(x) {
            [_, _, _, _] => Ok(Self { value: context.permute(x, &[0, 2, 3, 1], "nhwc")?, is_signal: false }),
            [n, c, w] => {
                let rows = context.permute(x, &[0, 2, 1], "nwc")?;
                let value = context.helper("image", Reshape { shape: vec![n, 1, w, c] }, vec![rows])?;
                Ok(Self { value, is_signal: true })
            }
            ref shape => {
                let legal = "[n, c, w] or [n, c, h, w]".to_owned();
                Err(Reason::OperandValue { operand, found: format!("{shape:?}"), legal })
            }
        }
    }

    /// Returns an NHWC result in the layout of the model. The result of a signal must have the same
    /// number of rows as the operand.
    pub(super) fn restore(&self, context: &mut Context<'_>, y: ValueId) -> Result<ValueId, Reason> {
        if !self.is_signal {
            return context.helper("nchw", Transpose { perm: vec![0, 3, 1, 2] }, vec![y]);
        }
        let [n, _, w, c] = *context.shape(y) else {
            let legal = "[n, 1, w, c]".to_owned();
            let found = format!("{:?}", context.shape(y));
            return Err(Reason::OperandValue { operand: "result", found, legal });
        };
        let y = context.helper("signal", Reshape { shape: vec![n, w, c] }, vec![y])?;
        context.helper("ncw", Transpose { perm: vec![0, 2, 1] }, vec![y])
    }
}

/// Sizes of the image axes of an operand `[n, c, ..]`; empty if it has no channels.
pub(super) fn image_sizes(shape: &[usize]) -> &[usize] {
    // Default: an operand without channels has no image axes.
    shape.get(2..).unwrap_or_default()
}

/// Window along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindowAxis {
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    /// Padding elements before and after; negative ones crop.
    pub(super) pads: [i64; 2],
}

impl WindowAxis {
    /// A window of one element.
    const UNIT: Self = Self { kernel: 1, stride: 1, dilation: 1, pads: [0; 2] };
}

/// Windows that the attributes of a node describe, one entry per axis, with `auto_pad` resolved.
pub(super) struct Windows {
    pub(super) axes: Vec<WindowAxis>,
}

impl Windows {
    /// Reads windows over the image axes `sizes`. `kernel` overrides the attribute `kernel_shape`
    /// for convolutions, whose weights determine it. `lowest_pad` is 0 unless pads may crop.
    pub(super) fn new(
        context: &mut Context<'_>,
        sizes: &[usize],
        kernel: Option<&[usize]>,
        lowest_pad: i64,
    ) -> Result<Self, Reason> {
        let mut windows = Self::without_pads(context, sizes.len(), kernel)?;
        let rule = auto_pad(context)?;
        let pads = stated_pads(context, sizes.len(), lowest_pad, &rule)?;
        for (axis, window) in windows.axes.iter_mut().enumerate() {
            if rule != "NOTSET" {
                window.pads = auto_pads(&rule, sizes[axis], window)?;
            } else if let Some(pads) = &pads {
                window.pads = [pads[axis], pads[axis + sizes.len()]];
            }
        }
        Ok(windows)
    }

    /// Reads windows over `axes` axes, without their padding.
    pub(super) fn without_pads(
        context: &mut Context<'_>,
        axes: usize,
        kernel: Option<&[usize]>,
    ) -> Result<Self, Reason> {
        let stated = sizes(context, "kernel_shape", axes)?;
        let kernel = match (kernel, stated) {
            (Some(kernel), Some(stated)) if kernel != stated => {
                return Err(unsupported("kernel_shape", stated, format!("{kernel:?}, as the weights")));
            }
            (Some(kernel), _) => kernel.to_vec(),
            (None, Some(kernel)) => kernel,
            (None, None) => return Err(Reason::AttributeMissing { name: "kernel_shape" }),
        };
        let strides = sizes(context, "strides", axes)?.unwrap_or_else(|| vec![1; axes]);
        let dilations = sizes(context, "dilations", axes)?.unwrap_or_else(|| vec![1; axes]);
        let axes = kernel.iter().zip(&strides).zip(&dilations);
        let axes = axes.map(|((&kernel, &stride), &dilation)| WindowAxis {
            kernel,
            stride,
            dilation,
            ..WindowAxis::UNIT
        });
        Ok(Self { axes: axes.collect() })
    }

    /// Windows along the last two axes; a signal has one row.
    pub(super) fn image(&self) -> Window {
        let columns = self.axes.last().copied().unwrap_or(WindowAxis::UNIT);
        let rows = self.axes.len().checked_sub(2).map_or(WindowAxis::UNIT, |axis| self.axes[axis]);
        pair(rows, columns)
    }

    /// Window along the first of three axes, in the form of windows over the rows of an image.
    pub(super) fn depth(&self) -> Option<Window> {
        (self.axes.len() == 3).then(|| pair(self.axes[0], WindowAxis::UNIT))
    }

    /// Rows and columns that negative pads remove from the image, as zero or negative counts.
    pub(super) fn crop(&self) -> Option<[[isize; 2]; 2]> {
        let crop = |axis: &WindowAxis| axis.pads.map(|pad| pad.min(0) as isize);
        let columns = self.axes.last().map_or([0; 2], crop);
        let rows = self.axes.len().checked_sub(2).map_or([0; 2], |axis| crop(&self.axes[axis]));
        (rows != [0; 2] || columns != [0; 2]).then_some([rows, columns])
    }
}

fn pair(rows: WindowAxis, columns: WindowAxis) -> Window {
    // Default: negative pads crop the image beforehand: `Windows::crop`.
    let pad = |pad: i64| usize::try_from(pad).unwrap_or(0);
    Window {
        kernel: [rows.kernel, columns.kernel],
        strides: [rows.stride, columns.stride],
        dilations: [rows.dilation, columns.dilation],
        pads: [pad(rows.pads[0]), pad(columns.pads[0]), pad(rows.pads[1]), pad(columns.pads[1])],
        ceil_mode: false,
    }
}

/// Reads attribute `ceil_mode` of a pool. The SAME rules define the output size themselves, so the
/// flag has no effect with them. With VALID it does, as in ONNX's shape inference and ONNX Runtime.
pub(super) fn ceil_mode(context: &mut Context<'_>) -> Result<bool, Reason> {
    let ceil = context.attributes.flag("ceil_mode", false)?;
    Ok(ceil && !auto_pad(context)?.starts_with("SAME"))
}

/// Reads attribute `auto_pad`; `NOTSET` if it is absent.
pub(super) fn auto_pad(context: &mut Context<'_>) -> Result<String, Reason> {
    let rule = context.attributes.string("auto_pad")?.filter(|rule| !rule.is_empty());
    let rule = rule.unwrap_or_else(|| "NOTSET".to_owned());
    match rule.as_str() {
        "NOTSET" | "SAME_UPPER" | "SAME_LOWER" | "VALID" => Ok(rule),
        _ => Err(unsupported("auto_pad", rule, "NOTSET, SAME_UPPER, SAME_LOWER or VALID")),
    }
}

/// Reads attribute `pads` of `axes` axes, or `None` if it is absent. With a rule of `auto_pad`, it
/// may only hold zeros.
pub(super) fn stated_pads(
    context: &mut Context<'_>,
    axes: usize,
    lowest: i64,
    rule: &str,
) -> Result<Option<Vec<i64>>, Reason> {
    let pads = signed(context, "pads", 2 * axes, lowest)?;
    match pads.as_ref().filter(|pads| rule != "NOTSET" && pads.iter().any(|&pad| pad != 0)) {
        Some(pads) => Err(unsupported("pads", pads, format!("zeros with auto_pad {rule}"))),
        None => Ok(pads),
    }
}

/// Padding of an axis of `size` by an `auto_pad` rule. SAME gives `ceil(size / stride)` outputs and
/// puts the odd element at the end (UPPER) or the beginning (LOWER).
fn auto_pads(rule: &str, size: usize, window: &WindowAxis) -> Result<[i64; 2], Reason> {
    if rule == "VALID" {
        return Ok([0; 2]);
    }
    let reach = (window.kernel - 1) * window.dilation + 1;
    Ok(same_pads(rule, padding::same(size, reach, window.stride) as i64))
}

/// Splits `total` elements of padding in two halves. The odd one is at the beginning for
/// SAME_LOWER.
pub(super) fn same_pads(rule: &str, total: i64) -> [i64; 2] {
    let (half, rest) = (total / 2, total - total / 2);
    if rule == "SAME_LOWER" { [rest, half] } else { [half, rest] }
}

/// Reads an attribute of `count` positive sizes, or `None` if it is absent.
fn sizes(context: &mut Context<'_>, name: &'static str, count: usize) -> Result<Option<Vec<usize>>, Reason> {
    let values = signed(context, name, count, 1)?;
    Ok(values.map(|values| values.into_iter().map(|value| value as usize).collect()))
}

/// Reads an attribute of `count` numbers of at least `lowest`, or `None` if it is absent.
pub(super) fn signed(
    context: &mut Context<'_>,
    name: &'static str,
    count: usize,
    lowest: i64,
) -> Result<Option<Vec<i64>>, Reason> {
    let Some(values) = context.attributes.ints(name)? else { return Ok(None) };
    if values.len() == count && values.iter().all(|value| (lowest..=MAX_WINDOW).contains(value)) {
        return Ok(Some(values.to_vec()));
    }
    // Only the first few values: a damaged file may hold millions.
    let found = &values[..values.len().min(8)];
    Err(unsupported(name, found, format!("{count} numbers from {lowest} to {MAX_WINDOW}")))
}

/// Largest crop by a negative pad.
pub(super) const MAX_CROPPED: i64 = -MAX_WINDOW;
