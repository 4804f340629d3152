//! Passes over shapes and the order of axes.

use npukit_graph::ValueId;
use npukit_graph::op::{
    BinaryKind, Conv, MatMul, MaxPool, Pad, PadMode, Reduce, ReduceKind, Relu, Softmax, UnaryKind, Window,
};

use super::{Example, stays, works};
use crate::support::{Net, f32s};

fn pad(net: &mut Net, pads: [[isize; 2]; 4], x: ValueId) -> ValueId {
    net.node(Pad { pads: pads.to_vec(), mode: PadMode::Constant(0.0) }, &[x])
}

pub fn identities() -> Vec<Example> {
    vec![
        works("padding by no elements", |net| {
            let x = net.ones(&[1, 3, 3, 1]);
            let x = net.node(Relu, &[x]);
            let x = pad(net, [[0; 2]; 4], x);
            net.unary(UnaryKind::Exp, x)
        }),
        works("a reshape of a reshape", |net| {
            let x = net.ones(&[2, 3]);
            let x = net.reshape(&[6], x);
            net.reshape(&[3, 2], x)
        }),
        stays("padding that crops one side and extends the other keeps the shape, not the elements", |net| {
            let x = net.ones(&[1, 3, 3, 1]);
            let x = net.node(Relu, &[x]);
            let x = pad(net, [[0; 2], [1, -1], [0; 2], [0; 2]], x);
            net.unary(UnaryKind::Exp, x)
        }),
    ]
}

pub fn transpose_fusion() -> Vec<Example> {
    vec![
        works("one after the other", |net| {
            let x = net.ones(&[2, 3, 4]);
            let x = net.transpose(&[1, 0, 2], x);
            net.transpose(&[0, 2, 1], x)
        }),
        stays("a function between them", |net| {
            let x = net.ones(&[2, 3, 4]);
            let x = net.transpose(&[1, 0, 2], x);
            let x = net.node(Relu, &[x]);
            net.transpose(&[0, 2, 1], x)
        }),
    ]
}

/// A transposition, a reshape and a transposition, not at the border of the graph.
fn reshape_between(net: &mut Net, first: &[usize], shape: &[usize], second: &[usize]) -> ValueId {
    let x = net.ones(&[1, 2, 3, 4]);
    let x = net.node(Relu, &[x]);
    let x = net.transpose(first, x);
    let x = net.reshape(shape, x);
    let x = net.transpose(second, x);
    net.node(Relu, &[x])
}

pub fn transpose_crossing() -> Vec<Example> {
    vec![
        works("a reshape that splits the channels", |net| {
            reshape_between(net, &[0, 3, 1, 2], &[1, 2, 2, 2, 3], &[0, 2, 1, 3, 4])
        }),
        works("a reshape that joins rows and columns", |net| {
            reshape_between(net, &[0, 3, 1, 2], &[1, 4, 6], &[0, 2, 1])
        }),
        stays("a reshape that joins and splits", |net| {
            reshape_between(net, &[0, 3, 1, 2], &[1, 6, 4], &[0, 2, 1])
        }),
    ]
}

pub fn reduce_crossing() -> Vec<Example> {
    let mean = |keep_dims| {
        move |net: &mut Net| {
            let x = net.ones(&[1, 2, 2, 3]);
            let x = net.transpose(&[0, 3, 1, 2], x);
            net.node(Reduce { kind: ReduceKind::Mean, axes: vec![2, 3], keep_dims }, &[x])
        }
    };
    vec![
        works("a mean over rows and columns", mean(false)),
        stays("a mean that keeps the axes of size 1", mean(true)),
    ]
}

pub fn flatten_weights() -> Vec<Example> {
    let rows = |net: &mut Net| {
        let x = net.ones(&[2, 2, 2]);
        let x = net.transpose(&[0, 2, 1], x);
        net.reshape(&[2, 4], x)
    };
    vec![
        works("rows times constant weights", |net| {
            let (rows, weights) = (rows(net), net.count(&[4, 1]));
            net.node(MatMul, &[rows, weights])
        }),
        stays("rows times computed weights", |net| {
            let (rows, weights) = (rows(net), net.ones(&[4, 1]));
            net.node(MatMul, &[rows, weights])
        }),
    ]
}

/// A 1x1 convolution of an image with 2 channels.
fn conv(net: &mut Net, x: ValueId) -> ValueId {
    let weights = net.count(&[1, 1, 2, 2]);
    net.node(Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 }, &[x, weights])
}

pub fn transpose_sinking() -> Vec<Example> {
    vec![
        works("a residual connection in the model's order of axes", |net| {
            let x = net.ones(&[1, 3, 3, 2]);
            let x = conv(net, x);
            let first = net.transpose(&[0, 3, 1, 2], x);
            let x = net.transpose(&[0, 2, 3, 1], first);
            let x = conv(net, x);
            let second = net.transpose(&[0, 3, 1, 2], x);
            let sum = net.binary(BinaryKind::Add, first, second);
            let x = net.transpose(&[0, 2, 3, 1], sum);
            conv(net, x)
        }),
        stays("a transposition that costs as much before the function as after it", |net| {
            let x = net.ones(&[1, 3, 3, 2]);
            let x = net.node(Relu, &[x]);
            net.transpose(&[0, 3, 1, 2], x)
        }),
    ]
}

pub fn reshape_sinking() -> Vec<Example> {
    let relu = |shape: &'static [usize]| {
        move |net: &mut Net| {
            let x = net.ones(&[2, 4]);
            let x = net.reshape(shape, x);
            net.node(Relu, &[x])
        }
    };
    vec![
        works("an axis of size 1 is added", relu(&[2, 1, 4])),
        stays("the elements are regrouped", relu(&[4, 2])),
    ]
}

pub fn softmax_last() -> Vec<Example> {
    let softmax = |shape: &'static [usize]| {
        move |net: &mut Net| {
            let x = net.ones(&[2, 4]);
            let x = net.node(Softmax { axis: 1, axis_end: 2 }, &[x]);
            net.reshape(shape, x)
        }
    };
    vec![
        works("a reshape that splits the axis of the Softmax", softmax(&[2, 2, 2])),
        stays("a reshape that divides each row of the Softmax", softmax(&[4, 2])),
    ]
}

pub fn pad_merging() -> Vec<Example> {
    let pads = [[0; 2], [1, 1], [1, 1], [0; 2]];
    let pool = || MaxPool { window: Window::plain([3, 3], [1, 1]) };
    vec![
        works("padding before a convolution", move |net| {
            let x = net.ones(&[1, 3, 3, 2]);
            let x = pad(net, pads, x);
            conv(net, x)
        }),
        works("zeros around values that are never negative", move |net| {
            let x = net.ones(&[1, 3, 3, 2]);
            let x = net.node(Relu, &[x]);
            let x = pad(net, pads, x);
            net.node(pool(), &[x])
        }),
        stays("zeros that may be larger than the values inside", move |net| {
            let x = net.input(f32s(&[1, 1, 1, 1], &[-1.0]));
            let x = pad(net, pads, x);
            net.node(pool(), &[x])
        }),
    ]
}

pub fn trivial_transposes() -> Vec<Example> {
    let swap = |shape: &'static [usize]| {
        move |net: &mut Net| {
            let x = net.ones(shape);
            net.transpose(&[1, 0], x)
        }
    };
    vec![works("one row", swap(&[1, 4])), stays("two rows", swap(&[2, 4]))]
}
