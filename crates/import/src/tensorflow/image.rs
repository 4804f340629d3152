//! Parts shared by the image operators: the order of axes, and windows with their padding.

use npukit_graph::ValueId;
use npukit_graph::op::{Transpose, Window};

use super::attributes::unsupported;
use super::context::Context;
use super::error::Reason;
use crate::padding;

/// Maximum stride, dilation, kernel or pad, so that all computed sizes fit 64 bits.
const MAX_WINDOW: i64 = 1 << 24;

/// Order of an image's axes, attribute `data_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Channels last, as in the graph.
    Nhwc,
    /// Channels before rows and columns.
    Nchw,
}

impl Layout {
    /// Reads the layout of the node.
    pub(super) fn of(context: &mut Context<'_>) -> Result<Self, Reason> {
        match context.attributes.string("data_format")?.as_deref() {
            None | Some("NHWC") => Ok(Self::Nhwc),
            Some("NCHW") => Ok(Self::Nchw),
            Some(other) => Err(unsupported("data_format", other, "NHWC or NCHW")),
        }
    }

    /// Axes of rows and columns.
    fn image_axes(self) -> [usize; 2] {
        match self {
            Self::Nhwc => [1, 2],
            Self::Nchw => [2, 3],
        }
    }

    /// Permutes an operand to NHWC.
    ///
    /// # Errors
    ///
    /// The operand is not an image.
    pub(super) fn to_nhwc(
        self,
        context: &mut Context<'_>,
        x: ValueId,
        operand: &'static str,
    ) -> Result<ValueId, Reason> {
        require_rank_4(context, x, operand)?;
        match self {
            Self::Nhwc => Ok(x),
            Self::Nchw => context.permute(x, &[0, 2, 3, 1], "nhwc"),
        }
    }

    /// Permutes a result to the layout of the model.
    pub(super) fn restore(self, context: &mut Context<'_>, y: ValueId) -> Result<ValueId, Reason> {
        match self {
            Self::Nhwc => Ok(y),
            Self::Nchw => context.helper("nchw", Transpose { perm: vec![0, 3, 1, 2] }, vec![y]),
        }
    }

    /// Rows and columns of an attribute with one number per axis. The numbers of the batch and
    /// channels must be 1. `None` if the attribute is absent or empty.
    fn pair(self, context: &mut Context<'_>, name: &'static str) -> Result<Option<[usize; 2]>, Reason> {
        let Some(values) = context.attributes.ints(name)?.filter(|values| !values.is_empty()) else {
            return Ok(None);
        };
        self.sizes(name, values).map(Some)
    }

    /// Rows and columns of a list with one number per axis. The numbers of the batch and channels
    /// must be 1.
    pub(super) fn sizes(self, name: &'static str, values: &[i64]) -> Result<[usize; 2], Reason> {
        let [rows, columns] = self.image_axes();
        let others = |values: &[i64]| (0..4).all(|axis| axis == rows || axis == columns || values[axis] == 1);
        let legal = values.iter().all(|value| (1..=MAX_WINDOW).contains(value));
        if values.len() == 4 && legal && others(values) {
            return Ok([values[rows] as usize, values[columns] as usize]);
        }
        let legal = format!("4 numbers from 1 to {MAX_WINDOW}, 1 for batch and channels");
        Err(unsupported(name, preview(values), legal))
    }

    /// Rows and columns of a shape, or `None` if it is not an image.
    pub(super) fn image(self, shape: &[usize]) -> Option<[usize; 2]> {
        let [rows, columns] = self.image_axes();
        (shape.len() == 4).then(|| [shape[rows], shape[columns]])
    }
}

/// Returns an error for operands that are not images of two axes.
pub(super) fn require_rank_4(context: &Context<'_>, x: ValueId, operand: &'static str) -> Result<(), Reason> {
    let shape = context.shape(x);
    if shape.len() == 4 {
        return Ok(());
    }
    let legal = "4 axes, batch, rows, columns and channels".to_owned();
    Err(Reason::OperandValue { operand, found: format!("{shape:?}"), legal })
}

/// Reads the window of a pool over an NHWC image `x`.
pub(super) fn pool_window(context: &mut Context<'_>, layout: Layout, x: ValueId) -> Result<Window, Reason> {
    let kernel = layout.pair(context, "ksize")?.ok_or(Reason::AttributeMissing { name: "ksize" })?;
    let image = [context.shape(x)[1], context.shape(x)[2]];
    window(context, layout, kernel, image)
}

/// Reads the window of `kernel` over an image of `[h, w]` from the attributes, with its padding
/// resolved.
pub(super) fn window(
    context: &mut Context<'_>,
    layout: Layout,
    kernel: [usize; 2],
    image: [usize; 2],
) -> Result<Window, Reason> {
    let strides = layout.pair(context, "strides")?.ok_or(Reason::AttributeMissing { name: "strides" })?;
    window_of(context, layout, kernel, strides, image)
}

/// Like [`window`], for strides that are not an attribute.
pub(super) fn window_of(
    context: &mut Context<'_>,
    layout: Layout,
    kernel: [usize; 2],
    strides: [usize; 2],
    image: [usize; 2],
) -> Result<Window, Reason> {
    let dilations = layout.pair(context, "dilations")?.unwrap_or([1, 1]);
    let mut window = Window { dilations, ..Window::plain(kernel, strides) };
    window.pads = pads(context, layout, &window, image)?;
    Ok(window)
}

/// Padding above, left, below and right, by attribute `padding`.
fn pads(
    context: &mut Context<'_>,
    layout: Layout,
    window: &Window,
    image: [usize; 2],
) -> Result<[usize; 4], Reason> {
    let padding = context.attributes.string("padding")?;
    // Default: without explicit pads, the window has the pads of `padding`.
    let explicit = context.attributes.ints("explicit_paddings")?.unwrap_or_default();
    match padding.as_deref() {
        Some("EXPLICIT") => explicit_pads(layout, explicit),
        Some(rule) if !explicit.is_empty() => {
            Err(unsupported("explicit_paddings", preview(explicit), format!("empty with padding {rule}")))
        }
        Some("VALID") => Ok([0; 4]),
        Some("SAME") => Ok(same_pads(window, image)),
        Some(other) => Err(unsupported("padding", other, "SAME, VALID or EXPLICIT")),
        None => Err(Reason::AttributeMissing { name: "padding" }),
    }
}

/// Padding that gives `ceil(size / stride)` results, with the odd element at the end.
fn same_pads(window: &Window, image: [usize; 2]) -> [usize; 4] {
    let mut pads = [0; 4];
    for axis in 0..2 {
        let reach = window.kernel[axis].saturating_sub(1) * window.dilations[axis] + 1;
        let total = padding::same(image[axis], reach, window.strides[axis]);
        pads[axis] = total / 2;
        pads[axis + 2] = total - total / 2;
    }
    pads
}

/// Explicit padding of the model, before and after each of the four axes.
fn explicit_pads(layout: Layout, stated: &[i64]) -> Result<[usize; 4], Reason> {
    let [rows, columns] = layout.image_axes();
    let is_legal = |(index, &pad): (usize, &i64)| {
        let most = if index / 2 == rows || index / 2 == columns { MAX_WINDOW } else { 0 };
        (0..=most).contains(&pad)
    };
    if stated.len() != 8 || !stated.iter().enumerate().all(is_legal) {
        let legal = format!("8 numbers from 0 to {MAX_WINDOW}, 0 for batch and channels");
        return Err(unsupported("explicit_paddings", preview(stated), legal));
    }
    Ok([2 * rows, 2 * columns, 2 * rows + 1, 2 * columns + 1].map(|index| stated[index] as usize))
}

/// The first few values only: a damaged file may hold millions.
fn preview(values: &[i64]) -> &[i64] {
    &values[..values.len().min(8)]
}
