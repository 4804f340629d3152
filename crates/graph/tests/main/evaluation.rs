//! The evaluator: order, observers, errors.

use npukit_graph::op::{Binary, BinaryKind, Relu};
use npukit_graph::{EvalError, Graph, Op, OpError, ValueInfo, evaluate, evaluate_all, evaluate_with};
use npukit_numeric::ElementType;

use crate::support::{f32s, i64s};

fn f32_info(shape: &[usize]) -> ValueInfo {
    ValueInfo { shape: shape.to_vec(), element: ElementType::F32 }
}

/// `relu(a + b)` and `a + b`.
fn sum() -> Graph {
    let mut graph = Graph::default();
    let a = graph.add_input("a", f32_info(&[2]));
    let b = graph.add_input("b", f32_info(&[2]));
    let sum = graph.add_node("add", Binary { kind: BinaryKind::Add }.into(), vec![a, b], &["sum"]).unwrap();
    let relu = graph.add_node("relu", Relu.into(), sum.clone(), &["relu"]).unwrap();
    graph.outputs = vec![relu[0], sum[0]];
    graph
}

#[test]
fn gives_outputs_in_order_and_shows_every_node() {
    let (graph, inputs) = (sum(), [f32s(&[2], &[1.0, 2.0]), f32s(&[2], &[3.0, -4.0])]);
    let mut seen = Vec::new();
    let outputs = evaluate_with(&graph, &inputs, |node, results| {
        seen.push((node.name.clone(), results[0].as_f32().unwrap().to_vec()));
    });
    assert_eq!(outputs.unwrap(), [f32s(&[2], &[4.0, 0.0]), f32s(&[2], &[4.0, -2.0])]);
    assert_eq!(seen, [("add".to_owned(), vec![4.0, -2.0]), ("relu".to_owned(), vec![4.0, 0.0])]);
    let all = evaluate_all(&graph, &inputs).unwrap();
    assert_eq!(all.iter().flatten().count(), 4);
}

#[test]
fn explains_inputs_that_do_not_fit() {
    let graph = sum();
    let one = f32s(&[2], &[1.0, 2.0]);
    let error = evaluate(&graph, std::slice::from_ref(&one)).unwrap_err();
    assert_eq!(error.to_string(), "the graph has 2 inputs (`a`, `b`), but 1 tensors were given");
    let error = evaluate(&graph, &[one.clone(), f32s(&[1], &[1.0])]).unwrap_err();
    assert_eq!(error.to_string(), "input `b` has shape [2], but the tensor given for it has [1]");
    let error = evaluate(&graph, &[i64s(&[2], &[1, 2]), one]).unwrap_err();
    assert!(matches!(error, EvalError::InputElement { found: ElementType::I64, .. }));
}

#[test]
fn names_the_node_that_fails() {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: vec![1], element: ElementType::I64 });
    let zero = graph.add_constant("zero", i64s(&[1], &[0]));
    let div: Op = Binary { kind: BinaryKind::Div }.into();
    graph.outputs = graph.add_node("quotient", div, vec![x, zero], &["y"]).unwrap();
    let error = evaluate(&graph, &[i64s(&[1], &[5])]).unwrap_err();
    let EvalError::Node { node, op, error } = error else { panic!("{error}") };
    assert_eq!((node.as_str(), op), ("quotient", "Div"));
    assert_eq!(error, OpError::DivisionByZero { op: "Div", position: 0 });
    graph.nodes.clear();
    let error = evaluate(&graph, &[i64s(&[1], &[5])]).unwrap_err();
    assert_eq!(error.to_string(), "outputs uses value `y`, which nothing before it produces");
}
