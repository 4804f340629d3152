//! Checked against the evaluator, which computes polynomials exactly on small integers.

use npukit_numeric::TensorData;

use super::*;
use crate::ValueInfo;
use crate::evaluate;
use crate::op;
use crate::op::{Binary, BinaryKind, PadMode, ReduceKind, Unary, UnaryKind, Window};

/// Integers from -4 to 4; neighbors differ.
fn integers(shape: &[usize], seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let number = |i: usize| ((i * 7 + i / 3 * 5 + seed * 11) % 9) as f32 - 4.0;
    Tensor::from_f32(shape.to_vec(), (0..count).map(number).collect()).expect("the number matches")
}

fn image(tensor: &Tensor) -> FieldTensor {
    let elements = tensor.as_f32().expect("floats").iter().map(|&x| Element::from_f32(x).expect("finite"));
    FieldTensor { shape: tensor.shape().to_vec(), elements: elements.collect() }
}

/// Results of a node in the field, and in floats.
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
    let walked = walk(&graph, inputs.iter().map(image).collect(), &|_| &Exact, |_, _| ());
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
    let condition = Tensor::new(vec![2], TensorData::Bool(vec![true, false])).expect("two");
    let mut graph = Graph::default();
    let condition = graph.add_constant("condition", condition);
    let info = ValueInfo { shape: vec![3, 2], element: ElementType::F32 };
    let (x, y) = (graph.add_input("x", info.clone()), graph.add_input("y", info));
    graph.outputs = graph.add_node("where", op::Where.into(), vec![condition, x, y], &["z"]).expect("legal");
    let inputs = [integers(&[3, 2], 0), integers(&[3, 2], 1)];
    let floats = image(&evaluate(&graph, &inputs).expect("computable")[0]);
    let walked = walk(&graph, inputs.iter().map(image).collect(), &|_| &Exact, |_, _| ());
    assert!(matches!(&walked.outputs[..], [Value::Known(Operand::Field(z))] if **z == floats));
}

/// The field's order differs from that of floats. A maximum is still one of its operands, and equal
/// operands have equal maxima.
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
    let walked = walk(&graph, vec![image(&integers(&[3], 0))], &|_| &Exact, |_, _| ());
    assert!(matches!(walked.outputs[..], [Value::Unknown(0)]));
    assert_eq!(walked.gaps.len(), 1);
    assert_eq!((walked.gaps[0].node.as_str(), walked.gaps[0].reason), ("cumulate", NoImage::Operator));
}

/// Builds a graph of one node, whose operands are variables of these shapes, and constants.
fn single(op: impl Into<Op>, variables: &[(&[usize], ElementType)], constants: &[Tensor]) -> Graph {
    let mut graph = Graph::default();
    let mut ids = Vec::new();
    for (i, &(shape, element)) in variables.iter().enumerate() {
        ids.push(graph.add_input(format!("x{i}"), ValueInfo { shape: shape.to_vec(), element }));
    }
    ids.extend(constants.iter().enumerate().map(|(i, c)| graph.add_constant(format!("c{i}"), c.clone())));
    let op = op.into();
    let count = op.infer(&ids.iter().map(|&id| graph.value(id)).collect::<Vec<_>>()).expect("legal").len();
    let names: Vec<String> = (0..count).map(|i| format!("y{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    graph.outputs = graph.add_node("node", op, ids, &names).expect("legal");
    graph
}

/// Evaluates the outputs of a graph.
fn evaluated(graph: &Graph, inputs: &[Vec<u64>]) -> Vec<FieldTensor> {
    let tensor = |(&id, numbers): (&ValueId, &Vec<u64>)| FieldTensor {
        shape: graph.shape(id).to_vec(),
        elements: numbers.iter().map(|&number| Element::hashed(number, [])).collect(),
    };
    let inputs = graph.inputs.iter().zip(inputs).map(tensor).collect();
    let walked = walk(graph, inputs, &|_| &Evaluator, |_, _| ());
    assert_eq!(walked.gaps, []);
    let field = |value| match value {
        Value::Known(Operand::Field(tensor)) => Arc::unwrap_or_clone(tensor),
        other => panic!("{other:?}"),
    };
    walked.outputs.into_iter().map(field).collect()
}

/// The results depend on each element of each operand, on each attribute and on each constant.
#[test]
fn what_has_no_rule_is_a_function_of_all_that_it_is_given() {
    let floats = ElementType::F32;
    let norm = |epsilon| op::LayerNormalization { axis: 1, epsilon };
    let scale = |first: f32| Tensor::from_f32(vec![3], vec![first, f32::NEG_INFINITY, 0.0]).expect("three");
    let graph = |epsilon, first| single(norm(epsilon), &[(&[2, 3], floats)], &[scale(first)]);
    let all = |graph: &Graph, numbers: [u64; 6]| evaluated(graph, &[numbers.to_vec()]);
    let before = all(&graph(1e-5, 1.0), [1, 2, 3, 4, 5, 6]);
    assert_eq!(before[0].shape, [2, 3]);
    assert_eq!(all(&graph(1e-5, 1.0), [1, 2, 3, 4, 5, 6]), before);
    for i in 0..6 {
        let mut numbers = [1, 2, 3, 4, 5, 6];
        numbers[i] = 9;
        assert_ne!(all(&graph(1e-5, 1.0), numbers), before, "{i}");
    }
    assert_ne!(all(&graph(1e-6, 1.0), [1, 2, 3, 4, 5, 6]), before);
    assert_ne!(all(&graph(1e-5, -0.0), [1, 2, 3, 4, 5, 6]), all(&graph(1e-5, 0.0), [1, 2, 3, 4, 5, 6]));
    assert_ne!(all(&graph(1e-5, 1.0), [2, 1, 3, 4, 5, 6]), before);
    // Images that do not know rounding return a gap.
    let inputs = vec![FieldTensor { shape: vec![2, 3], elements: vec![Element::ONE; 6] }];
    assert_eq!(walk(&graph(1e-5, 1.0), inputs, &|_| &Exact, |_, _| ()).gaps.len(), 1);
}

/// Computed indices are not attributes: where the operator moves elements depends on them.
#[test]
fn places_that_are_computed_are_not_ignored() {
    let (floats, whole, truth) = (ElementType::F32, ElementType::I64, ElementType::Bool);
    let graphs = [
        single(op::Gather { axis: 0 }, &[(&[3], floats), (&[3], whole)], &[]),
        single(op::GatherElements { axis: 0 }, &[(&[3], floats), (&[3], whole)], &[]),
        single(op::GatherNd { batch_dims: 0 }, &[(&[3], floats), (&[3, 1], whole)], &[]),
        single(op::Where, &[(&[3], truth), (&[3], floats), (&[3], floats)], &[]),
        single(
            op::ScatterElements { axis: 0, kind: op::ScatterKind::Replace },
            &[(&[3], floats), (&[3], whole), (&[3], floats)],
            &[],
        ),
        single(
            op::ScatterNd { kind: op::ScatterKind::Replace },
            &[(&[3], floats), (&[3, 1], whole), (&[3], floats)],
            &[],
        ),
    ];
    for graph in &graphs {
        let numbers: Vec<Vec<u64>> = (0..graph.inputs.len() as u64).map(|i| vec![i, i + 7, i + 19]).collect();
        let before = evaluated(graph, &numbers);
        for (operand, place) in
            (0..numbers.len()).flat_map(|operand| (0..3).map(move |place| (operand, place)))
        {
            let mut other = numbers.clone();
            other[operand][place] = 99;
            assert_ne!(evaluated(graph, &other), before, "{}, operand {operand}, {place}", graph.nodes[0].op);
        }
    }
}

/// Half of an integer, doubled, is another integer in the field.
#[test]
fn integers_do_not_have_the_laws_of_the_field() {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: vec![3], element: ElementType::I64 });
    let two = graph.add_constant("two", Tensor::new(vec![1], TensorData::I64(vec![2])).expect("one"));
    let node = |kind| Op::from(Binary { kind });
    let half = graph.add_node("half", node(BinaryKind::Div), vec![x, two], &["half"]).expect("legal")[0];
    graph.outputs =
        graph.add_node("whole", node(BinaryKind::Mul), vec![half, two], &["whole"]).expect("legal");
    let whole = evaluated(&graph, &[vec![1, 2, 3]]);
    graph.outputs = vec![x];
    assert_ne!(evaluated(&graph, &[vec![1, 2, 3]]), whole);
}

/// Different machines may compute the nodes of one graph.
#[test]
fn constants_are_those_of_who_computes_the_node() {
    struct Doubled;
    impl Images for Doubled {
        fn constant(&self, value: f32) -> Option<Element> {
            Element::from_f32(2.0 * value)
        }
    }
    let mut graph = Graph::default();
    let info = ValueInfo { shape: vec![2], element: ElementType::F32 };
    let x = graph.add_input("x", info);
    let c = graph.add_constant("c", integers(&[2], 1));
    let add: Op = Binary { kind: BinaryKind::Add }.into();
    let y = graph.add_node("first", add.clone(), vec![x, c], &["y"]).expect("legal")[0];
    graph.outputs = graph.add_node("second", add, vec![y, c], &["z"]).expect("legal");
    let images = |node: usize| -> &dyn Images { if node == 0 { &Doubled } else { &Exact } };
    let walked = walk(&graph, vec![image(&integers(&[2], 0))], &images, |_, _| ());
    let Value::Known(Operand::Field(sum)) = &walked.outputs[0] else { panic!("{:?}", walked.outputs) };
    let three_times = |(x, c): (&f32, &f32)| Element::from_f32(x + 3.0 * c).expect("finite");
    let (x, c) = (integers(&[2], 0), integers(&[2], 1));
    let expected: Vec<Element> =
        x.as_f32().into_iter().flatten().zip(c.as_f32().into_iter().flatten()).map(three_times).collect();
    assert_eq!(sum.elements, expected);
}
