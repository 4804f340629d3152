//! `tests/passes/tcu`: for every rewrite, small graphs before and after it, as text.
//! `NPUKIT_BLESS=1` writes the files.

#![allow(clippy::unwrap_used, reason = "tests")]

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Conv, MaxPool, Reduce, ReduceKind, Relu, Softmax,
    Unary, UnaryKind, Window,
};
use npukit_graph::{Graph, Op, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};
use npukit_testing::{Rewritten, expect_rewritten};

use crate::config::{Config, DataType};
use crate::lower::Order;

/// Builds a graph in a few lines, with generated names.
struct Sketch(Graph);

impl Sketch {
    fn input(&mut self, shape: &[usize]) -> ValueId {
        let name = self.0.fresh_name("x");
        self.0.add_input(name, ValueInfo { shape: shape.to_vec(), element: ElementType::F32 })
    }

    fn constant(&mut self, shape: &[usize], value: f32) -> ValueId {
        let name = self.0.fresh_name("c");
        let elements = shape.iter().product();
        self.0.add_constant(name, Tensor::from_f32(shape.to_vec(), vec![value; elements]).unwrap())
    }

    fn node(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let name = self.0.fresh_name("v");
        self.0.add_node(name.clone(), op.into(), inputs.to_vec(), &[&name]).unwrap()[0]
    }

    /// Adds a convolution that keeps the channels of `x`.
    fn conv(&mut self, x: ValueId, kernel: usize, stride: usize) -> ValueId {
        let channels = self.0.shape(x)[3];
        let weights = self.constant(&[kernel, kernel, channels, channels], 0.5);
        let pads = [kernel / 2; 4];
        self.node(Conv { strides: [stride; 2], dilations: [1; 2], pads, group: 1 }, &[x, weights])
    }

    /// Adds a batch normalization that multiplies by 2 and subtracts 1.
    fn normalized(&mut self, x: ValueId) -> ValueId {
        let channels = [self.0.shape(x)[3]];
        let parameters = [2.0, -1.0, 0.0, 1.0].map(|value| self.constant(&channels, value));
        self.node(BatchNormalization { epsilon: 0.0 }, &[&[x], parameters.as_slice()].concat())
    }

    /// Adds a mean over windows that fill a square image of one channel.
    fn mean(&mut self, side: usize) -> ValueId {
        let x = self.input(&[1, side, side, 1]);
        let window = Window::plain([side; 2], [1; 2]);
        self.node(AveragePool { window, count_include_pad: false }, &[x])
    }
}

/// An instance with 16 lanes.
fn config(lookup_tables: usize) -> Config {
    let config = Config::preset("speech_robot").unwrap();
    Config { array_size: 16, data_type: DataType::Float32, lookup_tables, ..config }
}

/// Formats a graph before and after the rewrites; `build` returns its outputs. The second element
/// of the pair is whether they must change it.
fn example(
    title: &'static str,
    (lookup_tables, changes): (usize, bool),
    build: impl FnOnce(&mut Sketch) -> Vec<ValueId>,
) -> Rewritten {
    let mut sketch = Sketch(Graph { name: "example".to_owned(), ..Graph::default() });
    sketch.0.outputs = build(&mut sketch);
    let mut after = super::rewrite(&sketch.0, &config(lookup_tables), Order::Default).unwrap();
    after.remove_dead();
    let (before, after) = (sketch.0.to_string(), after.to_string());
    assert_eq!(before != after, changes, "{title}:\n{before}{after}");
    Rewritten { title, before, after }
}

/// Formats a graph like [`example`], with the decomposition for which calibration chooses scales.
fn decomposed(
    title: &'static str,
    changes: bool,
    build: impl FnOnce(&mut Sketch) -> Vec<ValueId>,
) -> Rewritten {
    let mut sketch = Sketch(Graph { name: "example".to_owned(), ..Graph::default() });
    sketch.0.outputs = build(&mut sketch);
    let after = super::decomposed(&sketch.0, &config(0)).unwrap();
    let (before, after) = (sketch.0.to_string(), after.to_string());
    assert_eq!(before != after, changes, "{title}:\n{before}{after}");
    Rewritten { title, before, after }
}

const WORKS: (usize, bool) = (0, true);
const STAYS: (usize, bool) = (0, false);

#[test]
fn composites() {
    let softmax = |sketch: &mut Sketch| {
        let x = sketch.input(&[1, 4]);
        vec![sketch.node(Softmax { axis: 1, axis_end: 2 }, &[x])]
    };
    let texts = [
        example("Softmax, with two lookup tables", (2, true), softmax),
        example("a norm, with two lookup tables", (2, true), |sketch| {
            let x = sketch.input(&[1, 4]);
            vec![sketch.node(Reduce { kind: ReduceKind::L2, axes: vec![1], keep_dims: true }, &[x])]
        }),
        example("division by a constant, with two lookup tables", (2, false), |sketch| {
            let (x, divisor) = (sketch.input(&[1, 4]), sketch.constant(&[4], 3.0));
            vec![sketch.node(Binary { kind: BinaryKind::Div }, &[x, divisor])]
        }),
        example("one over a root, with two lookup tables", (2, true), |sketch| {
            let x = sketch.input(&[1, 4]);
            let root = sketch.node(Unary { kind: UnaryKind::Sqrt }, &[x]);
            vec![sketch.node(Unary { kind: UnaryKind::Reciprocal }, &[root])]
        }),
        example("division by a root that is given out, with two lookup tables", (2, true), |sketch| {
            let (x, y) = (sketch.input(&[1, 4]), sketch.input(&[1, 4]));
            let root = sketch.node(Unary { kind: UnaryKind::Sqrt }, &[y]);
            vec![sketch.node(Binary { kind: BinaryKind::Div }, &[x, root]), root]
        }),
        example("Softmax, without lookup tables", (0, false), softmax),
    ];
    expect_rewritten("passes/tcu/composites.txt", "Operators that a lookup makes possible.", &texts);
}

#[test]
fn channel_means() {
    let mean = |sketch: &mut Sketch, shape: &[usize], axis: usize, keep_dims: bool| {
        let x = sketch.input(shape);
        vec![sketch.node(Reduce { kind: ReduceKind::Mean, axes: vec![axis], keep_dims }, &[x])]
    };
    let texts = [
        decomposed("32 channels", true, |sketch| mean(sketch, &[2, 32], 1, true)),
        decomposed("24 channels, no axis stays", true, |sketch| mean(sketch, &[2, 24], 1, false)),
        decomposed("16 channels", false, |sketch| mean(sketch, &[2, 16], 1, true)),
        decomposed("32 rows", false, |sketch| mean(sketch, &[2, 32, 3], 1, true)),
    ];
    let headline = "Means over many channels, where a calibration chooses scales.";
    expect_rewritten("passes/tcu/channel_means.txt", headline, &texts);
}

#[test]
fn thresholds() {
    let rectified = |sketch: &mut Sketch| {
        let x = sketch.input(&[1, 2, 2, 4]);
        let x = sketch.normalized(x);
        sketch.node(Relu, &[x])
    };
    let texts = [
        example("a convolution reads it", WORKS, |sketch| {
            let x = rectified(sketch);
            vec![sketch.conv(x, 1, 1)]
        }),
        example("it is given out, too", STAYS, |sketch| {
            let x = rectified(sketch);
            vec![sketch.conv(x, 1, 1), x]
        }),
    ];
    let headline = "Normalization and rectification in one SIMD pass instead of three.";
    expect_rewritten("passes/tcu/thresholds.txt", headline, &texts);
}

#[test]
fn normalized_sums() {
    let sum = |sketch: &mut Sketch| {
        let (x, other) = (sketch.input(&[1, 2, 2, 4]), sketch.input(&[1, 2, 2, 4]));
        let x = sketch.conv(x, 1, 1);
        sketch.node(Binary { kind: BinaryKind::Add }, &[x, other])
    };
    let texts = [
        example("only the normalization reads the sum", WORKS, |sketch| {
            let sum = sum(sketch);
            vec![sketch.normalized(sum)]
        }),
        example("the sum is given out, too", STAYS, |sketch| {
            let sum = sum(sketch);
            vec![sketch.normalized(sum), sum]
        }),
    ];
    let headline = "Normalization of a sum as part of the product that makes it.";
    expect_rewritten("passes/tcu/normalized_sums.txt", headline, &texts);
}

#[test]
fn unread_pixels() {
    let block = |sketch: &mut Sketch| {
        let x = sketch.input(&[1, 5, 4, 16]);
        let around = sketch.conv(x, 1, 1);
        let x = sketch.conv(around, 3, 1);
        (around, sketch.node(Binary { kind: BinaryKind::Add }, &[x, around]))
    };
    let texts = [
        example("a sum that a stride of two reads", WORKS, |sketch| {
            let (_, sum) = block(sketch);
            let sum = sketch.node(Relu, &[sum]);
            vec![sketch.conv(sum, 1, 2)]
        }),
        example("windows of one pixel", WORKS, |sketch| {
            let (_, sum) = block(sketch);
            vec![sketch.node(MaxPool { window: Window::plain([1; 2], [2, 1]) }, &[sum])]
        }),
        example("all of it is read, too", STAYS, |sketch| {
            let (_, sum) = block(sketch);
            vec![sketch.conv(sum, 1, 2), sketch.conv(sum, 3, 2)]
        }),
        example("rectified for itself, of what others read whole", STAYS, |sketch| {
            let (_, sum) = block(sketch);
            let rectified = sketch.node(Relu, &[sum]);
            vec![sketch.conv(rectified, 1, 2), sum]
        }),
    ];
    expect_rewritten("passes/tcu/unread_pixels.txt", "Pixels that no layer reads are not computed.", &texts);
}

#[test]
fn wide_means() {
    let texts = [
        example("16 pixels", WORKS, |sketch| vec![sketch.mean(4)]),
        example("9 pixels", STAYS, |sketch| vec![sketch.mean(3)]),
        example("512 rows of a matrix for each sample", WORKS, |sketch| {
            let x = sketch.input(&[2, 512, 3]);
            vec![sketch.node(Reduce { kind: ReduceKind::Mean, axes: vec![1], keep_dims: true }, &[x])]
        }),
        example("channels", STAYS, |sketch| {
            let x = sketch.input(&[2, 3, 512]);
            vec![sketch.node(Reduce { kind: ReduceKind::Mean, axes: vec![2], keep_dims: true }, &[x])]
        }),
    ];
    expect_rewritten("passes/tcu/wide_means.txt", "Means over many pixels in stages.", &texts);
}

#[test]
fn pixel_groups() {
    let convolutions = |channels: usize| {
        move |sketch: &mut Sketch| {
            let x = sketch.input(&[1, 16, 16, channels]);
            let x = sketch.conv(x, 1, 1);
            let x = sketch.node(Relu, &[x]);
            let x = sketch.conv(x, 3, 1);
            let x = sketch.node(Relu, &[x]);
            vec![sketch.conv(x, 3, 4)]
        }
    };
    let texts = [
        example("4 channels on 16 lanes", WORKS, convolutions(4)),
        example("16 channels on 16 lanes", STAYS, convolutions(16)),
    ];
    expect_rewritten(
        "passes/tcu/pixel_groups.txt",
        "Neighboring pixels of few channels share a vector.",
        &texts,
    );
}
