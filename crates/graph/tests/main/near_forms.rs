//! Arithmetic that only resembles an exporter's form of an operator must stay.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Clip, LayerNormalization, LogSoftmax, Pow, Reduce, ReduceKind, Reshape,
    RmsNormalization, Softmax, Unary, UnaryKind,
};

use crate::near_misses::{after, names};
use crate::support::{Net, f32s, noise};

use BinaryKind::{Add, Div, Mul, Sub};

impl Net {
    pub fn binary(&mut self, kind: BinaryKind, left: ValueId, right: ValueId) -> ValueId {
        self.node(Binary { kind }, &[left, right])
    }

    /// Adds arithmetic with a scalar.
    pub fn with(&mut self, kind: BinaryKind, left: ValueId, number: f32) -> ValueId {
        let number = self.constant(f32s(&[], &[number]));
        self.binary(kind, left, number)
    }

    pub fn unary(&mut self, kind: UnaryKind, x: ValueId) -> ValueId {
        self.node(Unary { kind }, &[x])
    }

    pub fn reduce(&mut self, kind: ReduceKind, axes: &[usize], keep_dims: bool, x: ValueId) -> ValueId {
        self.node(Reduce { kind, axes: axes.to_vec(), keep_dims }, &[x])
    }
}

/// Returns the last operator that a pass leaves of a graph with an input of `shape`, and the number
/// of nodes.
fn last(pass: &str, shape: &[usize], build: impl FnOnce(&mut Net, ValueId) -> ValueId) -> (String, usize) {
    let mut net = Net::default();
    let x = net.input(noise(shape, 1));
    let y = build(&mut net, x);
    let graph = after(pass, &net.giving(y));
    (graph.nodes.last().unwrap().op.to_string(), graph.nodes.len())
}

/// Builds an activation of a value from its numbers.
type Build = fn(&mut Net, ValueId, [f32; 3]) -> ValueId;

#[test]
fn gates_have_their_own_numbers() {
    let activation = |build: Build, numbers: [f32; 3]| -> (String, usize) {
        last("activation-forms", &[4, 5], |net, x| {
            let x = net.with(Mul, x, 8.0);
            build(net, x, numbers)
        })
    };
    let hard_swish = |net: &mut Net, x, [alpha, beta, _]: [f32; 3]| {
        let gate = net.unary(UnaryKind::HardSigmoid { alpha, beta }, x);
        net.binary(Mul, gate, x)
    };
    let clip = |net: &mut Net, x, [offset, min, max]: [f32; 3]| {
        let sum = net.with(Add, x, offset);
        let clipped = net.node(Clip { min, max }, &[sum]);
        net.with(Div, clipped, 6.0)
    };
    let clipped_swish = |net: &mut Net, x, [offset, min, max]: [f32; 3]| {
        let sum = net.with(Add, x, offset);
        let clipped = net.node(Clip { min, max }, &[sum]);
        let product = net.binary(Mul, x, clipped);
        net.with(Div, product, 6.0)
    };
    // The cube of `x`, or of another value.
    let gelu = |net: &mut Net, x, [factor, inner, other]: [f32; 3]| {
        let base = if other == 0.0 { x } else { net.unary(UnaryKind::Sin, x) };
        let three = net.constant(f32s(&[], &[3.0]));
        let cube = net.node(Pow, &[base, three]);
        let cube = net.with(Mul, cube, inner);
        let sum = net.binary(Add, x, cube);
        let sum = net.with(Mul, sum, factor);
        let tanh = net.unary(UnaryKind::Tanh, sum);
        let gate = net.with(Add, tanh, 1.0);
        let half = net.with(Mul, x, 0.5);
        net.binary(Mul, half, gate)
    };
    let sixth = 1.0 / 6.0;
    let root = std::f32::consts::FRAC_2_PI.sqrt();
    let table: [(Build, [f32; 3], &str); 16] = [
        (hard_swish, [sixth, 0.5, 0.0], "HardSwish"),
        (hard_swish, [0.2, 0.5, 0.0], "Mul"),
        (hard_swish, [sixth, 0.25, 0.0], "Mul"),
        (clip, [3.0, 0.0, 6.0], "HardSigmoid"),
        (clip, [2.0, 0.0, 6.0], "Div"),
        (clip, [3.0, -1.0, 6.0], "Div"),
        (clip, [3.0, 0.0, 5.0], "Div"),
        (clipped_swish, [3.0, 0.0, 6.0], "HardSwish"),
        (clipped_swish, [2.0, 0.0, 6.0], "Div"),
        (clipped_swish, [3.0, 0.0, 5.0], "Div"),
        (gelu, [root, 0.044715, 0.0], "Gelu"),
        (gelu, [0.75, 0.044715, 0.0], "Mul"),
        (gelu, [root, 0.05, 0.0], "Mul"),
        (gelu, [root, 0.044715, 1.0], "Mul"),
        (gelu, [root, 0.05, 1.0], "Mul"),
        (gelu, [0.75, 0.05, 1.0], "Mul"),
    ];
    for (build, numbers, expected) in table {
        let (found, count) = activation(build, numbers);
        assert!(found.starts_with(expected), "{numbers:?}: {found}");
        assert_eq!(count == 2, ["HardS", "Gelu"].iter().any(|form| expected.starts_with(form)), "{found}");
    }
    let (found, _) = activation(clip, [3.0, 0.0, 6.0]);
    assert_eq!(found, format!("HardSigmoid {{ alpha: {sixth:?}, beta: 0.5 }}"));
}

/// A way to write `d / sqrt(mean(d^2) + epsilon)`.
#[derive(Clone)]
struct Norm {
    mean: Reduce,
    /// Whether the root is a divisor, has a reciprocal with this numerator, or is a power with this
    /// exponent.
    root: Root,
    epsilon: &'static [usize],
    of_itself: bool,
}

#[derive(Clone, Copy, Debug)]
enum Root {
    Divides,
    Under(f32),
    Power(f32),
}

fn norm(written: &Norm, net: &mut Net, x: ValueId) -> ValueId {
    let squared = if written.of_itself { x } else { net.unary(UnaryKind::Sin, x) };
    let square = net.binary(Mul, squared, squared);
    let mean = net.node(written.mean.clone(), &[square]);
    let epsilon = net.constant(f32s(written.epsilon, &[0.125]));
    let sum = net.binary(Add, mean, epsilon);
    match written.root {
        Root::Divides => {
            let root = net.unary(UnaryKind::Sqrt, sum);
            net.binary(Div, x, root)
        }
        Root::Under(number) => {
            let root = net.unary(UnaryKind::Sqrt, sum);
            let number = net.constant(f32s(&[1], &[number]));
            let inverse = net.binary(Div, number, root);
            net.binary(Mul, x, inverse)
        }
        Root::Power(exponent) => {
            let exponent = net.constant(f32s(&[], &[exponent]));
            let inverse = net.node(Pow, &[sum, exponent]);
            net.binary(Mul, inverse, x)
        }
    }
}

#[test]
fn norms_are_by_the_root_of_the_mean_of_squares_over_the_last_axes() {
    let mean = |kind, axes: &[usize], keep_dims| Reduce { kind, axes: axes.to_vec(), keep_dims };
    let plain = || mean(ReduceKind::Mean, &[2], true);
    let written = |mean, root| Norm { mean, root, epsilon: &[], of_itself: true };
    let table = [
        (written(plain(), Root::Divides), true),
        (written(plain(), Root::Under(1.0)), true),
        (written(plain(), Root::Under(2.0)), false),
        (written(plain(), Root::Power(-0.5)), true),
        (written(plain(), Root::Power(0.5)), false),
        (written(plain(), Root::Power(-1.0)), false),
        (written(mean(ReduceKind::Mean, &[1, 2], true), Root::Divides), true),
        (written(mean(ReduceKind::Mean, &[1], true), Root::Divides), false),
        (written(mean(ReduceKind::Mean, &[0, 2], true), Root::Divides), false),
        (written(mean(ReduceKind::Mean, &[2], false), Root::Divides), false),
        (written(mean(ReduceKind::Mean, &[1], false), Root::Divides), false),
        (written(mean(ReduceKind::Sum, &[2], true), Root::Divides), false),
        (written(mean(ReduceKind::Sum, &[2], false), Root::Divides), false),
        (Norm { of_itself: false, ..written(plain(), Root::Divides) }, false),
        // An additional axis, which the normalization would not have.
        (Norm { epsilon: &[1, 1, 1, 1], ..written(plain(), Root::Divides) }, false),
    ];
    for (written, is_norm) in table {
        let (found, _) = last("normalization-forms", &[4, 4, 4], |net, x| norm(&written, net, x));
        assert_eq!(found.starts_with("RmsNorm"), is_norm, "{:?} {:?}: {found}", written.mean, written.root);
    }
}

/// A normalization over the last two axes of `[3, 2, 4]` with its scale and optionally its bias,
/// then arithmetic with a constant or value of another shape. Returns whether that is folded into
/// the parameters.
fn goes_in(centered: bool, bias: bool, scale_is_constant: bool, kind: BinaryKind, c: &[usize]) -> bool {
    let (_, count) = last("normalization-forms", &[3, 2, 4], |net, x| {
        let scale = noise(&[2, 4], 2);
        let scale = if scale_is_constant { net.constant(scale) } else { net.input(scale) };
        let bias = bias.then(|| net.constant(noise(&[2, 4], 3)));
        let inputs: Vec<ValueId> = [Some(x), Some(scale), bias].into_iter().flatten().collect();
        let y = match centered {
            true => net.node(LayerNormalization { axis: 1, epsilon: 0.5 }, &inputs),
            false => net.node(RmsNormalization { axis: 1, epsilon: 0.5 }, &inputs),
        };
        let c = net.constant(noise(c, 4));
        net.binary(kind, c, y)
    });
    count == 1
}

#[test]
fn norms_take_factors_before_addends() {
    let inner: &[usize] = &[2, 4];
    for (centered, bias, scale_is_constant, kind, expected) in [
        (true, false, true, Mul, true),
        (true, false, true, Add, true),
        (true, true, true, Add, true),
        (true, true, true, Mul, false),
        (true, false, false, Mul, false),
        (true, false, false, Add, true),
        (false, false, true, Mul, true),
        (false, false, true, Add, false),
        (false, false, false, Mul, false),
    ] {
        let found = goes_in(centered, bias, scale_is_constant, kind, inner);
        assert_eq!(found, expected, "{centered} {bias} {scale_is_constant} {kind:?}");
    }
    // A constant per position of the normalized axes, with any leading axes of size 1.
    for (shape, expected) in [
        (&[4][..], true),
        (&[1, 2, 4], true),
        (&[2, 1], true),
        (&[], true),
        (&[3, 2, 4], false),
        (&[3, 1, 1], false),
        (&[3, 1, 4], false),
    ] {
        assert_eq!(goes_in(true, false, true, Mul, shape), expected, "{shape:?}");
    }
    // A constant that enlarges the result.
    let (_, count) = last("normalization-forms", &[3, 1], |net, x| {
        let (scale, c) = (net.constant(noise(&[1], 2)), net.constant(noise(&[5], 3)));
        let y = net.node(RmsNormalization { axis: 1, epsilon: 0.5 }, &[x, scale]);
        net.binary(Mul, y, c)
    });
    assert_eq!(count, 2);
}

#[test]
fn a_softmax_divides_by_the_sum_of_its_own_exponentials() {
    // On `[4, 4, 4]`: how the maximum is subtracted, how the divisor is computed, and its operand.
    let written = |largest: Reduce, sum: Reduce, of_itself: bool| {
        last("softmax-forms", &[4, 4, 4], |net, x| {
            let largest = net.node(largest, &[x]);
            let difference = net.binary(Sub, x, largest);
            let powers = net.unary(UnaryKind::Exp, difference);
            let of = if of_itself { powers } else { net.unary(UnaryKind::Sin, powers) };
            let sum = net.node(sum, &[of]);
            net.binary(Div, powers, sum)
        })
    };
    let reduce = |kind, axes: &[usize], keep_dims| Reduce { kind, axes: axes.to_vec(), keep_dims };
    let max = |axes: &[usize]| reduce(ReduceKind::Max, axes, true);
    let sum = |axes: &[usize]| reduce(ReduceKind::Sum, axes, true);
    for (largest, sum, of_itself, expected) in [
        (max(&[2]), sum(&[2]), true, true),
        (max(&[0, 1]), sum(&[0, 1]), true, true),
        (max(&[2]), sum(&[2]), false, false),
        (max(&[1]), sum(&[2]), true, false),
        (max(&[1, 2]), sum(&[2]), true, false),
        (max(&[0, 2]), sum(&[0, 2]), true, false),
        (max(&[2]), reduce(ReduceKind::Mean, &[2], true), true, false),
        (reduce(ReduceKind::Min, &[2], true), sum(&[2]), true, false),
        (reduce(ReduceKind::Max, &[2], false), reduce(ReduceKind::Sum, &[2], false), true, false),
        (max(&[2]), reduce(ReduceKind::Sum, &[2], false), true, false),
    ] {
        let what = format!("{largest:?} {sum:?} {of_itself}");
        let (found, _) = written(largest, sum, of_itself);
        assert_eq!(found.starts_with("Softmax"), expected, "{what}: {found}");
    }
}

#[test]
fn a_reshape_goes_before_a_softmax_of_either_kind() {
    let reshaped = |build: fn(&mut Net, ValueId) -> ValueId| {
        let mut net = Net::default();
        let x = net.input(noise(&[2, 6], 1));
        let y = build(&mut net, x);
        let y = net.node(Reshape { shape: vec![1, 2, 6] }, &[y]);
        names(&after("softmax-last", &net.giving(y)))
    };
    let softmax = |net: &mut Net, x| net.node(Softmax { axis: 1, axis_end: 2 }, &[x]);
    let logarithms = |net: &mut Net, x| net.node(LogSoftmax { axis: 1, axis_end: 2 }, &[x]);
    let sum = |net: &mut Net, x| net.reduce(ReduceKind::Sum, &[], true, x);
    assert_eq!(reshaped(softmax), ["Reshape", "Softmax"]);
    assert_eq!(reshaped(logarithms), ["Reshape", "LogSoftmax"]);
    assert_eq!(reshaped(sum), ["ReduceSum", "Reshape"]);
}
