//! Rewrites of the graph: they reduce the number of instructions and change nothing except
//! rounding.

use super::*;
use npukit_graph::op::Reduce;

/// Adds a convolution with results of about the size of its operand.
fn even(net: &mut Net, x: ValueId, kernel: usize, channels: usize, conv: Conv) -> ValueId {
    let inputs = net.graph.shape(x)[3];
    let spread = ((kernel * kernel * inputs) as f32).sqrt();
    let weights = net.numbers(kernel * kernel * inputs * channels).iter().map(|w| w / spread).collect();
    let weights = net.constant_of(&[kernel, kernel, inputs, channels], weights);
    let bias = net.constant(&[channels]);
    net.node(conv, &[x, weights, bias])
}

/// Adds a residual block with normalizations before its convolutions, on images of `channels` in
/// groups.
fn residual(net: &mut Net, channels: usize, factors: [f32; 4]) -> Vec<ValueId> {
    let x = net.input(&[2, 6, 8, 3]);
    let first = even(net, x, 3, channels, dense(3));
    let relu = net.node(Relu, &[first]);
    let inner = even(net, relu, 3, channels, dense(3));
    let inner = net.node(Relu, &[inner]);
    let strided = Conv { strides: [2, 2], ..dense(1) };
    let shortcut = even(net, relu, 1, 16, strided.clone());
    let main = even(net, inner, 3, 16, Conv { strides: [2, 2], ..dense(3) });
    let sum = net.node(Binary { kind: BinaryKind::Add }, &[shortcut, main]);
    let relu = normalized(net, sum, factors);
    let narrow = even(net, relu, 1, channels, dense(1));
    let wide = even(net, narrow, 1, 16, dense(1));
    vec![net.node(Binary { kind: BinaryKind::Add }, &[wide, sum])]
}

/// Adds BatchNormalization and Relu, cycling through a short list of factors.
fn normalized(net: &mut Net, x: ValueId, factors: [f32; 4]) -> ValueId {
    let channels = net.graph.shape(x)[3];
    let scale = net.constant_of(&[channels], factors.into_iter().cycle().take(channels).collect());
    let bias = net.constant(&[channels]);
    let mean = net.constant(&[channels]);
    let variance = net.constant_of(&[channels], vec![1.0; channels]);
    let norm = net.node(BatchNormalization { epsilon: 0.0 }, &[x, scale, bias, mean, variance]);
    net.node(Relu, &[norm])
}

/// Factors that weights can absorb, some that need a pass, zero, and a negative one that stays a
/// normalization.
const FACTORS: [[f32; 4]; 4] =
    [[1.0, 2.0, 0.75, 3.0], [0.01, 1.0, 4.0, 0.1], [0.0, 1.5, 0.0, 2.0], [1.0, -1.0, 0.5, 2.0]];

#[test]
fn what_goes_around_a_block_waits_in_the_accumulators() {
    let hir = |accumulators| {
        let mut net = Net::new();
        net.graph.outputs = residual(&mut net, 4, FACTORS[0]);
        lower::stages(&net.graph, &config(8, 4096, accumulators), &Options::default()).unwrap().hir
    };
    let roomy = hir(2048);
    assert!(roomy.contains("  keep ") && roomy.contains("  resume"), "{roomy}");
    assert!(!hir(64).contains("resume"), "there is no room");
}

#[test]
fn residual_blocks_keep_their_values() {
    for (n, channels) in [(8, 4), (8, 2), (16, 4), (4, 4), (3, 5), (1, 2)] {
        for factors in FACTORS {
            let mut net = Net::new();
            let outputs = residual(&mut net, channels, factors);
            net.check(&outputs, &config(n, 4096, 2048));
            let mut net = Net::new();
            let outputs = residual(&mut net, channels, factors);
            net.try_check(&outputs, &config(n, 96, 64));
        }
    }
}

#[test]
fn residual_blocks_keep_their_values_in_fixed_point() {
    for factors in FACTORS {
        let mut net = Net::new();
        let outputs = residual(&mut net, 4, factors);
        let config = Config { data_type: DataType::Fp16Bp8, ..config(16, 4096, 2048) };
        net.check_within(&outputs, &config, |_| 12.0 / 256.0);
    }
}

/// Returns the SIMD instructions and array rows of a graph's program.
fn work(net: &Net, order: Order) -> (usize, u64) {
    let options = Options { order, ..Options::default() };
    let program = lower::compile(&net.graph, &config(16, 4096, 2048), &options).unwrap().program;
    let simd = program.instructions.iter().filter(|op| matches!(op, npukit_tcu::Op::Simd { .. })).count();
    let rows = program.instructions.iter().map(|op| match op {
        npukit_tcu::Op::MatMul { size, .. } => *size,
        _ => 0,
    });
    (simd, rows.sum())
}

#[test]
fn a_normalization_before_products_costs_one_pass() {
    let mut net = Net::new();
    let x = net.input(&[1, 8, 8, 16]);
    let relu = normalized(&mut net, x, FACTORS[0]);
    let y = net.conv(relu, [1, 1], 16, dense(1));
    net.graph.outputs = vec![y];
    // Default order takes one pass over 64 vectors and fills a register. Tensil's order takes three
    // passes.
    assert_eq!(work(&net, Order::Default).0, 65);
    assert_eq!(work(&net, Order::Upstream).0, 3 * 64 + 3);
}

#[test]
fn four_pixels_of_four_channels_share_a_vector() {
    let mut net = Net::new();
    let x = net.input(&[1, 16, 16, 4]);
    let first = net.conv(x, [1, 1], 4, dense(1));
    let first = net.node(Relu, &[first]);
    let second = net.conv(first, [3, 3], 4, dense(3));
    let second = net.node(Relu, &[second]);
    // Pixel groups end at a stride that equals the group size.
    let last = net.conv(second, [4, 4], 4, Conv { strides: [4, 4], pads: [0; 4], ..dense(1) });
    net.graph.outputs = vec![last];
    let (simd, rows) = work(&net, Order::Default);
    assert_eq!(simd, 2 * (64 + 1), "a quarter of 256 vectors, twice");
    let (_, separate) = work(&net, Order::Upstream);
    assert!(rows * 2 < separate, "{rows} and {separate} rows");
}

#[test]
fn a_normalized_sum_is_part_of_the_product() {
    let build = |net: &mut Net| {
        let x = net.input(&[1, 8, 8, 16]);
        let y = net.node(Relu, &[x]);
        let inner = even(net, y, 3, 16, dense(3));
        let sum = net.node(Binary { kind: BinaryKind::Add }, &[x, inner]);
        let last = normalized(net, sum, FACTORS[0]);
        let pool =
            Window { kernel: [8; 2], strides: [1; 2], dilations: [1; 2], pads: [0; 4], ceil_mode: false };
        vec![net.node(AveragePool { window: pool, count_include_pad: false }, &[last])]
    };
    for n in [16, 4, 3] {
        let mut net = Net::new();
        let outputs = build(&mut net);
        net.check(&outputs, &config(n, 4096, 2048));
    }
    let mut net = Net::new();
    net.graph.outputs = build(&mut net);
    let (default, upstream) = (work(&net, Order::Default).0, work(&net, Order::Upstream).0);
    // Default order saves a multiplication and an addition of 64 vectors, with their registers. The
    // two-stage mean saves and loads eight vectors and fills a register eight more times.
    assert!(default + 2 * 64 <= upstream + 16, "{default} and {upstream}");
}

#[test]
fn means_of_many_pixels_do_not_saturate() {
    for (rows, columns) in [(14, 14), (7, 9), (16, 5), (13, 1)] {
        let build = |net: &mut Net| {
            let x = net.input(&[1, rows, columns, 5]);
            let offset = net.constant_of(&[5], vec![4.0; 5]);
            let x = net.node(Binary { kind: BinaryKind::Add }, &[x, offset]);
            let kernel = [rows, columns];
            let window =
                Window { kernel, strides: [1; 2], dilations: [1; 2], pads: [0; 4], ceil_mode: false };
            let pool = net.node(AveragePool { window, count_include_pad: false }, &[x]);
            let mean =
                Reduce { kind: npukit_graph::op::ReduceKind::Mean, axes: vec![1, 2], keep_dims: false };
            vec![pool, net.node(mean, &[x])]
        };
        let mut net = Net::new();
        let outputs = build(&mut net);
        net.check(&outputs, &config(4, 512, 256));
        let mut net = Net::new();
        net.graph.outputs = build(&mut net);
        let config = Config { data_type: DataType::Fp16Bp8, ..config(4, 512, 256) };
        // In this format, 1/13 has an error of 1.6 % and 1/7 of 1.2 %.
        let program = lower::compile(&net.graph, &config, &Options::default()).unwrap().program;
        let input = net.numbers(rows * columns * 5);
        let inputs = [Tensor::from_f32(vec![1, rows, columns, 5], input).unwrap()];
        let names: Vec<String> =
            net.graph.outputs.iter().map(|&id| net.graph.value(id).name.clone()).collect();
        let expected = eval::evaluate(&net.graph, &inputs).unwrap();
        let bound = |value: f32| 0.03 * value.abs() + 4.0 / 256.0;
        compare(&run(&program, &inputs, &names), &expected, bound, "in stages");
    }
}
