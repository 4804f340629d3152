//! Fraction lengths: values that share one, the range of shifts, and results of the rounded
//! network.

use std::collections::BTreeMap;

use npukit_graph::op::{
    AveragePool, Binary, BinaryKind, Concat, Conv, MatMul, MaxPool, PRelu, Reduce, ReduceKind, Relu,
    Transpose, Unary, UnaryKind, Window,
};
use npukit_graph::quantize::{Distributions, Kind, Method, Quantization, Scheme, quantize, shown, simulate};
use npukit_graph::{Graph, Op, ValueId, ValueInfo};
use npukit_numeric::ElementType;
use proptest::prelude::*;

use crate::support::{f32s, floats, noise};

/// A graph with an input `x` of two columns and two channels.
fn image() -> (Graph, ValueId) {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: vec![1, 1, 2, 2], element: ElementType::F32 });
    (graph, x)
}

/// `factor` times the channels of `x`.
fn scaled(graph: &mut Graph, x: ValueId, factor: f32, name: &str) -> ValueId {
    let weights = f32s(&[1, 1, 2, 2], &[factor, 0.0, 0.0, factor]);
    let weights = graph.add_constant(format!("{name}_w"), weights);
    let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
    graph.add_node(name, conv.into(), vec![x, weights], &[name]).unwrap()[0]
}

fn quantized(graph: &Graph, scheme: &Scheme, stated: &BTreeMap<ValueId, i32>) -> Quantization {
    let mut seen = Distributions::new(graph);
    seen.observe(graph, &[f32s(&[1, 1, 2, 2], &[0.9, -0.5, 0.25, -0.9])]).unwrap();
    quantize(graph, &seen, scheme, Method::MinMax, stated)
}

/// Returns fraction lengths of values of a graph, after validating the graph.
fn fractions(graph: &Graph, quantization: &Quantization, ids: &[ValueId]) -> Vec<i32> {
    graph.validate().unwrap();
    ids.iter().map(|&id| quantization.fraction(id).unwrap()).collect()
}

#[test]
fn what_is_added_shares_one() {
    let (mut graph, x) = image();
    let small = scaled(&mut graph, x, 0.1, "small");
    let large = scaled(&mut graph, x, 10.0, "large");
    let add = Binary { kind: BinaryKind::Add };
    let sum = graph.add_node("sum", add.into(), vec![small, large], &["sum"]).unwrap()[0];
    graph.outputs = vec![sum];
    let found = quantized(&graph, &Scheme::default(), &BTreeMap::new());
    // Up to 9.09; the separate input up to 0.9.
    assert_eq!(fractions(&graph, &found, &[x, small, large, sum]), [7, 3, 3, 3]);
    // Of several specified lengths, the smallest is used.
    let found = quantized(&graph, &Scheme::default(), &BTreeMap::from([(small, 6), (sum, 2)]));
    assert_eq!(fractions(&graph, &found, &[x, small, large, sum]), [7, 2, 2, 2]);
}

#[test]
fn what_is_joined_rectified_or_pooled_shares_one() {
    let (mut graph, x) = image();
    let large = scaled(&mut graph, x, -10.0, "large");
    let relu = graph.add_node("relu", Relu.into(), vec![large], &["relu"]).unwrap()[0];
    let pool = MaxPool { window: Window::plain([1, 1], [1, 1]) };
    let pool = graph.add_node("pool", pool.into(), vec![relu], &["pool"]).unwrap()[0];
    let all = graph.add_node("all", Concat { axis: 3 }.into(), vec![pool, x], &["all"]).unwrap()[0];
    graph.outputs = vec![all];
    let found = quantized(&graph, &Scheme::default(), &BTreeMap::new());
    assert_eq!(fractions(&graph, &found, &[x, large, relu, pool, all]), [3; 5]);
}

/// Means and negations have separate fraction lengths; lengths and extremes share the operand's.
#[test]
fn what_is_computed_anew_shares_none() {
    let reduce = |kind| Op::from(Reduce { kind, axes: vec![2], keep_dims: true });
    let unary = |kind| Op::from(Unary { kind });
    let pool = AveragePool { window: Window::plain([1, 2], [1, 1]), count_include_pad: false };
    for (op, shared) in [
        (reduce(ReduceKind::Max), true),
        (reduce(ReduceKind::Min), true),
        (reduce(ReduceKind::Mean), false),
        (reduce(ReduceKind::Sum), false),
        (unary(UnaryKind::Abs), true),
        (unary(UnaryKind::Neg), false),
        (pool.into(), false),
        (Transpose { perm: vec![0, 2, 1, 3] }.into(), true),
    ] {
        let (mut graph, x) = image();
        graph.outputs = graph.add_node("y", op.clone(), vec![x], &["y"]).unwrap();
        // The fraction length can only come from the other value.
        let found = quantized(&graph, &Scheme::default(), &BTreeMap::from([(x, -9)]));
        assert_eq!(found.fraction(graph.outputs[0]) == Some(-9), shared, "{op}");
    }
}

#[test]
fn slopes_are_weights_and_addends_are_values() {
    let (mut graph, x) = image();
    let [slope, addend] =
        [("slope", 0.25), ("addend", 100.0)].map(|(name, x)| graph.add_constant(name, f32s(&[2], &[x; 2])));
    let y = graph.add_node("y", PRelu.into(), vec![x, slope], &["y"]).unwrap()[0];
    let add = Binary { kind: BinaryKind::Add };
    graph.outputs = graph.add_node("z", add.into(), vec![y, addend], &["z"]).unwrap();
    let found = quantized(&graph, &Scheme::default(), &BTreeMap::new());
    let kinds = [slope, addend, y].map(|id| found.kind(id));
    assert_eq!(kinds, [Kind::Weight, Kind::Activation, Kind::Activation].map(Some));
    assert_eq!(fractions(&graph, &found, &[slope, x, y, addend, graph.outputs[0]]), [8, 0, 0, 0, 0]);
}

/// Values that only rectifiers and maximum pooling read saturate as those do. All others are
/// reported once, where they are produced.
#[test]
fn what_is_hidden_is_not_shown() {
    let (mut graph, x) = image();
    let mut node = |name: &str, op: Op, inputs: &[ValueId]| {
        graph.add_node(name, op, inputs.to_vec(), &[name]).unwrap()[0]
    };
    let pool = || Op::from(MaxPool { window: Window::plain([1, 1], [1, 1]) });
    let turned = node("turned", Transpose { perm: vec![0, 2, 1, 3] }.into(), &[x]);
    let abs = node("abs", Unary { kind: UnaryKind::Abs }.into(), &[turned]);
    let relu = node("relu", Relu.into(), &[abs]);
    let pooled = node("pooled", pool(), &[relu]);
    let both = node("both", pool(), &[pooled]);
    let sum = node("sum", Binary { kind: BinaryKind::Add }.into(), &[both, pooled]);
    let last = node("last", Relu.into(), &[sum]);
    let constant = graph.add_constant("c", f32s(&[2], &[1.0, 2.0]));
    let y = graph
        .add_node("y", Binary { kind: BinaryKind::Mul }.into(), vec![last, constant], &["y"])
        .unwrap()[0];
    let z =
        graph.add_node("z", Binary { kind: BinaryKind::Mul }.into(), vec![y, constant], &["z"]).unwrap()[0];
    let neg = Unary { kind: UnaryKind::Neg };
    let unread = graph.add_node("unread", neg.into(), vec![z], &["unread"]).unwrap()[0];
    graph.outputs = vec![z, sum];
    let found = quantized(&graph, &Scheme::default(), &BTreeMap::new());
    // `abs` and `relu` have only such readers, `pooled` has another one, `sum` is an output.
    assert_eq!(shown(&graph, &found), [x, pooled, both, sum, last, constant, y, z, unread]);
    let mut less = Quantization::new(Scheme::default());
    less.set(both, Kind::Activation, 3);
    assert_eq!(shown(&graph, &less), [both]);
}

/// Saturation of a hidden value has no effect.
#[test]
fn hidden_values_do_not_count() {
    for given_out in [false, true] {
        let (mut graph, x) = image();
        let y = scaled(&mut graph, x, 10.0, "y");
        let shifted = graph.add_constant("c", f32s(&[2], &[-8.0; 2]));
        let y = graph
            .add_node("s", Binary { kind: BinaryKind::Sub }.into(), vec![y, shifted], &["s"])
            .unwrap()[0];
        let negative = scaled(&mut graph, y, -1.0, "negative");
        let relu = graph.add_node("relu", Relu.into(), vec![negative], &["relu"]).unwrap()[0];
        graph.outputs = vec![relu];
        if given_out {
            graph.outputs.push(negative);
        }
        let found = quantized(&graph, &Scheme::default(), &BTreeMap::new());
        // From -17 to 1; the rectifier keeps 1.
        assert_eq!(fractions(&graph, &found, &[negative, relu]), if given_out { [2; 2] } else { [6; 2] });
    }
}

/// A constant that is a weight in one place and a bias in another follows the rules of a bias.
#[test]
fn a_bias_is_a_bias_whatever_else_it_is() {
    let (mut graph, x) = image();
    let c = graph.add_constant("c", f32s(&[2], &[1.0; 2]));
    let mul = Binary { kind: BinaryKind::Mul };
    let y = graph.add_node("y", mul.into(), vec![x, c], &["y"]).unwrap()[0];
    let weights = graph.add_constant("w", f32s(&[1, 1, 2, 2], &[1.0; 4]));
    let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
    graph.outputs = graph.add_node("z", conv.into(), vec![y, weights, c], &["z"]).unwrap();
    let scheme = Scheme { shifts: -2..=2, ..Scheme::default() };
    let stated = BTreeMap::from([(x, 10), (y, 10), (graph.outputs[0], 4)]);
    let found = quantized(&graph, &scheme, &stated);
    assert_eq!(found.kind(c), Some(Kind::Weight));
    assert!(
        scheme.shifts.contains(&scheme.bias_shift(found.fraction(c).unwrap(), 4)),
        "{:?}",
        found.fraction(c)
    );
}

proptest! {
    /// The fraction lengths of weights and biases change if shifts are out of range, for any
    /// magnitudes.
    #[test]
    fn shifts_are_legal(x in -20i32..20, w in -20i32..20, bias in -20i32..20, y in -20i32..20, most in 0i32..6) {
        let (mut graph, input) = image();
        let power = |exponent: i32| 2f32.powi(exponent);
        let weights = graph.add_constant("w", f32s(&[1, 1, 2, 2], &[power(w); 4]));
        let bias = graph.add_constant("b", f32s(&[2], &[power(bias), 0.0]));
        let conv = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
        let operands = vec![input, weights, bias];
        graph.outputs = graph.add_node("y", conv.into(), operands, &["y"]).unwrap();
        let scheme = Scheme { shifts: -most..=most, ..Scheme::default() };
        let found = quantized(&graph, &scheme, &BTreeMap::from([(input, x), (graph.outputs[0], y)]));
        let fraction = |id| found.fraction(id).unwrap();
        prop_assert_eq!([fraction(input), fraction(graph.outputs[0])], [x, y]);
        prop_assert!(scheme.shifts.contains(&scheme.product_shift(x, fraction(weights), y)));
        prop_assert!(scheme.shifts.contains(&scheme.bias_shift(fraction(bias), y)));
        prop_assert_eq!(found.kind(bias), Some(Kind::Bias));
    }
}

#[test]
fn constants_inputs_and_results_are_rounded() {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: vec![1, 2], element: ElementType::F32 });
    let w = graph.add_constant("w", f32s(&[2, 1], &[0.4, -1.1]));
    graph.outputs = graph.add_node("y", MatMul.into(), vec![x, w], &["y"]).unwrap();
    let mut quantization = Quantization::new(Scheme::default());
    quantization.set(x, Kind::Activation, 1);
    quantization.set(w, Kind::Weight, 2);
    quantization.set(graph.outputs[0], Kind::Activation, 0);
    // 0.3 and 100 become 0.5 and 63.5 (the maximum); 0.4 and -1.1 become 0.5 and -1: -63.25.
    let found = simulate(&graph, &quantization, &[f32s(&[1, 2], &[0.3, 100.0])]).unwrap();
    assert_eq!(floats(&found[0]), [-63.0]);
}

#[test]
fn fine_steps_change_next_to_nothing() {
    let (mut graph, x) = image();
    let y = scaled(&mut graph, x, 0.7, "y");
    graph.outputs = graph.add_node("relu", Relu.into(), vec![y], &["relu"]).unwrap();
    let scheme = Scheme { activations: 24, weights: 24, biases: 24, partial_sums: 32, ..Scheme::default() };
    let input = noise(&[1, 1, 2, 2], 7);
    let exact = npukit_graph::evaluate(&graph, std::slice::from_ref(&input)).unwrap();
    let found = quantized(&graph, &scheme, &BTreeMap::new());
    let near = simulate(&graph, &found, &[input]).unwrap();
    assert!(crate::support::distance(&exact[0], &near[0]) < 1e-5);
}
