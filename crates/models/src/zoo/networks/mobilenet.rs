//! MobileNets as in Keras: V1 (Howard and others, 2017) and V2 (Sandler and others, 2018).

use super::{BEFORE_MEAN, IMAGENET, IMAGENET_CLASSES};
use crate::zoo::builder::{Builder, Conv, Value, Window};
use crate::zoo::network::Network;

/// Version 1, at full width.
pub(super) const MOBILENET_V1: Network =
    Network { name: "mobilenet_v1", summary: "MobileNet V1, width 1", input: IMAGENET, build: build_v1 };

/// Version 2, at full width.
pub(super) const MOBILENET_V2: Network =
    Network { name: "mobilenet_v2", summary: "MobileNet V2, width 1", input: IMAGENET, build: build_v2 };

const EPSILON: f32 = 1e-3;

/// Filters and stride of each pair of convolutions.
const PAIRS: [(usize, usize); 13] = [
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (1024, 2),
    (1024, 1),
];

fn build_v1(net: &mut Builder, x: Value) -> Vec<Value> {
    let x = rectified(net, &x, Conv::new(32, window(2)));
    let x = PAIRS.into_iter().enumerate().fold(x, |x, (pair, (filters, stride))| {
        let x = rectified(net, &x, Conv::depthwise(x.size(1), window(stride)));
        let deviation = if pair + 1 == PAIRS.len() { BEFORE_MEAN } else { 1.0 };
        rectified(net, &x, pointwise(filters).with_deviation(deviation))
    });
    classified(net, &x)
}

/// Expansion factor, filters, blocks, and the stride of the first block.
const STAGES: [(usize, usize, usize, usize); 7] = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
];

fn build_v2(net: &mut Builder, x: Value) -> Vec<Value> {
    let mut x = rectified(net, &x, Conv::new(32, window(2)));
    for (widening, filters, blocks, stride) in STAGES {
        for block in 0..blocks {
            x = inverted(net, &x, widening, filters, if block == 0 { stride } else { 1 });
        }
    }
    let x = rectified(net, &x, pointwise(1280).with_deviation(BEFORE_MEAN));
    classified(net, &x)
}

/// Inverted residual block: wide inside, narrow outside, without a rectifier at the end.
fn inverted(net: &mut Builder, x: &Value, widening: usize, filters: usize, stride: usize) -> Value {
    let wide = widening * x.size(1);
    let y = if widening == 1 { x.clone() } else { rectified(net, x, pointwise(wide)) };
    let y = rectified(net, &y, Conv::depthwise(wide, window(stride)));
    let y = normalized(net, &y, pointwise(filters));
    if stride == 1 && filters == x.size(1) { net.add(x, &y) } else { y }
}

/// A 3 by 3 window; with stride 2, it is padded only at the end.
const fn window(stride: usize) -> Window {
    match stride {
        1 => Window::centered(3, 1),
        _ => Window::valid(3, stride).padded([0, 0, 1, 1]),
    }
}

const fn pointwise(filters: usize) -> Conv {
    Conv::new(filters, Window::valid(1, 1))
}

/// A convolution followed by a normalization with the convolution's deviation.
fn normalized(net: &mut Builder, x: &Value, conv: Conv) -> Value {
    let x = net.conv(x, Conv { deviation: 1.0, ..conv.without_bias() });
    net.batch_norm_to(conv.deviation, &x, EPSILON)
}

fn rectified(net: &mut Builder, x: &Value, conv: Conv) -> Value {
    let x = normalized(net, x, conv);
    net.relu6(&x)
}

fn classified(net: &mut Builder, x: &Value) -> Vec<Value> {
    let x = net.global_average_pool(x);
    let x = net.flatten(&x);
    vec![net.dense(&x, IMAGENET_CLASSES)]
}
