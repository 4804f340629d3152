//! Means over many pixels in stages.
//!
//! The SIMD unit adds all pixels of a window before it scales the sum. With 49 pixels, a mean above
//! 2.6 overflows a format that ends at 128, and 1/49 itself is rounded coarsely. A mean of means
//! over a few pixels each is equal, saturates much later, and its factors are more precise.

use npukit_graph::op::{AveragePool, Reduce, ReduceKind, Reshape, Window};
use npukit_graph::{Graph, Node, Op};

use super::parts::{Parts, replace_nodes};

/// Windows of at most this many pixels are not split.
const FEW: usize = 12;
/// Maximum number of pixels per stage, if the total can be divided so.
pub const STAGE: usize = 8;

/// Splits every mean over many pixels.
pub fn rewrite(graph: &mut Graph) {
    replace_nodes(graph, write);
}

/// Returns kernels and strides of the stages of a node's mean; `None` if it is not a mean over many
/// pixels.
fn stages(graph: &Graph, node: &Node) -> Option<Vec<[[usize; 2]; 2]>> {
    let &[_, rows, columns, _] = graph.shape(*node.inputs.first()?) else { return None };
    let (kernel, strides) = match &node.op {
        Op::AveragePool(AveragePool { window, .. }) => {
            let plain = window.pads == [0; 4] && window.dilations == [1; 2] && !window.ceil_mode;
            plain.then_some((window.kernel, window.strides))?
        }
        Op::Reduce(Reduce { kind: ReduceKind::Mean, axes, .. }) if axes[..] == [1, 2] => {
            ([rows, columns], [1; 2])
        }
        _ => return None,
    };
    if kernel[0].saturating_mul(kernel[1]) <= FEW {
        return None;
    }
    let image = [rows, columns];
    let mut stages = Vec::new();
    for axis in [1, 0] {
        // An axis can be split only if its windows are adjacent. If one window covers the axis, the
        // axis is reduced at once.
        let whole = kernel[axis] == image[axis] || kernel[axis] == strides[axis];
        let parts = if whole { factors(kernel[axis]) } else { vec![kernel[axis]] };
        for part in parts {
            let (mut window, mut stride) = ([1; 2], [1; 2]);
            window[axis] = part;
            stride[axis] = if whole { part } else { strides[axis] };
            stages.push([window, stride]);
        }
    }
    stages.retain(|[window, stride]| [window, stride] != [&[1; 2]; 2]);
    Some(stages)
}

/// Factors `n` into numbers up to [`STAGE`] where possible, largest first.
fn factors(mut n: usize) -> Vec<usize> {
    let mut parts = Vec::new();
    while n > STAGE {
        let Some(part) = (2..=STAGE).rev().find(|&part| n.is_multiple_of(part)) else { break };
        parts.push(part);
        n /= part;
    }
    parts.push(n);
    parts
}

/// Returns the image whose rows are averaged by a mean over adjacent axes, without the innermost
/// one; `None` if there are few rows.
fn rows(graph: &Graph, node: &Node) -> Option<[usize; 4]> {
    let Op::Reduce(Reduce { kind: ReduceKind::Mean, axes, .. }) = &node.op else { return None };
    let (&channels, outer) = graph.shape(*node.inputs.first()?).split_last()?;
    let (&first, end) = (axes.first()?, axes.last()? + 1);
    if end > outer.len() || !axes.iter().copied().eq(first..end) {
        return None;
    }
    let [before, rows, after] =
        [&outer[..first], &outer[first..end], &outer[end..]].map(|part| part.iter().product());
    (rows > FEW).then_some([before, rows, after, channels])
}

/// Emits the stages of a mean over many pixels.
fn write(parts: &mut Parts<'_>, node: &Node) -> Option<()> {
    let mut x = *node.inputs.first()?;
    let mut windows = stages(parts.graph, node);
    if windows.is_none()
        && let Some(image) = rows(parts.graph, node)
    {
        windows = Some(factors(image[1]).into_iter().map(|part| [[part, 1]; 2]).collect());
        x = parts.add("image", Reshape { shape: image.to_vec() }, &[x])?;
    }
    for (i, [kernel, strides]) in windows?.into_iter().enumerate() {
        let window = Window { kernel, strides, dilations: [1; 2], pads: [0; 4], ceil_mode: false };
        x = parts.add(&format!("mean{i}"), AveragePool { window, count_include_pad: false }, &[x])?;
    }
    let shape = parts.graph.shape(*node.outputs.first()?).to_vec();
    if parts.graph.shape(x) != shape {
        parts.add("shaped", Reshape { shape }, &[x])?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_small_factors() {
        assert_eq!(factors(7), [7]);
        assert_eq!(factors(8), [8]);
        assert_eq!(factors(56), [8, 7]);
        assert_eq!(factors(112), [8, 7, 2]);
        assert_eq!(factors(26), [2, 13]);
    }
}
