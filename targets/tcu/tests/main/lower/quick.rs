//! Small graphs, each for one decision of the lowering: instructions, constants and layers of the
//! program, refusals with their messages, and values that reveal wrong indices.

use super::edges::refused;
use super::*;
use npukit_graph::op::{
    Cast, ConvTranspose, Gather, GroupNormalization, InstanceNormalization, LayerNormalization, LogSoftmax,
    LpNormalization, Lrn, Norm, PRelu, Pow, Reduce, ReduceKind, RmsNormalization, Unary, UnaryKind,
};
use npukit_numeric::TensorData;
use npukit_tcu::internals::board;
use npukit_tcu::internals::config::System;
use npukit_tcu::internals::lower::{Minimize, Problem};

fn add() -> Binary {
    Binary { kind: BinaryKind::Add }
}

fn small() -> Config {
    config(4, 64, 32)
}

fn program_in(net: &mut Net, outputs: &[ValueId], order: Order) -> Program {
    net.graph.outputs = outputs.to_vec();
    lower::compile(&net.graph, &small(), &Options { order, ..Options::default() }).unwrap().program
}

fn program(build: impl FnOnce(&mut Net) -> ValueId) -> Program {
    let mut net = Net::new();
    let y = build(&mut net);
    program_in(&mut net, &[y], Order::Default)
}

fn simd(program: &Program) -> usize {
    program.instructions.iter().filter(|op| matches!(op, npukit_tcu::Op::Simd { .. })).count()
}

fn rows(program: &Program) -> u64 {
    let rows = |op: &npukit_tcu::Op| if let npukit_tcu::Op::MatMul { size, .. } = op { *size } else { 0 };
    program.instructions.iter().map(rows).sum()
}

fn hir(config: &Config, build: impl FnOnce(&mut Net) -> ValueId) -> String {
    let mut net = Net::new();
    net.graph.outputs = vec![build(&mut net)];
    lower::stages(&net.graph, config, &Options::default()).unwrap().hir
}

fn problems(config: &Config, build: impl FnOnce(&mut Net) -> ValueId) -> Vec<Problem> {
    let mut net = Net::new();
    net.graph.outputs = vec![build(&mut net)];
    lower::check(&net.graph, config)
}

#[test]
fn a_constant_added_to_a_product_is_its_bias() {
    let product = |kind, shape: &'static [usize], order| {
        let mut net = Net::new();
        let x = net.input(&[3, 4]);
        let (weights, constant) = (net.constant(&[4, 4]), net.constant(shape));
        let y = net.node(MatMul, &[x, weights]);
        let z = net.node(Binary { kind }, &[constant, y]);
        simd(&program_in(&mut net, &[z], order))
    };
    for shape in [&[4][..], &[1], &[1, 4]] {
        assert_eq!(product(BinaryKind::Add, shape, Order::Default), 0, "{shape:?}");
        assert!(product(BinaryKind::Add, shape, Order::Upstream) > 0, "{shape:?}");
        assert!(product(BinaryKind::Mul, shape, Order::Default) > 0, "{shape:?}");
    }
}

#[test]
fn taps_alike_are_stored_once() {
    let constants = |taps: &[usize]| {
        let mut net = Net::new();
        let x = net.input(&[1, 1, 8, 4]);
        let tap = [net.numbers(16), net.numbers(16)];
        let data = taps.iter().flat_map(|&t| tap[t].clone()).collect();
        let weights = net.constant_of(&[1, taps.len(), 4, 4], data);
        let y = net.node(Conv { pads: [0; 4], ..dense(1) }, &[x, weights]);
        program_in(&mut net, &[y], Order::Default).constants.len()
    };
    let one = constants(&[0]);
    assert_eq!(constants(&[0, 1]), one + 16);
    assert_eq!(constants(&[0, 1, 1]), one + 16);
    assert_eq!(constants(&[0, 1, 0, 1]), one + 16);
}

/// A tap at the edge meets seven of eight rows or columns: 7 + 8 + 7, squared. The bias comes with
/// the middle one.
#[test]
fn a_padded_convolution_multiplies_only_what_its_taps_meet() {
    let padded = program(|net| {
        let x = net.input(&[1, 8, 8, 4]);
        net.conv(x, [3, 3], 4, dense(3))
    });
    assert_eq!(rows(&padded), 22 * 22);
}

#[test]
fn a_product_with_a_constant_vector_is_one_with_its_column() {
    let work = |shape: &'static [usize]| {
        let program = program(|net| {
            let (x, weights) = (net.input(&[3, 6]), net.constant(shape));
            net.node(MatMul, &[x, weights])
        });
        (program.instructions.len(), program.constants.len())
    };
    assert_eq!(work(&[6]), work(&[6, 1]));
}

#[test]
fn gemm_with_anything_unfolded_is_refused() {
    let with = |gemm: Gemm| {
        problems(&small(), |net| {
            let (x, weights, bias) = (net.input(&[5, 5]), net.constant(&[5, 5]), net.constant(&[5]));
            net.node(gemm, &[x, weights, bias])
        })
    };
    assert_eq!(with(Gemm::PLAIN), []);
    for gemm in [
        Gemm { alpha: 0.5, ..Gemm::PLAIN },
        Gemm { beta: 0.5, ..Gemm::PLAIN },
        Gemm { trans_a: true, ..Gemm::PLAIN },
        Gemm { trans_b: true, ..Gemm::PLAIN },
    ] {
        let found = with(gemm.clone());
        assert!(
            found.len() == 1 && found[0].reason.contains("factors or transposed operands"),
            "{gemm:?} {found:?}"
        );
    }
}

/// The window's vectors, its result and its scale.
#[test]
fn a_window_stays_in_the_accumulators_while_it_fits() {
    for (depth, expected) in [(11, "average pool, 4 windows"), (10, "  add ")] {
        let steps = hir(&Config { accumulator_depth: depth, ..small() }, |net| {
            let x = net.input(&[1, 6, 6, 4]);
            net.node(AveragePool { window: window(3, 3, [0; 4]), count_include_pad: false }, &[x])
        });
        assert!(steps.contains(expected), "{depth}: {steps}");
    }
}

#[test]
fn sums_over_channels_are_products_with_ones() {
    for (kind, product) in [(ReduceKind::Sum, true), (ReduceKind::Mean, true), (ReduceKind::Max, false)] {
        let steps = hir(&small(), |net| {
            let x = net.input(&[2, 3, 4]);
            net.node(Reduce { kind, axes: vec![2], keep_dims: true }, &[x])
        });
        assert_eq!(steps.contains("/ones"), product, "{kind:?}: {steps}");
    }
}

#[test]
fn layers_count_the_models_multiplications() {
    let sum = program(|net| {
        let x = net.input(&[2, 3, 5]);
        net.node(Reduce { kind: ReduceKind::Sum, axes: vec![1, 2], keep_dims: true }, &[x])
    });
    assert_eq!(sum.layers.iter().map(|layer| layer.macs).sum::<u64>(), 2 * 3 * 5);
    let product = program(|net| {
        let (x, y) = (net.input(&[2, 3, 5]), net.input(&[2, 5, 7]));
        net.node(MatMul, &[x, y])
    });
    assert_eq!(product.layers.iter().map(|layer| layer.macs).sum::<u64>(), 2 * 3 * 5 * 7);
}

/// Slopes on one side of one take a product and a maximum or minimum; slopes on both sides take an
/// additional addition.
#[test]
fn slopes_on_one_side_of_one_take_two_operations() {
    let passes = |slopes: &[f32]| {
        simd(&program(|net| {
            let x = net.input(&[1, 2, 2, 4]);
            let slopes = net.constant_of(&[4], slopes.to_vec());
            net.node(PRelu, &[x, slopes])
        }))
    };
    let below = passes(&[0.5, 0.25, -1.0, 1.0]);
    assert_eq!(passes(&[1.5, 1.0, 2.0, 3.0]), below);
    assert!(passes(&[0.5, 1.5, 0.5, 0.5]) > below);
    assert!(passes(&[1.5, 1.5, 1.5, 0.5]) > below);
}

#[test]
fn a_rectification_needs_no_constant() {
    let relu = program(|net| {
        let x = net.input(&[1, 2, 2, 4]);
        net.node(Relu, &[x])
    });
    let clip = program(|net| {
        let x = net.input(&[1, 2, 2, 4]);
        net.node(Clip { min: 0.5, max: f32::INFINITY }, &[x])
    });
    assert_eq!(relu.constants.len() + 4, clip.constants.len());
}

/// Vectors that stay whole are read in place.
#[test]
fn moves_of_whole_vectors_take_no_layer() {
    type Moves = fn(&mut Net, ValueId) -> ValueId;
    let moves: [(&str, Moves); 4] = [
        ("Split", |net, x| net.nodes(Split { axis: 3, sizes: vec![4, 4] }, &[x], 2)[1]),
        ("Concat", |net, x| net.node(Concat { axis: 3 }, &[x, x])),
        ("Transpose", |net, x| net.node(Transpose { perm: vec![0, 2, 1, 3] }, &[x])),
        ("Resize", |net, x| {
            let mode = ResizeMode::Nearest(NearestMode::Floor);
            let coordinates = Coordinates::Asymmetric;
            net.node(Resize { size: [6, 4], scales: [2.0, 2.0], mode, coordinates }, &[x])
        }),
    ];
    for (name, op) in moves {
        let moved = program(|net| {
            let x = net.input(&[1, 3, 2, 8]);
            let y = op(net, x);
            net.node(Relu, &[y])
        });
        assert_eq!(moved.layers.len(), 1, "{name}");
        assert_eq!((rows(&moved), moved.constants.len()), (0, 0), "{name}: no product");
    }
    let turned = program(|net| {
        let x = net.input(&[1, 3, 2, 2]);
        let y = net.node(Transpose { perm: vec![0, 2, 3, 1] }, &[x]);
        net.conv(y, [1, 1], 4, dense(1))
    });
    assert_eq!(turned.layers.len(), 1, "the host turns an input that is only read so");
    let padded = program(|net| {
        let x = net.input(&[1, 3, 2, 8]);
        let pads = vec![[0, 0], [1, 0], [0, 1], [0, 0]];
        let y = net.node(Pad { pads, mode: PadMode::Constant(0.0) }, &[x]);
        let weights = net.constant(&[1, 1, 8, 4]);
        net.node(dense(1), &[y, weights])
    });
    assert_eq!(
        (padded.layers.len(), rows(&padded)),
        (1, 4 * 3 + 3 * 2),
        "the first block of channels writes each pixel, the second adds to the image's pixels"
    );
}

#[test]
fn elements_find_their_places() {
    type Build = fn(&mut Net) -> Vec<ValueId>;
    let cases: [(&str, Build); 12] = [
        ("joined along the middle", |net| {
            let (x, y) = (net.input(&[2, 2, 3, 6]), net.input(&[2, 3, 3, 6]));
            let rows = net.node(Concat { axis: 1 }, &[x, y, x]);
            let columns = net.node(Concat { axis: 2 }, &[x, x]);
            vec![net.node(Relu, &[rows]), net.node(Relu, &[columns])]
        }),
        ("broadcast", |net| {
            let x = net.input(&[1, 2, 3, 6]);
            [&[2, 1, 1][..], &[3, 6], &[3, 1], &[6], &[1], &[1, 2, 1, 6]]
                .map(|shape| {
                    let y = net.input(shape);
                    net.node(Binary { kind: BinaryKind::Sub }, &[y, x])
                })
                .to_vec()
        }),
        ("divided by constants", |net| {
            let x = net.input(&[2, 3]);
            let by = net.constant_of(&[3], vec![2.0, -0.5, 4.0]);
            vec![net.node(Binary { kind: BinaryKind::Div }, &[x, by])]
        }),
        ("transposed convolution", |net| {
            let x = net.input(&[1, 2, 3, 4]);
            let weights = net.constant(&[2, 3, 4, 5]);
            let conv = ConvTranspose {
                strides: [3, 2],
                dilations: [2, 3],
                pads: [1, 0, 0, 2],
                output_padding: [0; 2],
                group: 1,
            };
            vec![net.node(conv, &[x, weights])]
        }),
        ("means that leave out padding", |net| {
            let x = net.input(&[2, 4, 3, 4]);
            let relu = net.node(Relu, &[x]);
            let small = Window { kernel: [3, 2], ..window(2, 1, [1, 0, 0, 1]) };
            let large = Window { kernel: [9, 8], ..window(2, 2, [5, 4, 4, 5]) };
            [(small, relu), (large, x)]
                .map(|(window, x)| net.node(AveragePool { window, count_include_pad: false }, &[x]))
                .to_vec()
        }),
        ("resized images of a batch", |net| {
            let x = net.input(&[2, 3, 2, 4]);
            [ResizeMode::Linear, ResizeMode::Nearest(NearestMode::Floor)]
                .map(|mode| {
                    let coordinates = Coordinates::HalfPixel;
                    net.node(Resize { size: [4, 5], scales: [4.0 / 3.0, 2.5], mode, coordinates }, &[x])
                })
                .to_vec()
        }),
        ("resized in the accumulators after a pool", |net| {
            let x = net.input(&[1, 4, 4, 4]);
            let y = net.node(MaxPool { window: window(2, 1, [0; 4]) }, &[x]);
            let resize = Resize {
                size: [4, 5],
                scales: [4.0 / 3.0, 5.0 / 3.0],
                mode: ResizeMode::Linear,
                coordinates: Coordinates::HalfPixel,
            };
            vec![net.node(resize, &[y])]
        }),
        ("padded by a number", |net| {
            let x = net.input(&[1, 2, 2, 6]);
            let pads = vec![[0, 0], [1, 0], [0, 1], [1, 2]];
            vec![net.node(Pad { pads, mode: PadMode::Constant(0.5) }, &[x])]
        }),
        ("picked by 32-bit indices", |net| {
            let x = net.input(&[3, 5]);
            let indices = Tensor::new(vec![2], TensorData::I32(vec![-1, 1])).unwrap();
            let indices = net.graph.add_constant("indices".to_owned(), indices);
            vec![net.node(Gather { axis: 1 }, &[x, indices])]
        }),
        ("reshaped across vectors", |net| {
            let x = net.input(&[1, 2, 4, 6]);
            let odd = net.node(Reshape { shape: vec![1, 3, 16] }, &[x]);
            let bias = net.constant(&[16]);
            vec![net.node(add(), &[odd, bias])]
        }),
        ("an output and its rows turned round", |net| {
            let x = net.input(&[1, 4, 2, 4]);
            let y = net.node(Relu, &[x]);
            let ranges = vec![SliceRange { axis: 1, start: 3, length: 4, step: -1 }];
            vec![y, net.node(Slice { ranges }, &[y])]
        }),
        ("transposed twice, and read in between", |net| {
            let x = net.input(&[2, 3, 4]);
            let turned = net.node(Transpose { perm: vec![0, 2, 1] }, &[x]);
            let back = net.node(Transpose { perm: vec![2, 1, 0] }, &[turned]);
            let y = net.node(Relu, &[x]);
            let other = net.node(Transpose { perm: vec![1, 0, 2] }, &[y]);
            vec![back, other, net.node(Relu, &[other])]
        }),
    ];
    for (name, build) in cases {
        let mut net = Net::new();
        let outputs = build(&mut net);
        println!("{name}");
        net.try_check(&outputs, &config(4, 128, 32));
        assert_eq!(problems(&config(4, 128, 32), |net| build(net)[0]), [], "{name}");
    }
}

/// The host could do both transposes, but the input is packed as the result of the first one.
#[test]
fn an_input_that_is_transposed_twice_is_an_output() {
    let mut net = Net::new();
    let x = net.input(&[2, 3, 4]);
    let turned = net.node(Transpose { perm: vec![0, 2, 1] }, &[x]);
    let back = net.node(Transpose { perm: vec![2, 1, 0] }, &[turned]);
    net.check(&[back], &small());
}

#[test]
fn exponents_that_differ_or_widen_the_result_are_refused() {
    let with = |shape: &'static [usize], exponents: Vec<f32>| {
        problems(&small(), |net| {
            let x = net.input(&[3]);
            let exponent = net.constant_of(shape, exponents);
            net.node(Pow, &[x, exponent])
        })
    };
    assert_eq!(with(&[3], vec![2.0; 3]), []);
    let differ = with(&[3], vec![2.0, 2.0, 3.0]);
    assert!(differ.len() == 1 && differ[0].reason.contains("one constant for all elements"), "{differ:?}");
    let wider = with(&[2, 3], vec![2.0; 6]);
    assert!(wider.len() == 1 && wider[0].reason.contains("the array cannot compute"), "{wider:?}");
    let whole = problems(&small(), |net| {
        let x = net.input(&[3]);
        let exponent = Tensor::new(vec![], TensorData::I32(vec![2])).unwrap();
        let exponent = net.graph.add_constant("two".to_owned(), exponent);
        net.node(Pow, &[x, exponent])
    });
    assert_eq!(whole, []);
}

/// Refused operators between two convolutions without lookups, with the missing function.
#[test]
fn operators_without_a_form_say_which_function_is_missing() {
    let layer = LayerNormalization { axis: 3, epsilon: 1e-3 };
    let cases: Vec<(Op, usize, &str)> = vec![
        (InstanceNormalization { epsilon: 1e-3 }.into(), 2, "of each input's variance"),
        (GroupNormalization { groups: 2, epsilon: 1e-3 }.into(), 2, "of each input's variance"),
        (layer.into(), 1, "of each input's variance"),
        (RmsNormalization { axis: 3, epsilon: 1e-3 }.into(), 1, "of each input's squares"),
        (LpNormalization { axis: 3, norm: Norm::L2 }.into(), 0, "of each input's squares"),
        (Lrn { size: 3, alpha: 0.5, beta: 0.75, bias: 1.5 }.into(), 0, "no fractional power"),
        (Softmax { axis: 3, axis_end: 4 }.into(), 0, "a following node reads this Softmax"),
        (LogSoftmax { axis: 3, axis_end: 4 }.into(), 0, "no exponential and no logarithm"),
    ];
    for (op, parameters, reason) in cases {
        let found = problems(&small(), |net| {
            let mut operands = vec![net.input(&[1, 3, 2, 4])];
            (0..parameters).for_each(|_| operands.push(net.constant(&[4])));
            let y = net.node(op, &operands);
            net.node(Relu, &[y])
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].reason.contains(reason) && found[0].hint.contains("lookup_tables"), "{found:?}");
    }
    let cast = problems(&small(), |net| {
        let x = net.input(&[1, 3]);
        net.node(Cast::new(ElementType::F32), &[x])
    });
    assert!(cast.len() == 1 && cast[0].reason.contains("a single number format"), "{cast:?}");
}

#[test]
fn the_error_names_every_node_with_reason_and_hint() {
    let mut net = Net::new();
    let x = net.input(&[2, 5]);
    let weights = net.constant(&[5, 5]);
    let y = net.node(Gemm { alpha: 0.5, ..Gemm::PLAIN }, &[x, weights]);
    net.graph.outputs = vec![net.node(Pow, &[y, x])];
    let error = lower::compile(&net.graph, &small(), &Options::default()).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 3, "{error}");
    assert_eq!(lines[0], "2 of the model's nodes cannot be lowered:");
    assert_eq!(
        lines[1],
        "  node0 (Gemm): it has factors or transposed operands, which simplification removes; simplify \
         the graph first (`npukit_graph::pass::simplify`)"
    );
    assert!(lines[2].starts_with("  node1 (Pow): "), "{error}");
}

/// Host steps come last: the array must do a Transpose between two of them.
#[test]
fn a_softmax_before_a_transpose_that_another_step_reads_is_refused() {
    let mut net = Net::new();
    let x = net.input(&[2, 3, 4]);
    let soft = net.node(Softmax { axis: 2, axis_end: 3 }, &[x]);
    let turned = net.node(Transpose { perm: vec![0, 2, 1] }, &[soft]);
    let last = net.node(Unary { kind: UnaryKind::Sigmoid }, &[turned]);
    assert_eq!(refused(net, &[last], &small()), ["node0"]);
}

fn sigmoid(config: &Config) -> Result<Program, LowerError> {
    let mut net = Net::new();
    let x = net.input(&[1, 2, 2, 8]);
    net.graph.outputs = vec![net.node(Unary { kind: UnaryKind::Sigmoid }, &[x])];
    lower::compile(&net.graph, config, &Options::default()).map(|compiled| compiled.program)
}

fn with_tables(tables: usize, registers: usize) -> Config {
    Config { lookup_tables: tables, simd_registers_depth: registers, ..config(8, 1024, 64) }
}

#[test]
fn a_lookup_needs_a_register_for_each_table() {
    assert!(sigmoid(&with_tables(2, 2)).is_ok());
    assert!(sigmoid(&with_tables(1, 3)).is_ok());
    let error = sigmoid(&with_tables(2, 1)).unwrap_err().to_string();
    assert!(error.contains("a lookup writes one SIMD register per table"), "{error}");
}

/// A quarter of local memory, shared by the keys and the coefficients: 64 / 4 / 2 vectors of eight.
#[test]
fn a_table_that_is_too_coarse_says_how_many_keys_there_is_room_for() {
    let mut net = Net::new();
    let x = net.input(&[1, 8]);
    net.graph.outputs = vec![net.node(Unary { kind: UnaryKind::Tan }, &[x])];
    let found = lower::check(&net.graph, &Config { local_depth: 64, ..with_tables(1, 1) });
    assert!(
        found.len() == 1 && found[0].reason.starts_with("64 keys with 1 values per key are too few"),
        "{found:?}"
    );
}

/// DRAM1 of exactly the constants' size is sufficient; with one vector less the error reports the
/// sizes.
#[test]
fn constants_may_fill_dram1() {
    let fits = |depth| sigmoid(&Config { dram1_depth: depth, ..with_tables(2, 2) });
    let vectors = (sigmoid(&with_tables(2, 2)).unwrap().constants.len() / 8) as u64;
    assert!(fits(vectors).is_ok());
    match fits(vectors - 1) {
        Err(LowerError::Constants { needed, available }) => {
            assert_eq!((needed, available), (vectors, vectors - 1));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_clock_is_gone_by_where_it_is_asked_for() {
    let config = small();
    assert!(Minimize::Clock(board::memory(&config, &System::OPEN, None)).meter(&config).is_some());
    assert!(Minimize::Estimator.meter(&config).is_none());
}
