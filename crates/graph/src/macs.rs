//! Number of multiply-accumulates of operators.

use crate::ir::{Graph, Node};
use crate::op::{Conv, ConvTranspose, Op, QLinear};

/// Returns the multiply-accumulates of a node of a valid graph; 0 for operators that are not
/// products.
pub(crate) fn of_node(graph: &Graph, node: &Node) -> u64 {
    let shape = |i: usize| graph.shape(node.inputs[i]);
    let output = || graph.shape(node.outputs[0]);
    match &node.op {
        Op::Conv(conv) => of_conv(conv, shape(0), shape(1), output()),
        Op::ConvTranspose(conv) => of_conv_transpose(conv, shape(0), shape(1), output()),
        Op::Gemm(gemm) => product(output()).saturating_mul(shape(0)[usize::from(!gemm.trans_a)] as u64),
        Op::MatMul(_) => product(output()).saturating_mul(shape(0)[shape(0).len() - 1] as u64),
        // Bytes, each operand with a scale and a zero point.
        Op::QLinear(qlinear) => {
            let operand = |i: usize| node.inputs[3 * i];
            // Default: an operator that fails inference has no scaled operands.
            let scaled = QLinear::scaled_operands(&qlinear.op).unwrap_or_default();
            let inputs = (0..scaled).map(operand).collect();
            let inner = Node { op: (*qlinear.op).clone(), inputs, ..node.clone() };
            of_node(graph, &inner)
        }
        _ => 0,
    }
}

/// Counts only taps on the image: the products for rows and for columns are independent.
fn of_conv(conv: &Conv, x: &[usize], weights: &[usize], output: &[usize]) -> u64 {
    let (&[_, height, width, _], &[kh, kw, channels, filters], &[n, rows, columns, _]) = (x, weights, output)
    else {
        unreachable!("images and weights have four axes after inference");
    };
    let window = conv.window([kh, kw]);
    let taps = |axis: usize, count: usize, size: usize| -> u64 {
        (0..count).map(|index| window.span(axis, index, size).taps.len() as u64).sum()
    };
    let positions = taps(0, rows, height).saturating_mul(taps(1, columns, width));
    positions.saturating_mul(product(&[n, channels, filters]))
}

/// Leaves out products that are cropped: rows and columns are independent.
fn of_conv_transpose(conv: &ConvTranspose, x: &[usize], weights: &[usize], output: &[usize]) -> u64 {
    let (&[_, height, width, _], &[kh, kw, channels, filters], &[n, rows, columns, _]) = (x, weights, output)
    else {
        unreachable!("images and weights have four axes after inference");
    };
    let taps = |axis: usize, size: usize, kernel: usize, count: usize| -> u64 {
        let kept =
            |index: usize| (0..kernel).filter(|&tap| conv.target(axis, index, tap, count).is_some()).count();
        (0..size).map(|index| kept(index) as u64).sum()
    };
    let positions = taps(0, height, kh, rows).saturating_mul(taps(1, width, kw, columns));
    positions.saturating_mul(product(&[n, channels, filters]))
}

fn product(sizes: &[usize]) -> u64 {
    sizes.iter().fold(1, |product, &size| product.saturating_mul(size as u64))
}
