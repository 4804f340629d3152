//! The prepared graph that is lowered instead of the given one: its nodes and shapes, and that it
//! computes the same as the evaluator. Graphs that almost match a pattern stay unchanged.

use std::collections::BTreeSet;

use super::*;
use npukit_graph::op::{
    GroupNormalization, InstanceNormalization, LayerNormalization, LogSoftmax, LpNormalization, Lrn, Norm,
    Reduce, ReduceKind, RmsNormalization,
};
use npukit_graph::{Node, Operator};

fn binary(kind: BinaryKind) -> Binary {
    Binary { kind }
}

/// Returns the prepared graph, after comparing both graphs on random inputs in `range`.
fn prepared_in(net: &mut Net, outputs: &[ValueId], config: &Config, [low, high]: [f32; 2]) -> Graph {
    net.graph.outputs = outputs.to_vec();
    let shapes: Vec<Vec<usize>> = net.graph.inputs.iter().map(|&id| net.graph.shape(id).to_vec()).collect();
    let inputs: Vec<Tensor> = shapes
        .into_iter()
        .map(|shape| {
            let numbers = net.numbers(shape.iter().product());
            let data = numbers.into_iter().map(|x| low + (high - low) * (x + 1.0) / 2.0).collect();
            Tensor::from_f32(shape, data).unwrap()
        })
        .collect();
    let graph = lower::prepare(&net.graph, config, Order::Default);
    graph.validate().unwrap();
    let expected = eval::evaluate(&net.graph, &inputs).unwrap();
    let found = eval::evaluate(&graph, &inputs).unwrap();
    compare(&found, &expected, |value| 1e-3 * (1.0 + value.abs()), "prepared");
    graph
}

fn prepared(net: &mut Net, outputs: &[ValueId], config: &Config) -> Graph {
    prepared_in(net, outputs, config, [-1.0, 1.0])
}

/// Returns the names of the operators in order.
fn ops(graph: &Graph) -> Vec<&'static str> {
    graph.nodes.iter().map(kind_of).collect()
}

fn kind_of(node: &Node) -> &'static str {
    node.op.name()
}

/// Adds a normalization with these factors and addends.
fn normal(net: &mut Net, x: ValueId, factors: Vec<f32>, addends: Vec<f32>) -> ValueId {
    let channels = factors.len();
    let (scale, bias) = (net.constant_of(&[channels], factors), net.constant_of(&[channels], addends));
    let mean = net.constant_of(&[channels], vec![0.0; channels]);
    let variance = net.constant_of(&[channels], vec![1.0; channels]);
    net.node(BatchNormalization { epsilon: 0.0 }, &[x, scale, bias, mean, variance])
}

fn lookups(tables: usize) -> Config {
    Config { lookup_tables: tables, simd_registers_depth: tables, ..config(8, 1024, 256) }
}

const FIXED: DataType = DataType::Fp16Bp8;

/// The reader of a normalized and rectified image of four channels, or of a matrix.
#[derive(Clone, Copy, Debug)]
enum Reads {
    Conv,
    Padded,
    Grouped,
    Gemm,
    HalfGemm,
    MatMul,
    Batched,
    Sum,
}

/// Adds a normalization with `factors`, Relu and a reader; returns the outputs.
fn rectified(net: &mut Net, factors: [f32; 4], addends: [f32; 4], reads: Reads) -> [ValueId; 3] {
    let shape: &[usize] = match reads {
        Reads::Gemm | Reads::HalfGemm | Reads::MatMul => &[5, 4],
        Reads::Batched => &[2, 5, 4],
        _ => &[1, 3, 5, 4],
    };
    let x = net.input(shape);
    let norm = normal(net, x, factors.to_vec(), addends.to_vec());
    let relu = net.node(Relu, &[norm]);
    let pointwise = Conv { pads: [0; 4], ..dense(1) };
    let (weights, bias) = (net.constant(&[4, 6]), net.constant(&[6]));
    let y = match reads {
        Reads::Conv => net.conv(relu, [1, 1], 6, pointwise),
        Reads::Padded => net.conv(relu, [3, 3], 6, dense(3)),
        Reads::Grouped => net.conv(relu, [1, 1], 6, Conv { group: 2, ..pointwise }),
        Reads::Gemm => net.node(Gemm::PLAIN, &[relu, weights, bias]),
        Reads::HalfGemm => net.node(Gemm { alpha: 0.5, ..Gemm::PLAIN }, &[relu, weights, bias]),
        Reads::MatMul | Reads::Batched => net.node(MatMul, &[relu, weights]),
        Reads::Sum => net.node(binary(BinaryKind::Add), &[relu, relu]),
    };
    [norm, relu, y]
}

#[test]
fn a_normalization_and_a_rectification_become_a_maximum_where_products_read_them() {
    let even = [1.0, 2.0, 0.75, 3.0];
    let addends = [0.5, -0.5, 0.25, -1.0];
    let one = |reader| vec!["Max", reader];
    let three = |reader| vec!["BatchNormalization", "Relu", reader];
    let two = |reader| vec!["Mul", "Max", reader];
    let cases = [
        (even, Reads::Conv, one("Conv")),
        (even, Reads::Gemm, one("Gemm")),
        (even, Reads::MatMul, one("Gemm")),
        // The padding is zero, not the threshold. Each group reads its own channels. Gemm's factors
        // are folded earlier.
        (even, Reads::Padded, three("Conv")),
        (even, Reads::Grouped, three("Conv")),
        (even, Reads::HalfGemm, three("Gemm")),
        (even, Reads::Batched, three("MatMul")),
        (even, Reads::Sum, three("Add")),
        // Channels without a factor are constants and cost no precision; a loss of one bit is
        // accepted.
        ([0.0, 1.5, 0.0, 2.0], Reads::Conv, one("Conv")),
        ([0.5; 4], Reads::Conv, one("Conv")),
        ([4.0; 4], Reads::Conv, one("Conv")),
        // Small factors are multiplied first, to keep precision.
        ([0.01, 1.0, 4.0, 0.1], Reads::Conv, two("Conv")),
        // A negative factor reverses the order.
        ([1.0, -1.0, 0.5, 2.0], Reads::Conv, three("Conv")),
    ];
    for (factors, reads, expected) in cases {
        for data_type in [DataType::Float32, DataType::Fp32Bp16] {
            let mut net = Net::new();
            let [_, _, y] = rectified(&mut net, factors, addends, reads);
            let config = Config { data_type, ..config(4, 256, 64) };
            let graph = prepared(&mut net, &[y], &config);
            assert_eq!(ops(&graph), expected, "{factors:?} {reads:?} {data_type:?}");
        }
    }
}

/// A value with another reader keeps its meaning.
#[test]
fn a_normalization_that_is_an_output_itself_stays() {
    for which in [0, 1] {
        let mut net = Net::new();
        let values = rectified(&mut net, [1.0, 2.0, 0.75, 3.0], [0.5; 4], Reads::Conv);
        let graph = prepared(&mut net, &[values[which], values[2]], &config(4, 256, 64));
        assert_eq!(ops(&graph), ["BatchNormalization", "Relu", "Conv"]);
    }
}

/// A pair that must stay is not changed, but an adjacent pair is rewritten nevertheless.
#[test]
fn a_pair_that_stays_does_not_keep_another_from_becoming_a_maximum() {
    let one = |reader| ["BatchNormalization", "Relu", reader, "Max", "Conv"];
    for (reads, shown, expected) in [
        (Reads::Conv, Some(0), one("Conv")),
        (Reads::Conv, Some(1), one("Conv")),
        (Reads::Batched, None, one("MatMul")),
    ] {
        let mut net = Net::new();
        let stays = rectified(&mut net, [1.0, 2.0, 0.75, 3.0], [0.5; 4], reads);
        let [_, _, y] = rectified(&mut net, [1.0, 2.0, 0.75, 3.0], [0.5; 4], Reads::Conv);
        let outputs: Vec<ValueId> =
            shown.map(|which| stays[which]).into_iter().chain([stays[2], y]).collect();
        let graph = prepared(&mut net, &outputs, &config(4, 256, 64));
        assert_eq!(ops(&graph), expected, "{reads:?} {shown:?}");
    }
}

/// FP16BP8 ends at 128: a channel with 200 added is always above its threshold, one with -200
/// never.
#[test]
fn thresholds_beyond_the_format_make_channels_linear_or_constant() {
    let mut net = Net::new();
    let [_, _, y] = rectified(&mut net, [1.0; 4], [200.0, -200.0, 0.5, 0.0], Reads::Conv);
    let graph = prepared(&mut net, &[y], &Config { data_type: FIXED, ..config(4, 256, 64) });
    assert_eq!(ops(&graph), ["Max", "Conv"]);
    let constant = |node: usize| graph.constant(graph.nodes[node].inputs[1]).unwrap().as_f32().unwrap();
    assert_eq!(constant(0), [-128.0, 0.0, -0.5, 0.0]);
    assert!(constant(1)[6..12].iter().all(|&weight| weight == 0.0), "nothing of the second channel counts");
}

#[test]
fn what_is_made_of_a_constant_bears_its_name() {
    let mut net = Net::new();
    let [_, _, y] = rectified(&mut net, [2.0; 4], [0.5; 4], Reads::Conv);
    let name = net.graph.value(net.graph.nodes[2].inputs[1]).name.clone();
    let graph = prepared(&mut net, &[y], &config(4, 256, 64));
    let new = &graph.value(graph.nodes[1].inputs[1]).name;
    assert!(new.starts_with(&name) && *new != name, "{new}");
}

/// Form of a normalized sum of a convolution and another value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    ConvFirst,
    ConvLast,
    TwoConvs,
    ConvIsOutput,
    ConvIsReadTwice,
    SumIsOutput,
    SumIsReadTwice,
    OtherIsConstant,
    OtherIsBroadcast,
    Difference,
}

fn normalized_sum(net: &mut Net, kind: Case, columns: usize, factors: Vec<f32>) -> Vec<ValueId> {
    let channels = factors.len();
    let x = net.input(&[1, 1, columns, channels]);
    let other = match kind {
        Case::TwoConvs => net.conv(x, [1, 1], channels, dense(1)),
        Case::OtherIsConstant => net.constant(&[1, 1, columns, channels]),
        Case::OtherIsBroadcast => net.input(&[1, 1, 1, channels]),
        _ => net.node(Clip { min: -0.5, max: 0.5 }, &[x]),
    };
    let conv = net.conv(x, [1, 1], channels, dense(1));
    let op = binary(if kind == Case::Difference { BinaryKind::Sub } else { BinaryKind::Add });
    let operands = if kind == Case::ConvFirst { [conv, other] } else { [other, conv] };
    let sum = net.node(op, &operands);
    let y = normal(net, sum, factors, (0..channels).map(|c| c as f32 / 8.0 - 0.5).collect());
    let read = match kind {
        Case::ConvIsReadTwice => Some(conv),
        Case::SumIsReadTwice => Some(sum),
        _ => None,
    };
    let again = read.map(|value| net.node(Relu, &[value]));
    let output = match kind {
        Case::ConvIsOutput => Some(conv),
        Case::SumIsOutput => Some(sum),
        _ => None,
    };
    [Some(y), again, output].into_iter().flatten().collect()
}

fn sums_are_rewritten(kind: Case, columns: usize, factors: Vec<f32>) -> bool {
    let mut net = Net::new();
    let outputs = normalized_sum(&mut net, kind, columns, factors);
    let before = net.graph.nodes.len();
    let graph = prepared(&mut net, &outputs, &config(16, 4096, 2048));
    assert_eq!(graph.nodes.len(), before, "one goes, one comes");
    let normalizations = ops(&graph).into_iter().filter(|&op| op == "BatchNormalization").count();
    normalizations == 0
}

#[test]
fn a_normalized_sum_becomes_a_sum_of_products() {
    use Case::{
        ConvFirst, ConvIsOutput, ConvIsReadTwice, ConvLast, Difference, OtherIsBroadcast, OtherIsConstant,
        SumIsOutput, SumIsReadTwice, TwoConvs,
    };
    let factors = || (0..16).map(|c| [1.0, -2.0, 0.75, 3.0][c % 4]).collect::<Vec<f32>>();
    for kind in [ConvFirst, ConvLast] {
        let mut net = Net::new();
        let outputs = normalized_sum(&mut net, kind, 12, factors());
        let graph = prepared(&mut net, &outputs, &config(16, 4096, 2048));
        assert_eq!(ops(&graph), ["Clip", "Conv", "Conv", "Add"], "{kind:?}");
    }
    for kind in [
        TwoConvs,
        ConvIsOutput,
        ConvIsReadTwice,
        SumIsOutput,
        SumIsReadTwice,
        OtherIsConstant,
        OtherIsBroadcast,
        Difference,
    ] {
        assert!(!sums_are_rewritten(kind, 12, factors()), "{kind:?}");
    }
}

/// The weights lose at most one bit; a variance of zero would make them infinite.
#[test]
fn factors_that_weights_cannot_bear_stay_a_normalization() {
    let with = |factor: f32| sums_are_rewritten(Case::ConvLast, 12, vec![factor; 16]);
    assert!(with(4.0) && with(0.5), "exactly one bit is borne");
    assert!(!with(0.499) && !with(0.1));
}

/// A vector saves eight cycles, and a row of the diagonal costs three. Six pixels with one or two
/// channels per lane do not pay off.
#[test]
fn a_normalized_sum_is_rewritten_where_its_vectors_pay_for_the_diagonal() {
    for channels in [16, 32] {
        assert!(!sums_are_rewritten(Case::ConvLast, 6, vec![1.5; channels]), "{channels}");
        assert!(sums_are_rewritten(Case::ConvLast, 7, vec![1.5; channels]), "{channels}");
    }
}

/// Returns kernel and strides of each mean in the prepared graph, starting with one on `image`.
fn means(image: [usize; 2], mean: impl Into<Op>) -> Vec<[[usize; 2]; 2]> {
    let mut net = Net::new();
    let x = net.input(&[2, image[0], image[1], 3]);
    let y = net.node(mean, &[x]);
    let graph = prepared(&mut net, &[y], &config(4, 256, 64));
    let stage = |node: &Node| match &node.op {
        Op::AveragePool(AveragePool { window, .. }) => Some([window.kernel, window.strides]),
        _ => None,
    };
    graph.nodes.iter().filter_map(stage).collect()
}

fn plain(kernel: [usize; 2], strides: [usize; 2]) -> Window {
    Window { kernel, strides, dilations: [1; 2], pads: [0; 4], ceil_mode: false }
}

fn mean_of(window: Window) -> AveragePool {
    AveragePool { window, count_include_pad: false }
}

#[test]
fn means_over_many_pixels_have_stages() {
    // The mean covers the whole image: first columns, then rows, each with factors of at most
    // eight.
    let whole = means([14, 9], mean_of(plain([14, 9], [1; 2])));
    assert_eq!(whole, [[[1, 3]; 2], [[1, 3]; 2], [[7, 1]; 2], [[2, 1]; 2]]);
    for keep_dims in [false, true] {
        let reduced = means([14, 9], Reduce { kind: ReduceKind::Mean, axes: vec![1, 2], keep_dims });
        assert_eq!(reduced, whole);
    }
    // The windows are adjacent.
    let tiles = means([18, 18], mean_of(plain([9, 9], [9; 2])));
    assert_eq!(tiles, [[[1, 3]; 2], [[1, 3]; 2], [[3, 1]; 2], [[3, 1]; 2]]);
    // Overlapping windows are reduced one axis at a time.
    let overlapping = means([12, 24], mean_of(plain([10, 12], [2, 3])));
    assert_eq!(overlapping, [[[1, 12], [1, 3]], [[10, 1], [2, 1]]]);
    // Adjacent axes form the rows of one image: first two images, then a column of each.
    let over = |axes| Reduce { kind: ReduceKind::Mean, axes, keep_dims: false };
    assert_eq!(means([20, 2], over(vec![0, 1])), [[[8, 1]; 2], [[5, 1]; 2]]);
    assert_eq!(means([20, 2], over(vec![1])), [[[5, 1]; 2], [[4, 1]; 2]]);
    // The image has one row of 2 x 13 pixels. 13 is prime and cannot be split.
    assert_eq!(means([1, 26], mean_of(plain([1, 26], [1; 2]))), [[[1, 2]; 2], [[1, 13]; 2]]);
}

#[test]
fn means_over_few_pixels_and_those_with_padding_stay() {
    let stays = |window: Window| {
        let expected = [[window.kernel, window.strides]];
        assert_eq!(means([9, 9], mean_of(window.clone())), expected, "{window:?}");
    };
    stays(plain([3, 4], [1; 2]));
    stays(Window { pads: [1, 0, 0, 0], ..plain([9, 9], [1; 2]) });
    stays(Window { dilations: [2, 1], ..plain([4, 4], [1; 2]) });
    stays(Window { ceil_mode: true, ..plain([5, 5], [2; 2]) });
    assert_eq!(means([9, 9], mean_of(plain([1, 9], [1, 1]))), [[[1, 9], [1, 1]]]);
    assert_eq!(means([1, 13], mean_of(plain([1, 13], [1; 2]))), [[[1, 13]; 2]], "a stage of its own");
    for axes in [vec![1], vec![2], vec![1, 2, 3], vec![0, 2]] {
        assert_eq!(means([9, 9], Reduce { kind: ReduceKind::Mean, axes, keep_dims: true }), [[[0; 2]; 2]; 0]);
    }
    assert_eq!(
        means([9, 9], Reduce { kind: ReduceKind::Sum, axes: vec![1, 2], keep_dims: true }),
        [[[0; 2]; 2]; 0]
    );
}

/// With lookups, an operator on an image of five channels is decomposed into others that compute
/// the same.
#[test]
fn operators_become_those_they_are_made_of() {
    let reduce = |kind| Op::from(Reduce { kind, axes: vec![3], keep_dims: false });
    let lrn = |size| Op::from(Lrn { size, alpha: 0.5, beta: 0.75, bias: 1.5 });
    let cases: Vec<(Op, usize)> = vec![
        (Softmax { axis: 1, axis_end: 3 }.into(), 0),
        (LogSoftmax { axis: 3, axis_end: 4 }.into(), 0),
        (LayerNormalization { axis: 2, epsilon: 1e-3 }.into(), 0),
        (RmsNormalization { axis: 3, epsilon: 1e-3 }.into(), 1),
        (InstanceNormalization { epsilon: 1e-3 }.into(), 2),
        (GroupNormalization { groups: 2, epsilon: 1e-3 }.into(), 2),
        (LpNormalization { axis: 3, norm: Norm::L1 }.into(), 0),
        (LpNormalization { axis: 1, norm: Norm::L2 }.into(), 0),
        (reduce(ReduceKind::L2), 0),
        (reduce(ReduceKind::LogSum), 0),
        (reduce(ReduceKind::LogSumExp), 0),
        (lrn(1), 0),
        (lrn(2), 0),
        (lrn(3), 0),
        (lrn(4), 0),
        (lrn(5), 0),
    ];
    for (op, parameters) in cases {
        let name = op.name();
        let mut net = Net::new();
        let mut operands = vec![net.input(&[2, 3, 2, 6])];
        if matches!(op, Op::LayerNormalization(_)) {
            operands.push(net.constant(&[2, 6]));
        }
        (0..parameters).for_each(|_| operands.push(net.constant(&[6])));
        let y = net.node(op, &operands);
        let graph = prepared_in(&mut net, &[y], &lookups(2), [0.25, 2.0]);
        assert!(graph.nodes.len() > 1, "{name}");
        assert_eq!(graph.nodes.last().map(|node| node.name.as_str()), Some("node0"));
        // Tensil's order has no special handling of lookups, so nothing changes.
        assert_eq!(ops(&lower::prepare(&net.graph, &lookups(2), Order::Upstream)), ops(&graph), "{name}");
        assert_eq!(ops(&lower::prepare(&net.graph, &config(8, 1024, 256), Order::Default)), [name]);
    }
}

#[test]
fn what_the_array_computes_itself_is_not_taken_apart() {
    for kind in
        [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Max, BinaryKind::Min, BinaryKind::Div]
    {
        let mut net = Net::new();
        let (x, y) = (net.input(&[2, 5]), net.input(&[2, 5]));
        let three = net.constant_of(&[1], vec![3.0]);
        let first = net.node(binary(kind), &[x, three]);
        let last = if kind == BinaryKind::Div { first } else { net.node(binary(kind), &[first, y]) };
        let graph = prepared(&mut net, &[last], &lookups(2));
        assert_eq!(ops(&graph), vec![net.graph.nodes[0].op.name(); net.graph.nodes.len()], "{kind:?}");
    }
    // Only up to 1024 channels does the product with a square matrix pay off.
    for (channels, count) in [(1024, 5), (1025, 1)] {
        let mut net = Net::new();
        let x = net.input(&[1, 1, 1, channels]);
        let y = net.node(Lrn { size: 5, alpha: 0.5, beta: 0.75, bias: 1.5 }, &[x]);
        net.graph.outputs = vec![y];
        assert_eq!(lower::prepare(&net.graph, &lookups(2), Order::Default).nodes.len(), count);
    }
}

/// Returns a node between two convolutions whose images of four channels could be grouped by four.
fn between(op: impl FnOnce(&mut Net, ValueId) -> ValueId) -> (Net, Graph, [ValueId; 3]) {
    between_of(4, op)
}

fn between_of(channels: usize, op: impl FnOnce(&mut Net, ValueId) -> ValueId) -> (Net, Graph, [ValueId; 3]) {
    let mut net = Net::new();
    let x = net.input(&[1, 16, 16, 16]);
    let first = net.conv(x, [1, 1], channels, dense(1));
    let middle = op(&mut net, first);
    let second = net.conv(middle, [3, 3], 4, dense(3));
    let second = net.node(Relu, &[second]);
    // Pixel groups end at a stride that equals the group size.
    let last = net.conv(second, [4, 4], 4, Conv { strides: [4, 4], pads: [0; 4], ..dense(1) });
    let graph = prepared(&mut net, &[last], &config(16, 4096, 2048));
    (net, graph, [first, middle, second])
}

const GROUPED: [usize; 4] = [1, 16, 4, 16];
const APART: [usize; 4] = [1, 16, 16, 4];

#[test]
fn what_goes_element_by_element_works_on_grouped_pixels() {
    type Between = fn(&mut Net, ValueId) -> ValueId;
    fn with(net: &mut Net, x: ValueId, shape: &[usize]) -> ValueId {
        let constant = net.constant(shape);
        net.node(binary(BinaryKind::Add), &[constant, x])
    }
    let grouped: [(&str, Between); 9] = [
        ("Relu", |net, x| net.node(Relu, &[x])),
        ("Clip", |net, x| net.node(Clip { min: -0.25, max: 0.5 }, &[x])),
        ("normalization", |net, x| normal(net, x, vec![1.0, -2.0, 0.5, 3.0], vec![0.5, 0.25, -1.0, 2.0])),
        ("a number", |net, x| with(net, x, &[])),
        ("a vector of one", |net, x| with(net, x, &[1])),
        ("a number per channel", |net, x| with(net, x, &[4])),
        ("one per channel with axes before", |net, x| with(net, x, &[1, 1, 1, 4])),
        ("two images", |net, x| {
            let relu = net.node(Relu, &[x]);
            net.node(binary(BinaryKind::Mul), &[x, relu])
        }),
        ("twice the same", |net, x| net.node(binary(BinaryKind::Mul), &[x, x])),
    ];
    for (name, op) in grouped {
        let (_, graph, values) = between(op);
        assert_eq!(values.map(|value| graph.shape(value)), [GROUPED; 3], "{name}");
    }
    let apart: [(&str, Between); 7] = [
        ("a normalization with addends of an input", |net, x| {
            let ([ones, zeros], addends) =
                ([1.0, 0.0].map(|number| net.constant_of(&[4], vec![number; 4])), net.input(&[4]));
            net.node(BatchNormalization { epsilon: 0.0 }, &[x, ones, addends, zeros, ones])
        }),
        ("a number per column", |net, x| with(net, x, &[16, 1])),
        ("a number per column and channel", |net, x| with(net, x, &[16, 4])),
        ("an image of constants", |net, x| with(net, x, &[1, 16, 16, 4])),
        ("MaxPool", |net, x| net.node(MaxPool { window: window(3, 1, [1; 4]) }, &[x])),
        ("MaxPool after Relu", |net, x| {
            let relu = net.node(Relu, &[x]);
            net.node(MaxPool { window: window(3, 1, [1; 4]) }, &[relu])
        }),
        ("slopes", |net, x| {
            let slopes = net.constant(&[4]);
            net.node(npukit_graph::op::PRelu, &[x, slopes])
        }),
    ];
    for (name, op) in apart {
        let (_, graph, values) = between(op);
        assert_eq!(values.map(|value| graph.shape(value)), [&APART, &APART, &GROUPED], "{name}");
    }
}

#[test]
fn images_of_one_channel_are_grouped_with_all_their_parameters() {
    let (_, graph, values) = between_of(1, |net, x| normal(net, x, vec![1.5], vec![0.5]));
    assert_eq!(values.map(|value| graph.shape(value)), [&[1, 16, 4, 4], &[1, 16, 4, 4], &GROUPED]);
    let (_, graph, values) = between_of(1, |net, x| {
        let number = net.constant(&[1]);
        net.node(binary(BinaryKind::Add), &[x, number])
    });
    assert_eq!(values.map(|value| graph.shape(value)), [&[1, 16, 4, 4], &[1, 16, 4, 4], &GROUPED]);
}

#[test]
fn operands_of_what_is_not_grouped_stay_the_same_constants() {
    let (net, graph, _) = between(|net, x| {
        let most = net.node(MaxPool { window: window(3, 1, [1; 4]) }, &[x]);
        let vector = net.constant(&[4]);
        net.node(binary(BinaryKind::Add), &[most, vector])
    });
    let operands = |graph: &Graph, node: usize| graph.nodes[node].inputs[1..].to_vec();
    for node in [0, 2] {
        assert_ne!(graph.nodes[3].inputs[1], net.graph.nodes[3].inputs[1]);
        assert_eq!(operands(&graph, node), operands(&net.graph, node), "node {node}");
    }
    // The weights of the last convolution are spread over the group that it reads. Its bias applies
    // to one pixel.
    let last = graph.nodes.len() - 1;
    assert_eq!(graph.nodes[last].inputs[2], net.graph.nodes[last].inputs[2]);
}

/// Of two images with the same number of columns, one cannot be grouped: its reader takes each
/// pixel.
#[test]
fn an_image_is_grouped_though_another_of_its_columns_is_not() {
    let mut net = Net::new();
    let x = net.input(&[1, 16, 16, 16]);
    let one = net.conv(x, [1, 1], 4, dense(1));
    let y = net.conv(one, [4, 4], 4, Conv { strides: [4, 4], pads: [0; 4], ..dense(1) });
    let other = net.conv(x, [1, 1], 4, dense(1));
    let z = net.conv(other, [1, 1], 4, dense(1));
    let graph = prepared(&mut net, &[y, z], &config(16, 4096, 2048));
    assert_eq!([one, other, z].map(|value| graph.shape(value)), [&GROUPED, &APART, &APART]);
}

/// From groups of two columns to groups of two, a stride of two becomes one.
#[test]
fn strides_between_groups_keep_their_padding() {
    for (columns, kernel, pads) in
        [(32, 3, [0, 1, 0, 0]), (32, 2, [0; 4]), (32, 3, [0, 1, 0, 1]), (40, 5, [0, 2, 0, 2])]
    {
        for stride in [2, 3] {
            let mut net = Net::new();
            let x = net.input(&[1, 8, columns, 16]);
            let first = net.conv(x, [1, 1], 2, dense(1));
            let strided = Conv { strides: [1, stride], pads, ..dense(1) };
            let second = net.conv(first, [1, kernel], 2, strided);
            let last = net.conv(second, [1, 8], 16, Conv { strides: [1, 8], pads: [0; 4], ..dense(1) });
            prepared(&mut net, &[last], &config(16, 4096, 2048));
            let wide = net.graph.shape(second)[2];
            if stride == 2 {
                let graph = lower::prepare(&net.graph, &config(16, 4096, 2048), Order::Default);
                assert!(graph.shape(second)[2] < wide, "{columns} {kernel} {pads:?}");
            }
        }
    }
}

/// Returns the number of array loads of one kernel row of a convolution from groups of `from`
/// columns to groups of `to`, element by element: the pairs of vectors that any weight connects, by
/// group of the operand.
fn loads(taps: usize, stride: usize, channels: [usize; 2], [from, to]: [usize; 2], n: usize) -> usize {
    let mut met = BTreeSet::new();
    for b in 0..to {
        for tap in 0..taps {
            let column = b * stride + tap;
            for input in 0..channels[0] {
                for output in 0..channels[1] {
                    let lanes = [column % from * channels[0] + input, b * channels[1] + output];
                    met.insert((column / from, lanes[0] / n, lanes[1] / n));
                }
            }
        }
    }
    met.len()
}

/// The cheapest of the possible sizes of an image between two convolutions is taken. The cost is
/// the array rows, three times N for each load, and four cycles for each vector of a result.
#[test]
fn the_cheapest_size_of_a_group_is_taken() {
    let mut chosen = BTreeSet::new();
    for n in [4, 8, 16] {
        for channels in [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 20] {
            for (rows, taps) in [(1, 1), (3, 1), (1, 3), (9, 3), (30, 1), (30, 2), (100, 1)] {
                for others in [n, 3 * n] {
                    let mut net = Net::new();
                    let x = net.input(&[1, rows, 16 + taps - 1, others]);
                    let y = net.conv(x, [1, taps], channels, Conv { pads: [0; 4], ..dense(1) });
                    let last = Conv { strides: [1, 8], pads: [0; 4], ..dense(1) };
                    let z = net.conv(y, [1, 8], others, last);
                    net.graph.outputs = vec![z];
                    let graph = lower::prepare(&net.graph, &config(n, 4096, 2048), Order::Default);
                    let cost = |size: usize| {
                        let first = loads(taps, 1, [others, channels], [1, size], n);
                        let second = loads(8, 8, [channels, others], [size, 1], n);
                        let pixels = rows * 16 / size;
                        let vectors = pixels * (channels * size).div_ceil(n) + rows * 2 * others.div_ceil(n);
                        first * (pixels + 3 * n) + second * (rows * 2 + 3 * n) + 4 * vectors
                    };
                    // npukit's size divides the columns; the input must be long enough for the
                    // stride of the groups.
                    let best = [1, 2, 4, 8].into_iter().map(cost).min().unwrap();
                    let size = 16 / graph.shape(y)[2];
                    let what =
                        format!("{n} lanes, {channels} channels, {rows} rows, {taps} taps, {others} others");
                    assert_eq!(cost(size), best, "{what}: {size} of {:?}", [1, 2, 4, 8].map(cost));
                    chosen.insert(size);
                }
            }
        }
    }
    assert_eq!(chosen, BTreeSet::from([1, 2, 4, 8]), "each is the cheapest somewhere");
}
