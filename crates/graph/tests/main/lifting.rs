//! Networks with integer sections, converted to the float networks that they represent.

use npukit_graph::op::{
    AveragePool, Binary, BinaryKind, Cast, Clip, Concat, DequantizeLinear, MatMul, MaxPool, QuantizeLinear,
    Relu, Reshape, Softmax, Tile, Transpose, Unary, UnaryKind, Window,
};
use npukit_graph::quantize::{lift, lift_saturating};
use npukit_graph::{Graph, Op, Operator, QdqScales, ValueId, evaluate};
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::support::{Net, f32s};

use ElementType::{F32, I8, U8};

const SHAPE: [usize; 4] = [1, 2, 2, 1];

/// Integer type with a scale and a zero point.
#[derive(Clone, Copy, PartialEq)]
struct Form(ElementType, f32, i32);

/// Multiples of 1/2 that 8 bits hold, of either sign.
fn grid() -> Tensor {
    f32s(&SHAPE, &[-3.5, 2.0, 63.5, -0.5])
}

fn parameters(net: &mut Net, Form(element, scale, zero): Form) -> [ValueId; 2] {
    let zero = Tensor::new(vec![], TensorData::I32(vec![zero])).unwrap().with_element(element).unwrap();
    [net.constant(f32s(&[], &[scale])), net.constant(zero)]
}

fn quantize(net: &mut Net, x: ValueId, form: Form) -> ValueId {
    let [scale, zero] = parameters(net, form);
    let op = QuantizeLinear { to: form.0, axis: 0, block: 0, saturate: true, precision: F32, away: false };
    net.node(op, &[x, scale, zero])
}

fn dequantize(net: &mut Net, x: ValueId, form: Form) -> ValueId {
    let [scale, zero] = parameters(net, form);
    net.node(DequantizeLinear { to: F32, axis: 0, block: 0 }, &[x, scale, zero])
}

fn unary(net: &mut Net, kind: UnaryKind, x: ValueId) -> ValueId {
    net.node(Unary { kind }, &[x])
}

/// Returns the lifted network, which computes the same where rounding has no effect.
fn lifted(net: Net) -> Graph {
    let mut graph = net.graph.clone();
    lift(&mut graph).unwrap();
    graph.validate().unwrap();
    let name = |graph: &Graph, id: &ValueId| graph.value(*id).name.clone();
    let names = |graph: &Graph| graph.outputs.iter().map(|id| name(graph, id)).collect::<Vec<_>>();
    assert_eq!(names(&net.graph), names(&graph));
    let [before, after] = [&net.graph, &graph].map(|graph| evaluate(graph, &net.inputs).unwrap());
    assert_eq!(before, after, "{}\n{graph}", net.graph);
    graph
}

fn names(graph: &Graph) -> Vec<&'static str> {
    graph.nodes.iter().map(|node| node.op.name()).collect()
}

/// A pair after `first`, followed by another operator.
fn pair(first: impl FnOnce(&mut Net, ValueId) -> ValueId, forms: [Form; 2]) -> Graph {
    let mut net = Net::default();
    let x = net.input(grid());
    let y = first(&mut net, x);
    let integers = quantize(&mut net, y, forms[0]);
    let y = dequantize(&mut net, integers, forms[1]);
    let y = unary(&mut net, UnaryKind::Neg, y);
    lifted(net.giving(y))
}

fn abs(net: &mut Net, x: ValueId) -> ValueId {
    unary(net, UnaryKind::Abs, x)
}

#[test]
fn pairs_go_and_leave_their_scales() {
    let halves = Form(I8, 0.5, 0);
    let graph = pair(abs, [halves; 2]);
    assert_eq!(names(&graph), ["Abs", "Neg"]);
    let stated: Vec<_> =
        graph.scales.iter().map(|(&id, stated)| (&graph.value(id).name[..], stated)).collect();
    let [("n0_0", stated)] = &stated[..] else { panic!("{stated:?}") };
    assert_eq!((stated.scales, stated.zero_points, stated.element), ([0.5; 2], [0; 2], I8));
    // Data from the caller is used as it is.
    assert_eq!(names(&pair(|_, x| x, [halves; 2])), ["Neg"]);
    // A different scale or zero point means different numbers.
    for (other, changes) in [(Form(I8, 0.25, 0), false), (Form(I8, 0.5, 1), false), (Form(I8, 0.5, 0), true)]
    {
        let graph = pair(abs, [halves, other]);
        assert_eq!(names(&graph).contains(&"QuantizeLinear"), !changes);
        // Both are recorded for their results.
        assert_eq!(graph.scales.len(), if changes { 1 } else { 2 });
    }
}

/// Number of rectifiers before integers without negative values.
fn rectifiers(first: impl FnOnce(&mut Net, ValueId) -> ValueId) -> usize {
    let mut net = Net::default();
    let x = net.input(f32s(&SHAPE, &[-3.5, 2.0, 7.0, -0.5]));
    let y = first(&mut net, x);
    let integers = quantize(&mut net, y, Form(U8, 0.25, 0));
    let y = dequantize(&mut net, integers, Form(U8, 0.25, 0));
    let y = unary(&mut net, UnaryKind::Neg, y);
    let graph = lifted(net.giving(y));
    assert!(!names(&graph).contains(&"QuantizeLinear"), "{graph}");
    names(&graph).iter().filter(|name| **name == "Relu").count()
}

#[test]
fn a_relu_comes_back_where_signs_are_not_known() {
    let comes_back = |op: &Op, positive: bool| {
        let before = usize::from(matches!(op, Op::Relu(_)));
        let sign = if positive { UnaryKind::Abs } else { UnaryKind::Neg };
        let after = rectifiers(|net, x| {
            let x = unary(net, sign, x);
            net.node(op.clone(), &[x])
        });
        after > before
    };
    let clip = |min: f32| Op::from(Clip { min, max: 100.0 });
    for op in [clip(0.0), clip(0.5), Relu.into()] {
        assert!(!comes_back(&op, false), "{op}");
    }
    assert!(comes_back(&clip(-1.0), false));
    let pool = MaxPool { window: Window::plain([1, 2], [1, 1]) };
    for op in [pool.into(), Tile { repeats: vec![1, 1, 2, 1] }.into()] {
        assert!(!comes_back(&op, true) && comes_back(&op, false), "{op}");
    }
    assert_eq!(rectifiers(|net, x| unary(net, UnaryKind::Neg, x)), 1);
    // A product of a non-negative value with negative weights.
    let product = |net: &mut Net, x| {
        let (x, weights) = (abs(net, x), net.constant(f32s(&[1, 1], &[-1.0])));
        net.node(MatMul, &[x, weights])
    };
    assert_eq!(rectifiers(product), 1);
}

#[test]
fn sums_and_products_of_what_is_not_negative_are_not_either() {
    let of_two = |kind: BinaryKind, right: UnaryKind| {
        rectifiers(|net, x| {
            let (left, right) = (abs(net, x), unary(net, right, x));
            net.node(Binary { kind }, &[left, right])
        })
    };
    let with = |kind: BinaryKind, number: f32| {
        rectifiers(|net, x| {
            let (left, right) = (abs(net, x), net.constant(f32s(&[2, 1], &[number, 1.0])));
            net.node(Binary { kind }, &[left, right])
        })
    };
    for kind in [BinaryKind::Add, BinaryKind::Mul] {
        assert_eq!([of_two(kind, UnaryKind::Abs), of_two(kind, UnaryKind::Neg)], [0, 1], "{kind:?}");
        assert_eq!([with(kind, 2.0), with(kind, 0.5), with(kind, -2.0)], [0, 0, 1], "{kind:?}");
    }
    assert_eq!(of_two(BinaryKind::Sub, UnaryKind::Abs), 1);
}

/// Operators whose results are never exact multiples: only the signs are checked.
#[test]
fn functions_that_are_never_negative_need_no_relu() {
    let mean = AveragePool { window: Window::plain([1, 2], [1, 1]), count_include_pad: false };
    let unary = |kind| Op::from(Unary { kind });
    let sigmoid = UnaryKind::HardSigmoid { alpha: 0.2, beta: 0.5 };
    for (op, positive, expected) in [
        (unary(UnaryKind::Sigmoid), false, false),
        (unary(sigmoid), false, false),
        (Softmax { axis: 1, axis_end: 2 }.into(), false, false),
        (unary(UnaryKind::Tanh), true, true),
        (mean.clone().into(), true, false),
        (mean.into(), false, true),
    ] {
        let mut net = Net::default();
        let x = net.input(grid());
        let kind = if positive { UnaryKind::Abs } else { UnaryKind::Neg };
        let y = net.node(Unary { kind }, &[x]);
        let y = net.node(op.clone(), &[y]);
        let integers = quantize(&mut net, y, Form(U8, 1.0, 0));
        let y = dequantize(&mut net, integers, Form(U8, 1.0, 0));
        let y = net.node(Unary { kind: UnaryKind::Neg }, &[y]);
        let mut graph = net.giving(y).graph;
        lift(&mut graph).unwrap();
        assert_eq!(names(&graph).contains(&"Relu"), expected, "{op} {positive}");
    }
}

/// Integer outputs specify the range of the floats that they are quantized from.
#[test]
fn outputs_of_integers_state_what_they_are_made_from() {
    for form in [Form(U8, 0.5, 7), Form(I8, 0.25, -128)] {
        let mut net = Net::default();
        let x = net.input(grid());
        let y = unary(&mut net, UnaryKind::Tanh, x);
        let integers = quantize(&mut net, y, form);
        let graph = lifted(net.giving(integers));
        assert_eq!(graph.outputs, [integers]);
        assert_eq!(graph.scales[&y].scales, [form.1; 2]);
    }
}

#[test]
fn what_moves_integers_moves_floats() {
    let form = Form(U8, 0.5, 7);
    let through = |op: Op, kept: bool| {
        let mut net = Net::default();
        let x = net.input(grid());
        let y = abs(&mut net, x);
        let integers = quantize(&mut net, y, form);
        let moved = net.node(op.clone(), &[integers]);
        let y = dequantize(&mut net, moved, form);
        let y = unary(&mut net, UnaryKind::Neg, y);
        let graph = lifted(net.giving(y));
        assert_eq!(names(&graph).contains(&"QuantizeLinear"), kept, "{op}\n{graph}");
        graph.scales.len()
    };
    assert_eq!(through(Reshape { shape: vec![4] }.into(), false), 2);
    // A transposition moves to the start of the network, where one value remains.
    assert_eq!(through(Transpose { perm: vec![0, 2, 1, 3] }.into(), false), 1);
    assert_eq!(through(Tile { repeats: vec![1, 1, 1, 2] }.into(), false), 2);
    // Another order of axes means another operator.
    through(Unary { kind: UnaryKind::Abs }.into(), true);
}

/// Two values concatenated as integers; `same` is true if their scales are equal.
#[test]
fn what_is_joined_has_one_scale() {
    for (other, same) in [(Form(I8, 0.5, 0), true), (Form(I8, 0.25, 0), false)] {
        let mut net = Net::default();
        let x = net.input(grid());
        let (left, right) = (abs(&mut net, x), unary(&mut net, UnaryKind::Neg, x));
        let first = quantize(&mut net, left, Form(I8, 0.5, 0));
        let second = quantize(&mut net, right, other);
        let joined = net.node(Concat { axis: 1 }, &[first, second]);
        let y = dequantize(&mut net, joined, Form(I8, 0.5, 0));
        let y = unary(&mut net, UnaryKind::Neg, y);
        assert_eq!(names(&lifted(net.giving(y))).contains(&"QuantizeLinear"), !same);
    }
}

/// Tools store the integers in floats where an operator requires floats.
#[test]
fn integers_may_be_held_as_floats_for_a_while() {
    let through = |types: &[ElementType]| {
        let form = Form(I8, 0.5, 0);
        let mut net = Net::default();
        let x = net.input(grid());
        let y = abs(&mut net, x);
        let mut y = quantize(&mut net, y, form);
        for &to in types {
            y = net.node(Cast::new(to), &[y]);
            y = net.node(Transpose { perm: vec![0, 2, 1, 3] }, &[y]);
        }
        let y = dequantize(&mut net, y, form);
        let y = unary(&mut net, UnaryKind::Neg, y);
        names(&lifted(net.giving(y))).contains(&"QuantizeLinear")
    };
    assert!(!through(&[F32, I8]));
    // Sixteen bits hold the integers, but no node marks them as quantized.
    assert!(through(&[ElementType::I16, I8]));
}

#[test]
fn outputs_keep_their_names() {
    let form = Form(I8, 0.5, 0);
    let giving = |first: UnaryKind, outputs: usize, from_input: bool| {
        let mut net = Net::default();
        let x = net.input(grid());
        let y = if from_input { x } else { unary(&mut net, first, x) };
        let integers = quantize(&mut net, y, form);
        let outputs: Vec<ValueId> = (0..outputs).map(|_| dequantize(&mut net, integers, form)).collect();
        let mut net = net.giving(outputs[0]);
        net.graph.outputs = outputs;
        lifted(net)
    };
    assert_eq!(names(&giving(UnaryKind::Abs, 1, false)), ["Abs"]);
    assert_eq!(giving(UnaryKind::Abs, 1, false).scales.len(), 1, "the output's");
    // A value has one name, and an input keeps its own.
    assert!(names(&giving(UnaryKind::Abs, 1, true)).contains(&"DequantizeLinear"));
    assert_eq!(giving(UnaryKind::Abs, 2, false).outputs.len(), 2);
}

/// Floats are cut off at the range of the integers, for callers that use another format.
#[test]
fn floats_end_where_the_integers_did() {
    let mut net = Net::default();
    let x = net.input(f32s(&SHAPE, &[-9.0, 2.0, 300.0, 127.5]));
    let form = Form(U8, 0.5, 0);
    let integers = quantize(&mut net, x, form);
    let y = dequantize(&mut net, integers, form);
    let y = unary(&mut net, UnaryKind::Neg, y);
    let net = net.giving(y);
    let mut graph = net.graph.clone();
    lift_saturating(&mut graph).unwrap();
    assert_eq!(names(&graph), ["Clip", "Neg"]);
    assert_eq!(evaluate(&graph, &net.inputs), evaluate(&net.graph, &net.inputs));
}

/// Of several scales, the one with the widest range is kept; the first for equal ranges.
#[test]
fn the_furthest_reach_counts() {
    let forms = [Form(I8, 0.5, 0), Form(I8, 1.0, 0), Form(I8, 0.5, -100), Form(U8, 0.5, 128)];
    for (first, second, expected) in
        [(0, 1, 1), (1, 0, 1), (0, 2, 2), (1, 2, 1), (0, 0, 0), (0, 3, 0), (3, 0, 3)]
    {
        let mut net = Net::default();
        let x = net.input(f32s(&SHAPE, &[1.0, 2.0, 3.0, 0.0]));
        let y = abs(&mut net, x);
        let [left, right] = [first, second].map(|index: usize| {
            let integers = quantize(&mut net, y, forms[index]);
            dequantize(&mut net, integers, forms[index])
        });
        let y = net.node(Binary { kind: BinaryKind::Mul }, &[left, right]);
        let graph = lifted(net.giving(y));
        let Form(_, scale, zero) = forms[expected];
        let stated: Vec<&QdqScales> = graph.scales.values().collect();
        let [stated] = stated[..] else { panic!("{graph}") };
        assert_eq!((stated.scales[0], stated.zero_points[0]), (scale, i64::from(zero)));
    }
}
