//! Residual networks with the normalization last (He and others, "Deep residual learning", 2015).

use super::{BEFORE_MEAN, IMAGENET, IMAGENET_CLASSES};
use crate::zoo::builder::{Builder, Conv, Value, Window};
use crate::zoo::network::Network;

/// ResNet-18.
pub(super) const RESNET18: Network =
    Network { name: "resnet18", summary: "ResNet-18", input: IMAGENET, build: build_18 };

/// ResNet-50, with the stride in a block's first convolution, as published.
pub(super) const RESNET50: Network =
    Network { name: "resnet50", summary: "ResNet-50", input: IMAGENET, build: build_50 };

const EPSILON: f32 = 1e-5;

fn build_18(net: &mut Builder, x: Value) -> Vec<Value> {
    residual(net, &x, [2; 4], block)
}

fn build_50(net: &mut Builder, x: Value) -> Vec<Value> {
    residual(net, &x, [3, 4, 6, 3], bottleneck)
}

/// Adds a block: its value, the value's deviation, the number of filters and the stride.
type Block = fn(&mut Builder, &Value, f64, usize, usize) -> Value;

/// Builds a network of four stages with the given numbers of blocks.
fn residual(net: &mut Builder, x: &Value, stages: [usize; 4], block: Block) -> Vec<Value> {
    let x = normalized(net, x, 1.0, 64, Window::centered(7, 2));
    let x = net.relu(&x);
    let mut x = net.max_pool(&x, Window::centered(3, 2));
    let widths = [(64, 1, 1.0), (128, 2, 1.0), (256, 2, 1.0), (512, 2, BEFORE_MEAN)];
    for (blocks, (filters, stride, deviation)) in stages.into_iter().zip(widths) {
        x = block(net, &x, deviation, filters, stride);
        x = (1..blocks).fold(x, |x, _| block(net, &x, deviation, filters, 1));
    }
    let x = net.global_average_pool(&x);
    let x = net.flatten(&x);
    vec![net.dense(&x, IMAGENET_CLASSES)]
}

/// A basic block on values with the given deviation, which its result keeps.
fn block(net: &mut Builder, x: &Value, deviation: f64, filters: usize, stride: usize) -> Value {
    let y = normalized(net, x, 1.0, filters, Window::centered(3, stride));
    let y = net.relu(&y);
    let y = normalized(net, &y, deviation, filters, Window::centered(3, 1));
    added(net, x, &y, deviation, stride)
}

/// A bottleneck block, with a quarter of the channels inside.
fn bottleneck(net: &mut Builder, x: &Value, deviation: f64, filters: usize, stride: usize) -> Value {
    let y = normalized(net, x, 1.0, filters, Window::valid(1, stride));
    let y = net.relu(&y);
    let y = normalized(net, &y, 1.0, filters, Window::centered(3, 1));
    let y = net.relu(&y);
    let y = normalized(net, &y, deviation, 4 * filters, Window::valid(1, 1));
    added(net, x, &y, deviation, stride)
}

/// Adds `y` and the shortcut, which is a convolution if the shapes differ.
fn added(net: &mut Builder, x: &Value, y: &Value, deviation: f64, stride: usize) -> Value {
    let filters = y.size(1);
    let projects = x.size(1) != filters;
    let shortcut =
        if projects { normalized(net, x, deviation, filters, Window::valid(1, stride)) } else { x.clone() };
    let sum = net.add(&shortcut, y);
    net.relu(&sum)
}

fn normalized(net: &mut Builder, x: &Value, deviation: f64, filters: usize, window: Window) -> Value {
    let x = net.conv(x, Conv::new(filters, window).without_bias());
    net.batch_norm_to(deviation, &x, EPSILON)
}
