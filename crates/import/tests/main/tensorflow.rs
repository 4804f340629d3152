//! Frozen TensorFlow graphs: names, order, inputs and outputs, and reports of defects.
//! `tests/python` compares the results of operators with TensorFlow itself.

use npukit_graph::{Op, evaluate};
use npukit_import::tensorflow::proto::{Attr, TensorProto, TensorShapeProto};
use npukit_import::{Format, ImportError, Reason, tensorflow};
use npukit_numeric::Tensor;

use crate::graph_def::{FLOAT, Graph, With, names, node, shape};

/// Values of the graph's only output for one float input.
fn run(graph: &Graph, input_shape: &[usize], values: &[f32]) -> Vec<f32> {
    let graph = graph.import().unwrap();
    let input = Tensor::from_f32(input_shape.to_vec(), values.to_vec()).unwrap();
    evaluate(&graph, &[input]).unwrap()[0].as_f32().unwrap().to_vec()
}

fn small() -> Graph {
    Graph::default().input("x", &[-1, 2]).floats("two", &[], &[2.0])
}

#[test]
fn nodes_are_ordered_by_their_names() {
    let graph = Graph::default()
        .node(node("Identity", "Identity", &["sum:0", "^wait"]))
        .node(node("AddV2", "sum", &["product", "two"]))
        .node(node("Mul", "product", &["x", "two"]))
        .node(node("NoOp", "wait", &["^x"]))
        .floats("two", &[], &[2.0])
        .input("x", &[2]);
    assert_eq!(run(&graph, &[2], &[1.0, 5.0]), [4.0, 12.0]);
    let imported = graph.import().unwrap();
    assert_eq!(names(&imported, &imported.inputs), ["x"]);
    assert_eq!(names(&imported, &imported.outputs), ["Identity"]);
}

#[test]
fn outputs_are_what_nobody_consumes() {
    let graph = small()
        .node(node("Relu", "a", &["x"]))
        .node(node("Neg", "b", &["a"]))
        .node(node("Identity", "Identity", &["a"]))
        .node(node("Identity", "Identity_1", &["b"]))
        .node(node("Identity", "Identity_2", &["b"]));
    let imported = graph.import().unwrap();
    assert_eq!(names(&imported, &imported.outputs), ["Identity", "Identity_1", "Identity_2"]);
    let cut = graph.outputs(&["b:0", "a"]).import().unwrap();
    assert_eq!(names(&cut, &cut.outputs), ["b:0", "a"]);
}

/// Names of all values, and whether their nodes have the same name.
#[test]
fn values_are_called_as_their_nodes() {
    let graph = small()
        .node(node("Identity", "same", &["x"]))
        .node(node("Mul", "product", &["same", "two"]))
        .node(node("IdentityN", "both", &["product", "product"]))
        .node(node("Neg", "y", &["both:1"]))
        .node(node("Square", "z", &["both"]));
    let imported = graph.import().unwrap();
    assert_eq!(names(&imported, &imported.inputs), ["x"]);
    assert_eq!(names(&imported, &imported.outputs), ["y", "z"]);
    let results: Vec<_> = imported.nodes.iter().flat_map(|node| names(&imported, &node.outputs)).collect();
    assert_eq!(results, ["product", "y", "z"]);
}

/// Inputs and constants keep their names, and an output cannot be renamed again.
#[test]
fn outputs_under_another_name_are_copies() {
    let graph = small()
        .node(node("Relu", "r", &["x"]))
        .node(node("Identity", "input", &["x"]))
        .node(node("Identity", "constant", &["two"]))
        .node(node("Identity", "first", &["r"]))
        .node(node("Identity", "second", &["r"]));
    let all = ["input", "constant", "first", "second"];
    let imported = graph.clone().outputs(&all).import().unwrap();
    assert_eq!(names(&imported, &imported.inputs), ["x"]);
    assert_eq!(names(&imported, &imported.outputs), all);
    let nodes: Vec<&str> = imported.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(nodes, ["r", "input", "second"], "the first has taken the result's place");
    let x = Tensor::from_f32(vec![1, 2], vec![-1.0, 3.0]).unwrap();
    let found = evaluate(&imported, &[x]).unwrap();
    let values: Vec<&[f32]> = found.iter().map(|value| value.as_f32().unwrap()).collect();
    assert_eq!(values, [&[-1.0, 3.0][..], &[2.0], &[0.0, 3.0], &[0.0, 3.0]]);
    // The passed-through name is one of the wanted ones.
    let kept = graph.outputs(&["first", "r"]).import().unwrap();
    assert_eq!(names(&kept, &kept.outputs), ["first", "r"]);
}

#[test]
fn results_that_a_node_has_not_are_no_outputs() {
    let problems = small().node(node("Relu", "y", &["x"])).outputs(&["y:3"]).problems();
    assert_eq!((problems[0].node.as_str(), problems[0].op.as_str()), ("y:3", "output"));
    assert_eq!(problems[0].reason, Reason::Output { index: 3, name: "y:3".to_owned() });
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_graph_without_an_end_says_so() {
    let nothing = small().import().unwrap_err();
    assert!(
        matches!(&nothing, ImportError::NoOutputs { available } if available == &["two", "x"]),
        "{nothing}"
    );
    let unknown = small().outputs(&["y"]).import().unwrap_err();
    assert!(matches!(unknown, ImportError::UnknownName { kind: "value", .. }), "{unknown}");
}

#[test]
fn results_have_numbers() {
    let split = node("Split", "parts", &["axis", "x"]).int("num_split", 2);
    let graph = small().integers("axis", &[], &[1]).node(split);
    let all = graph.import().unwrap();
    assert_eq!(names(&all, &all.outputs), ["parts", "parts:1"]);
    let second = graph.clone().node(node("Neg", "n", &["parts:1"]));
    assert_eq!(run(&second, &[1, 2], &[1.0, 5.0]), [-5.0]);
    let third = graph.node(node("Neg", "n", &["parts:2"])).problems();
    assert_eq!(third[0].reason, Reason::Output { index: 2, name: "parts:2".to_owned() });
}

#[test]
fn only_inputs_that_are_needed_are_inputs() {
    let graph = small().input("unused", &[3]).node(node("Mul", "y", &["x", "two"]));
    let imported = graph.outputs(&["y"]).import().unwrap();
    assert_eq!(names(&imported, &imported.inputs), ["x"]);
}

#[test]
fn open_dimensions_and_shapes_come_from_the_caller() {
    let mut graph = small().node(node("Mul", "y", &["x", "two"]));
    graph.options.batch = Some(3);
    assert_eq!(graph.import().unwrap().shape(npukit_graph::ValueId(0)).len(), 2);
    assert_eq!(run(&graph, &[3, 2], &[1.0; 6]), [2.0; 6]);
    graph.options.shapes.insert("x:0".to_owned(), vec![1, 4]);
    assert_eq!(run(&graph, &[1, 4], &[1.0; 4]), [2.0; 4]);
    graph.options.shapes.clear();
    graph = graph.input("image", &[-1, -1, -1, 3]).node(node("Relu", "r", &["image"]));
    let error = graph.import().unwrap_err().to_string();
    assert_eq!(error, "the model leaves input sizes open: axis 1 of \"image\", axis 2 of \"image\"");
    graph.options.shapes.insert("image".to_owned(), vec![1, 4, 4, 3]);
    graph.import().unwrap();
    graph.options.shapes.insert("two".to_owned(), vec![]);
    let error = graph.import().unwrap_err();
    assert!(
        matches!(&error, ImportError::UnknownName { kind: "input", available, .. } if available == &["x", "image"])
    );
}

#[test]
fn an_input_of_unknown_rank_is_open_until_somebody_says_its_shape() {
    let unknown = TensorShapeProto { dim: Vec::new(), unknown_rank: true };
    let placeholder = node("Placeholder", "x", &[]).with("dtype", Attr::Type(FLOAT));
    for x in [placeholder.clone(), placeholder.with("shape", Attr::Shape(unknown))] {
        let mut graph = Graph::default().node(x).floats("two", &[], &[2.0]);
        graph = graph.node(node("Mul", "y", &["x", "two"]));
        let ImportError::OpenDimensions { inputs } = graph.import().unwrap_err() else { panic!("open") };
        assert_eq!((inputs[0].name.as_str(), &inputs[0].dimensions), ("x", &None));
        graph.options.samples.insert("x".to_owned(), vec![5, 2]);
        let by_sample = graph.import().unwrap();
        assert_eq!(by_sample.shape(by_sample.inputs[0]), [1, 2], "five samples");
        graph.options.shapes.insert("x".to_owned(), vec![1, 2]);
        assert_eq!(run(&graph, &[1, 2], &[1.0, 2.0]), [2.0, 4.0]);
    }
}

#[test]
fn defaults_stand_unless_a_shape_is_given() {
    let default = node("PlaceholderWithDefault", "scale", &["two"]);
    let mut graph = small().node(default).node(node("Mul", "y", &["x", "scale"]));
    assert_eq!(run(&graph, &[1, 2], &[1.0, 2.0]), [2.0, 4.0]);
    graph.options.shapes.insert("scale".to_owned(), vec![2]);
    let imported = graph.import().unwrap();
    assert_eq!(names(&imported, &imported.inputs), ["x", "scale"]);
}

#[test]
fn all_unknown_operators_are_named_at_once() {
    let problems = small()
        .node(node("StringLower", "top", &["x", "two"]))
        .node(node("Mul", "between", &["top", "two"]))
        .node(node("DecodeJpeg", "loop", &["between"]))
        .node(node("Svd", "apart", &["x", "two"]))
        .problems();
    let found: Vec<_> = problems.iter().map(|problem| (problem.node.as_str(), problem.op.as_str())).collect();
    assert_eq!(found, [("top", "StringLower"), ("loop", "DecodeJpeg"), ("apart", "Svd")]);
    assert!(problems.iter().all(|problem| problem.hint.contains("outputs")));
}

#[test]
fn defects_name_their_node() {
    let reason = |graph: Graph| graph.problems().remove(0).reason;
    let missing = reason(small().node(node("Mul", "y", &["x", "three"])));
    assert_eq!(missing, Reason::Undefined { name: "three".to_owned() });
    let twice = reason(small().node(node("Relu", "x", &["two"])).node(node("Relu", "y", &["x"])));
    assert_eq!(twice, Reason::DuplicateName { name: "x".to_owned() });
    let name = reason(small().node(node("Relu", "a:1", &["x"])));
    assert_eq!(name, Reason::Name { name: "a:1".to_owned() });
    let extra = reason(small().node(node("Relu", "y", &["x", "two"])));
    assert_eq!(extra, Reason::OperandUnknown { index: 1, name: "two".to_owned(), opset: None });
    let strange = reason(small().node(node("Relu", "y", &["x"]).int("depth", 3)));
    assert_eq!(strange, Reason::AttributeUnknown { name: "depth".to_owned(), opset: None });
    let kind = reason(small().node(node("LeakyRelu", "y", &["x"]).int("alpha", 3)));
    assert!(matches!(kind, Reason::AttributeValue { name: "alpha", .. }), "{kind}");
    let notes = small().node(node("Relu", "y", &["x"]).int("_device", 3));
    assert!(notes.import().is_ok());
}

#[test]
fn cycles_are_reported() {
    let graph = small()
        .node(node("Relu", "a", &["c"]))
        .node(node("Relu", "b", &["a"]))
        .node(node("Relu", "c", &["b"]))
        .node(node("Relu", "y", &["c"]));
    let problems = graph.problems();
    assert!(matches!(&problems[0].reason, Reason::Cycle { nodes } if nodes.len() == 4), "{problems:?}");
    // A control dependency on the node itself has no effect.
    assert!(small().node(node("Relu", "y", &["x", "^y"])).import().is_ok());
}

#[test]
fn constants_repeat_their_last_element() {
    let graph = small().floats("c", &[3, 2], &[1.0, 2.0]).node(node("Mul", "y", &["x", "c"]));
    assert_eq!(run(&graph, &[1, 2], &[1.0, 1.0]), [1.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
    let empty = small().floats("c", &[2], &[]).node(node("AddV2", "y", &["x", "c"]));
    assert_eq!(run(&empty, &[1, 2], &[1.0, 3.0]), [1.0, 3.0]);
    let many = small().floats("c", &[2], &[1.0; 3]).node(node("Mul", "y", &["x", "c"])).problems();
    assert!(matches!(many[0].reason, Reason::DataSize { expected: 2, found: 3, .. }), "{many:?}");
    let content = TensorProto {
        dtype: 1,
        tensor_shape: Some(shape(&[2])),
        tensor_content: vec![0; 7],
        ..TensorProto::default()
    };
    let short = small().constant("c", content).node(node("Mul", "y", &["x", "c"])).problems();
    assert!(matches!(short[0].reason, Reason::DataSize { expected: 8, found: 7, .. }), "{short:?}");
}

#[test]
fn repeated_elements_are_charged() {
    // Ten bytes in the file for a gigabyte of elements.
    let graph = small().floats("c", &[1 << 28], &[1.0]).node(node("Mul", "y", &["c", "two"]));
    assert!(matches!(graph.problems()[0].reason, Reason::TooLarge { .. }));
}

#[test]
fn results_are_charged() {
    let split = node("Split", "y", &["axis", "x"]).int("num_split", 1 << 28);
    let graph = Graph::default().input("x", &[1 << 28]).integers("axis", &[], &[0]).node(split);
    assert!(matches!(graph.problems()[0].reason, Reason::TooLarge { .. }));
    let unpack = Graph::default().input("x", &[1 << 28]).node(node("Unpack", "y", &["x"]));
    assert!(matches!(unpack.problems()[0].reason, Reason::TooLarge { .. }));
}

/// SpaceToBatchND, a convolution and BatchToSpaceND, with these crops.
fn blocks(crops: &[i32]) -> Graph {
    let conv =
        node("Conv2D", "conv", &["cut", "w"]).ints("strides", &[1, 1, 1, 1]).string("padding", "VALID");
    Graph::default()
        .input("x", &[1, 7, 7, 2])
        .integers("block", &[2], &[2, 2])
        .integers("pads", &[2, 2], &[2, 3, 2, 3])
        .integers("crops", &[2, 2], crops)
        .floats("w", &[3, 3, 2, 1], &[0.5, -1.0, 2.0])
        .node(node("SpaceToBatchND", "cut", &["x", "block", "pads"]))
        .node(conv)
        .node(node("BatchToSpaceND", "y", &["conv", "block", "crops"]))
}

#[test]
fn blocks_around_a_convolution_are_its_dilation() {
    let imported = blocks(&[0, 1, 0, 1]).import().unwrap();
    let ops: Vec<&Op> = imported.nodes.iter().map(|node| &node.op).collect();
    let [Op::Conv(conv)] = ops[..] else { panic!("{ops:?}") };
    assert_eq!((conv.dilations, conv.pads), ([2, 2], [2, 2, 2, 2]));
    // If more is cropped than padded, the operators are kept, with the same values.
    let literal = blocks(&[3, 1, 0, 1]).import().unwrap();
    assert!(literal.nodes.len() > 3);
    let x: Vec<f32> = (0..98).map(|value| (value % 13) as f32).collect();
    let (all, part) =
        (run(&blocks(&[0, 1, 0, 1]), &[1, 7, 7, 2], &x), run(&blocks(&[3, 1, 0, 1]), &[1, 7, 7, 2], &x));
    assert_eq!(all[3 * 7..], part);
}

#[test]
fn content_tells_formats_apart() {
    let graph = small().node(node("Relu", "y", &["x"])).bytes();
    assert_eq!(Format::of("model.pb", &graph), Some(Format::TensorFlow));
    assert_eq!(Format::of("model.onnx", &graph), Some(Format::TensorFlow));
    assert_eq!(Format::of("model", &graph), Some(Format::TensorFlow));
    // An ONNX model begins with a version.
    assert_eq!(Format::of("model.pb", &[8, 7]), Some(Format::Onnx));
    assert_eq!(Format::of("model.pb", &[]), Some(Format::TensorFlow));
    assert_eq!(Format::of("model.txt", b"\n{}"), None);
}

#[test]
fn other_protobufs_are_refused() {
    let refused =
        |bytes: &[u8]| tensorflow::read(bytes, "test", &Default::default()).unwrap_err().to_string();
    // A SavedModel: version 1, then a meta graph.
    assert!(refused(&[8, 1, 18, 0]).contains("SavedModel"), "{}", refused(&[8, 1, 18, 0]));
    assert!(refused(&[]).contains("empty"));
    assert!(refused(&[34, 0]).contains("no nodes"));
}

/// A control dependency is not an operand.
#[test]
fn what_has_no_outcome_is_no_operand() {
    let graph = small().node(node("NoOp", "wait", &["^x"])).node(node("Relu", "y", &["wait"]));
    let message = graph.outputs(&["y"]).reason().to_string();
    assert_eq!(message, "result 0 (\"wait\") is used but not supported");
}
