//! Attention masks: for any mask, scores keep the step that they have without one.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::op::{Binary, BinaryKind, MatMul, Softmax, Where};
use npukit_graph::quantize::{
    Distributions, Losses, Method, Quantization, Scheme, quantize, quantize_without, simulate,
};
use npukit_graph::{Graph, NodeId, ValueId, evaluate};
use npukit_numeric::{Tensor, TensorData};

use crate::support::{Net, distance, f32s, noise};

/// Way in which a mask is applied to the scores.
#[derive(Clone, Copy, Debug)]
enum Form {
    AddConstant,
    AddInput,
    /// `(1 - m) * mask`.
    AddProduct,
    Subtract,
    Where,
    /// Where, followed by a Max with the mask.
    Max,
}

const FORMS: [Form; 6] =
    [Form::AddConstant, Form::AddInput, Form::AddProduct, Form::Subtract, Form::Where, Form::Max];
const MASKS: [f32; 7] = [-100.0, -1e4, -65504.0, -1e9, f32::MIN, -40.0, -3e5];

/// Which of six scores each row hides.
const LEFT_OUT: [[bool; 6]; 3] = [
    [false, true, true, true, true, true],
    [false, false, false, true, true, true],
    [false, false, false, false, false, false],
];

fn binary(kind: BinaryKind) -> Binary {
    Binary { kind }
}

/// Softmax of masked scores, and the value that holds the scores.
fn attention(form: Form, mask: f32) -> (Net, ValueId) {
    let mut net = Net::default();
    let x = net.input(noise(&[3, 8], 5));
    let w = net.constant(noise(&[8, 6], 6));
    let scores = net.node(MatMul, &[x, w]);
    let each = |of: &dyn Fn(bool) -> f32| {
        let all: Vec<f32> = LEFT_OUT.as_flattened().iter().map(|&out| of(out)).collect();
        f32s(&[3, 6], &all)
    };
    let kept = |net: &mut Net| {
        let data = LEFT_OUT.as_flattened().iter().map(|&out| !out).collect();
        net.input(Tensor::new(vec![3, 6], TensorData::Bool(data)).unwrap())
    };
    let chosen = |net: &mut Net| {
        let (kept, mask) = (kept(net), net.constant(f32s(&[], &[mask])));
        net.node(Where, &[kept, scores, mask])
    };
    let addend = |out: bool| if out { mask } else { 0.0 };
    let masked = match form {
        Form::AddConstant => {
            let mask = net.constant(each(&addend));
            net.node(binary(BinaryKind::Add), &[mask, scores])
        }
        Form::AddInput => {
            let mask = net.input(each(&addend));
            net.node(binary(BinaryKind::Add), &[scores, mask])
        }
        Form::AddProduct => {
            let kept = net.input(each(&|out| f32::from(u8::from(!out))));
            let [one, mask] = [1.0, mask].map(|x| net.constant(f32s(&[], &[x])));
            let out = net.node(binary(BinaryKind::Sub), &[one, kept]);
            let mask = net.node(binary(BinaryKind::Mul), &[out, mask]);
            net.node(binary(BinaryKind::Add), &[scores, mask])
        }
        Form::Subtract => {
            let mask = net.input(each(&|out| if out { -mask } else { 0.0 }));
            net.node(binary(BinaryKind::Sub), &[scores, mask])
        }
        Form::Where => chosen(&mut net),
        Form::Max => {
            let masked = chosen(&mut net);
            let least = net.constant(f32s(&[], &[mask]));
            net.node(binary(BinaryKind::Max), &[masked, least])
        }
    };
    let y = net.node(Softmax { axis: 1, axis_end: 2 }, &[masked]);
    (net.giving(y), scores)
}

fn scheme(bits: u32) -> Scheme {
    Scheme { activations: bits, weights: 16, ..Scheme::default() }
}

fn observed(graph: &Graph, inputs: &[Tensor]) -> Distributions {
    let mut seen = Distributions::of(graph);
    seen.observe(graph, inputs).unwrap();
    seen
}

fn quantized(net: &Net, bits: u32) -> Quantization {
    let seen = observed(&net.graph, &net.inputs);
    quantize(&net.graph, &seen, &scheme(bits), Method::MinMax, &BTreeMap::new())
}

/// Returns the largest error of the probabilities.
fn error(net: &Net, found: &Quantization) -> f32 {
    let float = evaluate(&net.graph, &net.inputs).unwrap();
    distance(&float[0], &simulate(&net.graph, found, &net.inputs).unwrap()[0])
}

#[test]
fn no_mask_sets_the_step_of_scores() {
    for (bits, most) in [(8, 0.05), (16, 5e-4)] {
        for (form, mask) in FORMS.into_iter().flat_map(|form| MASKS.map(|mask| (form, mask))) {
            let (net, scores) = attention(form, mask);
            let found = quantized(&net, bits);
            let fraction = found.fraction(scores).unwrap();
            let least = if bits == 8 { 2 } else { 9 };
            assert!(fraction >= least, "{form:?} of {mask} with {bits} bits: steps of 2^-{fraction}");
            let error = error(&net, &found);
            assert!(error <= most, "{form:?} of {mask} with {bits} bits: {error}");
        }
    }
}

/// A mask that saturates is not an error, and is not reported.
#[test]
fn masks_lose_nothing() {
    let (net, _) = attention(Form::Where, -1e4);
    let found = quantized(&net, 8);
    let mut losses = Losses::of(&net.graph, &found);
    losses.observe(&net.graph, &net.inputs).unwrap();
    let masked = net.graph.nodes[1].outputs[0];
    let loss = losses.get(masked).unwrap();
    assert!(found.is_masked(masked) && loss.saturated() == 0.0 && loss.minimum() > -100.0, "{loss:?}");
}

/// Outputs are returned as they are: they have no masks.
#[test]
fn outputs_have_no_masks() {
    let (mut net, scores) = attention(Form::Where, -1e4);
    let masked = net.graph.nodes[1].outputs[0];
    net.graph.outputs.push(masked);
    let found = quantized(&net, 16);
    assert_eq!((found.is_masked(masked), found.fraction(scores)), (false, Some(1)));
}

/// The result of a completely masked row is not used.
#[test]
fn rows_may_be_masked_as_a_whole() {
    let mut net = Net::default();
    let x = net.input(noise(&[2, 4], 3));
    let scores = net.node(binary(BinaryKind::Add), &[x, x]);
    let mask = net.constant(f32s(&[2, 1], &[0.0, -1e4]));
    let masked = net.node(binary(BinaryKind::Add), &[scores, mask]);
    let y = net.node(Softmax { axis: 1, axis_end: 2 }, &[masked]);
    let found = quantized(&net.giving(y), 16);
    assert!(found.fraction(scores).unwrap() >= 10);
}

/// A bound below all numbers has no effect, wherever its integer saturates.
#[test]
fn bounds_do_not_set_steps() {
    for (kind, bound) in [(BinaryKind::Max, -1e4), (BinaryKind::Min, 1e4)] {
        let mut net = Net::default();
        let x = net.input(noise(&[3, 8], 7));
        let bound = net.constant(f32s(&[], &[bound]));
        let y = net.node(binary(kind), &[x, bound]);
        let net = net.giving(y);
        let found = quantized(&net, 16);
        assert!(found.fraction(x).unwrap() >= 14 && error(&net, &found) < 1e-4);
    }
}

/// Nodes of the host compute in floats: their operands share no fraction length.
#[test]
fn nodes_of_the_host_join_nothing() {
    let (net, scores) = attention(Form::Where, -1e4);
    let seen = observed(&net.graph, &net.inputs);
    let host = BTreeSet::from([NodeId(1), NodeId(2)]);
    let found = quantize_without(&net.graph, &host, &seen, &scheme(8), Method::MinMax, &BTreeMap::new());
    let alone = {
        let mut net = Net::default();
        let [x, w] = [noise(&[3, 8], 5), noise(&[8, 6], 6)];
        let (x, w) = (net.input(x), net.constant(w));
        let y = net.node(MatMul, &[x, w]);
        let net = net.giving(y);
        quantized(&net, 8).fraction(y)
    };
    assert_eq!(found.fraction(scores), alone);
    let [masked, y] = [1, 2].map(|node| found.fraction(net.graph.nodes[node].outputs[0]));
    assert_eq!((masked, y), (None, None));
}
