//! LeNet-5 (LeCun and others, 1998) in its present-day form: with rectifiers and maximum pooling.

use crate::zoo::builder::{Builder, Conv, Value, Window};
use crate::zoo::network::Network;

/// Digits of 32 by 32 pixels.
pub(super) const LENET5: Network =
    Network { name: "lenet5", summary: "LeNet-5, digits of 32x32 pixels", input: &[1, 1, 32, 32], build };

fn build(net: &mut Builder, x: Value) -> Vec<Value> {
    let mut x = x;
    for filters in [6, 16] {
        x = net.conv(&x, Conv::new(filters, Window::valid(5, 1)));
        x = net.relu(&x);
        x = net.max_pool(&x, Window::valid(2, 2));
    }
    x = net.flatten(&x);
    for units in [120, 84] {
        x = net.dense(&x, units);
        x = net.relu(&x);
    }
    vec![net.dense(&x, 10)]
}
