//! Graphs of a few pixels: which of them become one layer, and the limits of instructions and
//! buffers.

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Concat, Conv, Coordinates, Gemm, LeakyRelu,
    LogSoftmax, NearestMode, Pad, PadMode, Reduce, ReduceKind, Relu, Reshape, Resize, ResizeMode, Slice,
    SliceRange, Softmax, Transpose, Unary, UnaryKind, Window,
};
use npukit_graph::quantize::Kind;
use npukit_graph::{Graph, ValueId};
use npukit_numeric::Tensor;
use npukit_opu::internals::lower::{Lowered, Options, backend, compile, print};
use npukit_opu::{Board, Config, Op, Program, Types};
use npukit_target::UninitMemory;

use super::cases::{add, node, plain, pool};
use super::runner::{check_instance, check_quantized, check_with_room, conv};
use super::{check, graph, image, quantized};

/// Like [`check`], with the same fraction length for all values.
fn even(graph: &Graph, tolerance: f32) -> Lowered {
    let input = image(graph.shape(graph.inputs[0]), 7);
    let mut quantization = quantized(graph, &[]);
    for id in (0..graph.values.len() as u32).map(ValueId) {
        if quantization.fraction(id).is_some() {
            quantization.set(id, Kind::Activation, 4);
        }
    }
    check_quantized(graph, &input, &quantization, tolerance)
}

fn constant(graph: &mut Graph, name: &str, values: &[f32]) -> ValueId {
    graph.add_constant(name, Tensor::from_f32(vec![values.len()], values.to_vec()).unwrap())
}

fn range(axis: usize, start: usize, length: usize) -> SliceRange {
    SliceRange { axis, start, length, step: 1 }
}

fn slice(graph: &mut Graph, x: ValueId, ranges: &[SliceRange], name: &str) -> ValueId {
    node(graph, Slice { ranges: ranges.to_vec() }, &[x], name)
}

/// Adds a convolution of 3 x 3 that keeps the number of channels and pixels.
fn same(graph: &mut Graph, x: ValueId, name: &str) -> ValueId {
    let channels = graph.shape(x)[3];
    conv(graph, x, name, [3, 3, channels, channels], plain([1, 1], [1; 4]))
}

/// Activation, residual and pooling join a convolution in the orders that the machine supports.
#[test]
fn steps_join_a_layer_in_the_orders_of_the_instruction() {
    // Each case has its steps as letters and its number of layers. A pooled residual needs one more
    // layer.
    for (steps, layers) in [
        ("", 1),
        ("a", 1),
        ("p", 1),
        ("r", 1),
        ("ar", 1),
        ("ap", 1),
        ("rp", 1),
        ("arp", 1),
        ("ra", 1),
        ("rap", 1),
        ("pa", 1),
        ("rpa", 1),
        ("pr", 2),
        ("apr", 2),
        ("par", 2),
        ("pra", 3),
        ("aa", 2),
        ("pp", 2),
        ("rr", 2),
    ] {
        let small = graph(&[1, 4, 6, 3], |g, x| {
            let half = |g: &mut Graph, y, name: &str| node(g, pool([2, 2], [2, 2], [0; 4]), &[y], name);
            let mut other = x;
            if steps.contains("pr") || steps.contains("par") {
                other = half(g, x, "other");
            }
            let mut y = same(g, x, "conv");
            for (index, step) in steps.chars().enumerate() {
                let name = format!("{step}{index}");
                y = match step {
                    'a' => node(g, LeakyRelu { alpha: 0.125 }, &[y], &name),
                    'p' => half(g, y, &name),
                    _ => add(g, y, other, &name),
                };
            }
            vec![y]
        });
        assert_eq!(even(&small, 4.0).model.layers.len(), layers, "{steps}");
    }
}

#[test]
fn sums_are_made_where_their_operands_are() {
    type Build = fn(&mut Graph, ValueId) -> Vec<ValueId>;
    let cases: [(&str, usize, Build); 9] = [
        ("two convolutions", 1, |g, x| {
            let (a, b) = (same(g, x, "a"), same(g, x, "bb"));
            vec![add(g, a, b, "sum")]
        }),
        ("one with an activation", 2, |g, x| {
            let a = same(g, x, "a");
            let (a, b) = (node(g, Relu, &[a], "relu"), same(g, x, "bb"));
            vec![add(g, a, b, "sum")]
        }),
        ("an operand that others read", 3, |g, x| {
            let (a, b) = (same(g, x, "a"), same(g, x, "bb"));
            let sum = add(g, a, b, "sum");
            vec![sum, node(g, Relu, &[a], "relu")]
        }),
        ("a difference", 3, |g, x| {
            let (a, b) = (same(g, x, "a"), same(g, x, "bb"));
            vec![node(g, Binary { kind: BinaryKind::Sub }, &[a, b], "difference")]
        }),
        ("a sum with itself", 2, |g, x| {
            let a = same(g, x, "a");
            vec![add(g, a, a, "twice")]
        }),
        ("a view that is made later", 1, |g, x| {
            let a = same(g, x, "a");
            let later = slice(g, x, &[range(3, 0, 3)], "later");
            vec![add(g, a, later, "sum")]
        }),
        ("one after a factor", 3, |g, x| {
            let (a, b) = (same(g, x, "a"), same(g, x, "bb"));
            let factor = constant(g, "factor", &[-0.5]);
            let a = node(g, Binary { kind: BinaryKind::Mul }, &[a, factor], "scaled");
            vec![add(g, a, b, "sum")]
        }),
        ("a factor after a convolution", 1, |g, x| {
            let (a, factor) = (same(g, x, "a"), constant(g, "factor", &[-0.5]));
            vec![node(g, Binary { kind: BinaryKind::Mul }, &[a, factor], "scaled")]
        }),
        ("a factor after an activation", 2, |g, x| {
            let (a, factor) = (same(g, x, "a"), constant(g, "factor", &[-0.5]));
            let a = node(g, Relu, &[a], "relu");
            vec![node(g, Binary { kind: BinaryKind::Mul }, &[a, factor], "scaled")]
        }),
    ];
    for (what, layers, build) in cases {
        assert_eq!(even(&graph(&[1, 3, 4, 3], build), 4.0).model.layers.len(), layers, "{what}");
        // Fraction lengths differ: in the partial sums, or of terms that are coarser than their
        // difference.
        check_with_room(&graph(&[1, 3, 4, 3], build), 16.0);
    }
}

/// A residual is added slot by slot: channels at other positions in their slots are added in the
/// partial sums.
#[test]
fn residuals_lie_in_their_slots_as_the_sum_does() {
    type Build = fn(&mut Graph, ValueId) -> ValueId;
    let others: [(&str, Build); 3] = [
        ("the last channels of a slot", |g, x| {
            let wide = conv(g, x, "wide", [1, 1, 6, 12], plain([1, 1], [0; 4]));
            slice(g, wide, &[range(3, 6, 6)], "last")
        }),
        ("channels of two slots", |g, x| {
            let a = conv(g, x, "a", [1, 1, 6, 3], plain([1, 1], [0; 4]));
            let b = conv(g, x, "bb", [1, 1, 6, 3], plain([1, 1], [0; 4]));
            node(g, Concat { axis: 3 }, &[a, b], "both")
        }),
        ("both of that", |g, x| {
            let wide = conv(g, x, "wide", [1, 1, 6, 12], plain([1, 1], [0; 4]));
            let last = slice(g, wide, &[range(3, 9, 3)], "last");
            let first = slice(g, wide, &[range(3, 0, 3)], "first");
            node(g, Concat { axis: 3 }, &[last, first], "both")
        }),
    ];
    for (what, build) in others {
        let small = graph(&[1, 2, 3, 6], |g, x| {
            let x = node(g, Relu, &[x], "relu");
            let other = node(g, Relu, &[x], "other");
            let other = build(g, other);
            let y = same(g, x, "conv");
            vec![add(g, y, other, "sum")]
        });
        let lowered = even(&small, 4.0);
        let residuals = lowered.model.layers.iter().filter(|layer| layer.post.residual().is_some()).count();
        assert_eq!(residuals, 0, "{what}");
    }
}

/// Pixels are repeated in the store, where nothing can be added.
#[test]
fn enlarged_maps_are_added_from_memory() {
    let twice = |size: [usize; 2]| Resize {
        size: size.map(|size| size * 2),
        scales: [2.0; 2],
        mode: ResizeMode::Nearest(NearestMode::Floor),
        coordinates: Coordinates::Asymmetric,
    };
    let lowered = even(
        &graph(&[1, 4, 6, 3], |g, x| {
            let small = node(g, pool([2, 2], [2, 2], [0; 4]), &[x], "small");
            let large = node(g, twice([2, 3]), &[small], "large");
            let large = add(g, large, x, "sum");
            vec![node(g, Relu, &[large], "relu")]
        }),
        2.0,
    );
    assert_eq!(lowered.model.layers.len(), 3);
}

/// The host reads whole planes with equal fraction length and border: everything else is copied.
#[test]
fn outputs_are_whole_planes() {
    let copies = |lowered: &Lowered| {
        lowered.model.layers.iter().filter(|layer| layer.name.starts_with("copy for")).count()
    };
    let wide = graph(&[1, 2, 3, 3], |g, x| vec![conv(g, x, "a", [1, 1, 3, 70], plain([1, 1], [0; 4]))]);
    assert_eq!(copies(&check(&wide, 3.0)), 0);
    for (ranges, expected) in [
        ([range(3, 0, 5), range(1, 0, 4)], 1),
        ([range(3, 2, 6), range(1, 0, 4)], 1),
        ([range(3, 0, 8), range(1, 1, 3)], 1),
        ([range(3, 0, 8), range(1, 0, 3)], 1),
        ([range(3, 0, 8), range(1, 0, 4)], 0),
    ] {
        let part = graph(&[1, 4, 3, 3], |g, x| {
            let a = conv(g, x, "a", [1, 1, 3, 8], plain([1, 1], [0; 4]));
            vec![slice(g, a, &ranges, "part")]
        });
        assert_eq!(copies(&check(&part, 3.0)), expected, "{ranges:?}");
    }
    // Two adjacent maps, with equal and with different fraction lengths. One of them has a border.
    let both = graph(&[1, 4, 3, 3], |g, x| {
        let a = conv(g, x, "a", [1, 1, 3, 64], plain([1, 1], [0; 4]));
        let b = conv(g, x, "bb", [1, 1, 3, 5], plain([1, 1], [0; 4]));
        let c = conv(g, a, "ccc", [3, 3, 64, 4], plain([1, 1], [1; 4]));
        vec![node(g, Concat { axis: 3 }, &[a, b], "both"), c]
    });
    assert_eq!(copies(&even(&both, 4.0)), 0);
    let mut quantization = quantized(&both, &[]);
    for (index, value) in both.values.iter().enumerate().filter(|(_, value)| value.constant.is_none()) {
        quantization.set(ValueId(index as u32), Kind::Activation, if value.name == "a" { 5 } else { 4 });
    }
    let lowered = check_quantized(&both, &image(&[1, 4, 3, 3], 7), &quantization, 4.0);
    assert_eq!(copies(&lowered), 1);
}

/// Windows, steps and tiles read the right pixels, of images that are hardly larger.
#[test]
fn convolutions_read_their_own_pixels() {
    let dilated = |strides, dilations, pads| Conv { strides, dilations, pads, group: 1 };
    for (size, kernel, conv_op) in [
        ([5, 6], [3, 2], dilated([1, 1], [2, 3], [2, 1, 0, 2])),
        ([7, 5], [2, 3], dilated([3, 2], [1, 1], [0, 1, 1, 0])),
        ([6, 7], [3, 3], dilated([2, 1], [1, 2], [1, 0, 3, 4])),
        // Other data follows the last row.
        ([3, 4], [3, 1], plain([1, 1], [0, 0, 2, 0])),
        ([4, 3], [2, 1], dilated([1, 1], [3, 1], [0, 0, 3, 0])),
        ([4, 3], [3, 1], plain([2, 1], [0, 0, 3, 0])),
        // The case has more slices than the buffer holds, and an offset that does not fit its
        // field.
        ([7, 8], [7, 7], plain([1, 1], [3; 4])),
        ([3, 18], [1, 17], plain([1, 1], [0, 0, 0, 2])),
        // The rows between the strides are not loaded.
        ([7, 3], [1, 2], plain([3, 1], [0; 4])),
        // A row has more pixels than a buffer, so tiles have different lengths.
        ([1, 302], [1, 2], plain([1, 2], [0; 4])),
        ([301, 1], [2, 1], plain([2, 1], [0; 4])),
        ([302, 1], [1, 1], plain([3, 1], [0; 4])),
    ] {
        // The ReLU prevents the host from laying out windows.
        let lowered = check(
            &graph(&[1, size[0], size[1], 3], |g, x| {
                let x = node(g, Relu, &[x], "relu");
                vec![conv(g, x, "a", [kernel[0], kernel[1], 3, 2], conv_op.clone())]
            }),
            3.0,
        );
        // There is one block of channels, so its bias is loaded once for all tiles.
        let biases = lowered.ops.iter().filter(|op| matches!(op, Op::LoadBias { .. })).count();
        assert_eq!(biases, 1, "{size:?} {kernel:?}");
    }
}

#[test]
fn channels_meet_their_own_weights() {
    // Groups of 2 channels to 3, groups of 40 to 20, and depthwise.
    for (channels, outputs, group) in [(6, 9, 3), (80, 40, 2), (70, 70, 70), (4, 8, 4)] {
        let grouped = Conv { group, ..plain([1, 1], [0, 1, 0, 0]) };
        check(
            &graph(&[1, 2, 3, channels], |g, x| {
                vec![conv(g, x, "a", [1, 2, channels / group, outputs], grouped)]
            }),
            3.0,
        );
    }
    // If a large kernel has few channels, the host lays out windows.
    let lowered = check(
        &graph(&[1, 6, 5, 3], |g, x| vec![conv(g, x, "a", [3, 4, 3, 5], plain([2, 1], [1, 2, 1, 0]))]),
        3.0,
    );
    let patches = lowered.model.inputs[0].patches.unwrap();
    assert_eq!((patches.kernel, patches.stride, patches.padding), ([3, 4], [2, 1], [1, 2]));
    // Weights of unused channels are zero: only 3 of 16 outputs and 5 of 16 inputs are used.
    let lowered =
        check(&graph(&[1, 2, 2, 5], |g, x| vec![conv(g, x, "a", [1, 1, 5, 3], plain([1, 1], [0; 4]))]), 3.0);
    let mut weights = lowered.constants.weights.chunks(16).enumerate();
    let zero = |(k, row): (usize, &[u8])| row[if k < 3 { 5 } else { 0 }..].iter().all(|&byte| byte == 0);
    assert!(lowered.constants.weights.len() == 256 && weights.all(zero));
}

/// A buffer that is loaded twice from one address, with another shape or other rows, is loaded
/// twice.
#[test]
fn features_are_loaded_again_when_their_shape_changes() {
    even(
        &graph(&[1, 4, 4, 16], |g, x| {
            let y = conv(g, x, "a", [2, 2, 16, 16], plain([1, 1], [0, 0, 1, 1]));
            vec![add(g, y, x, "sum")]
        }),
        4.0,
    );
    even(
        &graph(&[1, 4, 4, 16], |g, x| {
            let y = conv(g, x, "a", [1, 1, 16, 16], plain([2, 1], [0; 4]));
            let top = slice(g, x, &[range(1, 0, 2)], "top");
            vec![add(g, y, top, "sum")]
        }),
        4.0,
    );
}

#[test]
fn matrices_are_multiplied_in_all_forms() {
    for (trans_b, alpha, beta, addends) in [
        (false, 1.0, 1.0, 7),
        (true, 0.5, 1.0, 7),
        (true, 1.0, -2.0, 1),
        (false, -1.0, 0.25, 7),
        (true, 1.0, 1.0, 0),
    ] {
        let op = Gemm { alpha, beta, trans_a: false, trans_b };
        check(
            &graph(&[3, 70], |g, x| {
                let shape = if trans_b { [7, 70] } else { [70, 7] };
                let mut inputs = vec![x, g.add_constant("w", image(&shape, 2))];
                if addends > 0 {
                    inputs.push(g.add_constant("b", image(&[addends], 5)));
                }
                vec![node(g, op, &inputs, "dense")]
            }),
            4.0,
        );
    }
}

#[test]
fn normalizations_and_sums_join_one_after_the_other() {
    let lowered = check(
        &graph(&[1, 3, 3, 5], |g, x| {
            let mut y = same(g, x, "a");
            for index in 0..2 {
                let values = [[1.5, -0.5, 2.0, 1.0, 0.75], [0.5, 0.0, -1.0, 2.0, 1.0]];
                let mut inputs = vec![y];
                for (name, values) in ["scale", "bias", "mean"].iter().zip([values[0], values[1], values[1]])
                {
                    inputs.push(constant(g, &format!("{name}{index}"), &values));
                }
                inputs.push(constant(g, &format!("variance{index}"), &[1.0, 0.5, 2.0, 1.5, 1.0]));
                y = node(g, BatchNormalization { epsilon: 1e-3 }, &inputs, &format!("bn{index}"));
            }
            vec![y]
        }),
        4.0,
    );
    assert_eq!(lowered.model.layers.len(), 1);
}

#[test]
fn means_are_exact_and_share_their_weights() {
    let average = AveragePool { window: Window::plain([3, 3], [1, 1]), count_include_pad: true };
    let means = graph(&[1, 4, 4, 16], |g, x| vec![node(g, average.clone(), &[x], "mean")]);
    let lowered = check(&means, 1.5);
    // One ninth is not representable, but the nine weights of a channel have the sum 1.
    let load = &lowered.blocks[0][0].loads[0];
    let fraction = lowered.model.planes.iter().map(|plane| plane.fraction).collect::<Vec<_>>();
    let bits = fraction[1] + 8 - fraction[0] - load.shift;
    let slices = load.chunks.iter().flat_map(|chunk| chunk.taps.iter().map(move |tap| (chunk.at, tap.1)));
    let sum: i32 = slices.map(|(at, n)| i32::from(lowered.constants.weights[at + n * 256] as i8)).sum();
    assert_eq!(sum, 1 << bits);
    // The weights have two values, 113 and 114, and therefore need two slices.
    assert_eq!(lowered.constants.weights.len(), 2 * 256);
    for preset in ["bf16", "int16"] {
        check_instance(&means, preset);
    }
    for (kind, factor) in [(ReduceKind::Mean, 1.0), (ReduceKind::Sum, 0.1)] {
        let whole = graph(&[1, 3, 5, 4], |g, x| {
            let factor = constant(g, "factor", &[factor]);
            let x = node(g, Binary { kind: BinaryKind::Mul }, &[x, factor], "scaled");
            vec![node(g, Reduce { kind, axes: vec![1, 2], keep_dims: true }, &[x], "whole")]
        });
        check_with_room(&whole, 4.0);
    }
}

#[test]
fn elements_are_where_views_say() {
    type Build = fn(&mut Graph, ValueId) -> ValueId;
    let cases: [(&str, [usize; 4], Build); 10] = [
        ("a window over part of the rows", [1, 5, 3, 3], |g, x| {
            let x = node(g, Relu, &[x], "relu");
            let top = slice(g, x, &[range(1, 0, 3)], "top");
            same(g, top, "a")
        }),
        ("channels across planes", [1, 2, 2, 70], |g, x| {
            let part = slice(g, x, &[range(3, 60, 8)], "part");
            conv(g, part, "a", [1, 1, 8, 4], plain([1, 1], [0; 4]))
        }),
        ("every second pixel", [1, 5, 7, 4], |g, x| {
            let ranges = vec![
                SliceRange { axis: 1, start: 1, length: 2, step: 3 },
                SliceRange { axis: 2, start: 0, length: 4, step: 2 },
            ];
            node(g, Slice { ranges }, &[x], "part")
        }),
        ("columns side by side", [1, 3, 2, 4], |g, x| {
            let a = conv(g, x, "a", [1, 1, 4, 4], plain([1, 1], [0; 4]));
            node(g, Concat { axis: 2 }, &[a, x], "both")
        }),
        ("rows of a matrix", [1, 1, 3, 4], |g, x| {
            let x = node(g, Reshape { shape: vec![3, 4] }, &[x], "matrix");
            let x = node(g, Relu, &[x], "relu");
            let rows = slice(g, x, &[range(0, 1, 2)], "rows");
            node(g, Concat { axis: 0 }, &[rows, x], "both")
        }),
        ("zeros around", [1, 2, 3, 4], |g, x| {
            let pads = vec![[0, 0], [3, 1], [1, 2], [0, 0]];
            node(g, Pad { pads, mode: PadMode::Constant(0.0) }, &[x], "padded")
        }),
        ("a column as a row", [1, 4, 1, 3], |g, x| {
            let x = node(g, Relu, &[x], "relu");
            let row = node(g, Reshape { shape: vec![1, 1, 4, 3] }, &[x], "row");
            conv(g, row, "a", [1, 2, 3, 3], plain([1, 1], [0; 4]))
        }),
        ("the first of two images of a stack", [1, 1, 6, 4], |g, x| {
            let x = node(g, Reshape { shape: vec![2, 3, 4] }, &[x], "stack");
            let x = node(g, Relu, &[x], "relu");
            slice(g, x, &[range(0, 0, 1)], "first")
        }),
        ("one channel, by steps", [1, 2, 2, 4], |g, x| {
            let ranges = vec![SliceRange { axis: 3, start: 1, length: 1, step: 2 }];
            node(g, Slice { ranges }, &[x], "part")
        }),
        ("an image as a vector", [1, 2, 3, 4], |g, x| {
            let x = node(g, Relu, &[x], "relu");
            let flat = node(g, Reshape { shape: vec![1, 24] }, &[x], "flat");
            let w = g.add_constant("w", image(&[24, 3], 4));
            node(g, Gemm::PLAIN, &[flat, w], "dense")
        }),
    ];
    for (what, shape, build) in cases {
        eprintln!("{what}");
        check(&graph(&shape, |g, x| vec![build(g, x)]), 3.0);
    }
}

/// A view of part of a map is copied only if it needs a border.
#[test]
fn parts_of_maps_are_read_where_they_are() {
    for (kernel, pads, layers) in [([1, 1], [0; 4], 2), ([2, 2], [0; 4], 2), ([3, 3], [1; 4], 3)] {
        let part = graph(&[1, 5, 4, 3], |g, x| {
            let x = node(g, Relu, &[x], "relu");
            let part = slice(g, x, &[range(1, 1, 3), range(2, 1, 3)], "part");
            vec![conv(g, part, "a", [kernel[0], kernel[1], 3, 3], plain([1, 1], pads))]
        });
        assert_eq!(check(&part, 3.0).model.layers.len(), layers, "{kernel:?}");
    }
}

/// The host lays out windows if that takes fewer cycles, and only if their elements are adjacent.
#[test]
fn windows_are_laid_out_where_that_takes_fewer_cycles() {
    let dilated = Conv { dilations: [2, 2], ..plain([1, 1], [0; 4]) };
    for (kernel, op, packed) in [
        // Cycles per pixel: 4 x 4 for four taps of 64 channels, or 3 x 4 for 192 channels.
        ([2, 2, 48, 64], plain([1, 1], [0; 4]), true),
        // Cycles per pixel: 4 x 2 or 2 x 4.
        ([2, 2, 32, 64], plain([1, 1], [0; 4]), false),
        ([3, 3, 3, 16], plain([1, 1], [0; 4]), true),
        ([3, 3, 3, 16], dilated, false),
        ([3, 3, 65, 16], plain([1, 1], [0; 4]), false),
        ([1, 1, 3, 16], plain([1, 1], [0; 4]), false),
    ] {
        let small = graph(&[1, 5, 5, kernel[2]], |g, x| vec![conv(g, x, "a", kernel, op.clone())]);
        let lowered = check_with_room(&small, 4.0);
        assert_eq!(lowered.model.inputs[0].patches.is_some(), packed, "{kernel:?}");
    }
}

/// Work of the host on outputs: permuted axes, and functions that the machine lacks.
#[test]
fn the_host_does_what_comes_last() {
    type Build = fn(&mut Graph, ValueId) -> ValueId;
    let unary = |g: &mut Graph, y, kind, name: &str| node(g, Unary { kind }, &[y], name);
    let cases: [(Build, &[usize], &[&str]); 8] = [
        (|g, y| node(g, Transpose { perm: vec![0, 3, 1, 2] }, &[y], "nchw"), &[0, 2, 3, 1], &[]),
        (|g, y| node(g, Softmax { axis: 3, axis_end: 4 }, &[y], "soft"), &[0, 1, 2, 3], &["Softmax"]),
        (|g, y| node(g, LogSoftmax { axis: 3, axis_end: 4 }, &[y], "soft"), &[0, 1, 2, 3], &["LogSoftmax"]),
        (|g, y| node(g, Unary { kind: UnaryKind::Exp }, &[y], "exp"), &[0, 1, 2, 3], &["Exp"]),
        (|g, y| node(g, Unary { kind: UnaryKind::Tanh }, &[y], "tanh"), &[0, 1, 2, 3], &["Tanh"]),
        (
            |g, y| {
                let y = node(g, Transpose { perm: vec![0, 3, 1, 2] }, &[y], "nchw");
                let y = node(g, Unary { kind: UnaryKind::Tanh }, &[y], "tanh");
                node(g, Unary { kind: UnaryKind::Sigmoid }, &[y], "sigmoid")
            },
            &[0, 2, 3, 1],
            &["Tanh", "Sigmoid"],
        ),
        (|g, y| node(g, Reshape { shape: vec![6, 5] }, &[y], "matrix"), &[0, 1], &[]),
        (
            |g, y| {
                let y = node(g, Softmax { axis: 3, axis_end: 4 }, &[y], "soft");
                let y = node(g, Reshape { shape: vec![6, 5] }, &[y], "matrix");
                node(g, Reshape { shape: vec![1, 1, 6, 5] }, &[y], "again")
            },
            &[0, 1, 2, 3],
            &["Softmax"],
        ),
    ];
    let compiled = |graph: &Graph| {
        let quantization = quantized(graph, &[]);
        let options = Options { quantization: Some(&quantization), ..Options::default() };
        compile(graph, &Config::preset("reference").unwrap(), options)
    };
    for (build, perm, steps) in cases {
        let network = graph(&[1, 1, 6, 3], |g, x| {
            let y = conv(g, x, "a", [1, 1, 3, 5], plain([1, 1], [0; 4]));
            vec![build(g, y)]
        });
        let lowered = compiled(&network).unwrap();
        let output = &lowered.model.outputs[0];
        let names: Vec<&str> = output.steps.iter().map(|step| step.op.name()).collect();
        assert_eq!((&output.perm[..], &names[..], lowered.model.layers.len()), (perm, steps, 1));
        assert_eq!(output.shape, network.shape(network.outputs[0]));
    }
    // A vector has another map than an image, so the machine copies an image that becomes a vector.
    let flat = graph(&[1, 2, 3, 3], |g, x| {
        let y = conv(g, x, "a", [1, 1, 3, 5], plain([1, 1], [0; 4]));
        vec![node(g, Reshape { shape: vec![1, 30] }, &[y], "flat")]
    });
    assert_eq!(check(&flat, 3.0).model.layers.len(), 2);
    // A function must be the last step, and its operand must have no other reader.
    let refused: [fn(&mut Graph, ValueId) -> Vec<ValueId>; 6] = [
        |g, y| {
            let y = node(g, Unary { kind: UnaryKind::Exp }, &[y], "exp");
            vec![node(g, Transpose { perm: vec![0, 3, 1, 2] }, &[y], "nchw")]
        },
        |g, y| {
            let y = node(g, Unary { kind: UnaryKind::Exp }, &[y], "exp");
            vec![node(g, Reshape { shape: vec![6, 5] }, &[y], "matrix")]
        },
        |g, y| {
            let y = node(g, Transpose { perm: vec![0, 3, 1, 2] }, &[y], "nchw");
            vec![node(g, Transpose { perm: vec![0, 2, 1, 3] }, &[y], "again")]
        },
        |g, y| {
            let y = node(g, Transpose { perm: vec![0, 1, 3, 2] }, &[y], "turned");
            vec![node(g, Reshape { shape: vec![5, 6] }, &[y], "matrix")]
        },
        |g, y| {
            let exp = node(g, Unary { kind: UnaryKind::Exp }, &[y], "exp");
            vec![y, exp]
        },
        |g, y| {
            let exp = node(g, Unary { kind: UnaryKind::Exp }, &[y], "exp");
            vec![exp, node(g, Relu, &[exp], "relu")]
        },
    ];
    for (index, build) in refused.into_iter().enumerate() {
        let network = graph(&[1, 1, 6, 3], |g, x| {
            let y = conv(g, x, "a", [1, 1, 3, 5], plain([1, 1], [0; 4]));
            build(g, y)
        });
        assert!(compiled(&network).is_err(), "{index}");
    }
    let nothing_before = graph(&[1, 1, 6, 3], |g, x| vec![unary(g, x, UnaryKind::Exp, "exp")]);
    assert!(compiled(&nothing_before).is_err());
}

/// A fixed-point type has its own fraction bits, which are included in the fraction lengths of
/// values.
#[test]
fn fraction_bits_of_types_are_counted() {
    let mut config = Config::preset("reference").unwrap();
    let parse = |name: &str| name.parse().unwrap();
    config.types = Types {
        itype: parse("fx8_5"),
        btype: parse("fx16_3"),
        ktype: parse("fx8_7"),
        otype: parse("fx16_9"),
    };
    let small = graph(&[1, 3, 3, 4], |g, x| {
        let y = same(g, x, "a");
        let y = node(g, Relu, &[y], "relu");
        vec![node(
            g,
            AveragePool { window: Window::plain([2, 2], [1, 1]), count_include_pad: true },
            &[y],
            "mean",
        )]
    });
    let reference = check_with_room(&small, 4.0);
    let input = image(&[1, 3, 3, 4], 7);
    let mut quantization = quantized(&small, std::slice::from_ref(&input));
    for id in (0..small.values.len() as u32).map(ValueId) {
        if let Some(fraction) = quantization.fraction(id) {
            quantization.set(id, Kind::Activation, fraction - 1);
        }
    }
    let options = Options { quantization: Some(&quantization), ..Options::default() };
    let lowered = compile(&small, &config, options).unwrap();
    // Weights and biases are the same integers in both cases. Only their interpretation differs.
    assert_eq!(lowered.constants.weights, reference.constants.weights);
    assert_eq!(lowered.constants.biases, reference.constants.biases);
    let fractions =
        |lowered: &Lowered| lowered.model.planes.iter().map(|plane| plane.fraction).collect::<Vec<_>>();
    let less: Vec<i32> = fractions(&reference).iter().map(|fraction| fraction - 5).collect();
    assert_eq!(fractions(&lowered), less);
    let program =
        |lowered, config: &Config| backend::program(lowered, "test".into(), "reference".into(), config);
    let found = |program: &Program, itype| {
        let mut board = Board::new(program, UninitMemory::Zero).unwrap();
        let raw = program.inputs[0].pack(itype, input.as_f32().unwrap()).raw;
        board.run(&[raw]).unwrap();
        program.outputs[0].unpack(&board.output(&program.outputs[0]).unwrap())
    };
    let here = Config::preset("reference").unwrap();
    assert_eq!(
        found(&program(&lowered, &config), config.types.itype),
        found(&program(&reference, &here), here.types.itype)
    );
}

/// Output of `--emit layers` and `--emit plan`.
#[test]
fn stages_are_printed() {
    let lowered = even(
        &graph(&[1, 302, 2, 16], |g, x| {
            let y = conv(g, x, "a", [1, 1, 16, 70], plain([2, 1], [0; 4]));
            let y = node(g, LeakyRelu { alpha: 0.125 }, &[y], "act");
            let y = node(g, pool([2, 1], [2, 1], [0; 4]), &[y], "half");
            let other = node(g, Relu, &[y], "other");
            vec![add(g, other, y, "sum")]
        }),
        4.0,
    );
    assert_eq!(
        print::layers(&lowered),
        "a+act+half: [151, 2] x 70 = 1 terms + bias leaky pool [2, 1] by [2, 1], fraction 4, 338240 MACs\n\
         other+sum: [75, 2] x 70 = 2 terms relu residual, fraction 4, 0 MACs\n"
    );
    assert_eq!(
        print::plan(&lowered).lines().collect::<Vec<_>>(),
        [
            "0x00000000 x[0]: [302, 2] x 16, border 0, fraction 4",
            "0x00009700 half[0]: [75, 2] x 64, border 0, fraction 4",
            "0x0000bc80 half[1]: [75, 2] x 6, border 0, fraction 4",
            "0x00000000 sum[0]: [75, 2] x 64, border 0, fraction 4",
            "0x00002580 sum[1]: [75, 2] x 6, border 0, fraction 4",
            "0x10000000 biases, 160 bytes",
            "0x20000000 weights, 5632 bytes",
            "a+act+half: rows 76+74 columns 2, 2 blocks, tiles, blocks",
            "  channels 0..64 of 64: x[0]/16 1 taps over [0, 0] shift 0",
            "  channels 64..70 of 16: x[0]/16 1 taps over [0, 0] shift 0",
            "other+sum: rows 3x25 columns 2, 2 blocks, blocks, tiles",
            "  channels 0..64 of 64: half[0]/64 1 taps over [0, 0] shift 2",
            "  channels 64..70 of 16: half[1]/16 1 taps over [0, 0] shift 2",
        ]
    );
}
