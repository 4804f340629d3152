//! If: a branch is taken when importing, where the condition is known then.

use npukit_import::onnx::proto::{AttributeProto, GraphProto, NodeProto, attribute_type, data_type};
use npukit_import::onnx::{ImportError, Reason};
use prost::Message;

use crate::model::{Model, With, floats, node, value_info};

/// A graph without inputs, of these nodes and outputs.
fn graph(nodes: Vec<NodeProto>, outputs: &[&str]) -> GraphProto {
    let output = outputs.iter().map(|name| value_info(name, data_type::FLOAT, &[])).collect();
    GraphProto { node: nodes, output, ..GraphProto::default() }
}

/// An If on `condition`.
fn choice(condition: &str, outputs: &[&str], then: &GraphProto, otherwise: &GraphProto) -> NodeProto {
    let branch = |name: &str, graph: &GraphProto| AttributeProto {
        name: name.to_owned(),
        r#type: attribute_type::GRAPH,
        g: Some(graph.encode_to_vec()),
        ..AttributeProto::default()
    };
    node("If", &[condition], outputs).with(branch("then_branch", then)).with(branch("else_branch", otherwise))
}

/// What PyTorch writes for `x.squeeze(1)`: whether axis 1 has one element is asked of the shape.
fn squeeze(dims: &[i64]) -> Model {
    let axis = node("Constant", &[], &["axis"]).ints("value_ints", &[1]);
    let squeezed = graph(vec![axis, node("Squeeze", &["x", "axis"], &["inner"])], &["inner"]);
    let whole = graph(vec![node("Identity", &["x"], &["inner"])], &["inner"]);
    Model::new(13)
        .input("x", dims)
        .ints("one", &[1])
        .node(node("Shape", &["x"], &["shape"]))
        .node(node("Gather", &["shape", "one"], &["size"]).int("axis", 0))
        .node(node("Equal", &["size", "one"], &["is_one"]))
        .node(choice("is_one", &["s"], &squeezed, &whole))
        .node(node("Relu", &["s"], &["y"]))
        .output("y")
}

#[test]
fn the_branch_of_a_known_condition_is_taken() {
    assert_eq!(
        squeeze(&[2, 1, 2]).run(&[floats(&[2, 1, 2], &[1.0, -2.0, 3.0, -4.0])]),
        (vec![2, 2], vec![1.0, 0.0, 3.0, 0.0])
    );
    assert_eq!(squeeze(&[1, 2]).run(&[floats(&[1, 2], &[-1.0, 2.0])]), (vec![1, 2], vec![0.0, 2.0]));
}

/// A model `y = If(..)`, whose branches double and negate what is captured; `known` is the condition.
fn doubled_or_negated(known: bool) -> Model {
    // Both branches, and the model around them, call their values alike.
    let double = graph(vec![node("Add", &["r", "r"], &["t"]), node("Relu", &["t"], &["u"])], &["u"]);
    let negate = graph(vec![node("Neg", &["r"], &["t"])], &["t"]);
    let mut model = Model::new(13).input("x", &[2]).node(node("Abs", &["x"], &["r"]));
    model.graph().initializer.push(npukit_import::onnx::proto::TensorProto {
        name: "c".to_owned(),
        data_type: data_type::BOOL,
        raw_data: Some(vec![u8::from(known)]),
        ..Default::default()
    });
    model.node(choice("c", &["y"], &double, &negate)).output("y")
}

#[test]
fn values_around_a_branch_are_seen_in_it() {
    let input = || floats(&[2], &[1.0, -2.0]);
    assert_eq!(doubled_or_negated(true).run(&[input()]).1, [2.0, 4.0]);
    assert_eq!(doubled_or_negated(false).run(&[input()]).1, [-1.0, -2.0]);
}

#[test]
fn branches_have_branches() {
    let double = graph(vec![node("Add", &["r", "r"], &["z"])], &["z"]);
    let keep = graph(vec![], &["r"]);
    let inner = graph(vec![choice("c", &["q"], &keep, &double)], &["q"]);
    for (known, expected) in [(true, [1.0, 2.0]), (false, [1.0, 2.0])] {
        let mut model = doubled_or_negated(known);
        model.graph().node.pop();
        let (then, otherwise) = if known { (&inner, &double) } else { (&double, &keep) };
        let model = model.node(choice("c", &["y"], then, otherwise));
        assert_eq!(model.run(&[floats(&[2], &[1.0, -2.0])]).1, expected);
    }
}

#[test]
fn what_the_other_branch_needs_is_no_problem() {
    let keep = graph(vec![node("Relu", &["r"], &["u"])], &["u"]);
    let unknown = graph(vec![node("Mystery", &["m"], &["u"])], &["u"]);
    let model = |then: &GraphProto, otherwise: &GraphProto| {
        let mut model = doubled_or_negated(true);
        model.graph().node.pop();
        model.node(node("Riddle", &["x"], &["m"])).node(choice("c", &["y"], then, otherwise))
    };
    let imported = model(&keep, &unknown).import().unwrap();
    assert_eq!(imported.nodes.len(), 2);
    let problems = model(&unknown, &keep).problems();
    assert!(problems.iter().any(|problem| problem.op == "Riddle"), "{problems:?}");
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let keep = graph(vec![node("Relu", &["x"], &["u"])], &["u"]);
    let mut model = Model::new(13).input("x", &[2]).node(choice("c", &["y"], &keep, &keep)).output("y");
    model.graph().input.push(value_info("c", data_type::BOOL, &[]));
    assert_eq!(model.reason(), Reason::Condition);
    let mut model = doubled_or_negated(true);
    model.graph().node.last_mut().unwrap().attribute.pop();
    assert_eq!(model.reason(), Reason::AttributeMissing { name: "else_branch" });
    let mut deep = keep;
    for _ in 0..20 {
        deep = graph(vec![choice("c", &["u"], &deep, &deep)], &["u"]);
        deep.node[0].attribute[1].g = Some(graph(vec![], &["x"]).encode_to_vec());
    }
    let mut model = doubled_or_negated(true);
    *model.graph().node.last_mut().unwrap() = choice("c", &["y"], &deep, &deep);
    assert!(model.problems().iter().any(|problem| matches!(problem.reason, Reason::Nesting { .. })));
}

#[test]
fn a_model_without_outputs_is_refused() {
    let model = Model::new(13).input("x", &[2]).node(node("Relu", &["x"], &["y"]));
    let error = model.import().unwrap_err();
    assert!(matches!(&error, ImportError::Nothing { available } if available == &["y"]), "{error}");
}
