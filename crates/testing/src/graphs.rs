//! Graphs for the compilers of all targets: [`small_graphs`].

use npukit_graph::op::{
    AveragePool, Binary, BinaryKind, Conv, ConvTranspose, Gemm, LeakyRelu, MaxPool, Relu, Reshape, Softmax,
    Window,
};
use npukit_graph::{Graph, Op, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};

use crate::Random;

/// A graph under construction.
struct Net {
    graph: Graph,
    random: Random,
}

/// Adds a graph's nodes and returns its outputs.
type Build = fn(&mut Net) -> Vec<ValueId>;

/// All graphs, by name. A graph that a target cannot compile must be listed in its
/// [`presets`](crate::Suite::presets).
const GRAPHS: [(&str, Build); 9] = [
    ("relu", |net| {
        let x = net.input(&[1, 24]);
        vec![net.node("relu", Relu, &[x])]
    }),
    ("add", |net| {
        let [x, y] = [net.input(&[1, 24]), net.input(&[1, 24])];
        vec![net.binary("add", BinaryKind::Add, x, y)]
    }),
    ("add and relu", |net| {
        let [x, y] = [net.input(&[1, 24]), net.input(&[1, 24])];
        let sum = net.binary("add", BinaryKind::Add, x, y);
        vec![net.node("relu", Relu, &[sum])]
    }),
    ("dense", |net| {
        let x = net.input(&[1, 16]);
        vec![net.dense("dense", x, 8)]
    }),
    ("perceptron", |net| {
        let x = net.input(&[1, 16]);
        let hidden = net.dense("hidden", x, 12);
        let hidden = net.node("relu", Relu, &[hidden]);
        vec![net.dense("last", hidden, 4)]
    }),
    ("convolution", |net| {
        let x = net.input(&[1, 6, 6, 4]);
        let y = net.conv("conv", x, [3, 3], 8);
        vec![net.node("relu", Relu, &[y])]
    }),
    ("pools", |net| {
        let x = net.input(&[1, 8, 8, 4]);
        let y = net.conv("conv", x, [1, 1], 4);
        let most = MaxPool { window: Window::plain([2, 2], [2, 2]) };
        let y = net.node("most", most, &[y]);
        let mean = AveragePool { window: Window::plain([4, 4], [1, 1]), count_include_pad: false };
        vec![net.node("mean", mean, &[y])]
    }),
    ("softmax", |net| {
        let x = net.input(&[1, 16]);
        let y = net.dense("dense", x, 10);
        vec![net.node("softmax", Softmax { axis: 1, axis_end: 2 }, &[y])]
    }),
    ("transposed convolution", |net| {
        let x = net.input(&[1, 4, 4, 4]);
        let weights = net.random(&[3, 3, 4, 4], 0.3);
        let conv = ConvTranspose {
            strides: [2, 2],
            dilations: [1, 1],
            pads: [0; 4],
            output_padding: [0, 0],
            group: 1,
        };
        vec![net.node("up", conv, &[x, weights])]
    }),
];

/// Graphs of a few nodes with random constants, by name.
pub fn small_graphs() -> Vec<(&'static str, Graph)> {
    let graph = |(seed, (name, build)): (u64, (&'static str, Build))| {
        let mut net = Net { graph: Graph::default(), random: Random::new(seed) };
        net.graph.name = "small".to_owned();
        net.graph.outputs = build(&mut net);
        net.graph.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, net.graph)
    };
    (1..).zip(GRAPHS).map(graph).collect()
}

/// Makes a random graph of two to six layers on an image: convolutions, ReLUs, pools and sums, with
/// a matrix product at the end.
pub fn random_graph(seed: u64) -> Graph {
    let mut net = Net { graph: Graph::default(), random: Random::new(seed) };
    net.graph.name = "random".to_owned();
    let channels = 1 + net.random.below(6);
    let mut value = net.input(&[1, 8, 8, channels]);
    for index in 0..1 + net.random.below(5) {
        let name = format!("n{index}");
        let [_, rows, ..] = *net.graph.shape(value) else { unreachable!("images have four axes") };
        let pool = Window::plain([2, 2], [2, 2]);
        value = match net.random.below(5) {
            0 if rows >= 4 => net.node(&name, MaxPool { window: pool }, &[value]),
            1 if rows >= 4 => {
                net.node(&name, AveragePool { window: pool, count_include_pad: false }, &[value])
            }
            2 => {
                let other = net.node(&format!("{name}/relu"), Relu, &[value]);
                net.binary(&name, BinaryKind::Add, value, other)
            }
            3 => net.node(&name, LeakyRelu { alpha: 0.125 }, &[value]),
            _ => {
                let (size, filters) = (1 + net.random.below(rows.min(3)), 1 + net.random.below(9));
                let sums = net.conv(&format!("{name}/conv"), value, [size, size], filters);
                net.node(&name, Relu, &[sums])
            }
        };
    }
    let features = net.graph.shape(value).iter().product();
    let flat = net.node("flat", Reshape { shape: vec![1, features] }, &[value]);
    let last = net.dense("last", flat, 5);
    net.graph.outputs = vec![last];
    net.graph.validate().unwrap_or_else(|error| panic!("random graph {seed}: {error}"));
    net.graph
}

/// Makes a graph whose middle node most compilers leave to the host, between convolutions that they
/// support.
pub(crate) fn divided_graph() -> Graph {
    let mut net = Net { graph: Graph::default(), random: Random::new(77) };
    net.graph.name = "divided".to_owned();
    let x = net.input(&[1, 4, 4, 4]);
    let first = net.conv("first", x, [1, 1], 4);
    let weights = net.random(&[3, 3, 4, 4], 0.3);
    let conv =
        ConvTranspose { strides: [2, 2], dilations: [1, 1], pads: [0; 4], output_padding: [0, 0], group: 1 };
    let up = net.node("up", conv, &[first, weights]);
    let last = net.conv("last", up, [3, 3], 4);
    net.graph.outputs = vec![last];
    net.graph.validate().unwrap_or_else(|error| panic!("divided: {error}"));
    net.graph
}

impl Net {
    fn input(&mut self, shape: &[usize]) -> ValueId {
        let name = format!("x{}", self.graph.inputs.len());
        self.graph.add_input(name, ValueInfo { shape: shape.to_vec(), element: ElementType::F32 })
    }

    /// Adds a constant of random numbers up to `size`.
    fn random(&mut self, shape: &[usize], size: f32) -> ValueId {
        let values = self.random.numbers(shape.iter().product()).into_iter().map(|x| x * size).collect();
        let tensor =
            Tensor::from_f32(shape.to_vec(), values).expect("the number of elements matches the shape");
        self.graph.add_constant(format!("c{}", self.graph.values.len()), tensor)
    }

    fn node(&mut self, name: &str, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let result = format!("{name}/out");
        let results = self.graph.add_node(name, op.into(), inputs.to_vec(), &[&result]);
        results.unwrap_or_else(|error| panic!("{name}: {error}"))[0]
    }

    fn binary(&mut self, name: &str, kind: BinaryKind, left: ValueId, right: ValueId) -> ValueId {
        self.node(name, Binary { kind }, &[left, right])
    }

    /// Adds a matrix product with a bias.
    fn dense(&mut self, name: &str, x: ValueId, outputs: usize) -> ValueId {
        let inputs = self.graph.shape(x)[1];
        let weights = self.random(&[inputs, outputs], 0.4);
        let bias = self.random(&[outputs], 0.4);
        self.node(name, Gemm::PLAIN, &[x, weights, bias])
    }

    /// Adds a convolution of an image with a bias, without padding.
    fn conv(&mut self, name: &str, x: ValueId, [rows, columns]: [usize; 2], filters: usize) -> ValueId {
        let channels = self.graph.shape(x)[3];
        let weights = self.random(&[rows, columns, channels, filters], 0.3);
        let bias = self.random(&[filters], 0.3);
        let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
        self.node(name, conv, &[x, weights, bias])
    }
}
