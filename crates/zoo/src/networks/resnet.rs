//! Residual networks with the normalisation last (He and others, "Deep residual learning", 2015).

use super::{BEFORE_MEAN, IMAGENET, IMAGENET_CLASSES};
use crate::builder::{Builder, Conv, Value, Window};
use crate::network::Network;

/// ResNet-18.
pub(super) const RESNET18: Network =
    Network { name: "resnet18", summary: "ResNet-18", input: IMAGENET, build };

const EPSILON: f32 = 1e-5;

fn build(net: &mut Builder, x: Value) -> Vec<Value> {
    let x = normalised(net, &x, 1.0, 64, Window::centred(7, 2));
    let x = net.relu(&x);
    let mut x = net.max_pool(&x, Window::centred(3, 2));
    for (filters, stride, deviation) in [(64, 1, 1.0), (128, 2, 1.0), (256, 2, 1.0), (512, 2, BEFORE_MEAN)] {
        x = block(net, &x, deviation, filters, stride);
        x = block(net, &x, deviation, filters, 1);
    }
    let x = net.global_average_pool(&x);
    let x = net.flatten(&x);
    vec![net.dense(&x, IMAGENET_CLASSES)]
}

/// Adds values of a deviation to others of the same.
fn block(net: &mut Builder, x: &Value, deviation: f64, filters: usize, stride: usize) -> Value {
    let y = normalised(net, x, 1.0, filters, Window::centred(3, stride));
    let y = net.relu(&y);
    let y = normalised(net, &y, deviation, filters, Window::centred(3, 1));
    let projects = x.size(1) != filters;
    let shortcut =
        if projects { normalised(net, x, deviation, filters, Window::valid(1, stride)) } else { x.clone() };
    let sum = net.add(&shortcut, &y);
    net.relu(&sum)
}

fn normalised(net: &mut Builder, x: &Value, deviation: f64, filters: usize, window: Window) -> Value {
    let x = net.conv(x, Conv::new(filters, window).without_bias());
    net.batch_norm_to(deviation, &x, EPSILON)
}
