//! SqueezeNet 1.1 (Iandola and others, 2016; version 1.1 is the authors' later, smaller one).

use super::{IMAGENET, IMAGENET_CLASSES};
use crate::zoo::builder::{Builder, Conv, Value, Window};
use crate::zoo::network::Network;

/// Version 1.1.
pub(super) const SQUEEZENET: Network =
    Network { name: "squeezenet", summary: "SqueezeNet 1.1", input: IMAGENET, build };

/// Filters of the squeezing convolutions between poolings; each expanding convolution has four
/// times that number.
const STAGES: [&[usize]; 3] = [&[16, 16], &[32, 32], &[48, 48, 64, 64]];

fn build(net: &mut Builder, x: Value) -> Vec<Value> {
    let x = net.conv(&x, Conv::new(64, Window::valid(3, 2)));
    let mut x = net.relu(&x);
    for stage in STAGES {
        x = net.max_pool(&x, Window::valid(3, 2));
        x = stage.iter().fold(x, |x, &filters| fire(net, &x, filters));
    }
    // Values averaged over 13 by 13 pixels are added first: the sum must fit as well.
    let last = Conv::new(IMAGENET_CLASSES, Window::valid(1, 1)).with_deviation(0.1);
    let x = net.conv(&x, last);
    let x = net.relu(&x);
    let x = net.global_average_pool(&x);
    vec![net.flatten(&x)]
}

/// Squeezes to `filters`, and expands with windows of 1 and of 3, concatenated.
fn fire(net: &mut Builder, x: &Value, filters: usize) -> Value {
    let mut rectified = |x: &Value, conv| {
        let x = net.conv(x, conv);
        net.relu(&x)
    };
    let squeezed = rectified(x, Conv::new(filters, Window::valid(1, 1)));
    let narrow = rectified(&squeezed, Conv::new(4 * filters, Window::valid(1, 1)));
    let wide = rectified(&squeezed, Conv::new(4 * filters, Window::centered(3, 1)));
    net.concat(&narrow, &wide)
}
