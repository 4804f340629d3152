//! Rescaling keeps results and makes values fit; rounding errors stay within their bounds; parts of
//! graphs.

use std::collections::HashSet;
use std::sync::Arc;

use npukit_graph::op::{
    AveragePool, Binary, BinaryKind, Concat, Conv, Relu, Softmax, Unary, UnaryKind, Window,
};
use npukit_graph::rescale::{
    Border, Limits, Ranges, Rescaled, equalize, rescale, rescale_beside, unfit_ends,
};
use npukit_graph::{Graph, Op, ValueId, ValueInfo, evaluate, evaluate_all, pass, rounding_bounds};
use npukit_numeric::{ElementType, Tensor};
use proptest::prelude::*;

use crate::random::random_graph;
use crate::support::{FP16BP8, f32s, floats, noise};

fn inputs(graph: &Graph, seed: u64) -> Vec<Tensor> {
    graph.inputs.iter().map(|&id| noise(graph.shape(id), seed)).collect()
}

fn rescaled(graph: &Graph, sample: &[Tensor], limits: &Limits) -> Option<Rescaled> {
    let mut ranges = Ranges::new(graph);
    ranges.observe(graph, sample).unwrap();
    rescale(graph, &ranges, limits).unwrap()
}

/// Bit patterns, with all NaN equal.
fn bits(tensor: &Tensor) -> Vec<u32> {
    floats(tensor).iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

fn has_gates(graph: &Graph) -> bool {
    let is_gate = |op: &Op| matches!(op, Op::Unary(Unary { kind: UnaryKind::HardSwish }));
    graph.nodes.iter().any(|node| is_gate(&node.op))
}

/// Whether all differences are within a few roundings of the largest element.
fn are_near(a: &Tensor, b: &Tensor) -> bool {
    let most = floats(a).iter().fold(0f32, |most, x| most.max(x.abs()));
    let near = |(a, b): (&f32, &f32)| a == b || (a - b).abs() <= 1e-5 * most;
    floats(a).iter().zip(floats(b)).all(near)
}

/// Checks that a rescaled graph computes the same if the caller scales its inputs and outputs, and
/// if the multiplications are inserted again.
fn same_at_the_border(found: &Rescaled, inputs: &[Tensor]) -> Result<(), String> {
    let expected = by_name(&found.graph, inputs);
    let border = Border::take_off(&found.graph, &found.scales);
    border.graph.validate().map_err(|error| error.to_string())?;
    let exponent = |name: &str| border.scales.get(name).copied().unwrap_or(0);
    let ids = border.graph.inputs.iter().zip(inputs);
    let stored: Vec<Tensor> = ids.map(|(&id, x)| times(x, -exponent(&border.graph.value(id).name))).collect();
    let given = by_name(&border.graph, &stored);
    let again = border.put_back(&border.graph);
    again.validate().map_err(|error| error.to_string())?;
    let again = by_name(&again, inputs);
    for (name, expected) in expected {
        let of = border.copies.get(&name).unwrap_or(&name);
        let found = &given.iter().find(|(given, _)| given == of).ok_or("lost")?.1;
        if bits(&times(found, exponent(&name))) != bits(&expected) {
            return Err(format!("{name} is another"));
        }
        let found = again.iter().find(|(again, _)| *again == name);
        if found.is_none_or(|(_, found)| bits(found) != bits(&expected)) {
            return Err(format!("{name} is another, put back"));
        }
    }
    Ok(())
}

fn by_name(graph: &Graph, inputs: &[Tensor]) -> Vec<(String, Tensor)> {
    let names = graph.outputs.iter().map(|&id| graph.value(id).name.clone());
    names.zip(evaluate(graph, inputs).unwrap()).collect()
}

fn times(tensor: &Tensor, exponent: i32) -> Tensor {
    match tensor.as_f32() {
        Some(values) => {
            f32s(tensor.shape(), &values.iter().map(|x| x * (exponent as f32).exp2()).collect::<Vec<_>>())
        }
        None => tensor.clone(),
    }
}

fn node(graph: &mut Graph, op: impl Into<Op>, inputs: &[ValueId], name: &str) -> ValueId {
    graph.add_node(name, op.into(), inputs.to_vec(), &[name]).unwrap()[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rescaling_changes_no_bit(
        choices in prop::collection::vec(any::<u32>(), 4..90),
        largest in prop::sample::select(vec![0.0625f64, 0.25, 1.0, 4.0]),
        margin in prop::sample::select(vec![1.0f64, 1.5, 4.0]),
        fill in any::<bool>(),
        functions in any::<bool>(),
        balance in any::<bool>(),
        ports in any::<bool>(),
        addends in prop::sample::select(vec![1_usize, 8]),
        simplified in any::<bool>(),
    ) {
        let mut graph = random_graph(choices);
        if simplified {
            pass::simplify(&mut graph).unwrap();
        }
        let sample = inputs(&graph, 7);
        let step = largest / 256.0;
        let limits = Limits { largest, step, margin, fill, functions, balance, ports, addends };
        let Some(found) = rescaled(&graph, &sample, &limits) else { return Ok(()) };
        for inputs in [sample, inputs(&graph, 8)] {
            let before = evaluate(&graph, &inputs).unwrap();
            let after = evaluate(&found.graph, &inputs).unwrap();
            for (before, after) in before.iter().zip(&after) {
                // Half a HardSwish rounds differently from a whole one.
                prop_assert!(bits(before) == bits(after) || (has_gates(&graph) && are_near(before, after)));
            }
            prop_assert!(ports || found.scales.is_empty());
            prop_assert_eq!(same_at_the_border(&found, &inputs), Ok(()));
        }
        let names = |graph: &Graph| -> Vec<String> {
            graph.inputs.iter().chain(&graph.outputs).map(|&id| graph.value(id).name.clone()).collect()
        };
        prop_assert_eq!(names(&graph), names(&found.graph));
    }

    #[test]
    fn rounded_constants_stay_within_the_bounds(
        choices in prop::collection::vec(any::<u32>(), 4..60),
        step in prop::sample::select(vec![1.0f32 / 16.0, 1.0 / 256.0, 1.0 / 65536.0]),
    ) {
        let mut graph = random_graph(choices);
        pass::simplify(&mut graph).unwrap();
        let sample = inputs(&graph, 3);
        let bounds = rounding_bounds(&graph, &sample, step).unwrap();
        let exact = evaluate(&graph, &sample).unwrap();
        // A machine stores weights and addends of products, but not a divisor.
        let mut rounded = graph.clone();
        for node in &graph.nodes {
            if matches!(node.op, Op::BatchNormalization(_)) {
                continue;
            }
            for id in &node.inputs {
                let value = &mut rounded.values[id.0 as usize];
                let Some(values) = graph.constant(*id).and_then(|tensor| tensor.as_f32()) else { continue };
                let values: Vec<f32> = values.iter().map(|x| (x / step).round() * step).collect();
                value.constant = Some(Arc::new(f32s(&value.info.shape, &values)));
            }
        }
        let found = evaluate(&rounded, &sample).unwrap();
        for ((exact, found), bound) in exact.iter().zip(&found).zip(&bounds) {
            let Some(bound) = bound else { continue };
            for ((y, z), bound) in floats(exact).iter().zip(floats(found)).zip(floats(bound)) {
                prop_assert!((y - z).abs() <= *bound || y == z, "{} is {} off, bound {}", y, (y - z).abs(), bound);
            }
        }
    }
}

/// A convolution by 1, with weights `weights` and addends `bias`.
fn conv(graph: &mut Graph, x: ValueId, weights: f32, bias: f32, name: &str) -> ValueId {
    let weights = graph.add_constant(format!("{name}_w"), f32s(&[1, 1, 1, 1], &[weights]));
    let bias = graph.add_constant(format!("{name}_b"), f32s(&[1], &[bias]));
    let op = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
    node(graph, op, &[x, weights, bias], name)
}

fn image(graph: &mut Graph) -> ValueId {
    graph.add_input("x", ValueInfo { shape: vec![1, 2, 2, 1], element: ElementType::F32 })
}

fn exponent(found: &Rescaled, name: &str) -> i32 {
    found.exponents.iter().find(|(value, _)| value == name).map_or(0, |(_, exponent)| *exponent)
}

#[test]
fn weights_alone_carry_the_scale_through_a_chain() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 100.0, 3.0, "a");
    let r = node(&mut graph, Relu, &[a], "r");
    let b = conv(&mut graph, r, 0.01, 0.5, "b");
    graph.outputs = vec![b];
    let found = rescaled(&graph, &[f32s(&[1, 2, 2, 1], &[9.0, -9.0, 1.0, 0.0])], &FP16BP8).unwrap();
    // 903 needs three bits beyond 128; the last convolution removes them.
    assert_eq!((exponent(&found, "a"), exponent(&found, "r"), exponent(&found, "b")), (3, 3, 0));
    assert_eq!(found.graph.nodes.len(), 3, "no node is added");
    let weights = |node: usize, operand: usize| {
        floats(found.graph.constant(found.graph.nodes[node].inputs[operand]).unwrap())[0]
    };
    assert_eq!((weights(0, 1), weights(0, 2)), (12.5, 0.375));
    assert_eq!((weights(2, 1), weights(2, 2)), (0.08, 0.5));
}

#[test]
fn weights_that_would_not_fit_hand_the_scale_on() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 100.0, 0.0, "a");
    let b = conv(&mut graph, a, 60.0, 0.0, "b");
    let c = conv(&mut graph, b, 0.001, 0.0, "c");
    graph.outputs = vec![c];
    let found = rescaled(&graph, &[f32s(&[1, 2, 2, 1], &[9.0, 0.0, 0.0, 0.0])], &FP16BP8).unwrap();
    // 54000 needs nine bits at `b`.
    assert_eq!((exponent(&found, "a"), exponent(&found, "b"), exponent(&found, "c")), (3, 9, 0));
    // Weights beyond the format saturate for any range of values.
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 1000.0, 0.0, "a");
    let b = conv(&mut graph, a, 0.5, 0.0, "b");
    graph.outputs = vec![b];
    let found = rescaled(&graph, &[f32s(&[1, 2, 2, 1], &[0.001; 4])], &FP16BP8).unwrap();
    assert_eq!(exponent(&found, "a"), 3);
}

#[test]
fn what_is_no_power_of_its_operand_gets_real_values() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 100.0, 0.0, "a");
    let s = node(&mut graph, Softmax { axis: 1, axis_end: 3 }, &[a], "s");
    let m = node(&mut graph, Binary { kind: BinaryKind::Mul }, &[a, s], "m");
    graph.outputs = vec![m];
    let sample = f32s(&[1, 2, 2, 1], &[9.0, 8.75, 1.0, 0.0]);
    let found = rescaled(&graph, std::slice::from_ref(&sample), &FP16BP8).unwrap();
    assert_eq!(exponent(&found, "a"), 3);
    let scaled_back = found.graph.nodes.iter().filter(|node| matches!(node.op, Op::Binary(_))).count();
    assert_eq!(scaled_back, 3, "before the Softmax, the product itself, and the output");
    let [before, after] =
        [&graph, &found.graph].map(|graph| evaluate(graph, std::slice::from_ref(&sample)).unwrap());
    assert_eq!(bits(&before[0]), bits(&after[0]));
}

#[test]
fn what_fits_stays() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 10.0, 0.0, "a");
    let r = node(&mut graph, Unary { kind: UnaryKind::Tanh }, &[a], "r");
    graph.outputs = vec![r];
    assert!(rescaled(&graph, &[f32s(&[1, 2, 2, 1], &[9.0; 4])], &FP16BP8).is_none());
    assert!(rescaled(&graph, &[f32s(&[1, 2, 2, 1], &[f32::NAN; 4])], &FP16BP8).is_none());
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let b = conv(&mut graph, x, 1.0, 0.0, "b");
    graph.outputs = vec![b];
    // If only an output does not fit, scaling does not help.
    assert!(rescaled(&graph, &[f32s(&[1, 2, 2, 1], &[900.0; 4])], &FP16BP8).is_none());
}

/// Weights of 0.01 in a format with steps of 1/256 use two of sixteen bits.
#[test]
fn what_is_small_fills_the_format() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 0.01, 0.001, "a");
    let r = node(&mut graph, Relu, &[a], "r");
    let b = conv(&mut graph, r, 0.01, 0.0, "b");
    graph.outputs = vec![b];
    let sample = f32s(&[1, 2, 2, 1], &[1.0, -0.5, 0.25, 0.0]);
    assert!(rescaled(&graph, std::slice::from_ref(&sample), &FP16BP8).is_none(), "everything fits");
    let filled = Limits { fill: true, margin: 1.25, ..FP16BP8 };
    let found = rescaled(&graph, std::slice::from_ref(&sample), &filled).unwrap();
    // 0.011 times 2^13 is 90; 0.00011 times 2^19 would be 58, and the weights allow the full
    // factor.
    assert_eq!((exponent(&found, "a"), exponent(&found, "r")), (-13, -13));
    let weights: Vec<f32> = found
        .graph
        .nodes
        .iter()
        .filter(|node| matches!(node.op, Op::Conv(_)))
        .map(|node| floats(found.graph.constant(node.inputs[1]).unwrap())[0])
        .collect();
    assert!(weights.iter().all(|w| (0.5..128.0).contains(w)), "{weights:?}");
    let [before, after] =
        [&graph, &found.graph].map(|graph| evaluate(graph, std::slice::from_ref(&sample)).unwrap());
    assert_eq!(bits(&before[0]), bits(&after[0]));
}

/// Operands of 90 next to weights of 1.28, for results that fill the format: three bits move from
/// the operands to the weights.
#[test]
fn operands_lend_bits_to_weights() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 1.0, 0.0, "a");
    let b = conv(&mut graph, a, 0.02, 0.0, "b");
    graph.outputs = vec![b];
    let sample = f32s(&[1, 2, 2, 1], &[90.0, -90.0, 90.0, 90.0]);
    let filled = Limits { fill: true, balance: true, ..FP16BP8 };
    let found = rescaled(&graph, std::slice::from_ref(&sample), &filled).unwrap();
    let product = found.graph.nodes.iter().rfind(|node| matches!(node.op, Op::Conv(_))).unwrap();
    assert_eq!(found.graph.value(product.inputs[0]).name, "a/2^3");
    assert_eq!(floats(found.graph.constant(product.inputs[1]).unwrap()), [10.24]);
    let [before, after] =
        [&graph, &found.graph].map(|graph| evaluate(graph, std::slice::from_ref(&sample)).unwrap());
    assert_eq!(bits(&before[0]), bits(&after[0]));
}

/// A mean of 50 over four elements has a sum of 200, which a format up to 128 does not hold; a mean
/// of one element has no sum.
#[test]
fn what_a_mean_adds_fits() {
    for (side, addends, expected) in [(2, 1, 0), (2, 8, 1), (2, 2, 0), (1, 8, 0)] {
        let mut graph = Graph::default();
        let x = image(&mut graph);
        let a = conv(&mut graph, x, 1.0, 0.0, "a");
        let pool = AveragePool { window: Window::plain([side; 2], [1; 2]), count_include_pad: false };
        let m = node(&mut graph, pool, &[a], "m");
        let b = conv(&mut graph, m, 3.0, 0.0, "b");
        let c = node(&mut graph, Relu, &[b], "c");
        graph.outputs = vec![c];
        let sample = f32s(&[1, 2, 2, 1], &[50.0, 52.0, 48.0, 50.0]);
        let limits = Limits { addends, ..FP16BP8 };
        let found = rescaled(&graph, std::slice::from_ref(&sample), &limits).unwrap();
        assert_eq!(exponent(&found, "m"), expected, "{side} {addends}");
        let [before, after] =
            [&graph, &found.graph].map(|graph| evaluate(graph, std::slice::from_ref(&sample)).unwrap());
        assert_eq!(bits(&before[0]), bits(&after[0]));
    }
}

#[test]
fn masks_take_no_bits() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let mask = graph.add_constant("mask", f32s(&[1, 2, 2, 1], &[0.0, f32::MIN, -1e9, 0.0]));
    let a = conv(&mut graph, x, 100.0, 0.0, "a");
    let m = node(&mut graph, Binary { kind: BinaryKind::Add }, &[a, mask], "m");
    let s = node(&mut graph, Softmax { axis: 2, axis_end: 3 }, &[m], "s");
    graph.outputs = vec![s];
    let found = rescaled(&graph, &[f32s(&[1, 2, 2, 1], &[9.0, 1.0, 9.0, 0.5])], &FP16BP8).unwrap();
    // 900 over 2^3 fits, as it would without a mask.
    assert_eq!(["a", "m"].map(|name| exponent(&found, name)), [3, 3]);
}

#[test]
fn an_end_that_fits_at_no_scale_takes_no_bits() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 1.0, 0.0, "a");
    let boxes = node(&mut graph, Binary { kind: BinaryKind::Mul }, &[a, x], "boxes");
    let scores = node(&mut graph, Unary { kind: UnaryKind::Sigmoid }, &[a], "scores");
    let all = node(&mut graph, Concat { axis: 3 }, &[boxes, scores], "all");
    graph.outputs = vec![all];
    let sample = f32s(&[1, 2, 2, 1], &[90.0, 30.0, 2.0, 1.0]);
    let mut ranges = Ranges::new(&graph);
    ranges.observe(&graph, std::slice::from_ref(&sample)).unwrap();
    let ends = |largest| {
        let ends = unfit_ends(&graph, &ranges, largest).into_iter();
        ends.map(|id| graph.node(id).name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ends(1e4), Vec::<String>::new(), "8100 fits");
    assert_eq!(ends(128.0), ["boxes", "all"]);
    assert_eq!(ends(0.5), Vec::<String>::new(), "the operands are too large as well");
    let limits = Limits { functions: true, ..FP16BP8 };
    let found = rescaled(&graph, std::slice::from_ref(&sample), &limits).unwrap();
    // 8100 over 2^6 would fit; the scores keep their scale.
    assert_eq!(["boxes", "scores", "all"].map(|name| exponent(&found, name)), [6, 0, 0]);
}

#[test]
fn functions_that_are_tables_have_scales_of_their_own() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 100.0, 0.0, "a");
    let s = node(&mut graph, Unary { kind: UnaryKind::Sigmoid }, &[a], "s");
    let m = node(&mut graph, Binary { kind: BinaryKind::Mul }, &[s, s], "m");
    let b = conv(&mut graph, m, 0.5, 0.0, "b");
    graph.outputs = vec![b];
    let sample = f32s(&[1, 2, 2, 1], &[9.0, 0.01, -0.02, 0.0]);
    let limits = Limits { fill: true, functions: true, ..FP16BP8 };
    let found = rescaled(&graph, std::slice::from_ref(&sample), &limits).unwrap();
    // 900 over 2^3 fits; a Sigmoid of 1 fills the format with 2^6, and so does its square.
    assert_eq!(["a", "s", "m"].map(|name| exponent(&found, name)), [3, -6, -6]);
    // The function itself takes and returns unscaled values, which have no other readers.
    assert_eq!(["a/real", "s/real"].map(|name| exponent(&found, name)), [0, 0]);
    let [before, after] =
        [&graph, &found.graph].map(|graph| evaluate(graph, std::slice::from_ref(&sample)).unwrap());
    assert_eq!(bits(&before[0]), bits(&after[0]));
    let plain = Limits { functions: false, ..limits };
    let found = rescaled(&graph, std::slice::from_ref(&sample), &plain).unwrap();
    assert_eq!(["a", "s", "m"].map(|name| exponent(&found, name)), [3, 0, 0]);
}

#[test]
fn gates_take_values_that_do_not_fit() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 100.0, 0.0, "a");
    let s = node(&mut graph, Unary { kind: UnaryKind::HardSwish }, &[a], "s");
    let g = node(&mut graph, Unary { kind: UnaryKind::HardSigmoid { alpha: 0.2, beta: 0.5 } }, &[s], "g");
    let m = node(&mut graph, Binary { kind: BinaryKind::Mul }, &[s, g], "m");
    let b = conv(&mut graph, m, 0.01, 0.0, "b");
    graph.outputs = vec![b];
    let sample = f32s(&[1, 2, 2, 1], &[9.0, 0.01, -0.02, 0.0]);
    let found = rescaled(&graph, std::slice::from_ref(&sample), &FP16BP8).unwrap();
    assert_eq!(["a", "s", "g", "m"].map(|name| exponent(&found, name)), [3, 3, 0, 3]);
    // No value is unscaled where it does not fit.
    let mut ranges = Ranges::new(&found.graph);
    ranges.observe(&found.graph, std::slice::from_ref(&sample)).unwrap();
    let values = (0..found.graph.values.len() as u32).map(ValueId);
    assert!(values.clone().all(|id| f64::from(ranges.of(id)) <= FP16BP8.largest));
    let [before, after] =
        [&graph, &found.graph].map(|graph| evaluate(graph, std::slice::from_ref(&sample)).unwrap());
    assert!(are_near(&before[0], &after[0]), "{before:?} {after:?}");
}

/// Two convolutions of three channels, whose weights differ by channel.
fn uneven(depthwise: bool) -> Graph {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let first = graph.add_constant("first", f32s(&[1, 1, 1, 3], &[8.0, 0.03125, 0.5]));
    let addends = graph.add_constant("addends", f32s(&[3], &[1.0, 0.25, -0.5]));
    let plain = |group| Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group };
    let a = node(&mut graph, plain(1), &[x, first, addends], "a");
    let r = node(&mut graph, Relu, &[a], "r");
    let (shape, weights): (&[usize], &[f32]) = if depthwise {
        (&[1, 1, 1, 3], &[0.125, 2.0, 0.5])
    } else {
        (&[1, 1, 3, 2], &[0.125, 0.0625, 2.0, -1.0, 0.5, 0.25])
    };
    let second = graph.add_constant("second", f32s(shape, weights));
    let b = node(&mut graph, plain(if depthwise { 3 } else { 1 }), &[r, second], "b");
    graph.outputs = vec![b];
    graph
}

#[test]
fn channels_become_alike() {
    for depthwise in [false, true] {
        let graph = uneven(depthwise);
        let found = equalize(&graph).unwrap().unwrap();
        assert_eq!(found.nodes.len(), graph.nodes.len());
        assert!(found.find_value("r").is_none() && found.find_value("r/equalized").is_some());
        let spread = |graph: &Graph, node: usize, place: usize| {
            let weights = floats(graph.constant(graph.nodes[node].inputs[place]).unwrap()).to_vec();
            let sizes = weights.iter().map(|w| w.abs());
            sizes.clone().fold(0f32, f32::max) / sizes.fold(f32::INFINITY, f32::min)
        };
        assert_eq!((spread(&graph, 0, 1), spread(&found, 0, 1)), (256.0, 4.0));
        let sample = f32s(&[1, 2, 2, 1], &[9.0, 0.01, -0.02, 0.3]);
        let [before, after] =
            [&graph, &found].map(|graph| evaluate(graph, std::slice::from_ref(&sample)).unwrap());
        assert_eq!(bits(&before[0]), bits(&after[0]), "depthwise: {depthwise}");
        assert!(equalize(&found).unwrap().is_none(), "once is enough");
    }
    // Values with other readers, or readers that depend on the scale, stay.
    let mut seen = uneven(false);
    seen.outputs.push(seen.find_value("r").unwrap());
    assert!(equalize(&seen).unwrap().is_none());
}

#[test]
fn a_part_computes_what_the_whole_does() {
    let mut graph = Graph::default();
    let x = image(&mut graph);
    let a = conv(&mut graph, x, 2.0, 1.0, "a");
    let b = conv(&mut graph, a, 3.0, 1.0, "b");
    let c = node(&mut graph, Binary { kind: BinaryKind::Add }, &[a, b], "c");
    graph.outputs = vec![c];
    let all = evaluate_all(&graph, &[f32s(&[1, 2, 2, 1], &[1.0, 2.0, 3.0, 4.0])]).unwrap();
    let part = graph.part(&HashSet::from([x, a, c]), &[c]);
    assert_eq!((&part.inputs, part.nodes.len()), (&vec![a], 2));
    part.validate().unwrap();
    let given = Tensor::clone(all[a.0 as usize].as_ref().unwrap());
    let found = evaluate(&part, &[given]).unwrap();
    assert_eq!(&found[0], &**all[c.0 as usize].as_ref().unwrap());
}

/// An input of bytes and an output of thousands, which fit at no scale.
#[test]
fn inputs_and_outputs_are_scaled_by_the_host() {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: vec![1, 4], element: ElementType::F32 });
    let weights = graph.add_constant("w", f32s(&[4, 2], &[2.0, 0.5, 3.0, 0.25, 4.0, 0.5, 5.0, 1.0]));
    let y = node(&mut graph, npukit_graph::op::MatMul, &[x, weights], "y");
    graph.outputs = vec![y];
    let sample = [f32s(&[1, 4], &[255.0, 128.0, 7.0, 200.0])];
    assert!(rescaled(&graph, &sample, &FP16BP8).is_none(), "both are unchanged");
    let limits = Limits { ports: true, ..FP16BP8 };
    let found = rescaled(&graph, &sample, &limits).unwrap();
    assert_eq!(found.scales, [("x".to_owned(), 1), ("y".to_owned(), 4)].into());
    let border = Border::take_off(&found.graph, &found.scales);
    assert_eq!((border.graph.nodes.len(), &border.scales), (1, &found.scales));
    assert_eq!(border.renamed, [("y".to_owned(), "y/2^4".to_owned())].into());
    same_at_the_border(&found, &sample).unwrap();
    // If the inner value is also an output, it is stored once.
    let mut both = found.clone();
    both.graph.outputs.push(both.graph.find_value("y/2^4").unwrap());
    let border = Border::take_off(&both.graph, &both.scales);
    assert_eq!((border.graph.outputs.len(), border.copies["y"].as_str()), (1, "y/2^4"));
    same_at_the_border(&both, &sample).unwrap();
}

/// Results of the host are unscaled on the host, and scaled for the machine.
#[test]
fn results_of_the_host_are_scaled_on_their_way() {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: vec![1, 4], element: ElementType::F32 });
    let scale = graph.add_constant("s", f32s(&[], &[300.0]));
    let hosted = node(&mut graph, Binary { kind: BinaryKind::Mul }, &[x, scale], "hosted");
    let weights = graph.add_constant("w", f32s(&[4, 2], &[0.5; 8]));
    let y = node(&mut graph, npukit_graph::op::MatMul, &[hosted, weights], "y");
    graph.outputs = vec![y, hosted];
    let sample = [f32s(&[1, 4], &[1.0, 0.5, 0.25, 0.75])];
    let mut ranges = Ranges::new(&graph);
    ranges.observe(&graph, &sample).unwrap();
    let limits = Limits { ports: true, ..FP16BP8 };
    let found = rescale_beside(&graph, &ranges, &limits, &|node| node.name == "hosted").unwrap().unwrap();
    assert_eq!(found.scales["hosted"], 2);
    let inputs = &found.graph.node(found.graph.find_node("hosted").unwrap()).inputs;
    assert_eq!(found.graph.value(inputs[0]).name, "x", "the host reads the unscaled input");
    let (before, after) = (evaluate(&graph, &sample).unwrap(), evaluate(&found.graph, &sample).unwrap());
    assert_eq!(before, after);
}

/// Quantized integers imply ranges: no sample is needed.
#[test]
fn ranges_that_a_model_states_are_known() {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: vec![1, 2], element: ElementType::F32 });
    let y = node(&mut graph, Relu, &[x], "y");
    graph.outputs = vec![y];
    assert!(Ranges::stated(&graph).is_none());
    let stated = npukit_graph::QdqScales {
        name: "q".to_owned(),
        scales: [2.0; 2],
        zero_points: [-28; 2],
        element: ElementType::I8,
    };
    graph.scales.insert(y, stated);
    assert_eq!(Ranges::stated(&graph).unwrap().of(y), 310.0);
}
