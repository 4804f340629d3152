//! Passes over constants, types and arithmetic.

use npukit_graph::ValueId;
use npukit_graph::op::BinaryKind::{Add, Mul};
use npukit_graph::op::{
    BatchNormalization, Cast, Conv, DequantizeLinear, Gemm, IsNaN, MatMul, QuantizeLinear, Relu, Softmax,
    UnaryKind, Where,
};
use npukit_numeric::ElementType;

use super::{Example, stays, works};
use crate::support::{Net, f32s};

pub fn single_precision() -> Vec<Example> {
    vec![
        works("a conversion to 16 bits, and what is computed from it", |net| {
            let x = net.ones(&[2]);
            let x = net.node(Cast::new(ElementType::F16), &[x]);
            net.node(Relu, &[x])
        }),
        stays("integers of 8 bits, from 32-bit floats and back", |net| {
            let (to, precision) = (ElementType::I8, ElementType::F32);
            let (x, scale) = (net.ones(&[2]), net.number(0.5));
            let quantize = QuantizeLinear { to, axis: 0, block: 0, saturate: true, precision, away: false };
            let x = net.node(quantize, &[x, scale]);
            net.node(DequantizeLinear { to: precision, axis: 0, block: 0 }, &[x, scale])
        }),
    ]
}

/// Two functions of one input; returns the second.
fn two_functions(net: &mut Net) -> ValueId {
    let x = net.ones(&[2]);
    net.unary(UnaryKind::Exp, x);
    net.node(Relu, &[x])
}

pub fn dead_nodes() -> Vec<Example> {
    let both = stays("two outputs", two_functions);
    let first = both.net.graph.nodes[0].outputs.clone();
    vec![works("an unused result", two_functions), both.giving_also(&first)]
}

pub fn constant_folding() -> Vec<Example> {
    vec![
        works("a sum of constants", |net| {
            let (x, constant) = (net.ones(&[3]), net.count(&[3]));
            let sum = net.with(Add, constant, 10.0);
            net.binary(Mul, x, sum)
        }),
        stays("sums of an input and constants", |net| {
            let x = net.ones(&[3]);
            let x = net.with(Add, x, 1.0);
            net.with(Add, x, 10.0)
        }),
    ]
}

pub fn duplicates() -> Vec<Example> {
    let sum = |first: usize, second: usize| {
        move |net: &mut Net| {
            let x = net.ones(&[2, 2]);
            let [left, right] =
                [first, second].map(|axis| net.node(Softmax { axis, axis_end: axis + 1 }, &[x]));
            net.binary(Add, left, right)
        }
    };
    vec![works("the same function of the same value", sum(1, 1)), stays("along another axis", sum(0, 1))]
}

/// A Softmax of `scores` and a mask, with NaN replaced by 0.
fn guarded(net: &mut Net, scores: ValueId, mask: &[f32]) -> ValueId {
    let mask = net.constant(f32s(&[2, 2], mask));
    let masked = net.binary(Add, scores, mask);
    let share = net.node(Softmax { axis: 1, axis_end: 2 }, &[masked]);
    let (hidden, zero) = (net.node(IsNaN, &[share]), net.number(0.0));
    net.node(Where, &[hidden, zero, share])
}

pub fn nan_guards() -> Vec<Example> {
    const HIDDEN: f32 = f32::NEG_INFINITY;
    let products = |mask: [f32; 4]| {
        move |net: &mut Net| {
            let (queries, keys) = (net.ones(&[2, 2]), net.ones(&[2, 2]));
            let scores = net.node(MatMul, &[queries, keys]);
            guarded(net, scores, &mask)
        }
    };
    vec![
        works("a mask that hides no complete row", products([0.0, HIDDEN, 0.0, 0.0])),
        works("two guards, one after the other", |net| {
            let scores = net.ones(&[2, 2]);
            let first = guarded(net, scores, &[0.0, HIDDEN, 0.0, 0.0]);
            guarded(net, first, &[0.0, 0.0, HIDDEN, 0.0])
        }),
        works("a guard after one that must stay", |net| {
            let scores = net.ones(&[2, 2]);
            let first = guarded(net, scores, &[HIDDEN, HIDDEN, 0.0, 0.0]);
            guarded(net, first, &[0.0, 0.0, HIDDEN, 0.0])
        }),
        stays("a completely hidden row", products([0.0, HIDDEN, HIDDEN, HIDDEN])),
        stays("two masks that together hide a row", |net| {
            let (scores, mask) = (net.ones(&[2, 2]), net.constant(f32s(&[2], &[HIDDEN, 0.0])));
            let scores = net.binary(Add, scores, mask);
            guarded(net, scores, &[0.0, HIDDEN, 0.0, 0.0])
        }),
        stays("scores computed by a logarithm", |net| {
            let scores = net.ones(&[2, 2]);
            let scores = net.unary(UnaryKind::Log, scores);
            guarded(net, scores, &[0.0, HIDDEN, 0.0, 0.0])
        }),
    ]
}

pub fn gemm_form() -> Vec<Example> {
    let gemm = |op: Gemm, addend: Option<&'static [usize]>| {
        move |net: &mut Net| {
            let (x, weights) = (net.ones(&[2, 2]), net.count(&[2, 2]));
            let addend = addend.map(|shape| net.count(shape));
            net.node(op, &[Some(x), Some(weights), addend].into_iter().flatten().collect::<Vec<_>>())
        }
    };
    let plain = || Gemm::PLAIN;
    vec![
        works("a factor of the product", gemm(Gemm { alpha: 0.5, ..plain() }, None)),
        works("a factor of the addend", gemm(Gemm { beta: 0.5, ..plain() }, Some(&[2]))),
        works("transposed weights", gemm(Gemm { trans_b: true, ..plain() }, None)),
        works("an addend that is one number", gemm(plain(), Some(&[1]))),
        works("an addend that differs by row", gemm(plain(), Some(&[2, 1]))),
        stays("a factor of a computed matrix", |net| {
            let (x, weights) = (net.ones(&[2, 2]), net.ones(&[2, 2]));
            net.node(Gemm { alpha: 0.5, ..Gemm::PLAIN }, &[x, weights])
        }),
    ]
}

/// A convolution of 2 channels.
fn convolution(net: &mut Net) -> ValueId {
    let (x, weights) = (net.ones(&[1, 2, 2, 2]), net.count(&[1, 1, 2, 2]));
    net.node(Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 }, &[x, weights])
}

/// A batch normalization of 2 channels.
fn normalized(net: &mut Net, x: ValueId) -> ValueId {
    let parameters = [[2.0, 4.0], [0.5, 0.25], [1.0, 2.0], [4.0, 1.0]];
    let parameters = parameters.map(|values| net.constant(f32s(&[2], &values)));
    net.node(BatchNormalization { epsilon: 0.0 }, &[&[x], parameters.as_slice()].concat())
}

pub fn batch_norm_folding() -> Vec<Example> {
    vec![
        works("after a convolution", |net| {
            let x = convolution(net);
            normalized(net, x)
        }),
        works("the sum stays after a product without addend", |net| {
            let (x, weights) = (net.ones(&[2, 2]), net.count(&[2, 2]));
            let x = net.node(MatMul, &[x, weights]);
            normalized(net, x)
        }),
        stays("after a convolution with another reader", |net| {
            let x = convolution(net);
            let normal = normalized(net, x);
            net.binary(Add, x, normal)
        }),
    ]
}

pub fn affine_merging() -> Vec<Example> {
    vec![
        works("a product, a sum and a product", |net| {
            let (x, factors) = (net.ones(&[2, 2]), net.count(&[2]));
            let x = net.binary(Mul, x, factors);
            let x = net.with(Add, x, 1.0);
            net.with(Mul, x, 3.0)
        }),
        stays("a product and a sum", |net| {
            let (x, factors) = (net.ones(&[2, 2]), net.count(&[2]));
            let x = net.binary(Mul, x, factors);
            net.with(Add, x, 1.0)
        }),
    ]
}
