//! Simplification of long graphs: in the same number of pass runs as short ones, each in linear
//! time.

use npukit_graph::op::{
    BatchNormalization, Binary, BinaryKind, Cast, Clip, Concat, Conv, Gemm, MatMul, Relu, Reshape, Softmax,
    Split, Transpose,
};
use npukit_graph::pass::simplify_counting;
use npukit_graph::{Graph, Op, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};

/// Number of nodes of a long graph: a pass with quadratic run time takes minutes or more.
const LONG: usize = 60_000;

/// A network under construction.
struct Net {
    graph: Graph,
    made: usize,
}

impl Net {
    fn new(shape: &[usize]) -> (Self, ValueId) {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
        let x = graph.add_input("x", info);
        (Self { graph, made: 0 }, x)
    }

    fn name(&mut self) -> String {
        self.made += 1;
        format!("v{}", self.made)
    }

    fn node(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let name = self.name();
        self.graph.add_node(name.as_str(), op.into(), inputs.to_vec(), &[name.as_str()]).unwrap()[0]
    }

    /// A constant with elements slightly above 1.
    fn constant(&mut self, shape: &[usize]) -> ValueId {
        let name = self.name();
        let values = (0..shape.iter().product()).map(|i: usize| 1.0 + (i % 7) as f32 / 64.0).collect();
        self.graph.add_constant(name, Tensor::from_f32(shape.to_vec(), values).unwrap())
    }

    fn ending(mut self, outputs: &[ValueId]) -> Graph {
        self.graph.outputs = outputs.to_vec();
        self.graph
    }
}

/// `length` nodes in sequence on `[1, 8]`: `step` adds a value after the last one.
fn chain(length: usize, step: impl Fn(&mut Net, usize, ValueId) -> ValueId) -> Graph {
    chain_of(&[1, 8], length, step)
}

fn chain_of(shape: &[usize], length: usize, step: impl Fn(&mut Net, usize, ValueId) -> ValueId) -> Graph {
    let (mut net, x) = Net::new(shape);
    let last = (0..length).fold(x, |value, index| step(&mut net, index, value));
    net.ending(&[last])
}

fn binary(kind: BinaryKind) -> Op {
    Binary { kind }.into()
}

/// Simplifies graphs of one kind with 100, 200 and [`LONG`] steps. Returns the number of nodes that
/// remain of the long one.
fn simplified(graph: impl Fn(usize) -> Graph) -> usize {
    let runs = |length| {
        let mut graph = graph(length);
        let runs = simplify_counting(&mut graph).unwrap();
        (runs, graph.nodes.len())
    };
    let [short, twice, long] = [100, 200, LONG].map(runs);
    // At most the logarithm of the length may be added.
    assert!(twice.0 <= short.0 + 2 && long.0 <= short.0 + 24, "{short:?}, {twice:?}, {long:?}");
    long.1
}

#[test]
fn chains_that_stay() {
    let relu_add = |net: &mut Net, index: usize, x: ValueId| match index % 2 {
        0 => net.node(Relu, &[x]),
        _ => {
            let c = net.constant(&[8]);
            net.node(binary(BinaryKind::Add), &[x, c])
        }
    };
    assert_eq!(simplified(|length| chain(length, relu_add)), LONG);
    let residual = |net: &mut Net, _: usize, x: ValueId| {
        let y = net.node(Relu, &[x]);
        net.node(binary(BinaryKind::Add), &[x, y])
    };
    assert_eq!(simplified(|length| chain(length / 2, residual)), LONG);
}

#[test]
fn chains_that_go() {
    let casts = |net: &mut Net, _: usize, x: ValueId| net.node(Cast::new(ElementType::F32), &[x]);
    // An output that equals an input stays a separate value.
    assert_eq!(simplified(|length| chain(length, casts)), 1);
    let clips = |net: &mut Net, index: usize, x: ValueId| match index {
        0 => net.node(Relu, &[x]),
        _ => net.node(Clip { min: f32::NEG_INFINITY, max: f32::INFINITY }, &[x]),
    };
    assert_eq!(simplified(|length| chain(length, clips)), 1);
    let reshapes = |net: &mut Net, index: usize, x: ValueId| {
        net.node(Reshape { shape: [[8, 1], [1, 8]][index % 2].to_vec() }, &[x])
    };
    assert_eq!(simplified(|length| chain(length, reshapes)), 1);
}

#[test]
fn arithmetic_in_a_row() {
    let adds = |net: &mut Net, _: usize, x: ValueId| {
        let c = net.constant(&[8]);
        net.node(binary(BinaryKind::Add), &[x, c])
    };
    assert_eq!(simplified(|length| chain(length, adds)), 1);
    // Factors whose product exceeds the float range are merged only in part.
    let products = |net: &mut Net, _: usize, x: ValueId| {
        let c = net.constant(&[1]);
        let c = net.node(binary(BinaryKind::Add), &[c, c]);
        net.node(binary(BinaryKind::Mul), &[x, c])
    };
    let left = simplified(|length| chain(length, products));
    assert!((LONG / 128..LONG / 64).contains(&left), "{left}");
    let both = |net: &mut Net, index: usize, x: ValueId| match index % 3 {
        0 => net.node(Relu, &[x]),
        kind => {
            let c = net.constant(&[8]);
            net.node(binary([BinaryKind::Mul, BinaryKind::Add][kind - 1]), &[x, c])
        }
    };
    assert_eq!(simplified(|length| chain(length, both)), LONG);
}

#[test]
fn folding_into_weights() {
    let products = |net: &mut Net, index: usize, x: ValueId| match index % 3 {
        0 => {
            let w = net.constant(&[8, 8]);
            net.node(MatMul, &[x, w])
        }
        1 => {
            let c = net.constant(&[8]);
            net.node(binary(BinaryKind::Mul), &[x, c])
        }
        _ => net.node(Relu, &[x]),
    };
    assert_eq!(simplified(|length| chain(length, products)), LONG / 3 * 2);
    let normalized = |net: &mut Net, index: usize, x: ValueId| match index % 2 {
        0 => {
            let w = net.constant(&[8, 8]);
            let b = net.constant(&[8]);
            net.node(Gemm::PLAIN, &[x, w, b])
        }
        _ => {
            let parameters: [ValueId; 4] = std::array::from_fn(|_| net.constant(&[8]));
            let [scale, bias, mean, variance] = parameters;
            net.node(BatchNormalization { epsilon: 1e-5 }, &[x, scale, bias, mean, variance])
        }
    };
    assert_eq!(simplified(|length| chain(length, normalized)), LONG / 2);
    // Weights of 64 KiB that take in one factor after another must be stored once, not once per
    // factor.
    let large = |net: &mut Net, index: usize, x: ValueId| match index {
        0 => {
            let w = net.constant(&[1, 1, 128, 128]);
            net.node(Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 }, &[x, w])
        }
        _ => {
            let c = net.constant(&[128]);
            let c = net.node(binary(BinaryKind::Sub), &[c, c]);
            let one = net.constant(&[1]);
            let c = net.node(binary(BinaryKind::Add), &[c, one]);
            net.node(binary(BinaryKind::Mul), &[x, c])
        }
    };
    assert_eq!(simplified(|length| chain_of(&[1, 1, 1, 128], length / 10, large)), 1);
}

#[test]
fn transpositions_and_reshapes_between_others() {
    let transposed = |net: &mut Net, index: usize, x: ValueId| match index % 2 {
        0 => net.node(Transpose { perm: vec![1, 0] }, &[x]),
        _ => net.node(Relu, &[x]),
    };
    assert_eq!(simplified(|length| chain_of(&[3, 8], length, transposed)), LONG / 2);
    let reshaped = |net: &mut Net, index: usize, x: ValueId| match index % 2 {
        0 => net.node(Reshape { shape: [[8, 1], [1, 8]][index / 2 % 2].to_vec() }, &[x]),
        _ => net.node(Relu, &[x]),
    };
    assert_eq!(simplified(|length| chain(length, reshaped)), LONG / 2);
    let crossed = |net: &mut Net, index: usize, x: ValueId| match index % 4 {
        0 | 2 => net.node(Transpose { perm: vec![0, 2, 1] }, &[x]),
        1 => net.node(Reshape { shape: vec![2, 3, 10] }, &[x]),
        _ => net.node(Softmax { axis: 2, axis_end: 3 }, &[x]),
    };
    assert!(simplified(|length| chain_of(&[2, 10, 3], length / 4 * 4, crossed)) <= LONG);
}

#[test]
fn many_at_once() {
    let split = |count: usize| {
        let (mut net, x) = Net::new(&[1, 8 * count]);
        let names: Vec<String> = (0..count).map(|_| net.name()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let op = Split { axis: 1, sizes: vec![8; count] }.into();
        let parts = net.graph.add_node("split", op, vec![x], &names).unwrap();
        let parts: Vec<ValueId> = parts.into_iter().map(|part| net.node(Relu, &[part])).collect();
        let y = net.node(Concat { axis: 1 }, &parts);
        net.ending(&[y])
    };
    assert_eq!(simplified(split), LONG + 2);
    let users = |count: usize| {
        let (mut net, x) = Net::new(&[1, 8]);
        let sum = |net: &mut Net| {
            let c = net.constant(&[8]);
            net.node(binary(BinaryKind::Add), &[x, c])
        };
        let outputs: Vec<ValueId> = (0..count).map(|_| sum(&mut net)).collect();
        net.ending(&outputs)
    };
    assert_eq!(simplified(users), LONG);
}
