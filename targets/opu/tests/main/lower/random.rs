//! Small random graphs.

use npukit_graph::Graph;
use npukit_graph::op::{Binary, BinaryKind, Conv, MaxPool, Relu, Window};
use proptest::prelude::*;

use super::graph;
use super::runner::{check_instance, check_with_room, conv};

#[derive(Clone, Debug)]
struct Shape {
    /// Rows and columns of the first kernel, with padding if they are more than 1.
    first: [usize; 2],
    size: [usize; 2],
    channels: [usize; 3],
    kernel: [usize; 2],
    strides: [usize; 2],
    pads: [usize; 4],
    pool: Option<([usize; 2], [usize; 2], bool)>,
    residual: bool,
    /// Whether there is one more convolution with a skip connection around it.
    deep: bool,
}

fn shape() -> impl Strategy<Value = Shape> {
    let pool = prop::option::of(([1usize..4, 1..4], [1usize..4, 1..4], any::<bool>()));
    let kernels = ([1usize..5, 1..5], [1usize..4, 1..4], [0usize..3, 0..3, 0..3, 0..3]);
    let forms = ([1usize..4, 1..4], any::<bool>(), any::<bool>());
    ([5usize..40, 5..40], [1usize..90, 1..90, 1..90], kernels, pool, forms).prop_map(
        |(size, channels, (kernel, strides, pads), pool, (first, residual, deep))| Shape {
            first,
            size,
            channels,
            kernel,
            strides,
            pads,
            pool,
            residual,
            deep,
        },
    )
}

fn network(shape: &Shape) -> Graph {
    let Shape { first: head, size, channels, kernel, strides, pads, pool, residual, deep } = shape.clone();
    graph(&[1, size[0], size[1], channels[0]], |g, x| {
        let first = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
        let around = [head[0] / 2, head[1] / 2, (head[0] - 1) / 2, (head[1] - 1) / 2];
        let padded = Conv { pads: around, ..first.clone() };
        let mut a = conv(g, x, "a", [head[0], head[1], channels[0], channels[1]], padded);
        a = g.add_node("relu", Relu.into(), vec![a], &["relu"]).unwrap()[0];
        if deep {
            let same = Conv { pads: [1; 4], ..first.clone() };
            let d = conv(g, a, "dddd", [3, 3, channels[1], channels[1]], same);
            let skip = Binary { kind: BinaryKind::Add };
            a = g.add_node("skip", skip.into(), vec![d, a], &["skip"]).unwrap()[0];
            a = g.add_node("relu1", Relu.into(), vec![a], &["relu1"]).unwrap()[0];
        }
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

/// Number of networks: `NPUKIT_OPU_NETWORKS`, or `default`.
fn count(default: u32) -> ProptestConfig {
    let asked = std::env::var("NPUKIT_OPU_NETWORKS").ok().and_then(|count| count.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(default))
}

proptest! {
    #![proptest_config(count(24))]

    #[test]
    fn machine_judge_and_float_agree(shape in shape()) {
        check_with_room(&network(&shape), 8.0);
    }
}

proptest! {
    #![proptest_config(count(10))]

    /// On memory with arbitrary contents; for floats, unwritten bytes may not be numbers.
    #[test]
    fn programs_of_other_instances_repeat(
        shape in shape(),
        preset in prop::sample::select(&["ideal", "detailed", "int16", "bf16", "fp16"][..]),
    ) {
        // Types other than bytes use the slow literal code, so shapes are small.
        let small = |channels: usize| channels % 20 + 1;
        let shape = Shape { size: shape.size.map(|size| size % 9 + 5), channels: shape.channels.map(small), ..shape };
        check_instance(&network(&shape), preset);
    }
}
