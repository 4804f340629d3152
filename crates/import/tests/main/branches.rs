//! If and Loop with constant conditions: a branch is taken, and iterations are unrolled.

use npukit_graph::{Graph, Operator};
use npukit_import::onnx::proto::{AttributeProto, GraphProto, NodeProto, attribute_type, data_type};
use npukit_import::onnx::{ImportError, Options, Reason};
use npukit_numeric::{Tensor, TensorData};
use prost::Message;

use crate::model::{Model, With, floats, node, value_info};

/// Makes a graph without inputs, of these nodes and outputs.
fn graph(nodes: Vec<NodeProto>, outputs: &[&str]) -> GraphProto {
    let output = outputs.iter().map(|name| value_info(name, data_type::FLOAT, &[])).collect();
    GraphProto { node: nodes, output, ..GraphProto::default() }
}

/// Makes an If on `condition`.
fn choice(condition: &str, outputs: &[&str], then: &GraphProto, otherwise: &GraphProto) -> NodeProto {
    let branch = |name: &str, graph: &GraphProto| AttributeProto {
        name: name.to_owned(),
        r#type: attribute_type::GRAPH,
        g: Some(graph.encode_to_vec()),
        ..AttributeProto::default()
    };
    node("If", &[condition], outputs).with(branch("then_branch", then)).with(branch("else_branch", otherwise))
}

/// Graph that PyTorch exports for `x.squeeze(1)`: the shape decides whether axis 1 has one element.
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

/// A model `y = If(..)`, whose branches double and negate the captured value. `known` is the
/// condition.
fn doubled_or_negated(known: bool) -> Model {
    // Both branches, and the model around them, use equal names.
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

/// Nodes that only the untaken branch uses are removed.
#[test]
fn nodes_of_the_other_branch_are_gone() {
    let keep = graph(vec![node("Relu", &["r"], &["u"])], &["u"]);
    let other = graph(vec![node("Add", &["r", "n"], &["u"])], &["u"]);
    for (known, expected) in [(true, vec!["r", "y"]), (false, vec!["r", "n", "y"])] {
        let mut model = doubled_or_negated(known);
        model.graph().node.pop();
        let model = model.node(node("Neg", &["r"], &["n"])).node(choice("c", &["y"], &keep, &other));
        let imported = model.import().unwrap();
        let results = imported.nodes.iter().flat_map(|node| &node.outputs);
        let names: Vec<&str> = results.map(|&id| imported.value(id).name.as_str()).collect();
        assert_eq!(names, expected);
    }
}

/// Names of a branch may equal names of the model around it, and of the other branch.
#[test]
fn names_within_a_branch_are_its_own() {
    let double = graph(vec![node("Add", &["r", "r"], &["t"]), node("Relu", &["t"], &["u"])], &["u"]);
    let mut model = doubled_or_negated(true);
    model.graph().node.pop();
    let model = model
        .node(choice("c", &["y"], &double, &double))
        .node(choice("c", &["z"], &double, &double))
        .node(node("Add", &["y", "z"], &["t"]))
        .output("z")
        .output("t");
    let imported = model.import().unwrap();
    let mut names: Vec<&str> = imported.values.iter().map(|value| value.name.as_str()).collect();
    let outputs: Vec<&str> = imported.outputs.iter().map(|&id| imported.value(id).name.as_str()).collect();
    assert_eq!(outputs, ["y", "z", "t"]);
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    let found = npukit_graph::evaluate(&imported, &[floats(&[2], &[1.0, -2.0])]).unwrap();
    assert_eq!(found[2], floats(&[2], &[4.0, 8.0]));
}

/// Problems of the untaken branch are dropped; earlier ones are kept.
#[test]
fn problems_outside_of_branches_stay() {
    let keep = graph(vec![node("Relu", &["r"], &["u"])], &["u"]);
    let other = graph(vec![node("Relu", &["m"], &["u"])], &["u"]);
    let mut model = doubled_or_negated(true);
    model.graph().node.pop();
    let mut model = model.node(node("Riddle", &["x"], &["m"])).node(choice("c", &["y"], &keep, &other));
    model.graph().sparse_initializer.push(Default::default());
    assert_eq!(model.reason(), Reason::TensorKind { kind: "sparse" });
    // A problem in the rest of the model is kept too.
    let model = model.node(node("Mystery", &["y"], &["z"])).output("z");
    let problems = model.problems();
    let ops: Vec<&str> = problems.iter().map(|problem| problem.op.as_str()).collect();
    assert_eq!(ops, ["initializer", "Mystery"]);
}

#[test]
fn a_condition_is_one_truth_value() {
    let keep = graph(vec![node("Relu", &["x"], &["u"])], &["u"]);
    let mut model = Model::new(13).input("x", &[2]).node(choice("c", &["y"], &keep, &keep)).output("y");
    let truths = |values: &[i32]| npukit_import::onnx::proto::TensorProto {
        name: "c".to_owned(),
        dims: vec![values.len() as i64],
        data_type: data_type::BOOL,
        int32_data: values.to_vec(),
        ..Default::default()
    };
    model.graph().initializer = vec![truths(&[1])];
    assert_eq!(model.run(&[floats(&[2], &[1.0, -2.0])]).1, [1.0, 0.0]);
    for wrong in [&[][..], &[1, 1]] {
        model.graph().initializer = vec![truths(wrong)];
        let found = format!("Bool [{}]", wrong.len());
        let legal = "one truth value".to_owned();
        assert_eq!(model.reason(), Reason::OperandValue { operand: "cond", found, legal });
    }
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let keep = graph(vec![node("Relu", &["x"], &["u"])], &["u"]);
    let twice = graph(vec![node("Concat", &["x", "x"], &["u"]).int("axis", 0)], &["u"]);
    let mut model = Model::new(13).input("x", &[2]).node(choice("c", &["y"], &keep, &twice)).output("y");
    model.graph().input.push(value_info("c", data_type::BOOL, &[]));
    let (taken, other) = ("f32[2]".to_owned(), "f32[4]".to_owned());
    assert_eq!(model.reason(), Reason::Branches { taken, other });
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

/// If the condition is an input, both branches are computed and one is selected.
#[test]
fn branches_of_a_computed_condition_become_a_choice() {
    let keep = graph(vec![node("Relu", &["x"], &["u"])], &["u"]);
    let negate = graph(vec![node("Neg", &["x"], &["u"])], &["u"]);
    let mut model = Model::new(13).input("x", &[2]).node(choice("c", &["y"], &keep, &negate)).output("y");
    model.graph().input.push(value_info("c", data_type::BOOL, &[1]));
    for (holds, expected) in [(true, [1.0, 0.0]), (false, [-1.0, 2.0])] {
        let condition = Tensor::new(vec![1], TensorData::Bool(vec![holds])).unwrap();
        assert_eq!(model.run(&[floats(&[2], &[1.0, -2.0]), condition]).1, expected);
    }
}

/// An input fixed to a number becomes a constant, and selects the branch.
#[test]
fn a_value_given_for_an_input_chooses_the_branch() {
    let keep = graph(vec![node("Relu", &["x"], &["u"])], &["u"]);
    let twice = graph(vec![node("Concat", &["x", "x"], &["u"]).int("axis", 0)], &["u"]);
    let mut model = Model::new(13)
        .input("x", &[2])
        .ints("limit", &[16])
        .node(node("Equal", &["rate", "limit"], &["c"]))
        .node(choice("c", &["y"], &keep, &twice))
        .output("y");
    model.graph().input.push(value_info("rate", data_type::INT64, &[1]));
    let read = |value: &str| {
        let values = [("rate".to_owned(), value.to_owned())].into();
        model.read(&Options { values, ..Options::default() }).map(|imported| imported.graph)
    };
    let operators = |graph: Graph| graph.nodes.iter().map(|node| node.op.name()).collect::<Vec<_>>();
    assert_eq!(operators(read("16").unwrap()), ["Relu"]);
    assert_eq!(operators(read("8").unwrap()), ["Concat"]);
    assert_eq!(read("8").unwrap().inputs.len(), 1);
    let error = read("8.5").unwrap_err();
    let ImportError::Problems { problems } = &error else { panic!("{error}") };
    let (found, legal) = ("8.5".to_owned(), "a whole number of I64".to_owned());
    assert_eq!(problems[0].reason, Reason::Given { found, legal });
    let values = [("rat".to_owned(), "8".to_owned())].into();
    let error = model.read(&Options { values, ..Options::default() }).unwrap_err();
    assert!(matches!(&error, ImportError::UnknownName { kind: "input", .. }), "{error}");
}

/// A loop that adds a captured value to a carried value and stacks the results.
fn summing(rounds: Option<i64>, goes_on: bool) -> Model {
    let next = if goes_on { node("Identity", &["c"], &["go"]) } else { node("Not", &["c"], &["go"]) };
    let mut body = graph(vec![next, node("Add", &["s", "x"], &["t"]), node("Neg", &["t"], &["u"])], &[]);
    let value = |(name, kind, dims): (&str, i32, &[i64])| value_info(name, kind, dims);
    let (one, two) = (&[][..], &[2][..]);
    let (float, truth) = (data_type::FLOAT, data_type::BOOL);
    body.input = [("i", data_type::INT64, one), ("c", truth, one), ("s", float, two)].map(value).to_vec();
    body.output = [("go", truth, one), ("t", float, two), ("u", float, two)].map(value).to_vec();
    let attribute = AttributeProto {
        name: "body".to_owned(),
        r#type: attribute_type::GRAPH,
        g: Some(body.encode_to_vec()),
        ..AttributeProto::default()
    };
    let model = Model::new(13).input("x", &[2]);
    let mut model = match rounds {
        Some(rounds) => model.ints("rounds", &[rounds]),
        None => model,
    };
    if rounds.is_none() {
        model.graph().input.push(value_info("rounds", data_type::INT64, &[1]));
    }
    model.node(node("Loop", &["rounds", "", "x"], &["y", "all"]).with(attribute)).output("y").output("all")
}

#[test]
fn rounds_of_a_known_number_follow_each_other() {
    let input = || floats(&[2], &[1.0, -2.0]);
    let run = |model: Model| {
        let graph = model.import().unwrap();
        assert!(graph.nodes.iter().all(|node| node.op.name() != "Loop"));
        let outputs = npukit_graph::evaluate(&graph, &[input()]).unwrap();
        outputs.iter().map(|output| (output.shape().to_vec(), output.reals())).collect::<Vec<_>>()
    };
    let all = [-2.0, 4.0, -3.0, 6.0, -4.0, 8.0];
    assert_eq!(run(summing(Some(3), true)), [(vec![2], vec![4.0, -8.0]), (vec![3, 2], all.to_vec())]);
    // The condition ends the loop after the first iteration.
    let first = [(vec![2], vec![2.0, -4.0]), (vec![1, 2], vec![-2.0, 4.0])];
    assert_eq!(run(summing(Some(3), false)), first);
    assert_eq!(run(summing(Some(0), true)), [(vec![2], vec![1.0, -2.0]), (vec![0, 2], vec![])]);
}

#[test]
fn a_loop_of_many_rounds_stays_one_operator() {
    let graph = summing(Some(100_000), true).import().unwrap();
    assert_eq!(graph.nodes.iter().map(|node| node.op.name()).collect::<Vec<_>>(), ["Loop"]);
    let outputs = npukit_graph::evaluate(&graph, &[floats(&[2], &[1.0, -2.0])]).unwrap();
    assert_eq!(outputs[0].reals(), [100_001.0, -200_002.0]);
    assert_eq!(outputs[1].shape(), [100_000, 2]);
    // The number of stacked results must be known.
    assert_eq!(summing(None, true).reason(), Reason::Rounds);
}

#[test]
fn a_model_without_outputs_is_refused() {
    let model = Model::new(13).input("x", &[2]).node(node("Relu", &["x"], &["y"]));
    let error = model.import().unwrap_err();
    assert!(matches!(&error, ImportError::Nothing { available } if available == &["y"]), "{error}");
}
