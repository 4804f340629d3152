//! Passes that recognize an operator which exporters write as arithmetic.

use npukit_graph::ValueId;
use npukit_graph::op::BinaryKind::{Add, Div, Mul, Sub};
use npukit_graph::op::{Clip, Concat, MatMul, Pow, ReduceKind, Slice, SliceRange, Tile, UnaryKind};

use super::{Example, stays, works};
use crate::support::{Net, f32s};

/// The rotation of pairs of features at distance 2, with tables whose features are `cos` and `sin`.
fn rotation(net: &mut Net, tables: [[f32; 4]; 2]) -> ValueId {
    let x = net.ones(&[1, 2, 1, 4]);
    let tables = tables.map(|table| net.constant(f32s(&[1, 1, 1, 4], &table)));
    let part = |start| Slice { ranges: vec![SliceRange { axis: 3, start, length: 2, step: 1 }] };
    let (first, second) = (net.node(part(0), &[x]), net.node(part(2), &[x]));
    let negated = net.unary(UnaryKind::Neg, second);
    let turned = net.node(Concat { axis: 3 }, &[negated, first]);
    let (plain, turned) = (net.binary(Mul, x, tables[0]), net.binary(Mul, turned, tables[1]));
    net.binary(Add, plain, turned)
}

pub fn rotary_forms() -> Vec<Example> {
    vec![
        works("tables that are equal for both features of a pair", |net| {
            rotation(net, [[0.8, 0.6, 0.8, 0.6], [0.6, 0.8, 0.6, 0.8]])
        }),
        stays("tables that differ within a pair", |net| {
            rotation(net, [[0.8, 0.8, 0.6, 0.6], [0.6, 0.6, 0.8, 0.8]])
        }),
    ]
}

/// Products of 4 heads with 2 repeated ones: along the third axis of `apart` or the second.
fn repeated(net: &mut Net, apart: [usize; 5], repeats: [usize; 5]) -> ValueId {
    let (queries, keys) = (net.ones(&[1, 4, 3, 2]), net.ones(&[1, 2, 2, 5]));
    let apart = net.reshape(&apart, keys);
    let tiled = net.node(Tile { repeats: repeats.to_vec() }, &[apart]);
    let joined = net.reshape(&[1, 4, 2, 5], tiled);
    net.node(MatMul, &[queries, joined])
}

pub fn shared_heads() -> Vec<Example> {
    vec![
        works("neighbors share a head", |net| repeated(net, [1, 2, 1, 2, 5], [1, 1, 2, 1, 1])),
        stays("every second head is shared", |net| repeated(net, [1, 1, 2, 2, 5], [1, 2, 1, 1, 1])),
    ]
}

/// `min(max(x + 3, 0), 6) / divisor`.
fn hard_sigmoid(net: &mut Net, divisor: f32) -> ValueId {
    let x = net.ones(&[2]);
    let sum = net.with(Add, x, 3.0);
    let clipped = net.node(Clip { min: 0.0, max: 6.0 }, &[sum]);
    net.with(Div, clipped, divisor)
}

/// `x * (0.5 * (1 + tanh(sqrt(2 / pi) * (x + number * x * x^2))))`.
fn gelu(net: &mut Net, number: f32) -> ValueId {
    let x = net.ones(&[2]);
    let (small, square) = (net.with(Mul, x, number), net.binary(Mul, x, x));
    let cube = net.binary(Mul, small, square);
    let sum = net.binary(Add, x, cube);
    let argument = net.with(Mul, sum, std::f32::consts::FRAC_2_PI.sqrt());
    let tangent = net.unary(UnaryKind::Tanh, argument);
    let gate = net.with(Add, tangent, 1.0);
    let half = net.with(Mul, gate, 0.5);
    net.binary(Mul, x, half)
}

pub fn activation_forms() -> Vec<Example> {
    vec![
        works("a value times its sigmoid", |net| {
            let x = net.ones(&[2]);
            let gate = net.unary(UnaryKind::Sigmoid, x);
            net.binary(Mul, x, gate)
        }),
        works(
            "half a value times 1 and a hyperbolic tangent, with the number on a factor of the cube",
            |net| gelu(net, 0.044_715),
        ),
        stays("with another number", |net| gelu(net, 0.05)),
        works("a value, shifted and clipped, divided by 6", |net| hard_sigmoid(net, 6.0)),
        stays("over 7", |net| hard_sigmoid(net, 7.0)),
        stays("a value times the sigmoid of another", |net| {
            let (x, other) = (net.ones(&[2]), net.ones(&[2]));
            let gate = net.unary(UnaryKind::Sigmoid, other);
            net.binary(Mul, x, gate)
        }),
    ]
}

/// `e / sum(e)` of `e = exp(x - max(x))`, the maximum over `axis`, the sum over the last.
fn softmax(net: &mut Net, axis: usize) -> ValueId {
    let x = net.ones(&[2, 2]);
    let largest = net.reduce(ReduceKind::Max, &[axis], true, x);
    let difference = net.binary(Sub, x, largest);
    let powers = net.unary(UnaryKind::Exp, difference);
    let sum = net.reduce(ReduceKind::Sum, &[1], true, powers);
    net.binary(Div, powers, sum)
}

pub fn softmax_forms() -> Vec<Example> {
    vec![
        works("exponentials divided by their sum", |net| softmax(net, 1)),
        stays("a maximum over another axis than the sum", |net| softmax(net, 0)),
    ]
}

/// `mean(x^2) - mean(y)^2`, with means written as sums over 3 features times `share`.
fn variance(net: &mut Net, share: f32, alike: bool) -> ValueId {
    let x = net.ones(&[2, 3]);
    let y = if alike { x } else { net.ones(&[2, 3]) };
    let squares = net.binary(Mul, x, x);
    let mean = |net: &mut Net, x| {
        let sum = net.reduce(ReduceKind::Sum, &[1], false, x);
        net.with(Mul, sum, share)
    };
    let (of_squares, mean) = (mean(net, squares), mean(net, y));
    let squared = net.binary(Mul, mean, mean);
    net.binary(Sub, of_squares, squared)
}

pub fn variance_forms() -> Vec<Example> {
    vec![
        works("the mean of squares minus the square of the mean, with sums", |net| {
            variance(net, 1.0 / 3.0, true)
        }),
        works("means of two values", |net| variance(net, 1.0 / 3.0, false)),
        stays("sums times another number", |net| variance(net, 0.25, true)),
    ]
}

/// `(x - mean(x)) / sqrt(mean(s^2) + 0.01)`, where `s` is `x - mean(x)` or `x`.
fn layer_normalization(net: &mut Net, centered: bool) -> ValueId {
    let x = net.ones(&[2, 2]);
    let mean = net.reduce(ReduceKind::Mean, &[1], true, x);
    let difference = net.binary(Sub, x, mean);
    let two = net.number(2.0);
    let squares = net.node(Pow, &[if centered { difference } else { x }, two]);
    let variance = net.reduce(ReduceKind::Mean, &[1], true, squares);
    let sum = net.with(Add, variance, 0.01);
    let root = net.unary(UnaryKind::Sqrt, sum);
    net.binary(Div, difference, root)
}

pub fn normalization_forms() -> Vec<Example> {
    vec![
        works("a difference from the mean divided by its deviation", |net| layer_normalization(net, true)),
        works("a factor for each feature", |net| {
            let x = layer_normalization(net, true);
            let factors = net.count(&[2]);
            net.binary(Mul, x, factors)
        }),
        stays("divided by the root of the mean square of another value", |net| {
            layer_normalization(net, false)
        }),
    ]
}
