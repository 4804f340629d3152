//! Judged by the evaluator: with small integers it computes polynomials exactly.

use super::*;
use crate::ValueInfo;
use crate::evaluate;
use crate::op;
use crate::op::{Binary, BinaryKind, PadMode, ReduceKind, Unary, UnaryKind, Window};

/// Integers from -4 to 4, not the same in any two neighbours.
fn integers(shape: &[usize], seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let number = |i: usize| ((i * 7 + i / 3 * 5 + seed * 11) % 9) as f32 - 4.0;
    Tensor::from_f32(shape.to_vec(), (0..count).map(number).collect()).expect("as many")
}

fn image(tensor: &Tensor) -> FieldTensor {
    let elements = tensor.as_f32().expect("floats").iter().map(|&x| Element::from_f32(x).expect("finite"));
    FieldTensor { shape: tensor.shape().to_vec(), elements: elements.collect() }
}

/// What a node gives in the field, and what it gives in floats.
fn both(op: impl Into<Op>, variables: &[&[usize]], constants: &[Tensor]) -> [Vec<FieldTensor>; 2] {
    let op = op.into();
    let mut graph = Graph::default();
    let mut ids = Vec::new();
    for (i, shape) in variables.iter().enumerate() {
        let info = ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
        ids.push(graph.add_input(format!("x{i}"), info));
    }
    for (i, constant) in constants.iter().enumerate() {
        ids.push(graph.add_constant(format!("c{i}"), constant.clone()));
    }
    let infos = op.infer(&ids.iter().map(|&id| graph.value(id)).collect::<Vec<_>>()).expect("legal");
    let names: Vec<String> = (0..infos.len()).map(|i| format!("y{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    graph.outputs = graph.add_node("node", op, ids, &names).expect("legal");
    let inputs: Vec<Tensor> = variables.iter().enumerate().map(|(i, shape)| integers(shape, i)).collect();
    let floats = evaluate(&graph, &inputs).expect("computable").iter().map(image).collect();
    let walked = walk(&graph, inputs.iter().map(image).collect(), &Exact, |_, _| ());
    assert_eq!(walked.gaps, []);
    let field = walked.outputs.into_iter().map(|value| match value {
        Value::Known(Operand::Field(tensor)) => Arc::unwrap_or_clone(tensor),
        other => panic!("{other:?}"),
    });
    [field.collect(), floats]
}

fn assert_same(op: impl Into<Op>, variables: &[&[usize]], constants: &[Tensor]) {
    let op = op.into();
    let [field, floats] = both(op.clone(), variables, constants);
    assert_eq!(field, floats, "{op}");
}

#[test]
fn polynomials_are_those_of_floats() {
    let weights = |shape: &[usize]| integers(shape, 3);
    for (group, depth) in [(1, 4), (2, 2), (4, 1)] {
        for pads in [[0; 4], [1, 0, 2, 1]] {
            let conv = op::Conv { strides: [2, 1], dilations: [1, 2], pads, group };
            assert_same(conv, &[&[2, 7, 8, 4]], &[weights(&[3, 2, depth, 8]), weights(&[8])]);
        }
        let (strides, dilations, pads) = ([2, 3], [2, 1], [1, 0, 2, 1]);
        let conv = op::ConvTranspose { strides, dilations, pads, output_padding: [1, 0], group };
        assert_same(conv, &[&[2, 3, 4, 4]], &[weights(&[2, 3, depth, 8]), weights(&[8])]);
    }
    assert_same(op::MatMul, &[&[2, 1, 3, 5], &[4, 5, 2]], &[]);
    assert_same(op::MatMul, &[&[5], &[4, 5, 2]], &[]);
    assert_same(op::MatMul, &[&[4, 3, 5]], &[weights(&[5])]);
    for (trans_a, trans_b) in [(false, false), (true, false), (false, true), (true, true)] {
        let left: &[usize] = if trans_a { &[5, 3] } else { &[3, 5] };
        let right: &[usize] = if trans_b { &[2, 5] } else { &[5, 2] };
        let gemm = op::Gemm { alpha: 2.0, beta: 0.5, trans_a, trans_b };
        assert_same(gemm, &[left], &[weights(right), weights(&[2])]);
    }
    for kind in [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul] {
        assert_same(Binary { kind }, &[&[2, 3, 4], &[3, 1]], &[]);
        assert_same(Binary { kind }, &[&[2, 3, 4]], &[weights(&[4])]);
    }
    let halves = Tensor::from_f32(vec![2], vec![2.0, -4.0]).expect("two");
    assert_same(Binary { kind: BinaryKind::Div }, &[&[3, 2]], &[halves]);
    assert_same(Unary { kind: UnaryKind::Neg }, &[&[3, 2]], &[]);
    for kind in [ReduceKind::Sum, ReduceKind::Prod, ReduceKind::SumSquare, ReduceKind::Mean] {
        for (axes, keep_dims) in [(vec![1], true), (vec![0, 2], false), (vec![], true)] {
            assert_same(op::Reduce { kind, axes, keep_dims }, &[&[2, 2, 4]], &[]);
        }
    }
    let window =
        Window { kernel: [2, 2], strides: [2, 1], dilations: [1, 2], pads: [1, 1, 0, 0], ceil_mode: false };
    assert_same(op::AveragePool { window, count_include_pad: true }, &[&[2, 5, 6, 3]], &[]);
}

#[test]
fn moved_elements_go_where_floats_go() {
    assert_same(op::Transpose { perm: vec![2, 0, 1] }, &[&[2, 3, 4]], &[]);
    assert_same(op::Concat { axis: 1 }, &[&[2, 3], &[2, 1]], &[integers(&[2, 2], 5)]);
    let pads = vec![[1, 2], [-1, 0]];
    for mode in [PadMode::Constant(0.0), PadMode::Edge] {
        assert_same(op::Pad { pads: pads.clone(), mode }, &[&[3, 4]], &[]);
    }
    let condition = Tensor::new(vec![2], npukit_numeric::TensorData::Bool(vec![true, false])).expect("two");
    let mut graph = Graph::default();
    let condition = graph.add_constant("condition", condition);
    let info = ValueInfo { shape: vec![3, 2], element: ElementType::F32 };
    let (x, y) = (graph.add_input("x", info.clone()), graph.add_input("y", info));
    graph.outputs = graph.add_node("where", op::Where.into(), vec![condition, x, y], &["z"]).expect("legal");
    let inputs = [integers(&[3, 2], 0), integers(&[3, 2], 1)];
    let floats = image(&evaluate(&graph, &inputs).expect("computable")[0]);
    let walked = walk(&graph, inputs.iter().map(image).collect(), &Exact, |_, _| ());
    assert!(matches!(&walked.outputs[..], [Value::Known(Operand::Field(z))] if **z == floats));
}

/// The order is another one: a maximum is one of its operands, and that of the same operands is the same.
#[test]
fn maxima_are_of_what_floats_take_them_of() {
    let window = Window { pads: [1, 0, 1, 0], ..Window::plain([3, 2], [2, 1]) };
    let [field, _] = both(op::MaxPool { window: window.clone() }, &[&[1, 5, 4, 2]], &[]);
    let x = image(&integers(&[1, 5, 4, 2], 0));
    for (i, &most) in field[0].elements.iter().enumerate() {
        let (row, column, channel) = (i / 6 % 3, i / 2 % 3, i % 2);
        let rows = (row * 2).saturating_sub(1)..(row * 2 + 2).min(5);
        let under = rows.flat_map(|y| [column, column + 1].map(|c| x.elements[(y * 4 + c) * 2 + channel]));
        assert_eq!(Some(most), under.reduce(Element::max), "{i}");
    }
    let [relu, _] = both(op::Relu, &[&[9]], &[]);
    let [clip, _] = both(op::Clip { min: 0.0, max: f32::INFINITY }, &[&[9]], &[]);
    assert_eq!(relu, clip);
}

#[test]
fn what_has_no_image_is_named() {
    let mut graph = Graph::default();
    let info = ValueInfo { shape: vec![3], element: ElementType::F32 };
    let x = graph.add_input("x", info);
    let sums = op::Cumulative { axis: 0, product: false, exclusive: false, reverse: false };
    let sums = graph.add_node("cumulate", sums.into(), vec![x], &["y"]).expect("legal");
    graph.outputs = graph.add_node("relu", op::Relu.into(), sums, &["z"]).expect("legal");
    let walked = walk(&graph, vec![image(&integers(&[3], 0))], &Exact, |_, _| ());
    assert!(matches!(walked.outputs[..], [Value::Unknown(0)]));
    assert_eq!(walked.gaps.len(), 1);
    assert_eq!((walked.gaps[0].node.as_str(), walked.gaps[0].reason), ("cumulate", NoImage::Operator));
}
