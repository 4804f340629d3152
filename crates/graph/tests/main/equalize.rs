//! Channels of neighboring layers, against the formula.

use npukit_graph::op::{Binary, BinaryKind, Conv, ConvTranspose, Gemm, Relu, Reshape};
use npukit_graph::rescale::equalize;
use npukit_graph::{Graph, Op, ValueId, evaluate};
use npukit_numeric::Tensor;
use proptest::prelude::*;

use crate::support::{Net, f32s, floats, noise};

fn conv(group: usize) -> Op {
    Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group }.into()
}

/// Two operators with weights, and a rectifier in between.
fn pair(ops: [Op; 2], channels: usize, weights: [Tensor; 2]) -> (Net, [ValueId; 2]) {
    let mut net = Net::default();
    let x = net.input(noise(&[1, 2, 2, channels], 3));
    let weights = weights.map(|tensor| net.constant(tensor));
    let [first, second] = ops;
    let y = net.node(first, &[x, weights[0]]);
    let y = net.node(Relu, &[y]);
    let y = net.node(second, &[y, weights[1]]);
    (net.giving(y), weights)
}

fn constants(graph: &Graph, node: usize) -> Vec<f64> {
    floats(graph.constant(graph.nodes[node].inputs[1]).unwrap()).iter().map(|&x| x.into()).collect()
}

/// Three sweeps: each channel's weights move by half the difference of the logarithms, minus the
/// mean over all channels.
fn literal(first: &mut [f64], second: &mut [f64], count: usize, takes: impl Fn(usize) -> usize) {
    for _ in 0..3 {
        let most = |weights: &[f64], channel: usize, of: &dyn Fn(usize) -> usize| {
            let own = weights.iter().enumerate().filter(|&(place, _)| of(place) == channel);
            own.map(|(_, x)| x.abs()).fold(0.0, f64::max)
        };
        let half = |channel: usize| {
            let (gives, takes) =
                (most(first, channel, &|place| place % count), most(second, channel, &takes));
            (gives > 0.0 && takes > 0.0).then(|| (gives.log2() - takes.log2()) / 2.0)
        };
        let halves: Vec<Option<f64>> = (0..count).map(half).collect();
        let known: Vec<f64> = halves.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let power = |channel: usize| {
            halves[channel].map_or(0, |half| (half - mean).clamp(-12.0, 12.0).round() as i32)
        };
        first.iter_mut().enumerate().for_each(|(place, x)| *x *= 2f64.powi(-power(place % count)));
        second.iter_mut().enumerate().for_each(|(place, x)| *x *= 2f64.powi(power(takes(place))));
    }
}

/// Weights of very different magnitudes; some channels have only zeros.
fn sized(count: usize) -> impl Strategy<Value = Vec<f32>> {
    let weight = (1..64i32, -20..20i32, any::<bool>()).prop_map(|(x, exponent, none)| {
        if none && exponent > 10 { 0.0 } else { x as f32 * 2f32.powi(exponent) }
    });
    prop::collection::vec(weight, count)
}

proptest! {
    #[test]
    fn powers_are_those_of_the_formula(a in sized(6), b in sized(6), c in sized(3)) {
        // Two channels to three, then three to two or one filter per channel.
        for (group, shape, weights) in [(1, [1, 1, 3, 2], &b), (3, [1, 1, 1, 3], &c)] {
            let tensors = [f32s(&[1, 1, 2, 3], &a), f32s(&shape, weights)];
            let (net, _) = pair([conv(1), conv(group)], 2, tensors);
            let (mut first, mut second) = (constants(&net.graph, 0), constants(&net.graph, 2));
            let before = (first.clone(), second.clone());
            literal(&mut first, &mut second, 3, |place| if group == 1 { place / 2 } else { place });
            let found = equalize(&net.graph).unwrap();
            prop_assert_eq!(found.is_some(), (first.clone(), second.clone()) != before);
            let Some(found) = found else { continue };
            prop_assert_eq!(constants(&found, 0), first);
            prop_assert_eq!(constants(&found, 2), second);
            prop_assert_eq!(evaluate(&net.graph, &net.inputs), evaluate(&found, &net.inputs));
        }
    }
}

/// Dense layers, stored in either layout, after a convolution of one pixel and after each other.
#[test]
fn dense_layers_change_as_convolutions_do() {
    let sizes = |count: usize| (0..count).map(|i| 2f32.powi(3 * (i % 5) as i32 - 6)).collect::<Vec<_>>();
    for trans_b in [false, true] {
        let mut net = Net::default();
        let x = net.input(noise(&[1, 1, 1, 4], 3));
        let filters = net.constant(f32s(&[1, 1, 4, 3], &sizes(12)));
        let y = net.node(conv(1), &[x, filters]);
        let y = net.node(Reshape { shape: vec![1, 3] }, &[y]);
        let gemm = Gemm { trans_b, ..Gemm::PLAIN };
        let first = net.constant(f32s(if trans_b { &[5, 3] } else { &[3, 5] }, &sizes(15)));
        let bias = net.constant(f32s(&[5], &sizes(5)));
        let y = net.node(gemm.clone(), &[y, first, bias]);
        let y = net.node(Relu, &[y]);
        let second = net.constant(f32s(if trans_b { &[2, 5] } else { &[5, 2] }, &sizes(10)));
        let y = net.node(gemm, &[y, second]);
        let net = net.giving(y);
        let found = equalize(&net.graph).unwrap().unwrap();
        assert_eq!(evaluate(&net.graph, &net.inputs), evaluate(&found, &net.inputs));
        let (of, before) = (|graph: &Graph, node| constants(graph, node), &net.graph);
        for node in [0, 2, 4] {
            assert_ne!(of(&found, node), of(before, node), "{trans_b}: node {node}");
        }
        // Each channel between the two dense layers has the same magnitude on both sides, up to
        // half a step.
        let most = |weights: &[f64], channel: usize, is_major: bool| {
            let inner = weights.len() / 5;
            let own = |at: usize| if is_major { at / inner } else { at % 5 } == channel;
            (0..weights.len()).filter(|&at| own(at)).map(|at| weights[at].abs()).fold(0.0, f64::max).log2()
        };
        let gaps = (0..5)
            .map(|channel| most(&of(&found, 2), channel, trans_b) - most(&of(&found, 4), channel, !trans_b));
        let gaps: Vec<f64> = gaps.collect();
        let spread =
            gaps.iter().copied().fold(f64::MIN, f64::max) - gaps.iter().copied().fold(f64::MAX, f64::min);
        assert!(spread <= 2.0, "{gaps:?}");
    }
}

/// Operands of a sum have the same scale in each channel, from all layers that produce it to all
/// that consume it.
#[test]
fn sums_of_layers_change_together() {
    let mut net = Net::default();
    let x = net.input(noise(&[1, 2, 2, 2], 3));
    let [a, b] =
        [[1.0, 64.0, 1.0, 64.0], [2.0, 32.0, 1.0, 16.0]].map(|data| net.constant(f32s(&[1, 1, 2, 2], &data)));
    let [a, b] = [a, b].map(|weights| net.node(conv(1), &[x, weights]));
    let sum = net.node(Binary { kind: BinaryKind::Add }, &[a, b]);
    let sum = net.node(Relu, &[sum]);
    let [c, d] = [[1.0; 4], [4.0; 4]].map(|data| net.constant(f32s(&[1, 1, 2, 2], &data)));
    let [c, d] = [c, d].map(|weights| net.node(conv(1), &[sum, weights]));
    let y = net.node(Binary { kind: BinaryKind::Add }, &[c, d]);
    let net = net.giving(y);
    let found = equalize(&net.graph).unwrap().unwrap();
    assert_eq!(evaluate(&net.graph, &net.inputs), evaluate(&found, &net.inputs));
    // 2 to 4 and 64 to 4: half of the difference of the logarithms, 2.5, minus its mean is 1.25
    // each way.
    assert_eq!(constants(&found, 0), [2.0, 32.0, 2.0, 32.0]);
    assert_eq!(constants(&found, 1), [4.0, 16.0, 2.0, 8.0]);
    assert_eq!(constants(&found, 4), [0.5, 0.5, 2.0, 2.0]);
    assert_eq!(constants(&found, 5), [2.0, 2.0, 8.0, 8.0]);
}

#[test]
fn only_layers_that_give_and_take_channels_change() {
    let uneven = |shape: [usize; 4]| {
        let count = shape.iter().product::<usize>();
        f32s(&shape, &(0..count).map(|i| 2f32.powi(5 * (i % 4) as i32)).collect::<Vec<_>>())
    };
    let even = |shape: [usize; 4]| f32s(&shape, &vec![1.0; shape.iter().product()]);
    let changes =
        |ops: [Op; 2], weights: [Tensor; 2]| equalize(&pair(ops, 4, weights).0.graph).unwrap().is_some();
    let first = || uneven([1, 1, 4, 4]);
    assert!(changes([conv(1), conv(1)], [first(), even([1, 1, 4, 2])]));
    assert!(changes([conv(1), conv(4)], [first(), even([1, 1, 1, 4])]));
    // Filters that use some of the channels, or several filters per channel.
    assert!(!changes([conv(1), conv(2)], [first(), even([1, 1, 2, 4])]));
    assert!(!changes([conv(1), conv(2)], [first(), even([1, 1, 2, 2])]));
    assert!(!changes([conv(1), conv(4)], [first(), even([1, 1, 1, 8])]));
    let turned =
        ConvTranspose { strides: [1; 2], dilations: [1; 2], pads: [0; 4], output_padding: [0; 2], group: 1 };
    assert!(!changes([turned.into(), conv(1)], [first(), even([1, 1, 4, 4])]));
}

/// Weights and addends with other readers, or that are not constants, cannot change.
#[test]
fn constants_of_others_stay() {
    for (shared, from_input) in [(false, false), (true, false), (false, true)] {
        for place in 0..3 {
            let data: [&[f32]; 3] = [&[1.0, 8.0, 64.0, 1.0], &[1.0; 2], &[1.0; 4]];
            let shapes: [&[usize]; 3] = [&[1, 1, 2, 2], &[2], &[1, 1, 2, 2]];
            let mut net = Net::default();
            let x = net.input(noise(&[1, 2, 2, 2], 3));
            let ids = [0, 1, 2].map(|index| {
                let tensor = f32s(shapes[index], data[index]);
                if from_input && index == place { net.input(tensor) } else { net.constant(tensor) }
            });
            let y = net.node(conv(1), &[x, ids[0], ids[1]]);
            let y = net.node(Relu, &[y]);
            let y = net.node(conv(1), &[y, ids[2]]);
            let other = if shared { net.node(Relu, &[ids[place]]) } else { y };
            let mut net = net.giving(y);
            net.graph.outputs.extend((other != y).then_some(other));
            assert_eq!(equalize(&net.graph).unwrap().is_some(), !shared && !from_input, "{place}");
        }
    }
}
