//! Scales that models specify, and their effects.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::op::{Conv, DequantizeLinear, QuantizeLinear, Relu, Reshape, Transpose, Unary, UnaryKind};
use npukit_graph::quantize::{
    Distributions, Method, Scheme, is_settled, lift, quantize, restated, stated_fractions,
};
use npukit_graph::{Graph, Op, Operator, QdqScales, ValueId};
use npukit_numeric::{ElementType, Tensor, TensorData};
use proptest::prelude::*;

use crate::support::{Net, f32s, noise};

use ElementType::{F8E4M3FN, F32, I8, I16, U8};

fn stated(element: ElementType, scale: f32, zero: i64) -> QdqScales {
    QdqScales { name: "q".to_owned(), scales: [scale; 2], zero_points: [zero; 2], element }
}

fn quantize_linear(to: ElementType, axis: usize) -> Op {
    QuantizeLinear { to, axis, block: 0, saturate: true, precision: F32, away: false }.into()
}

fn integers(shape: &[usize], values: &[i32], element: ElementType) -> Tensor {
    Tensor::new(shape.to_vec(), TensorData::I32(values.to_vec())).unwrap().with_element(element).unwrap()
}

/// Returns the parameters of a QuantizeLinear with these operands, and of the DequantizeLinear
/// after it.
fn said(to: ElementType, scales: Option<&[f32]>, zeros: Option<&[i32]>) -> [Option<QdqScales>; 2] {
    let mut net = Net::default();
    let x = net.input(noise(&[2, 2], 1));
    let scale = match scales {
        Some(scales) => net.constant(f32s(&[scales.len()], scales)),
        None => net.input(f32s(&[2], &[1.0, 2.0])),
    };
    let zeros = zeros.map(|zeros| net.constant(integers(&[zeros.len()], zeros, to)));
    let with = |x: ValueId| [vec![x, scale], zeros.into_iter().collect()].concat();
    let q = net.node(quantize_linear(to, 1), &with(x));
    let dequantize = Op::from(DequantizeLinear { to: F32, axis: 1, block: 0 });
    let y = net.node(dequantize.clone(), &with(q));
    let found = [
        QdqScales::of(&net.graph, &quantize_linear(to, 1), &with(x), &[q]),
        QdqScales::of(&net.graph, &dequantize, &with(q), &[y]),
    ];
    assert_eq!(QdqScales::of(&net.graph, &Relu.into(), &with(x), &[q]), None);
    found
}

#[test]
fn operators_say_what_integers_stand_for() {
    let both = |found: [Option<QdqScales>; 2]| {
        let [quantized, dequantized] = found;
        assert_eq!(quantized, dequantized);
        quantized.inspect(|stated| assert_eq!(stated.name, "n0_0"))
    };
    let of = |scales, zero_points| QdqScales { name: "n0_0".to_owned(), scales, zero_points, element: U8 };
    assert_eq!(both(said(U8, Some(&[0.5]), Some(&[7]))), Some(of([0.5; 2], [7; 2])));
    assert_eq!(both(said(U8, Some(&[2.0, 0.25]), None)), Some(of([0.25, 2.0], [0; 2])));
    let by_channel = both(said(U8, Some(&[0.5, 0.5]), Some(&[9, 3]))).unwrap();
    assert_eq!(by_channel, of([0.5; 2], [3, 9]));
    assert!(
        !by_channel.is_uniform()
            && !of([0.25, 2.0], [0; 2]).is_uniform()
            && of([2.0; 2], [1; 2]).is_uniform()
    );
    // Invalid scales: none, zero, negative or not a number, and narrow floats.
    assert_eq!(both(said(U8, None, None)), None);
    for scales in [[0.0, 1.0], [-1.0, 1.0], [1.0, f32::INFINITY], [f32::NAN, f32::NAN]] {
        assert_eq!(both(said(U8, Some(&scales), None)), None, "{scales:?}");
    }
    assert_eq!(both(said(F8E4M3FN, Some(&[1.0]), None)), None);
}

#[test]
fn alike_is_what_stands_for_the_same() {
    let base = stated(U8, 0.5, 3);
    assert!(base.is_alike(&QdqScales { name: "other".to_owned(), ..base.clone() }));
    for other in [stated(U8, 0.25, 3), stated(U8, 0.5, 4), stated(I8, 0.5, 3)] {
        assert!(!base.is_alike(&other) && !other.is_alike(&base), "{other}");
    }
}

#[test]
fn what_takes_a_place_takes_its_scale() {
    let mut net = Net::default();
    let x = net.input(integers(&[2, 2], &[1, 2, 3, 4], I8));
    let scale = net.constant(f32s(&[], &[0.5]));
    let op = Op::from(DequantizeLinear { to: F32, axis: 0, block: 0 });
    let y = net.node(op.clone(), &[x, scale]);
    let [turned, other, spare] = [0; 3].map(|_| net.node(Transpose { perm: vec![1, 0] }, &[y]));
    let mut graph = net.giving(turned).graph;
    graph.state_results(&op, &[x, scale], &[y]);
    graph.state_results(&Reshape { shape: vec![4] }.into(), &[y], &[turned]);
    graph.state_results(&Unary { kind: UnaryKind::Neg }.into(), &[y], &[other]);
    assert_eq!(graph.scales.keys().copied().collect::<Vec<_>>(), [y, turned]);
    assert!(graph.scales[&y].is_alike(&stated(I8, 0.5, 0)) && graph.scales[&y] == graph.scales[&turned]);
    // Parameters of the value itself take precedence.
    graph.scales.insert(other, stated(U8, 1.0, 7));
    graph.state_alike(y, other);
    graph.state_alike(y, spare);
    assert_eq!((graph.scales[&other].element, graph.scales[&spare].element), (U8, I8));
}

/// Scales that differ along an axis are recorded, but their operators stay.
#[test]
fn scales_by_channel_stay() {
    let mut net = Net::default();
    let x = net.input(noise(&[2, 2], 1));
    let scale = net.constant(f32s(&[2], &[0.5, 0.25]));
    let y = net.node(Unary { kind: UnaryKind::Abs }, &[x]);
    let q = net.node(quantize_linear(I8, 1), &[y, scale]);
    let y = net.node(DequantizeLinear { to: F32, axis: 1, block: 0 }, &[q, scale]);
    let y = net.node(Unary { kind: UnaryKind::Neg }, &[y]);
    let mut graph = net.giving(y).graph;
    lift(&mut graph).unwrap();
    let names: Vec<_> = graph.nodes.iter().map(|node| node.op.name()).collect();
    assert_eq!(names, ["Abs", "QuantizeLinear", "DequantizeLinear", "Neg"]);
}

/// `y = relu(w x)`, and its values `x`, `w`, the product and `y`.
fn product() -> (Graph, [ValueId; 4]) {
    let mut net = Net::default();
    let x = net.input(f32s(&[1, 1, 1, 1], &[0.9]));
    let w = net.constant(f32s(&[1, 1, 1, 1], &[1.5]));
    let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
    let product = net.node(conv, &[x, w]);
    let y = net.node(Relu, &[product]);
    (net.giving(y).graph, [x, w, product, y])
}

proptest! {
    /// The largest fraction length with which every integer of the model is within half a step of
    /// an integer, or the model's own if that is smaller. Found by trying all integers and all
    /// lengths.
    #[test]
    fn fractions_hold_all_integers(
        element in prop::sample::select(vec![U8, I8]),
        power in any::<bool>(),
        exponent in -12..12i32,
        part in 0.5..1.0f32,
        zero in -128..128i64,
    ) {
        let scale = if power { 1.0 } else { part } * 2f32.powi(exponent);
        let zero = if element == U8 { zero + 128 } else { zero };
        let (least, most) = element.integer_range().unwrap();
        let (mut graph, [_, _, product, _]) = product();
        graph.scales.insert(product, stated(element, scale, zero));
        let found = stated_fractions(&graph, &Scheme::default())[&product];
        let holds = |fraction: i32| {
            (least..=most).all(|integer| {
                let steps = (integer - zero) as f64 * f64::from(scale) * 2f64.powi(fraction);
                (-128.5..=127.5).contains(&steps)
            })
        };
        let limit = (-64..=64).rev().find(|&fraction| holds(fraction)).unwrap();
        let expected = if scale == 2f32.powi(exponent) { limit.min(-exponent) } else { limit };
        prop_assert_eq!(found, expected, "{} {} {}", element, scale, zero);
    }
}

#[test]
fn constants_are_held_by_their_elements() {
    let (mut graph, [x, w, ..]) = product();
    let fraction = |graph: &Graph, id| stated_fractions(graph, &Scheme::default()).get(&id).copied();
    // 1.5 fits with 6, though 255 * 0.3 would not.
    graph.scales.insert(w, stated(I8, 0.3, 0));
    assert_eq!(fraction(&graph, w), Some(6));
    graph.scales.insert(w, stated(I8, 0.25, 0));
    assert_eq!(fraction(&graph, w), Some(2));
    graph.scales.insert(w, stated(I8, 1.0 / 1024.0, 0));
    assert_eq!(fraction(&graph, w), Some(6));
    assert_eq!(fraction(&graph, x), None);
    // Sixteen bits of the model exceed 127 and a half of eight bits.
    graph.scales.insert(x, stated(I16, 1.0 / 256.0, 0));
    assert_eq!(fraction(&graph, x), Some(-1));
}

#[test]
fn samples_do_not_count_where_all_is_stated() {
    let (graph, [x, w, product, y]) = product();
    for (stated, expected) in [
        (vec![], false),
        (vec![x], false),
        (vec![x, w], false),
        (vec![product], false),
        (vec![x, y], true),
        (vec![x, product], true),
    ] {
        let of: BTreeMap<ValueId, i32> = stated.iter().map(|&id| (id, 3)).collect();
        assert_eq!(is_settled(&graph, &of, &BTreeSet::new()), expected, "{stated:?}");
    }
}

#[test]
fn other_scales_than_the_models_are_told_of() {
    let (mut graph, [x, w, product, _]) = product();
    graph.scales = BTreeMap::from([
        (x, stated(I8, 0.25, 0)),
        (w, QdqScales { name: "w_q".to_owned(), ..stated(I8, 0.3, 0) }),
        (product, stated(U8, 0.5, 0)),
    ]);
    let scheme = Scheme::default();
    let mut seen = Distributions::new(&graph);
    seen.observe(&graph, &[f32s(&[1, 1, 1, 1], &[0.9])]).unwrap();
    let of = stated_fractions(&graph, &scheme);
    let found = restated(&graph, &quantize(&graph, &seen, &scheme, Method::MinMax, &of));
    // `x` keeps 2^-2; the product's 255 halves need steps of one.
    let text: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "`w_q`: the model's scale 0.3 (int8, zero point 0) becomes 2^-6 = 0.015625",
            "`q`: the model's scale 0.5 (uint8, zero point 0) becomes 2^0 = 1",
        ]
    );
}
