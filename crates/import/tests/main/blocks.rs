//! TensorFlow's blocks around a convolution (SpaceToBatchND, BatchToSpaceND). Nodes that form a
//! dilated convolution become one; similar nodes keep their values. The reference is each node
//! imported separately.

use npukit_graph::{Op, evaluate};
use npukit_import::tensorflow::proto::NodeDef;
use npukit_numeric::Tensor;

use crate::graph_def::{Graph, With, node};
use crate::model::floats;

/// A chain of nodes from an input `x` of `sizes`, which may use the constants.
struct Chain {
    sizes: Vec<i64>,
    constants: Graph,
    nodes: Vec<NodeDef>,
}

impl Chain {
    /// Splits into blocks along the first axes after the batch, with `pads` elements before them
    /// and more after.
    fn cut(sizes: &[i64], block: &[i32], pads: &[i32]) -> Self {
        let axes = block.len() as i64;
        let constants = Graph::default().integers("block", &[axes], block).integers("pads", &[axes, 2], pads);
        let nodes = vec![node("SpaceToBatchND", "cut", &["x", "block", "pads"])];
        Self { sizes: sizes.to_vec(), constants, nodes }
    }

    fn then(mut self, node: NodeDef) -> Self {
        self.nodes.push(node);
        self
    }

    /// Inserts an axis of size 1 at `axis`.
    fn expanded(mut self, name: &str, from: &str, axis: i32) -> Self {
        let operand = format!("{name}_axis");
        self.constants = self.constants.integers(&operand, &[], &[axis]);
        self.then(node("ExpandDims", name, &[from, &operand]))
    }

    fn squeezed(self, name: &str, from: &str, axis: i64) -> Self {
        self.then(node("Squeeze", name, &[from]).ints("squeeze_dims", &[axis]))
    }

    /// A convolution by weights of this shape with increasing values.
    fn convolved(mut self, name: &str, from: &str, weights: &[i64]) -> Self {
        let values: Vec<f32> = (1..=weights.iter().product()).map(|value: i64| value as f32).collect();
        let operand = format!("{name}_w");
        self.constants = self.constants.floats(&operand, weights, &values);
        self.then(plain(name, from, &operand))
    }

    /// Joins the blocks.
    fn joined(mut self, from: &str, crops: &[i32]) -> Self {
        self.constants = self.constants.integers("crops", &[crops.len() as i64 / 2, 2], crops);
        self.then(node("BatchToSpaceND", "y", &[from, "block", "crops"]))
    }

    fn input(&self) -> Tensor {
        let shape: Vec<usize> = self.sizes.iter().map(|&size| size as usize).collect();
        let values: Vec<f32> = (0..shape.iter().product()).map(|value: usize| (value % 11) as f32).collect();
        floats(&shape, &values)
    }

    /// Operators of the fused graph, after checking its values against its nodes.
    fn check(&self, name: &str) -> Vec<Op> {
        let whole =
            self.nodes.iter().cloned().fold(self.constants.clone().input("x", &self.sizes), Graph::node);
        let graph = whole.outputs(&["y"]).import().unwrap();
        let found = evaluate(&graph, &[self.input()]).unwrap().remove(0);
        let mut expected = self.input();
        for node in &self.nodes {
            let sizes: Vec<i64> = expected.shape().iter().map(|&size| size as i64).collect();
            let single = self.constants.clone().input(&node.input[0], &sizes).node(node.clone());
            let graph = single.outputs(&[&node.name]).import().unwrap();
            expected = evaluate(&graph, &[expected]).unwrap().remove(0);
        }
        assert_eq!(found, expected, "{name}");
        graph.nodes.into_iter().map(|node| node.op).collect()
    }
}

fn plain(name: &str, from: &str, weights: &str) -> NodeDef {
    node("Conv2D", name, &[from, weights]).ints("strides", &[1, 1, 1, 1]).string("padding", "VALID")
}

/// Two columns of padding before, three after: 7 rows become 12, and 8 after a convolution by 3.
fn image() -> Chain {
    Chain::cut(&[1, 7, 7, 2], &[2, 2], &[2, 3, 2, 3])
}

#[test]
fn a_convolution_of_one_axis_in_blocks_is_a_dilated_one() {
    for (axis, kernel) in [(1, [1, 3]), (2, [3, 1])] {
        let chain = Chain::cut(&[1, 9, 2], &[2], &[2, 3])
            .expanded("wide", "cut", axis)
            .convolved("conv", "wide", &[kernel[0], kernel[1], 2, 1])
            .squeezed("narrow", "conv", axis.into())
            .joined("narrow", &[0, 1]);
        let ops = chain.check("one axis");
        let convs: Vec<&Op> = ops.iter().filter(|op| !matches!(op, Op::Reshape(_))).collect();
        let [Op::Conv(conv)] = convs[..] else { panic!("{ops:?}") };
        // The whole axis has the remaining padding of both; the other axis has none.
        let other = axis as usize - 1;
        let mut expected = ([2, 2], [2, 2, 2, 2]);
        (expected.0[other], expected.1[other], expected.1[other + 2]) = (1, 0, 0);
        assert_eq!((conv.dilations, conv.pads), expected);
    }
}

#[test]
fn blocks_of_any_convolution_give_what_its_nodes_give() {
    let of = |conv: NodeDef| {
        let mut chain = image().convolved("conv", "cut", &[3, 3, 2, 1]);
        *chain.nodes.last_mut().unwrap() = conv;
        chain.joined("conv", &[0, 1, 0, 1])
    };
    let conv = || plain("conv", "cut", "conv_w");
    assert!(matches!(of(conv()).check("dense")[..], [Op::Conv(_)]));
    for (name, conv) in [
        ("strides", conv().ints("strides", &[1, 2, 2, 1])),
        ("dilations", conv().ints("dilations", &[1, 2, 1, 1])),
        ("padding", conv().string("padding", "SAME")),
    ] {
        assert!(of(conv).check(name).len() > 3, "{name}");
    }
    let twice = image().convolved("first", "cut", &[2, 2, 2, 2]).convolved("conv", "first", &[2, 2, 2, 1]);
    assert!(twice.joined("conv", &[0, 1, 0, 1]).check("twice").len() > 3);
    let depthwise = image().convolved("conv", "cut", &[3, 3, 2, 1]);
    let by_channel = NodeDef { op: "DepthwiseConv2dNative".to_owned(), ..depthwise.nodes[1].clone() };
    let depthwise = Chain { nodes: vec![depthwise.nodes[0].clone(), by_channel], ..depthwise };
    assert!(matches!(depthwise.joined("conv", &[0, 1, 0, 1]).check("depthwise")[..], [Op::Conv(_)]));
}

/// Axes that are inserted and removed, but not around one convolution of one axis.
#[test]
fn other_axes_between_the_blocks_change_nothing() {
    let rows = || Chain::cut(&[1, 8, 4, 2], &[2], &[1, 1]);
    let before = rows().expanded("wide", "cut", 1).squeezed("narrow", "wide", 1);
    before.convolved("conv", "narrow", &[2, 2, 2, 1]).joined("conv", &[0, 0]).check("before the convolution");
    let after = rows().convolved("conv", "cut", &[2, 2, 2, 1]).expanded("wide", "conv", 1);
    after.squeezed("narrow", "wide", 1).joined("narrow", &[0, 0]).check("after the convolution");
    let twice = Chain::cut(&[1, 8], &[2], &[1, 1]).expanded("wide", "cut", 2).expanded("wider", "wide", 2);
    let twice = twice.convolved("conv", "wider", &[2, 1, 1, 1]).squeezed("less", "conv", 2);
    twice.squeezed("narrow", "less", 2).joined("narrow", &[0, 0]).check("two axes");
    let another = Chain::cut(&[1, 9, 2], &[2], &[2, 3]).expanded("wide", "cut", 1);
    let another = another.convolved("conv", "wide", &[1, 3, 2, 1]).squeezed("narrow", "conv", 3);
    another.joined("narrow", &[0, 0]).check("another axis");
    let none = Chain::cut(&[1, 7, 7, 2], &[2, 2], &[0, 1, 0, 1]);
    none.joined("cut", &[1, 1, 0, 2]).check("no convolution");
}

/// Joins the blocks with the axis, or along the axis, that a convolution needed.
#[test]
fn an_axis_that_nobody_takes_away_is_in_the_result() {
    for (axis, kernel) in [(1, [1, 3]), (2, [3, 1])] {
        let chain = Chain::cut(&[1, 9, 2], &[2], &[2, 3]).expanded("wide", "cut", axis);
        let chain = chain.convolved("conv", "wide", &[kernel[0], kernel[1], 2, 1]);
        chain.joined("conv", &[0, 1]).check("an axis that stays");
    }
}

/// An axis before the batch makes batches rows, which a convolution sums.
#[test]
fn batches_that_are_rows_are_not_blocks() {
    let chain = Chain::cut(&[3, 6, 2], &[2], &[0, 0]).expanded("wide", "cut", 0);
    let chain = chain.convolved("conv", "wide", &[3, 1, 2, 1]).squeezed("narrow", "conv", 0);
    chain.joined("narrow", &[0, 0]).check("batches as rows");
}
