//! YOLO detectors: YOLOv4-tiny (Wang and others, "Scaled-YOLOv4", 2020), and the nine layers of the
//! older Tiny YOLO that are included with the published compiler of an overlay processor
//! (specification, 8.4).

use crate::zoo::builder::{Builder, Conv, Value, Window};
use crate::zoo::network::Network;

/// YOLOv4-tiny on small images.
pub(super) const YOLOV4_TINY_192: Network = Network {
    name: "yolov4_tiny_192",
    summary: "YOLOv4-tiny, images of 192x192",
    input: &[1, 3, 192, 192],
    build: build_v4,
};

/// YOLOv4-tiny on images of its usual size.
pub(super) const YOLOV4_TINY_416: Network = Network {
    name: "yolov4_tiny_416",
    summary: "YOLOv4-tiny, images of 416x416",
    input: &[1, 3, 416, 416],
    build: build_v4,
};

/// Tiny YOLO.
pub(super) const TINY_YOLO: Network = Network {
    name: "tiny_yolo",
    summary: "Tiny YOLO, nine convolutions, images of 416x416",
    input: &[1, 3, 416, 416],
    build: build_tiny,
};

const EPSILON: f32 = 1e-3;
/// Three boxes with four edges, a score and 80 classes.
const V4_HEAD: usize = 3 * (4 + 1 + 80);
const TINY_HEAD: usize = 30;

fn build_v4(net: &mut Builder, x: Value) -> Vec<Value> {
    let mut x = [32, 64].into_iter().fold(x, |x, filters| conv_v4(net, &x, filters, Window::centered(3, 2)));
    let mut middle = x.clone();
    for filters in [64, 128, 256] {
        (x, middle) = partial(net, &x, filters);
    }
    let x = conv_v4(net, &x, 512, Window::centered(3, 1));
    let x = conv_v4(net, &x, 256, Window::valid(1, 1));
    let coarse = conv_v4(net, &x, 512, Window::centered(3, 1));
    let coarse = net.conv(&coarse, Conv::new(V4_HEAD, Window::valid(1, 1)));
    let x = conv_v4(net, &x, 128, Window::valid(1, 1));
    let x = net.upsample(&x);
    let x = net.concat(&x, &middle);
    let fine = conv_v4(net, &x, 256, Window::centered(3, 1));
    let fine = net.conv(&fine, Conv::new(V4_HEAD, Window::valid(1, 1)));
    vec![coarse, fine]
}

/// A stage that passes half of the channels through two convolutions. Returns its pooled result,
/// and the result of the last convolution.
fn partial(net: &mut Builder, x: &Value, filters: usize) -> (Value, Value) {
    let all = conv_v4(net, x, filters, Window::centered(3, 1));
    let half = net.second_half(&all);
    let first = conv_v4(net, &half, filters / 2, Window::centered(3, 1));
    let second = conv_v4(net, &first, filters / 2, Window::centered(3, 1));
    let both = net.concat(&second, &first);
    let last = conv_v4(net, &both, filters, Window::valid(1, 1));
    let result = net.concat(&all, &last);
    (net.max_pool(&result, Window::valid(2, 2)), last)
}

fn build_tiny(net: &mut Builder, x: Value) -> Vec<Value> {
    let mut x = x;
    for filters in [16, 32, 64, 128, 256] {
        x = conv_tiny(net, &x, filters, Window::centered(3, 1));
        x = net.max_pool(&x, Window::valid(2, 2));
    }
    // The pooling with stride 1 needs one more row and column, which this layer computes.
    x = conv_tiny(net, &x, 512, Window::valid(3, 1).padded([1, 1, 2, 2]));
    x = net.max_pool(&x, Window::valid(2, 1));
    for _ in 0..2 {
        x = conv_tiny(net, &x, 1024, Window::centered(3, 1));
    }
    vec![net.conv(&x, Conv::new(TINY_HEAD, Window::valid(1, 1)))]
}

fn conv_v4(net: &mut Builder, x: &Value, filters: usize, window: Window) -> Value {
    conv(net, x, filters, window, 0.1)
}

/// The slope is that of the accelerator.
fn conv_tiny(net: &mut Builder, x: &Value, filters: usize, window: Window) -> Value {
    conv(net, x, filters, window, 0.125)
}

fn conv(net: &mut Builder, x: &Value, filters: usize, window: Window, slope: f32) -> Value {
    let x = net.conv(x, Conv::new(filters, window).without_bias());
    let x = net.batch_norm(&x, EPSILON);
    net.leaky_relu(&x, slope)
}
