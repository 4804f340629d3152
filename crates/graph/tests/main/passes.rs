//! Passes keep the function of a graph, and have their intended effect.

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Conv, ConvTranspose, Gemm, LeakyRelu, MatMul,
    MaxPool, Pad, PadMode, Relu, Reshape, Softmax, Transpose, Window,
};
use npukit_graph::pass::{PassError, passes, simplify};
use npukit_graph::{Graph, Op, Operator, ValueId, ValueInfo, evaluate};
use npukit_numeric::{ElementType, Tensor};
use proptest::prelude::*;

use crate::random::random_graph;
use crate::support::{floats, noise};

fn inputs_of(graph: &Graph) -> Vec<Tensor> {
    graph.inputs.iter().map(|&input| noise(graph.shape(input), 7)).collect()
}

/// Names and shapes of inputs and outputs.
fn interface(graph: &Graph) -> Vec<(String, Vec<usize>)> {
    let values = graph.inputs.iter().chain(&graph.outputs).map(|&id| graph.value(id));
    values.map(|value| (value.name.clone(), value.info.shape.clone())).collect()
}

/// Compares two graphs that should compute the same function.
fn assert_same(before: &Graph, after: &Graph, what: &str) {
    after.validate().unwrap_or_else(|error| panic!("{what}: {error}\n{before}\n{after}"));
    assert_eq!(interface(before), interface(after), "{what}");
    let inputs = inputs_of(before);
    let (left, right) = (evaluate(before, &inputs).unwrap(), evaluate(after, &inputs).unwrap());
    for (left, right) in left.iter().zip(&right) {
        assert_eq!(left.shape(), right.shape());
        for (l, r) in floats(left).iter().zip(floats(right)) {
            let close = (l - r).abs() <= 1e-4 * (1.0 + l.abs()) || l == r || l.is_nan() && r.is_nan();
            assert!(close, "{what}: {l} became {r}\n{before}\n{after}");
        }
    }
}

fn count(graph: &Graph, name: &str) -> usize {
    graph.nodes.iter().filter(|node| node.op.name() == name).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn simplification_keeps_results(choices in proptest::collection::vec(0..1000u32, 0..90)) {
        let before = random_graph(choices);
        let mut after = before.clone();
        simplify(&mut after).unwrap_or_else(|error| panic!("{error}\n{before}"));
        assert_same(&before, &after, "simplify");
        // A fixed point: another run changes nothing.
        let text = after.to_string();
        simplify(&mut after).unwrap();
        prop_assert_eq!(text, after.to_string());
    }

    #[test]
    fn each_pass_keeps_results(choices in proptest::collection::vec(0..1000u32, 0..60)) {
        let mut graph = random_graph(choices);
        for pass in passes() {
            let before = graph.clone();
            (pass.run)(&mut graph).unwrap_or_else(|error| panic!("{}: {error}\n{before}", pass.name));
            assert_same(&before, &graph, pass.name);
        }
    }
}

/// Builds graphs in a few lines, with generated names.
struct Sketch(Graph);

impl Sketch {
    fn new(shape: &[usize]) -> (Self, ValueId) {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
        let x = graph.add_input("x", info);
        (Self(graph), x)
    }

    fn node(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let name = self.0.fresh_name("v");
        self.0.add_node(name.clone(), op.into(), inputs.to_vec(), &[&name]).unwrap()[0]
    }

    fn constant(&mut self, shape: &[usize]) -> ValueId {
        let name = self.0.fresh_name("c");
        self.0.add_constant(name, noise(shape, shape.iter().sum::<usize>() as u64))
    }

    fn nhwc(&mut self, x: ValueId) -> ValueId {
        self.node(Transpose { perm: vec![0, 2, 3, 1] }, &[x])
    }

    fn nchw(&mut self, x: ValueId) -> ValueId {
        self.node(Transpose { perm: vec![0, 3, 1, 2] }, &[x])
    }

    /// A 3x3 convolution from `ci` to `co` channels with the same image size, NCHW to NCHW.
    fn conv(&mut self, x: ValueId, ci: usize, co: usize) -> ValueId {
        let (weights, bias) = (self.constant(&[3, 3, ci, co]), self.constant(&[co]));
        let x = self.nhwc(x);
        let y = self.node(conv([1; 4]), &[x, weights, bias]);
        self.nchw(y)
    }

    fn batch_norm(&mut self, x: ValueId, c: usize) -> ValueId {
        let p: Vec<ValueId> = (0..3).map(|_| self.constant(&[c])).collect();
        let var = self.0.fresh_name("var");
        let var = self.0.add_constant(var, Tensor::from_f32(vec![c], vec![1.5; c]).unwrap());
        self.node(BatchNormalization { epsilon: 1e-3 }, &[x, p[0], p[1], p[2], var])
    }

    /// Simplifies and checks that results stay the same.
    fn simplified(mut self, output: ValueId) -> Graph {
        self.0.outputs = vec![output];
        let mut after = self.0.clone();
        simplify(&mut after).unwrap();
        assert_same(&self.0, &after, "sketch");
        after
    }
}

fn conv(pads: [usize; 4]) -> Conv {
    Conv { strides: [1, 1], dilations: [1, 1], pads, group: 1 }
}

#[test]
fn a_residual_network_keeps_no_transposition_but_that_of_its_input() {
    let (mut sketch, x) = Sketch::new(&[2, 3, 8, 8]);
    let mut y = sketch.conv(x, 3, 4);
    for _ in 0..3 {
        let before = y;
        y = sketch.nhwc(y);
        y = sketch.batch_norm(y, 4);
        y = sketch.nchw(y);
        y = sketch.node(Relu, &[y]);
        y = sketch.conv(y, 4, 4);
        let scale = sketch.constant(&[4, 1, 1]);
        y = sketch.node(Binary { kind: BinaryKind::Mul }, &[y, scale]);
        y = sketch.node(Binary { kind: BinaryKind::Add }, &[y, before]);
    }
    y = sketch.nhwc(y);
    let window = Window::plain([2, 2], [2, 2]);
    y = sketch.node(MaxPool { window }, &[y]);
    y = sketch.nchw(y);
    y = sketch.node(Reshape { shape: vec![2, 64] }, &[y]);
    y = sketch.node(Relu, &[y]);
    let weights = sketch.constant(&[10, 64]);
    let gemm = Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: true };
    let bias = sketch.constant(&[1, 10]);
    y = sketch.node(gemm, &[y, weights, bias]);
    let graph = sketch.simplified(y);
    assert_eq!(count(&graph, "Transpose"), 1, "{graph}");
    assert_eq!(graph.nodes[0].op.name(), "Transpose");
    let gemm = graph.nodes.last().unwrap();
    assert_eq!(gemm.op, Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: false }.into());
    assert_eq!(graph.shape(gemm.inputs[2]), [10]);
}

/// A network in which each node takes the result of the previous one, and constants of ones.
fn chain(shape: &[usize], steps: Vec<(Op, Vec<&[usize]>)>) -> Graph {
    let mut graph = Graph::default();
    let info = ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
    let mut x = graph.add_input("x", info);
    for (i, (op, constants)) in steps.into_iter().enumerate() {
        let constants = constants.into_iter().enumerate();
        let constants = constants.map(|(j, shape)| graph.add_constant(format!("c{i}_{j}"), noise(shape, 3)));
        let inputs = [vec![x], constants.collect()].concat();
        x = graph.add_node(format!("n{i}"), op, inputs, &[&format!("v{i}")]).unwrap()[0];
    }
    graph.outputs.push(x);
    graph
}

fn transpose(perm: &[usize]) -> (Op, Vec<&'static [usize]>) {
    (Transpose { perm: perm.to_vec() }.into(), vec![])
}

fn reshape(shape: &[usize]) -> (Op, Vec<&'static [usize]>) {
    (Reshape { shape: shape.to_vec() }.into(), vec![])
}

/// Two convolutions of images of 6 channels with NCHW operators in between, and the simplified
/// graph.
fn between_convolutions(steps: Vec<(Op, Vec<&'static [usize]>)>) -> (Graph, Graph) {
    let conv = || -> (Op, Vec<&'static [usize]>) { (conv([0; 4]).into(), vec![&[1, 1, 6, 6]]) };
    let steps =
        [vec![conv(), transpose(&[0, 3, 1, 2])], steps, vec![transpose(&[0, 2, 3, 1]), conv()]].concat();
    let before = chain(&[2, 4, 5, 6], steps);
    let mut after = before.clone();
    simplify(&mut after).unwrap();
    assert_same(&before, &after, "simplify");
    (before, after)
}

#[test]
fn a_channel_shuffle_is_one_transposition() {
    let shuffle = || vec![reshape(&[2, 2, 3, 4, 5]), transpose(&[0, 2, 1, 3, 4]), reshape(&[2, 6, 4, 5])];
    let (before, after) = between_convolutions(shuffle());
    assert_eq!((count(&before, "Transpose"), count(&after, "Transpose")), (3, 1));
    // Mixing channels with rows needs a transposition on each side.
    let (_, after) =
        between_convolutions(vec![reshape(&[2, 8, 3, 5]), transpose(&[0, 2, 1, 3]), reshape(&[2, 6, 4, 5])]);
    assert_eq!(count(&after, "Transpose"), 3);
}

#[test]
fn reshapes_between_one_dimensional_convolutions_go() {
    let ncw = || transpose(&[0, 2, 1]);
    let conv = || -> (Op, Vec<&'static [usize]>) { (conv([0, 1, 0, 1]).into(), vec![&[1, 3, 4, 4]]) };
    let norm = (BatchNormalization { epsilon: 2.0 }.into(), vec![&[4usize][..]; 4]);
    let add = (Binary { kind: BinaryKind::Add }.into(), vec![&[4usize][..]]);
    let steps = vec![
        ncw(),
        reshape(&[2, 1, 8, 4]),
        conv(),
        reshape(&[2, 8, 4]),
        norm,
        ncw(),
        (Relu.into(), vec![]),
        ncw(),
        add,
        reshape(&[2, 1, 8, 4]),
        conv(),
        reshape(&[2, 8, 4]),
        ncw(),
    ];
    let before = chain(&[2, 4, 8], steps);
    let mut after = before.clone();
    simplify(&mut after).unwrap();
    assert_same(&before, &after, "simplify");
    let (reshapes, transposes) = (count(&after, "Reshape"), count(&after, "Transpose"));
    // One of each before the first convolution and after the last one.
    assert_eq!((reshapes, transposes, count(&after, "BatchNormalization")), (2, 2, 0), "{after}");
}

#[test]
fn a_closing_softmax_stays_last() {
    let softmax = |axis, axis_end| (Softmax { axis, axis_end }.into(), vec![]);
    let names = |from: &[usize], axes: [usize; 2], to: &[usize]| {
        let before = chain(from, vec![softmax(axes[0], axes[1]), reshape(to)]);
        let mut after = before.clone();
        simplify(&mut after).unwrap();
        assert_same(&before, &after, "softmax");
        after.nodes.iter().map(|node| node.op.to_string()).collect::<Vec<_>>()
    };
    for (from, axes, to, axis, axis_end) in [
        (&[1, 1, 1, 6][..], [1, 4], &[1, 6, 1, 1][..], 1, 2),
        (&[2, 3, 4], [1, 2], &[1, 2, 3, 2, 2], 2, 3),
        (&[2, 3, 4], [1, 3], &[2, 2, 6], 1, 3),
    ] {
        assert_eq!(names(from, axes, to)[1], format!("Softmax {{ axis: {axis}, axis_end: {axis_end} }}"));
    }
    // The axes do not stay adjacent.
    assert!(names(&[2, 3, 4], [1, 2], &[6, 4])[0].starts_with("Softmax"));
    assert!(names(&[2, 3, 4], [2, 3], &[3, 8])[0].starts_with("Softmax"));
}

#[test]
fn transpositions_that_only_move_ones_become_reshapes() {
    let (mut sketch, x) = Sketch::new(&[1, 1, 6, 6]);
    let y = sketch.conv(x, 1, 4);
    let y = sketch.nhwc(y);
    let y =
        sketch.node(AveragePool { window: Window::plain([6, 6], [1, 1]), count_include_pad: false }, &[y]);
    let y = sketch.nchw(y);
    let y = sketch.node(Reshape { shape: vec![1, 4] }, &[y]);
    let graph = sketch.simplified(y);
    let names: Vec<_> = graph.nodes.iter().map(|node| node.op.name()).collect();
    assert_eq!(names, ["Reshape", "Conv", "AveragePool", "Reshape"], "{graph}");
}

#[test]
fn a_transposition_between_two_values_of_a_region_is_permuted_with_them() {
    let (mut sketch, x) = Sketch::new(&[1, 3, 6, 6]);
    let y = sketch.conv(x, 3, 4);
    let mirrored = sketch.node(Transpose { perm: vec![0, 1, 3, 2] }, &[y]);
    let y = sketch.node(Binary { kind: BinaryKind::Sub }, &[y, mirrored]);
    let y = sketch.conv(y, 4, 4);
    let graph = sketch.simplified(y);
    // One for the input, one for the output, and one that swaps rows and columns of NHWC.
    let perms = graph.nodes.iter().filter_map(|node| match &node.op {
        Op::Transpose(transpose) => Some(transpose.perm.clone()),
        _ => None,
    });
    assert_eq!(perms.collect::<Vec<_>>(), [[0, 2, 3, 1], [0, 2, 1, 3], [0, 3, 1, 2]], "{graph}");
}

#[test]
fn batch_normalization_folds_into_the_product_before_it() {
    let (mut sketch, x) = Sketch::new(&[1, 6, 6, 2]);
    let weights = sketch.constant(&[3, 3, 2, 4]);
    let y = sketch.node(conv([0; 4]), &[x, weights]);
    let y = sketch.batch_norm(y, 4);
    let graph = sketch.simplified(y);
    assert_eq!((graph.nodes.len(), graph.nodes[0].inputs.len()), (1, 3));

    let (mut sketch, x) = Sketch::new(&[2, 5]);
    let weights = sketch.constant(&[5, 4]);
    let y = sketch.node(MatMul, &[x, weights]);
    let y = sketch.batch_norm(y, 4);
    let graph = sketch.simplified(y);
    let names: Vec<_> = graph.nodes.iter().map(|node| node.op.name()).collect();
    assert_eq!(names, ["MatMul", "Add"]);
}

#[test]
fn batch_normalization_stays_where_it_cannot_fold() {
    let (mut sketch, x) = Sketch::new(&[1, 6, 6, 2]);
    let weights = sketch.constant(&[3, 3, 2, 4]);
    let y = sketch.node(conv([0; 4]), &[x, weights]);
    let normal = sketch.batch_norm(y, 4);
    let y = sketch.node(Binary { kind: BinaryKind::Add }, &[y, normal]);
    assert_eq!(count(&sketch.simplified(y), "BatchNormalization"), 1);
}

#[test]
fn an_addition_after_matmul_stays_one() {
    let (mut sketch, x) = Sketch::new(&[2, 5]);
    let (weights, bias) = (sketch.constant(&[5, 4]), sketch.constant(&[4]));
    let y = sketch.node(MatMul, &[x, weights]);
    let y = sketch.node(Binary { kind: BinaryKind::Add }, &[y, bias]);
    assert_eq!(sketch.simplified(y).nodes.len(), 2);
}

fn padded(mode: PadMode, rectified: bool, op: impl Into<Op>) -> Graph {
    let (mut sketch, x) = Sketch::new(&[1, 5, 5, 1]);
    let x = if rectified { sketch.node(Relu, &[x]) } else { sketch.node(LeakyRelu { alpha: 0.5 }, &[x]) };
    let y = sketch.node(Pad { pads: vec![[0, 0], [1, 1], [1, 1], [0, 0]], mode }, &[x]);
    let op = op.into();
    let weights = matches!(op, Op::Conv(_) | Op::ConvTranspose(_)).then(|| sketch.constant(&[3, 3, 1, 1]));
    let inputs: Vec<ValueId> = std::iter::once(y).chain(weights).collect();
    let y = sketch.node(op, &inputs);
    sketch.simplified(y)
}

#[test]
fn padding_merges_where_that_is_exact() {
    let (zeros, lowest) = (PadMode::Constant(0.0), PadMode::Constant(f32::NEG_INFINITY));
    let max = || MaxPool { window: Window::plain([3, 3], [2, 2]) };
    let mean = || AveragePool { window: Window::plain([3, 3], [1, 1]), count_include_pad: false };
    assert_eq!(count(&padded(zeros, false, conv([0; 4])), "Pad"), 0);
    assert_eq!(count(&padded(PadMode::Edge, false, conv([0; 4])), "Pad"), 1);
    let (strides, output_padding) = ([2, 3], [1, 0]);
    let transposed = |pads| ConvTranspose { strides, dilations: [1, 1], pads, output_padding, group: 1 };
    assert_eq!(count(&padded(zeros, false, transposed([2, 3, 2, 4])), "Pad"), 0);
    assert_eq!(count(&padded(zeros, false, transposed([2, 2, 2, 3])), "Pad"), 1);
    assert_eq!(count(&padded(lowest, false, max()), "Pad"), 0);
    assert_eq!(count(&padded(zeros, true, max()), "Pad"), 0);
    assert_eq!(count(&padded(zeros, false, max()), "Pad"), 1);
    // A window of one element would cover only padding.
    let corner = MaxPool { window: Window::plain([1, 1], [1, 1]) };
    assert_eq!(count(&padded(zeros, true, corner), "Pad"), 1);
    assert_eq!(count(&padded(zeros, false, mean()), "Pad"), 0);
}

#[test]
fn outputs_keep_their_names_when_what_makes_them_goes() {
    let (mut sketch, x) = Sketch::new(&[1, 2, 2, 1]);
    let y = sketch.node(Relu, &[x]);
    let y = sketch.node(Reshape { shape: vec![1, 2, 2, 1] }, &[y]);
    let name = sketch.0.value(y).name.clone();
    let graph = sketch.simplified(y);
    assert_eq!((graph.nodes.len(), graph.value(graph.outputs[0]).name.clone()), (1, name));
}

#[test]
fn an_invalid_graph_is_refused() {
    let (mut sketch, x) = Sketch::new(&[1, 2]);
    let y = sketch.node(Relu, &[x]);
    sketch.0.outputs = vec![y];
    sketch.0.nodes.clear();
    assert!(matches!(simplify(&mut sketch.0), Err(PassError::Graph(_))));
}

/// More consecutive operators than calls fit on a stack.
#[test]
fn deep_graphs_are_simplified() {
    let mut graph = Graph::default();
    let info = ValueInfo { shape: vec![1, 2, 2], element: ElementType::F32 };
    let x = graph.add_input("x", info);
    let mut add =
        |name: String, op: Op, inputs: Vec<ValueId>| graph.add_node(&name, op, inputs, &[&name]).unwrap()[0];
    let turned = add("turned".to_owned(), Transpose { perm: vec![0, 2, 1] }.into(), vec![x]);
    let mut rows = add("rows".to_owned(), Reshape { shape: vec![1, 4] }.into(), vec![turned]);
    for index in 0..100_000 {
        rows = add(format!("relu{index}"), Relu.into(), vec![rows]);
    }
    let weights = graph.add_constant("weights", noise(&[4, 3], 3));
    let y = graph.add_node("y", MatMul.into(), vec![rows, weights], &["y"]).unwrap()[0];
    graph.outputs.push(y);
    let before = graph.clone();
    simplify(&mut graph).unwrap();
    assert_eq!(count(&graph, "Transpose"), 0);
    let inputs = inputs_of(&before);
    assert_eq!(evaluate(&before, &inputs), evaluate(&graph, &inputs));
}
