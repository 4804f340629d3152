//! Small graphs drawn at random.

use npukit_graph::Graph;
use npukit_graph::op::{Binary, BinaryKind, Conv, MaxPool, Relu, Window};
use proptest::prelude::*;

use super::graph;
use super::runner::{check_with_room, conv};

#[derive(Clone, Debug)]
struct Shape {
    size: [usize; 2],
    channels: [usize; 3],
    kernel: [usize; 2],
    strides: [usize; 2],
    pads: [usize; 4],
    pool: Option<([usize; 2], [usize; 2], bool)>,
    residual: bool,
}

fn shape() -> impl Strategy<Value = Shape> {
    let pool = prop::option::of(([1usize..4, 1..4], [1usize..4, 1..4], any::<bool>()));
    let kernels = ([1usize..5, 1..5], [1usize..4, 1..4], [0usize..3, 0..3, 0..3, 0..3]);
    ([5usize..40, 5..40], [1usize..90, 1..90, 1..90], kernels, pool, any::<bool>()).prop_map(
        |(size, channels, (kernel, strides, pads), pool, residual)| Shape {
            size,
            channels,
            kernel,
            strides,
            pads,
            pool,
            residual,
        },
    )
}

fn network(shape: &Shape) -> Graph {
    let Shape { size, channels, kernel, strides, pads, pool, residual } = shape.clone();
    graph(&[1, size[0], size[1], channels[0]], |g, x| {
        let first = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
        let mut a = conv(g, x, "a", [1, 1, channels[0], channels[1]], first.clone());
        a = g.add_node("relu", Relu.into(), vec![a], &["relu"]).unwrap()[0];
        let second = Conv {
            strides,
            pads: pads.map(|pad| pad.min(kernel[0] - 1).min(kernel[1] - 1)),
            ..first.clone()
        };
        let mut b = conv(g, a, "bb", [kernel[0], kernel[1], channels[1], channels[2]], second.clone());
        if residual {
            let c = conv(g, a, "ccc", [kernel[0], kernel[1], channels[1], channels[2]], second);
            let c = g.add_node("relu2", Relu.into(), vec![c], &["relu2"]).unwrap()[0];
            b = g.add_node("sum", Binary { kind: BinaryKind::Add }.into(), vec![b, c], &["sum"]).unwrap()[0];
        }
        if let Some((window, strides, padded)) = pool {
            let image = [g.shape(b)[1], g.shape(b)[2]];
            let window = [window[0].min(image[0]), window[1].min(image[1])];
            let pads = if padded { [window[0] / 2, window[1] / 2, 0, window[1] / 2] } else { [0; 4] };
            let window = Window { pads, ..Window::plain(window, strides) };
            b = g.add_node("pool", MaxPool { window }.into(), vec![b], &["pool"]).unwrap()[0];
        }
        vec![b]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn machine_judge_and_float_agree(shape in shape()) {
        check_with_room(&network(&shape), 8.0);
    }
}
