//! Passes that recognize operators which exporters write as arithmetic.

use npukit_graph::op::{
    BatchNormalization, Binary, BinaryKind, Clip, Conv, GeluForm, MatMul, Pow, Reduce, ReduceKind, Relu,
    Transpose, Unary, UnaryKind,
};
use npukit_graph::pass::simplify;
use npukit_graph::{Graph, Op, ValueId, ValueInfo, evaluate};
use npukit_numeric::{ElementType, Tensor};

use crate::support::{distance, f32s, floats, i64s, noise};

pub const SHAPE: [usize; 4] = [1, 3, 2, 4];

/// Builds a graph with one input `x` of shape [`SHAPE`] in a few lines.
pub struct Sketch {
    pub graph: Graph,
    pub x: ValueId,
}

impl Sketch {
    pub fn new() -> Self {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: SHAPE.to_vec(), element: ElementType::F32 });
        Self { graph, x }
    }

    pub fn constant(&mut self, tensor: Tensor) -> ValueId {
        let name = self.graph.fresh_name("c");
        self.graph.add_constant(name, tensor)
    }

    pub fn node(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let name = self.graph.fresh_name("v");
        self.graph.add_node(name.clone(), op.into(), inputs.to_vec(), &[&name]).unwrap()[0]
    }

    pub fn binary(&mut self, kind: BinaryKind, left: ValueId, right: ValueId) -> ValueId {
        self.node(Binary { kind }, &[left, right])
    }

    pub fn with(&mut self, kind: BinaryKind, left: ValueId, number: f32) -> ValueId {
        let number = self.constant(f32s(&[], &[number]));
        self.binary(kind, left, number)
    }

    pub fn unary(&mut self, kind: UnaryKind, x: ValueId) -> ValueId {
        self.node(Unary { kind }, &[x])
    }

    /// Simplifies; returns the remaining operators, after checking that the result stays within
    /// `tolerance`.
    pub fn simplified(mut self, output: ValueId, tolerance: f32) -> Vec<String> {
        self.graph.outputs = vec![output];
        let x = noise(&SHAPE, 5);
        let x = f32s(&SHAPE, &floats(&x).iter().map(|x| 4.0 * x).collect::<Vec<_>>());
        let before = evaluate(&self.graph, std::slice::from_ref(&x)).unwrap();
        simplify(&mut self.graph).unwrap();
        let after = evaluate(&self.graph, &[x]).unwrap();
        assert!(distance(&before[0], &after[0]) <= tolerance, "{}", self.graph);
        self.graph.nodes.iter().map(|node| node.op.to_string()).collect()
    }
}

/// A product with 1 is removed, also where it could be mistaken for a sum with 0, several times.
#[test]
fn arithmetic_that_does_nothing_goes() {
    let mut s = Sketch::new();
    let y = s.with(BinaryKind::Mul, s.x, 1.0);
    let y = s.with(BinaryKind::Add, y, 0.0);
    let y = s.unary(UnaryKind::Exp, y);
    let y = s.with(BinaryKind::Div, y, 1.0);
    assert_eq!(s.simplified(y, 0.0), ["Exp"]);

    let mut s = Sketch::new();
    let y = s.with(BinaryKind::Mul, s.x, 1.0);
    assert_eq!(s.simplified(y, 0.0), ["Mul"], "an output that is the input");
}

#[test]
fn swish_and_mish() {
    let mut s = Sketch::new();
    let gate = s.unary(UnaryKind::Sigmoid, s.x);
    let y = s.binary(BinaryKind::Mul, gate, s.x);
    assert_eq!(s.simplified(y, 0.0), ["Swish { alpha: 1.0 }"]);

    let mut s = Sketch::new();
    let scaled = s.with(BinaryKind::Mul, s.x, 1.702);
    let gate = s.unary(UnaryKind::Sigmoid, scaled);
    let y = s.binary(BinaryKind::Mul, s.x, gate);
    assert_eq!(s.simplified(y, 0.0), ["Swish { alpha: 1.702 }"]);

    // The operand itself is a multiple.
    let mut s = Sketch::new();
    let scaled = s.with(BinaryKind::Mul, s.x, 2.0);
    let gate = s.unary(UnaryKind::Sigmoid, scaled);
    let y = s.binary(BinaryKind::Mul, scaled, gate);
    assert_eq!(s.simplified(y, 0.0).last().unwrap(), "Swish { alpha: 1.0 }");

    let mut s = Sketch::new();
    let soft = s.unary(UnaryKind::Softplus, s.x);
    let gate = s.unary(UnaryKind::Tanh, soft);
    let y = s.binary(BinaryKind::Mul, s.x, gate);
    assert_eq!(s.simplified(y, 0.0), ["Mish"]);
}

#[test]
fn a_gate_on_another_value_stays() {
    let mut s = Sketch::new();
    let other = s.unary(UnaryKind::Sin, s.x);
    let gate = s.unary(UnaryKind::Sigmoid, other);
    let y = s.binary(BinaryKind::Mul, s.x, gate);
    assert_eq!(s.simplified(y, 0.0), ["Sin", "Sigmoid", "Mul"]);
}

#[test]
fn hard_swish_in_any_order() {
    for order in 0..3 {
        let mut s = Sketch::new();
        let sum = s.with(BinaryKind::Add, s.x, 3.0);
        let gate = s.node(Clip { min: 0.0, max: 6.0 }, &[sum]);
        let y = match order {
            0 => {
                let gate = s.with(BinaryKind::Div, gate, 6.0);
                s.binary(BinaryKind::Mul, s.x, gate)
            }
            1 => {
                let product = s.binary(BinaryKind::Mul, s.x, gate);
                s.with(BinaryKind::Div, product, 6.0)
            }
            _ => {
                let product = s.binary(BinaryKind::Mul, gate, s.x);
                s.with(BinaryKind::Mul, product, 1.0 / 6.0)
            }
        };
        assert_eq!(s.simplified(y, 1e-6), ["HardSwish"], "{order}");
    }
    // Seven instead of six.
    let mut s = Sketch::new();
    let sum = s.with(BinaryKind::Add, s.x, 3.0);
    let gate = s.node(Clip { min: 0.0, max: 6.0 }, &[sum]);
    let y = s.with(BinaryKind::Div, gate, 7.0);
    assert_eq!(s.simplified(y, 0.0).len(), 3);
}

#[test]
fn gelu_as_frameworks_write_it() {
    let erf = |s: &mut Sketch, divide: bool| {
        let inner = match divide {
            true => s.with(BinaryKind::Div, s.x, std::f32::consts::SQRT_2),
            false => s.with(BinaryKind::Mul, s.x, std::f32::consts::FRAC_1_SQRT_2),
        };
        let erf = s.unary(UnaryKind::Erf, inner);
        s.with(BinaryKind::Add, erf, 1.0)
    };
    // PyTorch: x * (1 + erf) * 0.5.
    let mut s = Sketch::new();
    let gate = erf(&mut s, true);
    let product = s.binary(BinaryKind::Mul, s.x, gate);
    let y = s.with(BinaryKind::Mul, product, 0.5);
    let exact = Unary { kind: UnaryKind::Gelu { form: GeluForm::Exact } };
    assert_eq!(s.simplified(y, 1e-6), [Op::from(exact.clone()).to_string()]);
    // Keras: 0.5 * x * (1 + erf).
    let mut s = Sketch::new();
    let gate = erf(&mut s, false);
    let half = s.with(BinaryKind::Mul, s.x, 0.5);
    let y = s.binary(BinaryKind::Mul, half, gate);
    assert_eq!(s.simplified(y, 1e-6), [Op::from(exact).to_string()]);
    // The approximation, with the cube as a power.
    let mut s = Sketch::new();
    let three = s.constant(i64s(&[], &[3]));
    let cube = s.node(Pow, &[s.x, three]);
    let cube = s.with(BinaryKind::Mul, cube, 0.044715);
    let sum = s.binary(BinaryKind::Add, s.x, cube);
    let inner = s.with(BinaryKind::Mul, sum, 0.797_884_6);
    let tanh = s.unary(UnaryKind::Tanh, inner);
    let gate = s.with(BinaryKind::Add, tanh, 1.0);
    let half = s.with(BinaryKind::Mul, s.x, 0.5);
    let y = s.binary(BinaryKind::Mul, half, gate);
    assert_eq!(s.simplified(y, 2e-6).len(), 1);
}

/// `d / sqrt(mean(d^2) + epsilon) * scale`, where `d` is `x` or `x - mean(x)`.
fn normalized(s: &mut Sketch, centered: bool, reciprocal: bool) -> ValueId {
    let mean = Reduce { kind: ReduceKind::Mean, axes: vec![2, 3], keep_dims: true };
    let mut d = s.x;
    if centered {
        let average = s.node(mean.clone(), &[s.x]);
        d = s.binary(BinaryKind::Sub, s.x, average);
    }
    let two = s.constant(f32s(&[1], &[2.0]));
    let square = if reciprocal { s.binary(BinaryKind::Mul, d, d) } else { s.node(Pow, &[d, two]) };
    let variance = s.node(mean, &[square]);
    let sum = s.with(BinaryKind::Add, variance, 1e-3);
    let root = s.unary(UnaryKind::Sqrt, sum);
    let quotient = if reciprocal {
        let inverse = s.unary(UnaryKind::Reciprocal, root);
        s.binary(BinaryKind::Mul, d, inverse)
    } else {
        s.binary(BinaryKind::Div, d, root)
    };
    let scale = s.constant(noise(&[2, 4], 1));
    s.binary(BinaryKind::Mul, scale, quotient)
}

#[test]
fn layer_and_rms_normalization() {
    for reciprocal in [false, true] {
        let mut s = Sketch::new();
        let scaled = normalized(&mut s, true, reciprocal);
        let bias = s.constant(noise(&[4], 2));
        let y = s.binary(BinaryKind::Add, scaled, bias);
        assert_eq!(s.simplified(y, 1e-6), ["LayerNormalization { axis: 2, epsilon: 0.001 }"]);
        let mut s = Sketch::new();
        let y = normalized(&mut s, false, reciprocal);
        assert_eq!(s.simplified(y, 1e-6), ["RmsNormalization { axis: 2, epsilon: 0.001 }"]);
    }
}

#[test]
fn decomposed_batch_normalization_goes_into_the_convolution() {
    let mut s = Sketch::new();
    let (weights, mean) = (s.constant(noise(&[1, 1, 4, 5], 1)), s.constant(noise(&[5], 2)));
    let (scale, bias) = (s.constant(noise(&[1, 1, 1, 5], 3)), s.constant(noise(&[5], 4)));
    let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
    let y = s.node(conv, &[s.x, weights]);
    let y = s.binary(BinaryKind::Sub, y, mean);
    let y = s.binary(BinaryKind::Mul, scale, y);
    let y = s.binary(BinaryKind::Add, bias, y);
    let y = s.with(BinaryKind::Div, y, 2.0);
    let left = s.simplified(y, 5e-6);
    assert!(left.len() == 1 && left[0].starts_with("Conv"), "{left:?}");
}

#[test]
fn a_matrix_product_keeps_one_sum_behind_it() {
    let mut s = Sketch::new();
    let (weights, scale) = (s.constant(noise(&[4, 6], 1)), s.constant(noise(&[6], 2)));
    let y = s.node(MatMul, &[s.x, weights]);
    let y = s.with(BinaryKind::Add, y, 0.5);
    let y = s.binary(BinaryKind::Mul, y, scale);
    let y = s.with(BinaryKind::Sub, y, 0.25);
    assert_eq!(s.simplified(y, 5e-6), ["MatMul", "Add"]);
}

#[test]
fn chains_of_arithmetic_become_one_product_and_one_sum() {
    let mut s = Sketch::new();
    let (mean, scale) = (s.constant(noise(&[4], 1)), s.constant(noise(&[4], 2)));
    let y = s.node(Relu, &[s.x]);
    let y = s.binary(BinaryKind::Sub, y, mean);
    let y = s.binary(BinaryKind::Mul, y, scale);
    let y = s.with(BinaryKind::Add, y, 0.5);
    assert_eq!(s.simplified(y, 2e-6), ["Relu", "Mul", "Add"]);
    // Two steps stay if the alternative is not shorter.
    let mut s = Sketch::new();
    let centered = s.with(BinaryKind::Sub, s.x, 127.5);
    let y = s.with(BinaryKind::Mul, centered, 0.0078125);
    assert_eq!(s.simplified(y, 0.0), ["Sub", "Mul"]);
    // A value with other readers stays as well.
    let mut s = Sketch::new();
    let twice = s.with(BinaryKind::Mul, s.x, 2.0);
    let more = s.with(BinaryKind::Mul, twice, 3.0);
    let y = s.binary(BinaryKind::Mul, twice, more);
    assert_eq!(s.simplified(y, 0.0), ["Mul", "Mul", "Mul"]);
}

#[test]
fn whole_batch_normalization_stays_where_nothing_takes_it() {
    let mut s = Sketch::new();
    let y = s.node(Relu, &[s.x]);
    let parameters = [1, 2, 3].map(|seed| s.constant(noise(&[4], seed)));
    let variance = s.constant(f32s(&[4], &[1.0; 4]));
    let [scale, bias, mean] = parameters;
    let y = s.node(BatchNormalization { epsilon: 1e-3 }, &[y, scale, bias, mean, variance]);
    assert_eq!(s.simplified(y, 0.0), ["Relu", "BatchNormalization { epsilon: 0.001 }"]);
}

/// `exp(x - max) / sum`, as written by exporters without Softmax.
fn written_softmax(s: &mut Sketch, axes: [&[usize]; 2], divides: bool) -> ValueId {
    let reduce = |kind, axes: &[usize]| Reduce { kind, axes: axes.to_vec(), keep_dims: true };
    let largest = s.node(reduce(ReduceKind::Max, axes[0]), &[s.x]);
    let difference = s.binary(BinaryKind::Sub, s.x, largest);
    let powers = s.unary(UnaryKind::Exp, difference);
    let sum = s.node(reduce(ReduceKind::Sum, axes[1]), &[powers]);
    if divides {
        return s.binary(BinaryKind::Div, powers, sum);
    }
    let inverse = s.unary(UnaryKind::Reciprocal, sum);
    s.binary(BinaryKind::Mul, inverse, powers)
}

#[test]
fn softmax_written_as_arithmetic_is_one() {
    for (axes, divides) in [(&[3][..], true), (&[1], true), (&[2, 3], false)] {
        let mut s = Sketch::new();
        let y = written_softmax(&mut s, [axes, axes], divides);
        let left = s.simplified(y, 1e-6);
        assert!(left.iter().any(|op| op.starts_with("Softmax")), "{left:?}");
        assert!(!left.iter().any(|op| op.starts_with("Exp") || op.starts_with("Reduce")), "{left:?}");
    }
    // The maximum of a row, but the sum of a column.
    let mut s = Sketch::new();
    let y = written_softmax(&mut s, [&[3], &[2]], true);
    assert!(!s.simplified(y, 1e-6).iter().any(|op| op.starts_with("Softmax")));
}

/// The mean over an image, as `x.mean([2, 3])` is exported, after operators that may follow a
/// convolution.
#[test]
fn a_mean_of_an_image_is_taken_where_its_channels_are_last() {
    for (axes, steps) in [(&[2, 3][..], 0), (&[2, 3], 1), (&[2], 0)] {
        let mut s = Sketch::new();
        let weights = s.constant(noise(&[1, 1, 4, 5], 9));
        let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
        let mut y = s.node(conv, &[s.x, weights]);
        y = s.node(Transpose { perm: vec![0, 3, 1, 2] }, &[y]);
        for _ in 0..steps {
            y = s.unary(UnaryKind::Tanh, y);
        }
        let mean = Reduce { kind: ReduceKind::Mean, axes: axes.to_vec(), keep_dims: false };
        y = s.node(mean, &[y]);
        let left = s.simplified(y, 1e-5);
        // Rows and columns are reduced; without rows only, channels and columns would change
        // places.
        let crosses = axes == [2, 3];
        assert_eq!(left.iter().any(|op| op.starts_with("Transpose")), !crosses, "{left:?}");
        assert_eq!(left.iter().any(|op| op.contains("axes: [1, 2]")), crosses, "{left:?}");
    }
}
