//! Convolution between tensors with grouped columns: [`Grouped`].

use npukit_graph::op::Conv;
use npukit_graph::{Graph, Node, Op, ValueId};

use super::super::{add_floats, floats, name_of};

/// Cost of loading an array of N rows, in multiples of N cycles: the rows themselves, and filling
/// the array with the first input.
const LOAD_COST: u64 = 3;

/// A convolution from groups of `from` columns to groups of `to` columns.
///
/// With tap `k`, column `to j + b` of the result reads column `stride (to j + b) + dilation k -
/// pad` of the operand. That column is in group `stride to / from j + t`. If `stride to` is a
/// multiple of `from`, `t` and the column within the group depend on `b` and `k` alone.
pub struct Grouped {
    conv: Conv,
    weights: ValueId,
    node: Node,
    /// Kernel rows, kernel columns, input channels, output channels.
    kernel: [usize; 4],
    from: usize,
    to: usize,
    /// For each column of a result group and each tap: the operand group, relative to the first
    /// that any tap reads, and the column in it.
    meets: Vec<Vec<(usize, usize)>>,
    /// Number of operand groups that a result group reads: the width of the new kernel.
    groups: usize,
    /// Number of groups in the result.
    pixels: usize,
}

impl Grouped {
    /// Creates the convolution; `None` if the columns are not divisible.
    pub fn new(graph: &Graph, node: &Node, from: usize, to: usize) -> Option<Self> {
        let Op::Conv(conv) = &node.op else { return None };
        let &[rows, taps, inputs, outputs] = graph.shape(node.inputs[1]) else { return None };
        let (input, output) = (graph.shape(node.inputs[0]), graph.shape(node.outputs[0]));
        let stride = conv.strides[1];
        let divides = input[2].is_multiple_of(from) && output[2].is_multiple_of(to);
        if !divides || !(stride * to).is_multiple_of(from) {
            return None;
        }
        let column =
            |b: usize, k: usize| (stride * b + conv.dilations[1] * k) as isize - conv.pads[1] as isize;
        let group = |b: usize, k: usize| column(b, k).div_euclid(from as isize);
        let all = || (0..to).flat_map(|b| (0..taps).map(move |k| (b, k)));
        let first = all().map(|(b, k)| group(b, k)).min()?;
        let last = all().map(|(b, k)| group(b, k)).max()?;
        let within = |b: usize, k: usize| column(b, k).rem_euclid(from as isize) as usize;
        let meet = |b: usize, k: usize| ((group(b, k) - first) as usize, within(b, k));
        let groups = (last - first + 1) as usize;
        Some(Self {
            conv: widened(conv, [input[2] / from, output[2] / to], stride * to / from, first, groups)?,
            weights: node.inputs[1],
            node: node.clone(),
            kernel: [rows, taps, inputs, outputs],
            from,
            to,
            meets: (0..to).map(|b| (0..taps).map(|k| meet(b, k)).collect()).collect(),
            groups,
            pixels: output[..3].iter().product::<usize>() / to,
        })
    }

    /// Returns the cost in cycles: array rows, plus the loads of weights.
    pub fn cost(&self, array_size: usize) -> u64 {
        let loads = (self.kernel[0] * self.loads(array_size)) as u64;
        loads * (self.pixels as u64 + LOAD_COST * array_size as u64)
    }

    /// Returns the number of array loads per kernel row that are not all zero.
    fn loads(&self, array_size: usize) -> usize {
        let [_, _, inputs, outputs] = self.kernel;
        let blocks = |channels: usize, column: usize| {
            column * channels / array_size..=((column + 1) * channels - 1) / array_size
        };
        let mut met: Vec<(usize, usize, usize)> = Vec::new();
        for (b, taps) in self.meets.iter().enumerate() {
            for &(group, column) in taps {
                for input in blocks(inputs, column) {
                    met.extend(blocks(outputs, b).map(|output| (group, input, output)));
                }
            }
        }
        met.sort_unstable();
        met.dedup();
        met.len()
    }

    /// Returns the node over groups. The caller must set the shape of its result.
    pub fn node(self, graph: &mut Graph) -> Node {
        let [rows, _, inputs, outputs] = self.kernel;
        let name = name_of(graph, self.weights);
        let shape = vec![rows, self.groups, self.from * inputs, self.to * outputs];
        let data = self
            .spread(floats(graph, self.weights).expect("only products with constant weights are grouped"));
        let mut node = self.node;
        node.inputs[1] = add_floats(graph, &name, shape, data).expect("the weights fill their shape");
        if let Some(bias) = node.inputs.get(2).and_then(|&bias| super::repeated(graph, bias, self.to)) {
            node.inputs[2] = bias;
        }
        node.op = self.conv.into();
        node
    }

    /// Returns the weights of the new kernel: the old weight where a tap connects two columns, zero
    /// otherwise.
    fn spread(&self, old: &[f32]) -> Vec<f32> {
        let [rows, taps, inputs, outputs] = self.kernel;
        let (wide_in, wide_out) = (self.from * inputs, self.to * outputs);
        let mut new = vec![0.0; rows * self.groups * wide_in * wide_out];
        for row in 0..rows {
            for (b, meets) in self.meets.iter().enumerate() {
                for (tap, &(group, column)) in meets.iter().enumerate() {
                    for input in 0..inputs {
                        let from = ((row * taps + tap) * inputs + input) * outputs;
                        let to = (row * self.groups + group) * wide_in + column * inputs + input;
                        let to = to * wide_out + b * outputs;
                        new[to..to + outputs].copy_from_slice(&old[from..from + outputs]);
                    }
                }
            }
        }
        new
    }
}

/// Returns the convolution from `columns[0]` to `columns[1]` groups with a kernel `groups` wide
/// whose first column is `first`; `None` if no padding gives that many.
fn widened(conv: &Conv, columns: [usize; 2], stride: usize, first: isize, groups: usize) -> Option<Conv> {
    let left = usize::try_from(-first).ok()?;
    let needed = (columns[1].checked_sub(1)?) * stride + groups;
    let right = needed.saturating_sub(columns[0] + left);
    let found = (columns[0] + left + right).checked_sub(groups)? / stride + 1;
    (found == columns[1]).then(|| Conv {
        strides: [conv.strides[0], stride],
        dilations: [conv.dilations[0], 1],
        pads: [conv.pads[0], left, conv.pads[2], right],
        group: 1,
    })
}
