//! Programs that consist only of host parts: values between parts, and the reference of the whole
//! program.

use std::collections::BTreeMap;

use npukit_graph::field::{Evaluator, FieldTensor, Operand, Value, walk};
use npukit_graph::op::{Binary, BinaryKind, Relu, Softmax};
use npukit_graph::{Graph, Op, ValueInfo, evaluate};
use npukit_numeric::{Element, ElementType, Tensor};

use super::SegmentedField;
use crate::contract::proof::FieldProgram;
use crate::segments::program::{Part, SegmentedProgram};

const SHAPE: [usize; 2] = [2, 3];

/// `z` is the softmax of `y`; `y` is the rectified sum of `x` and 1; `w` is the sum of `z` and `x`.
fn model() -> Graph {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: SHAPE.to_vec(), element: ElementType::F32 });
    let one = graph.add_constant("one", Tensor::from_f32(vec![1], vec![1.0]).expect("one"));
    let add = || Op::from(Binary { kind: BinaryKind::Add });
    let sum = graph.add_node("sum", add(), vec![x, one], &["sum"]).expect("legal")[0];
    let y = graph.add_node("y", Relu.into(), vec![sum], &["y"]).expect("legal")[0];
    let z = graph.add_node("z", Softmax { axis: 1, axis_end: 2 }.into(), vec![y], &["z"]).expect("legal")[0];
    graph.outputs = graph.add_node("w", add(), vec![z, x], &["w"]).expect("legal");
    graph
}

/// Returns the part of a graph between two sets of values, for the host.
fn part(graph: &Graph, inputs: &[&str], outputs: &[&str]) -> Graph {
    let id = |name: &&str| graph.find_value(name).expect("a value of the model");
    graph.part(&inputs.iter().map(id).collect(), &outputs.iter().map(id).collect::<Vec<_>>())
}

fn program(graph: &Graph, parts: Vec<Graph>) -> SegmentedProgram {
    let parts = parts.into_iter().map(|part| Part::Host(Box::new(part))).collect();
    SegmentedProgram::new("m".to_owned(), "t".to_owned(), graph, parts, BTreeMap::new())
}

fn parts(graph: &Graph) -> Vec<Graph> {
    vec![part(graph, &["x"], &["y"]), part(graph, &["y"], &["z"]), part(graph, &["z", "x"], &["w"])]
}

fn input() -> FieldTensor {
    FieldTensor { shape: SHAPE.to_vec(), elements: Element::random(3).take(6).collect() }
}

/// Returns the outputs of the program and of its reference.
fn both(program: &SegmentedProgram, graph: &Graph) -> Result<[FieldTensor; 2], String> {
    let message = |error: crate::error::TargetError| error.to_string();
    let field = SegmentedField::new(program).map_err(message)?;
    let references: Vec<_> = field.references(graph).collect();
    assert!(references.len() == 1, "one order");
    let reference = references.into_iter().next().expect("one").map_err(message)?;
    assert_eq!(reference.parts.len(), reference.graph.nodes.len());
    reference.graph.validate().expect("legal");
    let images = |node: usize| field.images(reference.part(node));
    let mut walked = walk(&reference.graph, vec![input()], &images, |_, _| ());
    let Some(Value::Known(Operand::Field(expected))) = walked.outputs.pop() else { panic!("it is known") };
    let mut found = field.run(&[("x".to_owned(), input())], 1).map_err(message)?;
    Ok([found.pop().expect("an output").1, FieldTensor::clone(&expected)])
}

fn refused(program: &SegmentedProgram, graph: &Graph) -> String {
    both(program, graph).map(|_| ()).expect_err("it is refused")
}

/// The reference is the model, wherever it is cut, and does not depend on the program.
#[test]
fn what_it_is_compared_with_is_the_whole_model() {
    let graph = model();
    let mut walked = walk(&graph, vec![input()], &|_| &Evaluator, |_, _| ());
    let Some(Value::Known(Operand::Field(whole))) = walked.outputs.pop() else { panic!("it is known") };
    let [found, expected] = both(&program(&graph, parts(&graph)), &graph).expect("it is compared");
    assert_eq!((&found, &expected), (&*whole, &*whole));
    // A program that omits the constant.
    let mut other = parts(&graph);
    other[0].nodes.remove(0);
    other[0].nodes[0].inputs = other[0].inputs.clone();
    let [found, expected] = both(&program(&graph, other), &graph).expect("it is compared");
    assert_ne!(found, *whole);
    assert_eq!(expected, *whole);
    // A program that reads another value.
    let mut other = parts(&graph);
    other[1] = part(&graph, &["x"], &["z"]);
    other[1].nodes.retain(|node| node.name == "z");
    other[1].nodes[0].inputs = other[1].inputs.clone();
    let [found, expected] = both(&program(&graph, other), &graph).expect("it is compared");
    assert_ne!(found, *whole);
    assert_eq!(expected, *whole);
}

/// Without rounding, the reference is the float model.
#[test]
fn without_rounding_it_is_the_model_in_floats() {
    let graph = model();
    let program = program(&graph, parts(&graph));
    let field = SegmentedField::new(&program).expect("it is compared");
    let reference = field.references(&graph).next().expect("one").expect("of this model");
    let x = Tensor::from_f32(SHAPE.to_vec(), vec![-3.0, 0.5, 1.0, 2.0, -0.25, 7.0]).expect("six");
    let [whole, unrounded] =
        [&graph, &reference.unrounded].map(|graph| evaluate(graph, std::slice::from_ref(&x)).expect("legal"));
    assert_eq!(whole, unrounded);
}

#[test]
fn what_does_not_go_from_part_to_part_is_refused() {
    let graph = model();
    let mut twice = parts(&graph);
    twice.insert(1, twice[0].clone());
    assert_eq!(refused(&program(&graph, twice), &graph), "value `y` is computed twice");
    let mut late = parts(&graph);
    late.swap(0, 1);
    assert!(refused(&program(&graph, late), &graph).contains("reads `y`, which is neither an input"));
    let mut never = parts(&graph);
    never.pop();
    assert!(refused(&program(&graph, never), &graph).starts_with("the model's end reads `w`"));
    let mut other = model();
    for value in other.values.iter_mut().filter(|value| value.name == "z") {
        value.name = "v".to_owned();
    }
    assert!(
        refused(&program(&graph, parts(&graph)), &other).contains("`z`, which is not a value of the model")
    );
}

#[test]
fn values_keep_their_types_and_shapes() {
    let graph = model();
    // Floats would be converted to integers in between.
    let mut whole = parts(&graph);
    let id = whole[1].inputs[0];
    whole[1].values[id.0 as usize].info.element = ElementType::I64;
    let message = refused(&program(&graph, whole), &graph);
    assert!(message.contains("reads `y` with type"), "{message}");
    let mut all = graph.clone();
    all.values[graph.inputs[0].0 as usize].info.element = ElementType::I64;
    let mut from_input = parts(&graph);
    for part in [0, 2] {
        let id = graph.inputs[0];
        from_input[part].values[id.0 as usize].info.element = ElementType::I64;
    }
    let message = refused(&program(&all, from_input), &graph);
    assert!(message.contains("reads `x` with type"), "{message}");
    let mut flat = graph.clone();
    flat.values[graph.inputs[0].0 as usize].info.shape = vec![6];
    let message = refused(&program(&flat, parts(&graph)), &graph);
    assert!(message.contains("reads `x` with shape [6], but its shape is [2, 3]"), "{message}");
}
