//! Residual networks with the normalization first (He and others, "Identity mappings in deep
//! residual networks", 2016), as in Keras.

use super::{BEFORE_MEAN, IMAGENET, IMAGENET_CLASSES};
use crate::zoo::builder::{Builder, Conv, Value, Window};
use crate::zoo::network::Network;

/// ResNet-20v2 of Keras' CIFAR-10 example.
pub(super) const RESNET20V2: Network = Network {
    name: "resnet20v2",
    summary: "ResNet-20v2, Keras' bottleneck form for CIFAR-10",
    input: &[1, 3, 32, 32],
    build: build_20,
};

/// ResNet-50v2 of Keras' applications.
pub(super) const RESNET50V2: Network = Network {
    name: "resnet50v2",
    summary: "ResNet-50v2, Keras' form for ImageNet",
    input: IMAGENET,
    build: build_50,
};

/// Epsilon of the normalizations in Keras' example, and in its applications.
const EPSILON_20: f32 = 1e-3;
const EPSILON_50: f32 = 1.001e-5;

fn build_20(net: &mut Builder, x: Value) -> Vec<Value> {
    let x = net.conv(&x, Conv::new(16, Window::centered(3, 1)));
    let mut x = normalized(net, &x, EPSILON_20);
    // The first stage widens four times, the others twice.
    for (stage, (filters, wide)) in [(16, 64), (64, 128), (128, 256)].into_iter().enumerate() {
        let stride = if stage == 0 { 1 } else { 2 };
        // The network starts with a normalization.
        let before = if stage == 0 { x.clone() } else { normalized(net, &x, EPSILON_20) };
        let y = bottleneck_20(net, &before, filters, wide, stride);
        let shortcut = net.conv(&x, Conv::new(wide, Window::valid(1, stride)));
        x = net.add(&shortcut, &y);
        let before = normalized(net, &x, EPSILON_20);
        let y = bottleneck_20(net, &before, filters, wide, 1);
        x = net.add(&x, &y);
    }
    classified(net, &x, EPSILON_20, 10)
}

/// Three convolutions with biases; the first has the stride.
fn bottleneck_20(net: &mut Builder, x: &Value, filters: usize, wide: usize, stride: usize) -> Value {
    let y = net.conv(x, Conv::new(filters, Window::valid(1, stride)));
    let y = normalized(net, &y, EPSILON_20);
    let y = net.conv(&y, Conv::new(filters, Window::centered(3, 1)));
    let y = normalized(net, &y, EPSILON_20);
    net.conv(&y, Conv::new(wide, Window::valid(1, 1)))
}

fn build_50(net: &mut Builder, x: Value) -> Vec<Value> {
    let x = net.pad(&x, 3);
    let x = net.conv(&x, Conv::new(64, Window::valid(7, 2)));
    let x = net.pad(&x, 1);
    let mut x = net.max_pool(&x, Window::valid(3, 2));
    // Filters, blocks, and the stride of the stage's last block.
    for (filters, blocks, stride) in [(64, 3, 2), (128, 4, 2), (256, 6, 2), (512, 3, 1)] {
        for block in 0..blocks {
            let stride = if block + 1 == blocks { stride } else { 1 };
            x = block_50(net, &x, filters, stride, block == 0);
        }
    }
    classified(net, &x, EPSILON_50, IMAGENET_CLASSES)
}

/// A block; with `projects`, the shortcut is a convolution. Strided convolutions are padded
/// by a separate operator, so their zeros count as multiplied, as they do in the specification.
fn block_50(net: &mut Builder, x: &Value, filters: usize, stride: usize, projects: bool) -> Value {
    let before = normalized(net, x, EPSILON_50);
    let wide = 4 * filters;
    let shortcut = match (projects, stride) {
        (true, _) => net.conv(&before, Conv::new(wide, Window::valid(1, stride))),
        (false, 1) => x.clone(),
        (false, _) => net.max_pool(x, Window::valid(1, stride)),
    };
    let y = net.conv(&before, Conv::new(filters, Window::valid(1, 1)).without_bias());
    let y = normalized(net, &y, EPSILON_50);
    let y = match stride {
        1 => net.conv(&y, Conv::new(filters, Window::centered(3, 1)).without_bias()),
        _ => {
            let y = net.pad(&y, 1);
            net.conv(&y, Conv::new(filters, Window::valid(3, stride)).without_bias())
        }
    };
    let y = normalized(net, &y, EPSILON_50);
    let y = net.conv(&y, Conv::new(wide, Window::valid(1, 1)));
    net.add(&shortcut, &y)
}

fn normalized(net: &mut Builder, x: &Value, epsilon: f32) -> Value {
    let x = net.batch_norm(x, epsilon);
    net.relu(&x)
}

/// Returns the logits of `classes`.
fn classified(net: &mut Builder, x: &Value, epsilon: f32, classes: usize) -> Vec<Value> {
    let x = net.batch_norm_to(BEFORE_MEAN, x, epsilon);
    let x = net.relu(&x);
    let x = net.global_average_pool(&x);
    let x = net.flatten(&x);
    vec![net.dense(&x, classes)]
}
