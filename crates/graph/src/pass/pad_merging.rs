//! Merging of padding into the windows of the operator after it.

use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{AveragePool, Conv, ConvTranspose, MaxPool, Op, PadMode, Window};

pub(super) const PASS: Pass = Pass {
    name: "pad-merging",
    description: "merges padding of rows and columns into the Conv, ConvTranspose or pooling after it, where exact",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let producers = graph.producers();
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        let Some(&operand) = graph.nodes[index].inputs.first() else { continue };
        let Some(producer) = producers[operand.0 as usize] else { continue };
        let Some(padding) = Padding::of(graph, graph.node(producer)) else { continue };
        if let Some(op) = merged(graph, &producers, &graph.nodes[index], &padding) {
            graph.nodes[index].op = op;
            graph.nodes[index].inputs[0] = padding.operand;
            changed = true;
        }
    }
    Ok(changed)
}

/// Padding of the rows and columns of an image.
struct Padding {
    operand: ValueId,
    /// Rows above, columns left, rows below, columns right.
    pads: [usize; 4],
    fill: f32,
}

impl Padding {
    fn of(graph: &Graph, node: &Node) -> Option<Self> {
        let Op::Pad(pad) = &node.op else { return None };
        let (PadMode::Constant(fill), &[[0, 0], rows, columns, [0, 0]]) = (pad.mode, pad.pads.as_slice())
        else {
            return None;
        };
        let grow = |pad: isize| usize::try_from(pad).ok();
        let pads = [grow(rows[0])?, grow(columns[0])?, grow(rows[1])?, grow(columns[1])?];
        let operand = *node.inputs.first()?;
        (graph.shape(operand).len() == 4).then_some(Self { operand, pads, fill })
    }

    fn add_to(&self, pads: [usize; 4]) -> [usize; 4] {
        std::array::from_fn(|side| pads[side].saturating_add(self.pads[side]))
    }

    fn image(&self, graph: &Graph) -> [usize; 2] {
        let shape = graph.shape(self.operand);
        [shape[1], shape[2]]
    }
}

/// Returns the operator of `node` with the padding merged into it, if that is exact.
fn merged(graph: &Graph, producers: &[Option<NodeId>], node: &Node, padding: &Padding) -> Option<Op> {
    match &node.op {
        // The other operands of a Conv are not images: only the first is padded.
        Op::Conv(conv) if padding.fill == 0.0 => {
            let merged = Conv { pads: padding.add_to(conv.pads), ..conv.clone() };
            Some(merged.into())
        }
        // Rows of zeros add nothing: removing one row of padding reduces the cropped rows by one
        // stride.
        Op::ConvTranspose(conv) if padding.fill == 0.0 && !padding.image(graph).contains(&0) => {
            let less = |side: usize| {
                conv.pads[side].checked_sub(padding.pads[side].checked_mul(conv.strides[side % 2])?)
            };
            let pads = [less(0)?, less(1)?, less(2)?, less(3)?];
            Some(ConvTranspose { pads, ..conv.clone() }.into())
        }
        Op::MaxPool(pool) => {
            let window = widened(graph, node, &pool.window, padding)?;
            fill_never_wins(graph, producers, &window, padding).then(|| MaxPool { window }.into())
        }
        Op::AveragePool(pool) if padding.fill == 0.0 => {
            // The padding elements were counted; then the pool's own pads must be counted as well.
            let counted = pool.count_include_pad || pool.window.pads == [0; 4];
            let window = widened(graph, node, &pool.window, padding)?;
            (counted && !window.ceil_mode).then(|| AveragePool { window, count_include_pad: true }.into())
        }
        _ => None,
    }
}

/// Returns the window with the padding added, if the number of windows stays the same (with
/// `ceil_mode`, it depends on where the padding ends).
fn widened(graph: &Graph, node: &Node, window: &Window, padding: &Padding) -> Option<Window> {
    let widened = Window { pads: padding.add_to(window.pads), ..window.clone() };
    let shape = graph.shape(*node.outputs.first()?);
    (widened.output(padding.image(graph)).ok()? == [shape[1], shape[2]]).then_some(widened)
}

/// Whether the padding element is never the maximum. Minus infinity never is; 0 is not if no
/// element can be negative and each window covers an element.
fn fill_never_wins(graph: &Graph, producers: &[Option<NodeId>], window: &Window, padding: &Padding) -> bool {
    if padding.fill == f32::NEG_INFINITY {
        return true;
    }
    padding.fill == 0.0
        && is_never_negative(graph, producers, padding.operand)
        // Default: nothing is known about a window that does not fit the image.
        && window.always_on_image(padding.image(graph)).unwrap_or(false)
}

/// Whether the value is known to have no negative element.
fn is_never_negative(graph: &Graph, producers: &[Option<NodeId>], value: ValueId) -> bool {
    let Some(producer) = producers[value.0 as usize] else { return false };
    match &graph.node(producer).op {
        Op::Relu(_) => true,
        Op::Clip(clip) => clip.min >= 0.0 && clip.max >= 0.0,
        _ => false,
    }
}
