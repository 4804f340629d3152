//! Pooling: maxima when a sum is stored, means as products with a diagonal matrix.

use npukit_graph::NodeId;
use npukit_graph::op::{self, ReduceKind, Window};
use npukit_lower::Reject;

use super::conv::Taps;
use crate::lower::builder::copies::identity;
use crate::lower::builder::{Builder, Chain, Lowered};
use crate::lower::layer::{Pooling, Step};
use crate::lower::product::{Part, Product, Weights};
use crate::lower::windows::Windows;

/// Lowers a max pooling of a value in memory.
///
/// # Errors
///
/// The windows do not fit the fields of the instruction, or the operand is not in memory.
pub fn max(builder: &mut Builder, id: NodeId, op: &op::MaxPool) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let view = builder.view(node.inputs[0])?;
    let pooling = pooling(builder, id, op)?;
    let (size, channels) = (view.size, view.channels());
    let parts = vec![identity(&view, 1.0)];
    let mut chain = builder.chain(id, Product { size, channels, parts, factors: None, bias: None });
    chain.post = chain.post.with(Step::Pool(pooling)).expect("a pooling alone has a form");
    Ok(Lowered::Chain(chain))
}

/// Lets a max pooling join a chain.
///
/// # Errors
///
/// Never fails: a pooling that cannot join is lowered on its own.
pub fn follow(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    op: &op::MaxPool,
) -> Result<bool, Reject> {
    match pooling(builder, id, op) {
        Ok(pooling) => Ok(Builder::add_step(chain, Step::Pool(pooling))),
        // The error is reported when the node is lowered alone.
        Err(_) => Ok(false),
    }
}

fn pooling(builder: &Builder, id: NodeId, op: &op::MaxPool) -> Result<Pooling, Reject> {
    let node = builder.node(id);
    let [rows, columns, _] = builder.extent(node.inputs[0])?;
    let [height, width, _] = builder.extent(node.outputs[0])?;
    let Window { kernel, strides, dilations, pads, .. } = &op.window;
    let axis = |axis: usize, size: usize, count: usize| {
        let (window, stride) = (kernel[axis], if count == 1 { 1 } else { strides[axis] });
        Windows { size, window, stride, before: pads[axis], count }
    };
    let pooling = Pooling([axis(0, rows, height), axis(1, columns, width)]);
    // Default: windows that do not fit the image at all are rejected like windows that only
    // cover padding.
    if !op.window.always_on_image([rows, columns]).unwrap_or(false) {
        let reason = format!("some windows of {kernel:?} cover only padding {pads:?}");
        return Err(Reject::new(reason, "pad by less than a window"));
    }
    if *dilations != [1, 1] || !pooling.is_expressible() {
        let reason = format!("windows of {kernel:?} by {strides:?}, dilated by {dilations:?}");
        return Err(Reject::new(
            reason,
            "pool windows of at most 15 x 15 without dilation, by steps of at most 7",
        ));
    }
    Ok(pooling)
}

/// Lowers a mean over windows.
///
/// # Errors
///
/// Windows at the edge have other divisors, or exceed the maximum border.
pub fn average(builder: &mut Builder, id: NodeId, op: &op::AveragePool) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let [rows, columns, _] = builder.extent(node.inputs[0])?;
    let [height, width, _] = builder.extent(node.outputs[0])?;
    let window = &op.window;
    let divisor = op.divisor([0, 0], [rows, columns]);
    let alike = (0..height).all(|y| (0..width).all(|x| op.divisor([y, x], [rows, columns]) == divisor));
    if !alike {
        let hint = match (op.count_include_pad, window.ceil_mode) {
            (true, true) => "turn ceil_mode off: its last windows reach beyond the padding",
            (false, true) => "turn ceil_mode off, and turn count_include_pad on or remove the padding",
            (_, false) => "turn count_include_pad on, or remove the padding",
        };
        return Err(Reject::new("windows at the edge are divided by fewer elements than the others", hint));
    }
    let taps = Taps {
        kernel: window.kernel,
        strides: window.strides,
        dilations: window.dilations,
        before: [window.pads[0], window.pads[1]],
        size: [height, width],
    };
    means(builder, id, taps, 1.0 / divisor as f32)
}

/// Lowers a mean, or sum, over rows and columns.
///
/// # Errors
///
/// The reduction is not a mean or sum over all pixels.
pub fn reduce(builder: &mut Builder, id: NodeId, op: &op::Reduce) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let shape = builder.graph.shape(node.inputs[0]);
    let mut axes = op.axes.clone();
    axes.sort_unstable();
    if !(matches!(op.kind, ReduceKind::Mean | ReduceKind::Sum) && shape.len() == 4 && axes == [1, 2]) {
        return Err(Reject::new(
            format!("{:?} over axes {:?} of {shape:?} is not supported", op.kind, op.axes),
            "reduce rows and columns of an image to their mean or sum",
        ));
    }
    let [rows, columns, _] = builder.extent(node.inputs[0])?;
    let factor = if op.kind == ReduceKind::Mean { 1.0 / (rows * columns) as f32 } else { 1.0 };
    let taps =
        Taps { kernel: [rows, columns], strides: [1, 1], dilations: [1, 1], before: [0, 0], size: [1, 1] };
    means(builder, id, taps, factor)
}

/// Returns the sums over windows, times `factor`.
fn means(builder: &mut Builder, id: NodeId, taps: Taps, factor: f32) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let view = builder.view(node.inputs[0])?;
    let channels = view.channels();
    let terms = taps.terms(builder, view, &node.name)?;
    let weights =
        Weights::Diagonal { factors: vec![factor; channels], taps: taps.kernel[0] * taps.kernel[1] };
    let parts = vec![Part::new(weights, taps.strides, terms)];
    Ok(Lowered::Chain(
        builder.chain(id, Product { size: taps.size, channels, parts, factors: None, bias: None }),
    ))
}
