//! Odd sizes, strides, groups and pads of each operator in one small graph, compiled for tiny
//! instances in one way each. The tests that try many ways take minutes; these take seconds.

use super::*;
use npukit_graph::op::{
    ConvTranspose, Gather, Gemm, LpNormalization, Norm, PRelu, Pow, Reduce, ReduceKind, Reshape, Trilu,
    Unary, UnaryKind,
};
use npukit_numeric::TensorData;
use npukit_tcu::internals::lower::Minimize;

/// Arrays of one, of fewer and of more lanes than the channels; with these memories all graphs here
/// are cut into tiles.
fn instances() -> [Config; 4] {
    let one_stride = Config { stride0_depth: 1, stride1_depth: 1, ..config(4, 120, 64) };
    [config(1, 400, 200), config(3, 100, 64), one_stride, config(16, 300, 300)]
}

/// Compiles for each instance with the estimator, runs, and compares.
fn sweep(what: &str, instances: &[Config], build: impl Fn(&mut Net) -> Vec<ValueId>) {
    for config in instances {
        for (strategy, order) in
            [(Strategy::LocalIsolated, Order::Default), (Strategy::LocalVarsAndConsts, Order::Upstream)]
        {
            let mut net = Net::new();
            net.graph.outputs = build(&mut net);
            let roomy = Config { local_depth: 4000, ..config.clone() };
            let config = if strategy == Strategy::LocalIsolated { config } else { &roomy };
            let minimize = Some(Minimize::Estimator);
            let options = Options { strategy: Some(strategy), order, minimize, ..Options::default() };
            let what = format!("{what}, {strategy}, arrays of {}", config.array_size);
            let program = lower::compile(&net.graph, config, &options)
                .unwrap_or_else(|e| panic!("{what}: {e}"))
                .program;
            let shapes: Vec<Vec<usize>> =
                net.graph.inputs.iter().map(|&id| net.graph.shape(id).to_vec()).collect();
            let inputs: Vec<Tensor> = shapes
                .into_iter()
                .map(|shape| {
                    let data = net.numbers(shape.iter().product());
                    Tensor::from_f32(shape, data).unwrap()
                })
                .collect();
            let names: Vec<String> =
                net.graph.outputs.iter().map(|&id| net.graph.value(id).name.clone()).collect();
            let expected = eval::evaluate(&net.graph, &inputs).unwrap();
            compare(&run(&program, &inputs, &names), &expected, float_bound, &what);
        }
    }
}

fn add(net: &mut Net, x: ValueId, y: ValueId) -> ValueId {
    net.node(Binary { kind: BinaryKind::Add }, &[x, y])
}

/// The channels in the accumulators differ from the reshaped image's.
#[test]
fn windows_of_an_image_of_another_shape() {
    type Windows = fn(&mut Net, ValueId) -> ValueId;
    let windows: [(&str, Windows); 4] = [
        ("convolution", |net, x| {
            let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 6 };
            net.conv(x, [3, 3], 6, conv)
        }),
        ("largest", |net, x| net.node(MaxPool { window: window(2, 1, [0; 4]) }, &[x])),
        ("mean", |net, x| {
            net.node(AveragePool { window: window(2, 1, [0; 4]), count_include_pad: false }, &[x])
        }),
        ("larger", |net, x| {
            let (mode, coordinates) = (ResizeMode::Linear, Coordinates::HalfPixel);
            net.node(Resize { size: [8, 4], scales: [2.0; 2], mode, coordinates }, &[x])
        }),
    ];
    for (name, op) in windows {
        sweep(name, &instances(), |net| {
            let x = net.input(&[1, 4, 4, 3]);
            let relu = net.node(Relu, &[x]);
            let image = net.node(Reshape { shape: vec![1, 4, 2, 6] }, &[relu]);
            vec![op(net, image)]
        });
    }
}

#[test]
fn pads_of_a_number_and_means_of_different_windows() {
    sweep("pads", &instances(), |net| {
        let x = net.input(&[1, 2, 3, 5]);
        let pads = vec![[0, 0], [1, 2], [3, 0], [2, 1]];
        vec![net.node(Pad { pads, mode: PadMode::Constant(0.5) }, &[x])]
    });
    sweep("means of two and of three", &instances(), |net| {
        let x = net.input(&[1, 1, 4, 5]);
        let window = Window { kernel: [1, 3], strides: [1, 2], pads: [0, 1, 0, 0], ..window(1, 1, [0; 4]) };
        vec![net.node(AveragePool { window, count_include_pad: false }, &[x])]
    });
}

#[test]
fn convolutions_with_odd_sizes() {
    let conv = |strides, dilations, pads, group| Conv { strides, dilations, pads, group };
    for (kernel, channels, conv) in [
        ([3, 2], 7, conv([2, 1], [1, 2], [1, 0, 2, 3], 1)),
        ([2, 3], 9, conv([1, 3], [2, 1], [0, 2, 1, 1], 3)),
        ([1, 1], 5, conv([1, 1], [1, 1], [1, 1, 0, 2], 1)),
        ([2, 2], 6, conv([2, 2], [1, 1], [1, 1, 1, 1], 6)),
        ([3, 3], 12, conv([1, 2], [1, 1], [1, 1, 1, 1], 6)),
    ] {
        sweep(&format!("{conv:?}"), &instances(), |net| {
            let x = net.input(&[2, 5, 6, 6]);
            let y = net.conv(x, kernel, channels, conv.clone());
            let weights = net.constant(&[kernel[0], kernel[1], 6 / conv.group, channels]);
            // The convolution has no bias and adds to accumulators that already hold a value.
            vec![y, net.node(conv.clone(), &[x, weights])]
        });
    }
}

#[test]
fn depthwise_convolutions_after_something_else_and_alone() {
    for (kernel, strides, dilations, pads) in [
        ([3, 2], [1, 1], [1, 1], [1, 0, 1, 1]),
        ([2, 3], [2, 1], [1, 2], [0, 2, 1, 2]),
        ([3, 3], [1, 2], [2, 1], [2, 1, 2, 1]),
        ([2, 2], [2, 2], [1, 1], [0; 4]),
    ] {
        // The arrays are so large that loading weights takes longer than SIMD.
        let instances = [config(5, 200, 200), config(16, 300, 90)];
        sweep(&format!("{kernel:?} {strides:?}"), &instances, |net| {
            let x = net.input(&[2, 4, 5, 6]);
            let depthwise = Conv { strides, dilations, pads, group: 6 };
            let made = net.conv(x, [1, 1], 6, dense(1));
            let made = net.node(Relu, &[made]);
            let fused = net.conv(made, kernel, 6, depthwise.clone());
            let weights = net.constant(&[kernel[0], kernel[1], 1, 6]);
            vec![net.node(Relu, &[fused]), net.node(depthwise, &[x, weights])]
        });
    }
    // The host also reads the value, including pixels outside all windows.
    sweep("read", &[config(16, 300, 90)], |net| {
        let x = net.input(&[1, 3, 5, 6]);
        let made = net.conv(x, [1, 1], 6, dense(1));
        let some = net.conv(made, [1, 1], 6, Conv { strides: [2, 2], group: 6, ..dense(1) });
        let pool = net.node(MaxPool { window: window(2, 1, [0; 4]) }, &[some]);
        vec![made, net.conv(pool, [1, 2], 6, Conv { group: 6, ..dense(1) })]
    });
}

#[test]
fn transposed_convolutions_with_odd_sizes() {
    let conv = |strides, dilations, pads, output_padding, group| ConvTranspose {
        strides,
        dilations,
        pads,
        output_padding,
        group,
    };
    for (kernel, conv) in [
        ([3, 2], conv([2, 3], [1, 1], [1, 0, 0, 1], [1, 0], 1)),
        ([2, 3], conv([1, 2], [2, 1], [0, 1, 1, 0], [0, 0], 2)),
        ([3, 3], conv([3, 1], [1, 2], [2, 2, 1, 3], [0, 0], 3)),
    ] {
        sweep(&format!("{conv:?}"), &instances(), |net| {
            let x = net.input(&[2, 4, 3, 6]);
            let weights = net.constant(&[kernel[0], kernel[1], 6 / conv.group, 6]);
            let bias = net.constant(&[6]);
            vec![net.node(conv.clone(), &[x, weights, bias])]
        });
    }
}

/// Two convolutions and their sum, with an obstacle to a single product for both.
pub fn sum_of_convolutions(net: &mut Net, case: usize) -> Vec<ValueId> {
    let (x, z) = (net.input(&[1, 4, 5, 6]), net.input(&[1, 4, 5, 3]));
    let strided = Conv { strides: [1, 1], ..dense(3) };
    let a = net.conv(x, [3, 3], 6, strided);
    match case {
        // The other operand is a single product.
        0 => {
            let b = net.conv(z, [1, 1], 6, dense(1));
            vec![add(net, a, b)]
        }
        // The other operand is a grouped convolution.
        1 => {
            let b = net.conv(z, [1, 1], 6, Conv { group: 3, ..dense(1) });
            vec![add(net, a, b)]
        }
        // Another node also reads a convolution.
        2 => {
            let b = net.conv(z, [1, 1], 6, dense(1));
            let also = net.node(Relu, &[b]);
            vec![add(net, b, a), also]
        }
        // A convolution is broadcast.
        3 => {
            let y = net.input(&[1, 1, 1, 6]);
            let b = net.conv(y, [1, 1], 6, dense(1));
            vec![add(net, a, b)]
        }
        // The convolutions are multiplied, not added.
        4 => {
            let b = net.conv(z, [1, 1], 6, dense(1));
            vec![net.node(Binary { kind: BinaryKind::Mul }, &[a, b])]
        }
        // A convolution is added to itself.
        _ => vec![add(net, a, a)],
    }
}

#[test]
fn sums_of_convolutions() {
    for case in 0..6 {
        sweep(&format!("case {case}"), &instances(), |net| sum_of_convolutions(net, case));
    }
}

/// Residual blocks, with obstacles to keeping a sum in the accumulators.
pub fn residual(net: &mut Net, case: usize) -> Vec<ValueId> {
    let x = net.input(&[1, 4, 4, 5]);
    let a = net.conv(x, [1, 1], 6, dense(1));
    let r = net.node(Relu, &[a]);
    let one = |net: &mut Net, x| net.conv(x, [3, 3], 6, dense(3));
    match case {
        // One plain block, or two in sequence.
        0 | 1 => {
            let b = one(net, r);
            let sum = add(net, b, a);
            let last = net.node(Relu, &[sum]);
            if case == 0 {
                return vec![last];
            }
            let c = one(net, last);
            let sum = add(net, c, sum);
            vec![net.node(Relu, &[sum])]
        }
        // The host also reads the sum.
        2 => {
            let b = one(net, r);
            vec![add(net, b, a), a]
        }
        // The product that it is added to also reads it.
        3 => {
            let b = one(net, a);
            vec![add(net, b, a), r]
        }
        // A pool follows the addition or computes the sum.
        4 => {
            let b = one(net, r);
            let sum = add(net, b, a);
            vec![net.node(MaxPool { window: window(2, 1, [0, 0, 1, 1]) }, &[sum])]
        }
        5 => {
            let pool = net.node(MaxPool { window: window(3, 1, [1; 4]) }, &[a]);
            let relu = net.node(Relu, &[pool]);
            let b = one(net, relu);
            vec![add(net, b, pool)]
        }
        // It is added twice, or transposed.
        6 => {
            let b = one(net, r);
            let sum = add(net, b, a);
            let relu = net.node(Relu, &[sum]);
            vec![add(net, relu, a)]
        }
        7 => {
            let ranges = vec![SliceRange { axis: 1, start: 3, length: 4, step: -1 }];
            let turned = net.node(Slice { ranges }, &[a]);
            let b = one(net, r);
            vec![add(net, b, turned)]
        }
        // One block contains another block.
        _ => {
            let b = one(net, r);
            let inner = net.node(Relu, &[b]);
            let c = one(net, inner);
            let sum = add(net, c, b);
            let relu = net.node(Relu, &[sum]);
            let d = one(net, relu);
            vec![add(net, d, a)]
        }
    }
}

#[test]
fn residual_blocks_of_every_form() {
    // Six channels are two blocks of four. Half of 64 or 70 accumulators can keep 16 pixels of
    // them.
    let instances = [config(4, 100, 64), config(4, 100, 70), config(8, 400, 400)];
    for case in 0..9 {
        sweep(&format!("case {case}"), &instances, |net| residual(net, case));
    }
}

#[test]
fn products_of_every_form() {
    sweep("products", &instances(), |net| {
        let (x, y) = (net.input(&[2, 3, 7]), net.input(&[2, 7, 5]));
        let (left, right) = (net.constant(&[4, 3]), net.constant(&[7, 6]));
        let bias = net.constant(&[6]);
        let product = net.node(MatMul, &[x, right]);
        let sum = add(net, product, bias);
        // A value that is added twice, or to a value of another shape, is not a bias.
        let another = net.node(MatMul, &[x, right]);
        let also = add(net, another, bias);
        let wide = net.constant(&[2, 3, 6]);
        let third = net.node(MatMul, &[x, right]);
        let spread = add(net, third, wide);
        let fourth = net.node(MatMul, &[x, right]);
        let times = net.node(Binary { kind: BinaryKind::Mul }, &[fourth, bias]);
        vec![net.node(MatMul, &[x, y]), net.node(MatMul, &[left, x]), sum, another, also, spread, times]
    });
    sweep("gemm", &instances(), |net| {
        let (x, y) = (net.input(&[3, 7]), net.input(&[7, 5]));
        let (bias, column) = (net.constant(&[5]), net.constant(&[7]));
        let gemm = Gemm { alpha: 0.5, ..Gemm::PLAIN };
        vec![net.node(gemm.clone(), &[x, y, bias]), net.node(gemm, &[x, y]), net.node(MatMul, &[x, column])]
    });
    sweep("reshaped", &instances(), |net| {
        let x = net.input(&[1, 3, 2, 6]);
        let y = net.node(Relu, &[x]);
        let flat = net.node(Reshape { shape: vec![3, 12] }, &[y]);
        let other = net.node(Reshape { shape: vec![1, 2, 2, 9] }, &[y]);
        let weights = net.constant(&[12, 5]);
        vec![net.node(MatMul, &[flat, weights]), net.conv(other, [1, 1], 5, dense(1))]
    });
}

#[test]
fn pools_and_reductions_of_every_form() {
    sweep("pools", &instances(), |net| {
        let x = net.input(&[2, 5, 4, 6]);
        let (odd, all) = (window(3, 2, [1, 0, 1, 2]), window(4, 1, [0; 4]));
        let mean = |window, count_include_pad| AveragePool { window, count_include_pad };
        let most = net.node(MaxPool { window: odd.clone() }, &[x]);
        let outside = Window { kernel: [2; 2], ..window(2, 2, [2; 4]) };
        vec![
            most,
            net.node(mean(odd.clone(), true), &[x]),
            net.node(mean(odd, false), &[x]),
            net.node(mean(all, false), &[x]),
            net.node(mean(outside, true), &[x]),
        ]
    });
    use ReduceKind::{L1, Max, Mean, Min, Prod, Sum, SumSquare};
    let small = [config(3, 100, 64), config(16, 300, 300)];
    for kind in [Sum, Mean, Max, Min, Prod, L1, SumSquare] {
        sweep(&format!("{kind:?}"), &small, |net| {
            let x = net.input(&[2, 3, 2, 7]);
            let axes = [vec![1, 2], vec![3], vec![0, 3], vec![1, 2, 3]];
            axes.map(|axes| net.node(Reduce { kind, axes, keep_dims: false }, &[x])).to_vec()
        });
    }
}

#[test]
fn elements_of_odd_sizes_move() {
    sweep("joined", &instances(), |net| {
        let (x, y) = (net.input(&[2, 3, 2, 6]), net.input(&[2, 3, 2, 3]));
        let joined = net.node(Concat { axis: 3 }, &[y, x, y]);
        let rows = net.node(Concat { axis: 1 }, &[x, x]);
        let parts = net.nodes(Split { axis: 3, sizes: vec![5, 1, 6] }, &[joined], 3);
        let ranges = vec![
            SliceRange { axis: 1, start: 2, length: 2, step: -2 },
            SliceRange { axis: 3, start: 1, length: 3, step: 2 },
        ];
        vec![joined, rows, parts[0], parts[2], net.node(Slice { ranges }, &[x])]
    });
    sweep("padded", &instances(), |net| {
        let x = net.input(&[1, 3, 4, 6]);
        let pads = vec![[0, 0], [1, 2], [2, 1], [1, 2]];
        let modes = [PadMode::Constant(0.0), PadMode::Constant(0.5), PadMode::Edge, PadMode::Wrap];
        modes.map(|mode| net.node(Pad { pads: pads.clone(), mode }, &[x])).to_vec()
    });
    sweep("picked", &instances(), |net| {
        let x = net.input(&[2, 3, 4, 5]);
        let indices = Tensor::new(vec![4], TensorData::I32(vec![0, -1, 2, 1])).unwrap();
        let indices = net.graph.add_constant("indices".to_owned(), indices);
        let mut outputs = [1, 2, 3].map(|axis| net.node(Gather { axis }, &[x, indices])).to_vec();
        outputs.push(net.node(Trilu { upper: true, offset: 1 }, &[x]));
        outputs.push(net.node(Tile { repeats: vec![1, 2, 1, 2] }, &[x]));
        outputs.push(net.node(Transpose { perm: vec![2, 0, 3, 1] }, &[x]));
        // Another node also reads the output.
        let turned = net.node(Transpose { perm: vec![0, 2, 3, 1] }, &[x]);
        outputs.extend([turned, net.conv(turned, [1, 1], 5, dense(1))]);
        outputs
    });
    for mode in [ResizeMode::Linear, ResizeMode::Nearest(NearestMode::RoundPreferFloor)] {
        sweep(&format!("{mode:?}"), &instances(), |net| {
            let x = net.input(&[2, 3, 2, 5]);
            let resize = |size: [usize; 2], coordinates| Resize {
                size,
                scales: [size[0] as f32 / 3.0, size[1] as f32 / 2.0],
                mode,
                coordinates,
            };
            vec![
                net.node(resize([5, 4], Coordinates::HalfPixel), &[x]),
                net.node(resize([6, 4], Coordinates::AlignCorners), &[x]),
                net.node(resize([2, 3], Coordinates::Asymmetric), &[x]),
            ]
        });
    }
}

#[test]
fn functions_and_combinations_of_every_form() {
    sweep("functions", &instances(), |net| {
        let x = net.input(&[1, 3, 2, 7]);
        let y = net.conv(x, [1, 1], 7, dense(1));
        let kinds = [
            UnaryKind::Neg,
            UnaryKind::Abs,
            UnaryKind::HardSigmoid { alpha: 0.25, beta: 0.5 },
            UnaryKind::HardSwish,
            UnaryKind::ThresholdedRelu { alpha: 0.25 },
        ];
        let mut outputs: Vec<ValueId> = kinds.map(|kind| net.node(Unary { kind }, &[y])).to_vec();
        for slopes in [vec![0.5], vec![1.5; 7], vec![-2.0, -0.5, 0.0, 0.25, 1.0, 2.0, 3.0]] {
            let slope = net.constant_of(&[slopes.len()], slopes);
            outputs.push(net.node(PRelu, &[y, slope]));
        }
        outputs.extend([-0.75, 0.0, 1.0, 1.25].map(|alpha| net.node(LeakyRelu { alpha }, &[y])));
        for exponent in [1.0, 2.0, 3.0, 6.0] {
            let exponent = net.constant_of(&[], vec![exponent]);
            outputs.push(net.node(Pow, &[y, exponent]));
        }
        outputs.extend(
            [(-0.25, 0.5), (0.0, 6.0), (0.5, 0.5)].map(|(min, max)| net.node(Clip { min, max }, &[y])),
        );
        outputs
    });
    sweep("combinations", &instances(), |net| {
        let x = net.input(&[2, 2, 3, 6]);
        let mut outputs = Vec::new();
        for shape in [vec![2, 2, 3, 6], vec![2, 1, 1, 6], vec![2, 3, 1], vec![6], vec![1], vec![3, 6]] {
            let (other, constant) = (net.input(&shape), net.constant(&shape));
            for kind in [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Max] {
                outputs.push(net.node(Binary { kind }, &[x, other]));
                outputs.push(net.node(Binary { kind }, &[constant, x]));
            }
            let divisors = net.numbers(shape.iter().product()).into_iter().map(|x| 1.5 + x.abs()).collect();
            let divisor = net.constant_of(&shape, divisors);
            outputs.push(net.node(Binary { kind: BinaryKind::Div }, &[x, divisor]));
        }
        outputs
    });
}

/// Functions by tables, with roots and quotients within a thousandth.
#[test]
fn lookups_in_tiles() {
    let tables =
        |n, tables| Config { lookup_tables: tables, simd_registers_depth: tables, ..config(n, 700, 64) };
    for config in [tables(4, 2), tables(8, 3), tables(3, 3)] {
        let mut net = Net::new();
        let x = net.input(&[2, 3, 3, 5]);
        let y = net.conv(x, [1, 1], 9, dense(1));
        let tanh = net.node(Unary { kind: UnaryKind::Tanh }, &[y]);
        let again = net.conv(tanh, [1, 1], 5, dense(1));
        let swish = net.node(Unary { kind: UnaryKind::Swish { alpha: 1.0 } }, &[again]);
        let two = net.constant_of(&[], vec![2.0]);
        let above = net.node(Binary { kind: BinaryKind::Add }, &[x, two]);
        let norm = net.node(LpNormalization { axis: 3, norm: Norm::L2 }, &[above]);
        net.graph.outputs = vec![swish, norm];
        let options = Options { minimize: Some(Minimize::Estimator), ..Options::default() };
        let program = lower::compile(&net.graph, &config, &options).unwrap().program;
        let input = Tensor::from_f32(vec![2, 3, 3, 5], net.numbers(90)).unwrap();
        let names: Vec<String> =
            net.graph.outputs.iter().map(|&id| net.graph.value(id).name.clone()).collect();
        let expected = eval::evaluate(&net.graph, std::slice::from_ref(&input)).unwrap();
        let found = run(&program, &[input], &names);
        compare(&found, &expected, |_| 2e-3, &format!("arrays of {}", config.array_size));
    }
}

/// Graphs to which rewrites apply: few channels, thresholds, normalized sums, wide means.
#[test]
fn rewritten_graphs() {
    let instances = [config(8, 600, 400), config(16, 300, 200), config(4, 200, 100)];
    sweep("few channels", &instances, |net| {
        let x = net.input(&[1, 4, 8, 4]);
        let first = net.conv(x, [1, 1], 4, dense(1));
        let slope = net.constant(&[4]);
        let first = net.node(PRelu, &[first, slope]);
        let second = net.conv(first, [3, 3], 2, dense(3));
        let both = net.conv(first, [3, 3], 2, dense(3));
        let sum = add(net, second, both);
        let relu = net.node(Relu, &[sum]);
        let scale = net.constant(&[2]);
        let scaled = net.node(Binary { kind: BinaryKind::Mul }, &[relu, scale]);
        vec![net.conv(scaled, [1, 1], 4, Conv { strides: [2, 2], ..dense(1) })]
    });
    sweep("normalized sums", &instances, |net| {
        let x = net.input(&[1, 4, 4, 8]);
        let y = net.node(Relu, &[x]);
        let inner = net.conv(y, [3, 3], 8, dense(3));
        let sum = add(net, x, inner);
        let parameters: Vec<ValueId> = (0..3).map(|_| net.constant(&[8])).collect();
        let variance = net.constant_of(&[8], (1..9).map(|i| i as f32 / 4.0).collect());
        let inputs = [sum, parameters[0], parameters[1], parameters[2], variance];
        let normal = net.node(BatchNormalization { epsilon: 1e-3 }, &inputs);
        let relu = net.node(Relu, &[normal]);
        let next = net.conv(relu, [1, 1], 8, dense(1));
        vec![next]
    });
    sweep("wide means", &instances, |net| {
        let x = net.input(&[1, 9, 14, 3]);
        let y = net.node(Clip { min: -0.5, max: 0.75 }, &[x]);
        let mean = Reduce { kind: ReduceKind::Mean, axes: vec![1, 2], keep_dims: false };
        let window = Window { kernel: [9, 14], ..window(9, 1, [0; 4]) };
        vec![net.node(mean, &[y]), net.node(AveragePool { window, count_include_pad: false }, &[x])]
    });
}
