//! Names, order, inputs and outputs of the imported graph.

use std::collections::BTreeMap;

use npukit_graph::Graph;
use npukit_import::onnx::proto::{OperatorSetIdProto, data_type};
use npukit_import::onnx::{ImportError, Options, Reason, Remark, operators, read};

use crate::model::{Model, With, floats, node, unary, value_info};

fn names(graph: &Graph) -> (Vec<&str>, Vec<&str>) {
    let names = |ids: &[npukit_graph::ValueId]| ids.iter().map(|&id| graph.value(id).name.as_str()).collect();
    (names(&graph.inputs), names(&graph.outputs))
}

/// Adds `a` and `b` to `sum`, which is passed to `last`.
fn chain() -> Model {
    Model::new(13)
        .input("a", &[-1, 2])
        .input("b", &[2])
        .node(node("Relu", &["sum"], &["last"]))
        .node(node("Add", &["a", "b"], &["sum"]))
        .output("last")
        .output("sum")
}

#[test]
fn inputs_and_outputs_keep_names_and_order() {
    // The file has the consumer first.
    let graph = chain().import().unwrap();
    assert_eq!(names(&graph), (vec!["a", "b"], vec!["last", "sum"]));
    let nodes: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(nodes, ["sum", "last"]);
    assert_eq!(graph.name, "test");
}

#[test]
fn open_dimensions_and_shapes_come_from_the_options() {
    let shape = |options: &Options| {
        let graph = read(&chain().bytes(), "test", options).unwrap().graph;
        graph.shape(graph.inputs[0]).to_vec()
    };
    assert_eq!(shape(&Options::default()), [1, 2]);
    assert_eq!(shape(&Options { batch: Some(8), ..Options::default() }), [8, 2]);
    let shapes = BTreeMap::from([("a".to_owned(), vec![3, 2])]);
    assert_eq!(shape(&Options { shapes, ..Options::default() }), [3, 2]);
    let shapes = BTreeMap::from([("c".to_owned(), vec![3, 2])]);
    let error = read(&chain().bytes(), "test", &Options { shapes, ..Options::default() }).unwrap_err();
    assert_eq!(error.to_string(), r#"the model has no input "c"; available: "a", "b""#);
}

/// Height and width do not have a default: an image of one pixel would be another network.
#[test]
fn only_a_batch_is_made_up() {
    let mut image = value_info("x", data_type::FLOAT, &[-1, 3, -1, -1]);
    let shape = image.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape.as_mut().unwrap();
    for (dim, name) in shape.dim.iter_mut().zip(["?", "", "?", "?"]) {
        dim.dim_param = Some(name.to_owned()).filter(|_| dim.dim_value.is_none());
    }
    let mut model = Model::new(13).node(node("Relu", &["x"], &["y"])).output("y");
    model.graph().input.push(image);
    let error = model.import().unwrap_err();
    let text = "the model leaves input sizes open: axis 2 of \"x\", axis 3 of \"x\"";
    assert_eq!(error.to_string(), text);
    // Placeholders that exporters write instead of a name are independent of each other.
    let shapes = BTreeMap::from([("x".to_owned(), vec![1, 3, 48, 192])]);
    let imported = model.read(&Options { shapes, ..Options::default() }).unwrap();
    assert_eq!(imported.graph.shape(imported.graph.inputs[0]), [1, 3, 48, 192]);
    assert_eq!(imported.remarks, []);
    let samples = BTreeMap::from([("x".to_owned(), vec![7, 3, 48, 192])]);
    let imported = model.read(&Options { samples, ..Options::default() }).unwrap();
    assert_eq!(imported.graph.shape(imported.graph.inputs[0]), [1, 3, 48, 192]);
    assert_eq!(imported.remarks, [Remark::OpenBatch { inputs: vec!["x".to_owned()] }]);
}

#[test]
fn outputs_can_be_chosen() {
    let model = chain().node(node("Mystery", &["last"], &["after"])).output("after");
    assert!(matches!(model.reason(), Reason::Operator { .. }));
    let read = |name: &str| {
        let options = Options { outputs: vec![name.to_owned()], ..Options::default() };
        read(&model.bytes(), "test", &options)
    };
    let graph = read("sum").unwrap().graph;
    assert_eq!((names(&graph).1, graph.nodes.len()), (vec!["sum"], 1));
    let error = read("nothing").unwrap_err();
    assert!(
        matches!(&error, ImportError::UnknownName { available, .. } if available == &["last", "sum", "after"])
    );
}

#[test]
fn identities_do_not_cost_names() {
    let model = Model::new(13)
        .input("x", &[1])
        .node(node("Relu", &["x"], &["r"]))
        .node(node("Identity", &["r"], &["y"]))
        .node(node("Identity", &["r"], &["z"]))
        .output("y")
        .output("z");
    let graph = model.import().unwrap();
    assert_eq!(names(&graph).1, ["y", "z"]);
    let nodes: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(nodes, ["r", "z"], "the second output is a copy");
    let outputs = npukit_graph::evaluate(&graph, &[floats(&[1], &[3.0])]).unwrap();
    assert_eq!(outputs, [floats(&[1], &[3.0]), floats(&[1], &[3.0])]);
}

#[test]
fn results_that_nobody_named_have_a_name() {
    let split = node("Split", &["x"], &["", "y"]).int("axis", 0).ints("split", &[1, 2]);
    let graph = unary(11, &[3], split, vec![]).import().unwrap();
    let values: Vec<&str> = graph.values.iter().map(|value| value.name.as_str()).collect();
    assert!(values.iter().all(|name| !name.is_empty()), "{values:?}");
    assert_eq!(names(&graph).1, ["y"]);
}

#[test]
fn values_and_nodes_have_unique_names() {
    let pool = |input: &str, output: &str| {
        let mut pool = node("MaxPool", &[input], &[output]).ints("kernel_shape", &[1, 1]);
        pool.name = "pool".to_owned();
        pool
    };
    let model = Model::new(13)
        .input("x", &[1, 1, 2, 2])
        .node(pool("x", "x/nhwc"))
        .node(pool("x/nhwc", "pool/nchw"))
        .output("pool/nchw");
    let graph = model.import().unwrap();
    let mut values: Vec<&str> = graph.values.iter().map(|value| value.name.as_str()).collect();
    let mut nodes: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    for names in [&mut values, &mut nodes] {
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}

#[test]
fn initializers_listed_as_inputs_are_no_inputs() {
    let mut model = Model::new(7).floats("c", &[1], &[1.0]).input("x", &[1]).input("c", &[1]);
    model.proto.ir_version = 3;
    let model = model.node(node("Add", &["x", "c"], &["y"])).output("y");
    let graph = model.import().unwrap();
    assert_eq!(names(&graph), (vec!["x"], vec!["y"]));
}

#[test]
fn versions_are_checked() {
    let relu = || unary(13, &[1], node("Relu", &["x"], &["y"]), vec![]);
    let mut model = relu();
    model.proto.ir_version = 2;
    assert_eq!(model.import().unwrap_err(), ImportError::IrVersion { found: 2, oldest: 3, newest: 14 });
    for found in [6, 99, -1] {
        let mut model = relu();
        model.proto.opset_import[0].version = found;
        assert_eq!(model.import().unwrap_err(), ImportError::Opset { found, oldest: 7, newest: 28 });
    }
    let mut model = relu();
    model.proto.opset_import[0].domain = "ai.onnx.ml".to_owned();
    assert_eq!(model.import().unwrap_err(), ImportError::NoOpset);
    model.proto.opset_import.push(OperatorSetIdProto { domain: "ai.onnx".to_owned(), version: 13 });
    assert!(model.import().is_ok());
}

#[test]
fn inputs_of_other_types_keep_them() {
    let mut model =
        Model::new(13).node(node("Cast", &["i"], &["y"]).int("to", data_type::FLOAT.into())).output("y");
    model.graph().input.push(value_info("i", data_type::INT64, &[2]));
    let graph = model.import().unwrap();
    assert_eq!(graph.value(graph.inputs[0]).info.element, npukit_numeric::ElementType::I64);
}

#[test]
fn an_output_may_be_listed_twice() {
    let graph = unary(13, &[1], node("Relu", &["x"], &["y"]), vec![]).output("y").import().unwrap();
    assert_eq!(names(&graph).1, ["y", "y"]);
    graph.validate().unwrap();
}

#[test]
fn inputs_and_constants_may_be_outputs() {
    let graph =
        Model::new(13).input("x", &[1]).floats("c", &[1], &[2.0]).output("x").output("c").import().unwrap();
    let outputs = npukit_graph::evaluate(&graph, &[floats(&[1], &[3.0])]).unwrap();
    assert_eq!(outputs, [floats(&[1], &[3.0]), floats(&[1], &[2.0])]);
}

#[test]
fn operators_are_listed_once() {
    let names: Vec<&str> = operators().collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
    assert!(names.contains(&"Conv") && names.contains(&"Upsample"));
}
