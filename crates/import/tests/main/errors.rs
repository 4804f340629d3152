//! Diagnostics: all problems together, each with its node, operator, reason and hint.

use npukit_graph::OpError;
use npukit_import::Format;
use npukit_import::onnx::proto::{
    NodeProto, SparseTensorProto, StringStringEntryProto, TensorProto, attribute_type, data_type,
};
use npukit_import::onnx::{ImportError, Options, Reason, read};

use crate::model::{Model, With, attribute, float_tensor, floats, node, unary, value_info};

fn relu(input: &str, output: &str) -> NodeProto {
    node("Relu", &[input], &[output])
}

/// `y = x + c` with the tensor given.
fn with_tensor(tensor: TensorProto) -> Model {
    unary(13, &[1], node("Add", &["x", "c"], &["y"]), vec![tensor])
}

#[test]
fn all_problems_are_found_at_once() {
    let model = Model::new(13)
        .input("x", &[1, 2])
        .node(node("Strange", &["x"], &["a"]))
        .node(relu("a", "b"))
        .node(node("AlsoStrange", &["b"], &["c"]))
        .node(node("Softmax", &["x"], &["d"]).int("axis", 2))
        .node(relu("x", "e"))
        .output("c")
        .output("d")
        .output("e");
    let problems = model.problems();
    let found: Vec<(&str, &str)> = problems.iter().map(|p| (p.node.as_str(), p.op.as_str())).collect();
    assert_eq!(found, [("a", "Strange"), ("c", "AlsoStrange"), ("d", "Softmax")]);
    assert_eq!(problems[0].to_string(), r#"Strange "a": operator Strange is not supported"#);
    assert!(problems[0].hint.contains("replace the operator"));
    assert!(problems[2].reason.to_string().contains("legal: -2 to 1"), "{}", problems[2].reason);
    let error = model.import().unwrap_err();
    assert_eq!(error.to_string(), "3 parts of the model cannot be imported");
}

#[test]
fn nodes_are_called_by_their_name() {
    let mut strange = node("Strange", &["x"], &["y"]);
    strange.name = "block/strange".to_owned();
    strange.domain = "com.example".to_owned();
    let problem = unary(13, &[1], strange, vec![]).problems().remove(0);
    assert_eq!(problem.node, "block/strange");
    assert_eq!(problem.reason, Reason::Operator { operator: "com.example::Strange".to_owned() });
}

#[test]
fn cycles_name_their_nodes() {
    let model = Model::new(13)
        .input("x", &[1])
        .node(node("Add", &["x", "c"], &["a"]))
        .node(relu("a", "b"))
        .node(relu("b", "c"))
        .node(relu("c", "after"))
        .output("after");
    let Reason::Cycle { nodes } = model.reason() else { panic!("{}", model.reason()) };
    assert_eq!((nodes.first(), nodes.len()), (nodes.last(), 4));
    // Each node consumes a result of the node before it.
    let turns = [["a", "b"], ["b", "c"], ["c", "a"]];
    assert!(nodes.windows(2).all(|pair| turns.iter().any(|turn| turn == pair)), "{nodes:?}");
}

#[test]
fn a_node_that_consumes_itself_is_a_cycle() {
    let model = Model::new(13).node(relu("a", "a")).output("a");
    assert_eq!(model.reason(), Reason::Cycle { nodes: vec!["a".to_owned(), "a".to_owned()] });
}

#[test]
fn names_must_be_defined_once() {
    let undefined = |name: &str| Reason::Undefined { name: name.to_owned() };
    let duplicate = |name: &str| Reason::DuplicateName { name: name.to_owned() };
    assert_eq!(unary(13, &[1], relu("nowhere", "y"), vec![]).reason(), undefined("nowhere"));
    assert_eq!(Model::new(13).output("nothing").reason(), undefined("nothing"));
    let twice = unary(13, &[1], relu("x", "y"), vec![]).node(relu("x", "y"));
    assert_eq!(twice.reason(), duplicate("y"));
    let tensors = vec![float_tensor("c", &[1], &[0.0]); 2];
    assert_eq!(unary(13, &[1], relu("x", "y"), tensors).reason(), duplicate("c"));
    let inputs = unary(13, &[1], relu("x", "y"), vec![]).input("x", &[1]);
    assert_eq!(inputs.reason(), duplicate("x"));
    let taken = unary(13, &[1], relu("x", "y"), vec![]).input("y", &[1]);
    assert_eq!(taken.reason(), duplicate("y"));
}

#[test]
fn attributes_are_never_ignored() {
    let reason = |node: NodeProto| unary(13, &[2], node, vec![]).reason();
    let unknown = Reason::AttributeUnknown { name: "beta".to_owned(), opset: Some(13) };
    assert_eq!(reason(relu("x", "y").float("beta", 1.0)), unknown);
    let twice = Reason::AttributeTwice { name: "axis".to_owned() };
    assert_eq!(reason(node("Softmax", &["x"], &["y"]).int("axis", 0).int("axis", 0)), twice);
    let wrong = Reason::AttributeType { name: "axis", found: attribute_type::FLOAT, expected: "INT" };
    assert_eq!(reason(node("Softmax", &["x"], &["y"]).float("axis", 0.0)), wrong);
    assert_eq!(reason(node("Concat", &["x"], &["y"])), Reason::AttributeMissing { name: "axis" });
    let graph = attribute("body", attribute_type::GRAPH, |a| a.g = Some(vec![]));
    assert_eq!(reason(relu("x", "y").with(graph)), Reason::Subgraph { name: "body".to_owned() });
    let untyped = attribute("axis", 0, |a| a.i = Some(0));
    assert!(unary(13, &[2], node("Softmax", &["x"], &["y"]).with(untyped), vec![]).import().is_ok());
    // An attribute of an older opset.
    let legacy = node("Add", &["x", "x"], &["y"]).int("broadcast", 1);
    assert!(matches!(reason(legacy), Reason::AttributeUnknown { .. }));
}

#[test]
fn operands_are_never_ignored() {
    let reason = |node: NodeProto| unary(13, &[2], node, vec![]).reason();
    let unknown = Reason::OperandUnknown { index: 1, name: "x".to_owned(), opset: Some(13) };
    assert_eq!(reason(node("Relu", &["x", "x"], &["y"])), unknown);
    assert_eq!(reason(node("Add", &["x"], &["y"])), Reason::OperandMissing { operand: "B" });
    assert_eq!(reason(node("Add", &["", "x"], &["y"])), Reason::OperandMissing { operand: "A" });
    let computed = Reason::OperandNotConstant { operand: "shape" };
    assert_eq!(reason(node("Reshape", &["x", "x"], &["y"])), computed);
}

#[test]
fn shape_errors_come_from_the_graph() {
    let model =
        unary(13, &[1, 2], node("MatMul", &["x", "c"], &["y"]), vec![float_tensor("c", &[3, 1], &[0.0; 3])]);
    let reason = model.reason();
    assert!(matches!(reason, Reason::Shape(OpError::Size { .. } | OpError::Shapes { .. })), "{reason}");
}

#[test]
fn tensors_are_checked_against_their_data() {
    let wrong = with_tensor(float_tensor("c", &[3], &[1.0])).problems().remove(0);
    assert_eq!((wrong.node.as_str(), wrong.op.as_str()), ("c", "initializer"));
    assert_eq!(wrong.reason.to_string(), "the dimensions [3] need 12 bytes; 4 are present");
    let typed = TensorProto { raw_data: None, float_data: vec![1.0], ..float_tensor("c", &[2], &[]) };
    let reason = with_tensor(typed).reason();
    assert_eq!(reason, Reason::DataSize { shape: vec![2], expected: 2, found: 1, unit: "elements" });
    for dims in [&[-1][..], &[i64::MAX], &[i64::MIN, 0]] {
        let reason = with_tensor(float_tensor("c", dims, &[])).reason();
        assert!(matches!(reason, Reason::Dimension { axis: 0, .. }), "{reason}");
    }
    let reason = with_tensor(float_tensor("c", &[1 << 20, 1 << 20, 1 << 24], &[])).reason();
    let shape = vec![1 << 20, 1 << 20, 1 << 24];
    assert_eq!(reason, Reason::ConstantTooLarge { shape, elements: 1 << 64, limit: 1 << 28 });
    let reason = with_tensor(float_tensor("c", &[1; 33], &[1.0])).reason();
    assert_eq!(reason, Reason::Rank { rank: 33, limit: 32 });
}

#[test]
fn tensors_we_do_not_read_are_named() {
    let text = TensorProto { data_type: 8, ..float_tensor("c", &[1], &[1.0]) };
    assert_eq!(with_tensor(text).reason(), Reason::ElementType { name: "string".to_owned() });
    let unknown = TensorProto { data_type: -3, ..float_tensor("c", &[1], &[1.0]) };
    assert_eq!(with_tensor(unknown).reason(), Reason::ElementType { name: "-3".to_owned() });
    let location = StringStringEntryProto { key: "location".to_owned(), value: "../weights".to_owned() };
    let external =
        TensorProto { external_data: vec![location], data_location: 1, ..float_tensor("c", &[1], &[]) };
    let (location, reason) = ("../weights".to_owned(), "the path leaves the model's folder".to_owned());
    assert_eq!(with_tensor(external).reason(), Reason::ExternalData { location, reason });
    // The elements are declared external, but their location is missing.
    let nowhere = TensorProto { data_location: 1, ..float_tensor("c", &[1], &[1.0]) };
    let (location, reason) = (String::new(), "the path leaves the model's folder".to_owned());
    assert_eq!(with_tensor(nowhere).reason(), Reason::ExternalData { location, reason });
    let segment = TensorProto { segment: Some(vec![]), ..float_tensor("c", &[1], &[1.0]) };
    assert_eq!(with_tensor(segment).reason(), Reason::TensorKind { kind: "segmented" });
    let mut sparse = unary(13, &[1], node("Add", &["x", "c"], &["y"]), vec![]);
    let values = Some(float_tensor("c", &[1], &[1.0]));
    sparse.graph().sparse_initializer.push(SparseTensorProto { values });
    assert_eq!(sparse.reason(), Reason::TensorKind { kind: "sparse" });
}

#[test]
fn a_damaged_tensor_is_reported_once() {
    let model =
        with_tensor(float_tensor("c", &[3], &[1.0])).node(node("Mul", &["x", "c"], &["z"])).output("z");
    assert!(matches!(model.reason(), Reason::DataSize { .. }));
}

#[test]
fn inputs_are_checked() {
    let reason = unary(13, &[1, -2], relu("x", "y"), vec![]).reason();
    assert!(matches!(reason, Reason::Dimension { axis: 1, size: -2, .. }), "{reason}");
    let reason = unary(13, &[1 << 20, 1 << 20], relu("x", "y"), vec![]).reason();
    assert!(matches!(reason, Reason::TooLarge { .. }), "{reason}");
    let mut model = Model::new(13).node(relu("x", "y")).output("y");
    model.graph().input.push(value_info("x", data_type::FLOAT, &[]));
    model.graph().input[0].r#type = None;
    assert_eq!(model.reason(), Reason::NoShape);
    // A tensor without a shape is open, so the caller must state its shape.
    model.graph().input[0] = value_info("x", data_type::FLOAT, &[]);
    let tensor = model.graph().input[0].r#type.as_mut().unwrap().tensor_type.as_mut().unwrap();
    tensor.shape = None;
    let ImportError::OpenDimensions { inputs } = model.import().unwrap_err() else { panic!("open") };
    assert_eq!(inputs[0].dimensions, None);
    let shapes = [("x".to_owned(), vec![2, 3])].into();
    let graph = model.read(&Options { shapes, ..Options::default() }).unwrap().graph;
    assert_eq!(graph.shape(graph.outputs[0]), [2, 3]);
    model.graph().input[0] = value_info("x", 8, &[1]);
    assert_eq!(model.reason(), Reason::ElementType { name: "string".to_owned() });
}

#[test]
fn constants_out_of_proportion_are_refused_or_left_for_later() {
    let filled = |rows| {
        let filled = node("ConstantOfShape", &["s"], &["y"]);
        Model::new(13).ints("s", &[rows, 1 << 14]).node(filled).output("y")
    };
    assert_eq!(filled(1 << 6).import().unwrap().nodes.len(), 0);
    assert_eq!(filled(1 << 14).import().unwrap().nodes.len(), 1, "a repetition of one value");
    assert!(matches!(filled(1 << 15).reason(), Reason::TooLarge { .. }));
    // Each constant is small, but their sum exceeds the budget, so they stay unfolded.
    let mut model = Model::new(13).ints("s", &[1 << 12, 1 << 9]).output("c59");
    model = model.node(node("ConstantOfShape", &["s"], &["c0"]));
    for index in 1..60 {
        model = model.node(relu(&format!("c{}", index - 1), &format!("c{index}")));
    }
    let graph = model.import().unwrap();
    assert!(graph.nodes.len() > 50);
}

#[test]
fn one_list_used_again_and_again_does_not_cost_more_each_time() {
    let mut model = Model::new(13).input("x", &[2]).ints("list", &[0; 1 << 16]);
    for index in 0..200 {
        let name = format!("y{index}");
        model = model.node(node("Gather", &["x", "list"], &[&name])).output(&name);
    }
    let problems = model.problems();
    assert!(problems.iter().all(|problem| matches!(problem.reason, Reason::TooLarge { .. })));
    assert!((100..200).contains(&problems.len()), "{}", problems.len());
}

#[test]
fn constants_we_do_not_read_are_named() {
    let reason = |constant: NodeProto| Model::new(13).node(constant).output("y").reason();
    let constant = || node("Constant", &[], &["y"]);
    assert_eq!(reason(constant()), Reason::AttributeMissing { name: "value" });
    let text = reason(constant().string("value_string", "text"));
    assert_eq!(text, Reason::ElementType { name: "string".to_owned() });
    let sparse = attribute("sparse_value", 11, |_| {});
    assert_eq!(reason(constant().with(sparse)), Reason::TensorKind { kind: "sparse" });
}

#[test]
fn truncation_and_rubbish_are_told_apart() {
    let bytes = unary(13, &[1], relu("x", "y"), vec![]).bytes();
    let whole = bytes.len();
    let cut = read(&bytes[..whole - 6], "test", &Options::default()).unwrap_err();
    assert!(matches!(cut, ImportError::Truncated { .. }), "{cut}");
    let error = read(b"\x89PNG\r\n\x1a\n....", "test", &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::NotModel { .. } | ImportError::Truncated { .. }), "{error}");
    let error = read(b"", "test", &Options::default()).unwrap_err();
    assert_eq!(
        error,
        ImportError::NotModel { format: Format::Onnx, offset: 0, reason: "the file is empty".to_owned() }
    );
    let mut bad = bytes;
    let name = bad.windows(4).position(|window| window == b"Relu").unwrap();
    bad[name] = 0xff;
    let error = read(&bad, "test", &Options::default()).unwrap_err();
    let ImportError::NotModel { offset, .. } = error else { panic!("{error}") };
    assert_eq!(offset, name);
}

#[test]
fn deep_graphs_do_not_recurse() {
    let mut model = Model::new(13).input("n0", &[1]).output("n100000");
    for index in (0..100_000).rev() {
        model = model.node(relu(&format!("n{index}"), &format!("n{}", index + 1)));
    }
    assert_eq!(model.run(&[floats(&[1], &[2.0])]).1, [2.0]);
}

/// Reports of damaged names include the node and the byte offset.
#[test]
fn a_damaged_operator_names_its_node_and_its_byte() {
    let named = |name: &str, op: &str, input: &str, output: &str| NodeProto {
        name: name.to_owned(),
        ..node(op, &[input], &[output])
    };
    let model = Model::new(13).input("x", &[1]).node(named("first", "Relu", "x", "r"));
    let model = model.node(named("second", "Sigmoid", "r", "y")).output("y");
    let mut bytes = model.bytes();
    let place = bytes.windows(7).position(|window| window == b"Sigmoid").unwrap() + 3;
    bytes[place] = 0xFF;
    let error = read(&bytes, "test", &Options::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("not a valid ONNX file: byte {place}: the operator of node 1 (\"second\") is not UTF-8 text")
    );
}
