//! Messages for users: positions of damage in a file, advice, truncated lists, and remarks on
//! accepted models.

use std::ops::Range;

use miette::Diagnostic;
use npukit_import::onnx::{Imported, Reason, Remark};
use npukit_import::tensorflow::proto::{Attr, ListValue};
use npukit_import::{Format, ImportError, NodeProblem, Options, onnx, tensorflow};

use crate::graph_def::{self, With as _};
use crate::model::{Model, With as _, float_tensor, node, unary, value_info};

/// A length-delimited field of a protobuf.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, content.len() as u8], content].concat()
}

/// Header of a field that declares a length beyond the end of the file.
fn cut(number: u8) -> Vec<u8> {
    vec![number << 3 | 2, 100]
}

fn of_onnx(bytes: &[u8]) -> ImportError {
    onnx::read(bytes, "test", &Options::default()).unwrap_err()
}

fn of_tensorflow(bytes: &[u8]) -> ImportError {
    tensorflow::read(bytes, "test", &Options::default()).unwrap_err()
}

#[test]
fn numbers_that_do_not_end_are_truncated_or_too_long() {
    let truncated = |present: usize| {
        let needed = present as u64 + 1;
        ImportError::Truncated { offset: 0, needed, present }
    };
    assert_eq!(of_onnx(&[0x88]), truncated(1), "the key alone");
    for count in 0..10 {
        let number = [&[8][..], &vec![0x80; count]].concat();
        assert_eq!(of_onnx(&number), truncated(count), "{count} bytes");
    }
    let text = "not a valid ONNX file: byte 0: a number of more than 10 bytes";
    for count in [10, 11] {
        let number = [&[8][..], &vec![0x80; count]].concat();
        assert_eq!(of_onnx(&number).to_string(), text, "{count} bytes");
    }
}

/// Damage within the outermost fields is reported with its byte in the file and the owner of the
/// field.
#[test]
fn damage_inside_a_file_is_found_at_its_byte() {
    let version = [8, 8];
    let relu = field(1, &field(4, b"Relu"));
    let model = |graph: &[u8]| [&version[..], &field(7, graph)].concat();
    let shown = |offset: usize, text: &str| format!("not a valid ONNX file: byte {offset}: {text}");
    let missing = "needs 100 bytes after its header, 0 are present";
    // After the version and the header of the graph.
    assert_eq!(of_onnx(&model(&cut(1))).to_string(), shown(4, &format!("a field {missing}")));
    assert_eq!(of_onnx(&model(&[0, 0])).to_string(), shown(4, "a field: 0 is not a field number of a model"));
    // In the second node, after its name.
    let second = |rest: &[u8]| model(&[&relu[..], &field(1, &[&field(3, b"n"), rest].concat())].concat());
    let place = 4 + relu.len() + 2 + 3;
    let text = format!("a field of node 1 (\"n\") {missing}");
    assert_eq!(of_onnx(&second(&cut(4))).to_string(), shown(place, &text));
    let text = "a field of node 1 (\"n\"): 0 is not a field number of a model";
    assert_eq!(of_onnx(&second(&[0, 0])).to_string(), shown(place, text));
    let text = "the operator of node 1 (\"n\") is not UTF-8 text";
    assert_eq!(of_onnx(&second(&field(4, b"R\xffu"))).to_string(), shown(place + 3, text));
    let graph = [field(1, &field(2, b"Relu")), field(1, &[field(1, b"n"), cut(2)].concat())].concat();
    let text = format!("not a valid TensorFlow file: byte 13: a field of node 1 (\"n\") {missing}");
    assert_eq!(of_tensorflow(&graph).to_string(), text);
}

/// A field of another type than the format's is reported with the field and the position after its
/// header.
#[test]
fn fields_of_another_kind_are_found_behind_their_header() {
    let not = |format, offset: usize, error: ImportError| match error {
        ImportError::NotModel { format: found, offset: place, .. } => {
            assert_eq!((found, place), (format, offset))
        }
        other => panic!("{other}"),
    };
    // The opsets, as a number.
    not(Format::Onnx, 3, of_onnx(&[8, 8, 8 << 3, 1]));
    // The name of a node, as a number.
    not(Format::TensorFlow, 3, of_tensorflow(&[0x0a, 2, 8, 1]));
    assert_eq!(of_onnx(&[8, 8]).to_string(), "not a valid ONNX file: byte 0: it does not hold a graph");
}

fn hint(format: Format, reason: Reason) -> String {
    let problem = NodeProblem::new(format, "n", "Op", reason);
    let help = problem.help().unwrap().to_string();
    assert_eq!(help, problem.hint, "the report shows it");
    help
}

#[test]
fn every_reason_says_what_to_do() {
    let name = || "n".to_owned();
    let broken = [
        Reason::OperandMissing { operand: "X" },
        Reason::OperandUnknown { index: 1, name: name(), opset: None },
        Reason::AttributeMissing { name: "axis" },
        Reason::AttributeType { name: "axis", found: 1, expected: "INT" },
        Reason::AttributeUnknown { name: name(), opset: None },
        Reason::AttributeTwice { name: name() },
        Reason::Undefined { name: name() },
        Reason::Name { name: name() },
        Reason::DuplicateName { name: name() },
        Reason::Cycle { nodes: vec![name()] },
    ];
    for reason in broken {
        let (onnx, tensorflow) = (hint(Format::Onnx, reason.clone()), hint(Format::TensorFlow, reason));
        assert!(onnx.contains("onnx.checker"), "{onnx}");
        assert!(tensorflow.contains("convert_variables_to_constants_v2"), "{tensorflow}");
    }
    let (found, legal) = (name(), name());
    for (reason, text) in [
        (Reason::Operator { operator: name() }, "outputs option"),
        (Reason::OperandNotConstant { operand: "X" }, "onnxsim"),
        (Reason::OperandValue { operand: "X", found: found.clone(), legal: legal.clone() }, "legal value"),
        (Reason::AttributeValue { name: "axis", found, legal }, "legal value"),
        (Reason::Subgraph { name: name() }, "control flow"),
        (Reason::Nesting { limit: 16 }, "control flow"),
        (Reason::Branches { taken: name(), other: name() }, "--const"),
        (Reason::Rounds, "--const"),
        (Reason::Given { found: name(), legal: name() }, "one number"),
        (Reason::Output { index: 1, name: name() }, "for inference"),
        (Reason::NoShape, "the shape of the input as an option"),
        (Reason::Dimension { axis: 0, size: -2, limit: 1 }, "the shape of the input as an option"),
        (Reason::Rank { rank: 33, limit: 32 }, "check the input shapes"),
        (Reason::TooLarge { shape: vec![], limit: 1 }, "check the input shapes"),
        (Reason::ConstantTooLarge { shape: vec![], elements: 2, limit: 1 }, "leave it to the host"),
        (
            Reason::InBranch {
                reason: Box::new(Reason::NoShape),
                branch: "else_branch",
                node: name(),
                inputs: vec!["sr".to_owned()],
            },
            "--const sr=NUMBER",
        ),
        (Reason::DataSize { shape: vec![], expected: 1, found: 2, unit: "bytes" }, "damaged"),
        (Reason::ElementType { name: name() }, "float32"),
        (Reason::ExternalData { location: name(), reason: name() }, "next to the model"),
        (Reason::TensorKind { kind: "sparse" }, "dense"),
    ] {
        let hint = hint(Format::Onnx, reason.clone());
        assert!(hint.contains(text), "{reason}: {hint}");
    }
}

#[test]
fn what_an_operator_does_not_have_is_told_with_the_opset() {
    let relu = |opset, inputs: &[&str]| unary(opset, &[1], node("Relu", inputs, &["y"]), vec![]);
    let message = relu(13, &["x", "x"]).reason().to_string();
    assert_eq!(message, r#"operand 1 ("x") is not one of the operator's at opset 13"#);
    let depth = unary(9, &[1], node("Relu", &["x"], &["y"]).int("depth", 1), vec![]);
    assert_eq!(depth.reason().to_string(), r#"attribute "depth" is not one of the operator's at opset 9"#);
    // TensorFlow's operators have no opset.
    let relu = graph_def::node("Relu", "y", &["x"]).int("depth", 1);
    let message = graph_def::Graph::default().input("x", &[1]).node(relu).reason().to_string();
    assert_eq!(message, r#"attribute "depth" is not one of the operator's"#);
}

#[test]
fn names_that_could_be_meant_are_listed_as_far_as_they_go() {
    let asked_for = |count: usize| {
        let mut model = Model::new(13).input("x", &[1]);
        for index in 0..count {
            let name = format!("y{index}");
            model = model.node(node("Relu", &["x"], &[&name])).output(&name);
        }
        let outputs = vec!["z".to_owned()];
        model.read(&Options { outputs, ..Options::default() }).unwrap_err().to_string()
    };
    let names = |count: usize| (0..count).map(|index| format!("\"y{index}\"")).collect::<Vec<_>>().join(", ");
    assert_eq!(asked_for(1), "the model has no value \"z\"; available: \"y0\"");
    assert_eq!(asked_for(24), format!("the model has no value \"z\"; available: {}", names(24)));
    assert_eq!(asked_for(25), format!("the model has no value \"z\"; available: {} and 1 more", names(24)));
    assert_eq!(asked_for(40), format!("the model has no value \"z\"; available: {} and 16 more", names(24)));
    let nothing = Model::new(13).input("x", &[1]).import().unwrap_err().to_string();
    assert!(nothing.ends_with("its values: none"), "{nothing}");
}

#[test]
fn remarks_list_their_inputs_as_far_as_they_go() {
    let remark = |count: usize| {
        let mut model = Model::new(13);
        for index in 0..count {
            let (from, to) = (format!("x{index}"), format!("y{index}"));
            model = model.input(&from, &[-1, 2]).node(node("Relu", &[&from], &[&to])).output(&to);
        }
        let Imported { remarks, .. } = model.read(&Options::default()).unwrap();
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].is_note(), "a batch of 1 is what most want");
        remarks[0].to_string()
    };
    assert_eq!(remark(1), "the batch of `x0` is open and taken as 1");
    let six = "the batch of `x0`, `x1`, `x2`, `x3`, `x4`, `x5`";
    assert_eq!(remark(6), format!("{six} is open and taken as 1"));
    assert_eq!(remark(7), format!("{six} and 1 more is open and taken as 1"));
    assert_eq!(remark(9), format!("{six} and 3 more is open and taken as 1"));
}

#[test]
fn an_output_that_is_named_twice_is_one() {
    let model = Model::new(13).input("x", &[1]).node(node("Relu", &["x"], &["y"]));
    let model = model.output("y").output("x").output("y").output("y");
    let read = |outputs: &[&str]| {
        let outputs = outputs.iter().map(|&name| name.to_owned()).collect();
        let options = Options { outputs, ..Options::default() };
        let none = |_: &str, _: Range<u64>| Err(String::new());
        npukit_import::read(&model.bytes(), "m", Format::Onnx, &options, &none).unwrap()
    };
    let names = |Imported { graph, .. }: &Imported| {
        graph.outputs.iter().map(|&id| graph.value(id).name.clone()).collect::<Vec<_>>()
    };
    let imported = read(&[]);
    assert_eq!(names(&imported), ["y", "x"]);
    assert!(imported.remarks[0].is_note());
    assert_eq!(
        imported.remarks[0].to_string(),
        "the outputs name `y` more than once; each output is given once"
    );
    let both = read(&["x", "x", "y", "y"]).remarks[0].to_string();
    assert_eq!(both, "the outputs name `x`, `y` more than once; each output is given once");
    assert_eq!(
        (names(&read(&["x", "y"])), read(&["y"]).remarks.len()),
        (vec!["x".to_owned(), "y".to_owned()], 0)
    );
}

/// Options without effect and doubtful coordinates require action; an open batch does not.
#[test]
fn only_an_open_batch_is_a_mere_note() {
    let nodes = vec!["n".to_owned()];
    for remark in [
        Remark::UnusedBatch { size: 2 },
        Remark::UnusedDimension { name: "n".to_owned() },
        Remark::Coordinates { op: "Resize", nodes, opset: 10 },
    ] {
        assert!(!remark.is_note(), "{remark}");
    }
}

#[test]
fn coordinates_are_remarked_by_operator() {
    let scales = float_tensor("s", &[4], &[1.0, 1.0, 2.0, 2.0]);
    let model = unary(9, &[1, 1, 2, 2], node("Upsample", &["x", "s"], &["u"]), vec![scales]).output("u");
    let model = model.node(node("Resize", &["u", "s"], &["y"])).node(node("Upsample", &["x", "s"], &["v"]));
    let Imported { remarks, .. } = model.output("v").read(&Options::default()).unwrap();
    let of = |op, nodes: &[&str]| {
        let nodes = nodes.iter().map(|&name| name.to_owned()).collect();
        Remark::Coordinates { op, nodes, opset: 9 }
    };
    assert_eq!(remarks, [of("Upsample", &["u", "v"]), of("Resize", &["y"])]);
}

/// A node of the cycle may have other operands before the one that closes it.
#[test]
fn a_cycle_is_found_beside_what_is_in_order() {
    let model = Model::new(13)
        .input("x", &[1])
        .node(node("Relu", &["x"], &["r"]))
        .node(node("Add", &["r", "b"], &["a"]))
        .node(node("Relu", &["a"], &["b"]))
        .output("b");
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(model.reason(), Reason::Cycle { nodes: names(&["a", "b", "a"]) });
    assert_eq!(model.reason().to_string(), "the nodes a -> b -> a form a cycle");
}

/// Messages about an attribute show its first values only: a damaged file may hold millions.
#[test]
fn long_lists_are_shown_by_their_beginning() {
    let many: Vec<i64> = (2..100).collect();
    let pool = graph_def::node("MaxPool", "y", &["x"]).ints("ksize", &many).string("padding", "VALID");
    let graph = graph_def::Graph::default().input("x", &[1, 4, 4, 1]);
    let message = graph.node(pool.ints("strides", &[1; 4])).reason().to_string();
    let legal = "4 numbers from 1 to 16777216, 1 for batch and channels";
    assert_eq!(message, format!("attribute \"ksize\" is [2, 3, 4, 5, 6, 7, 8, 9]; legal: {legal}"));
    let pool = node("MaxPool", &["x"], &["y"]).ints("kernel_shape", &many);
    let message = unary(13, &[1, 1, 4, 4], pool, vec![]).reason().to_string();
    let legal = "2 numbers from 1 to 16777216";
    assert_eq!(message, format!("attribute \"kernel_shape\" is [2, 3, 4, 5, 6, 7, 8, 9]; legal: {legal}"));
}

/// Supported attributes of a TensorFlow node and their kinds; other kinds are refused by name.
#[test]
fn attributes_of_another_kind_are_named() {
    let list = |list: ListValue| Attr::List(list);
    let kinds = [
        (Attr::S(b"VALID".to_vec()), "a string"),
        (Attr::I(1), "an integer"),
        (Attr::F(1.0), "a float"),
        (Attr::B(true), "a truth value"),
        (Attr::Type(1), "an element type"),
        (Attr::Shape(graph_def::shape(&[1])), "a shape"),
        (Attr::Tensor(Box::default()), "a tensor"),
        (Attr::Placeholder("p".to_owned()), "a function's parameter"),
        (Attr::Func(vec![]), "a function"),
        (list(ListValue { s: vec![b"1".to_vec()], ..ListValue::default() }), "a list"),
        (list(ListValue { f: vec![1.0], ..ListValue::default() }), "a list"),
        (list(ListValue { i: vec![1; 4], ..ListValue::default() }), "a list"),
    ];
    let pool = || graph_def::node("AvgPool", "y", &["x"]).ints("ksize", &[1; 4]).string("padding", "VALID");
    let image = || graph_def::Graph::default().input("x", &[1, 2, 2, 1]);
    let argument = || graph_def::node("ArgMax", "y", &["x", "axis"]);
    for (kind, found) in kinds {
        let strides = image().node(pool().with("strides", kind.clone()));
        let padding = image().node(pool().ints("strides", &[1; 4]).with("padding", kind.clone()));
        let integer = image().node(graph_def::node("Unpack", "y", &["x"]).with("axis", kind.clone()));
        let float = image().node(graph_def::node("LeakyRelu", "y", &["x"]).with("alpha", kind.clone()));
        let axes = image().integers("axes", &[1], &[1]);
        let flag = axes.node(graph_def::node("Max", "y", &["x", "axes"]).with("keep_dims", kind.clone()));
        let axis = image().integers("axis", &[], &[1]);
        let element = axis.node(argument().with("output_type", kind.clone()));
        let tensor = image().node(
            graph_def::node("Const", "y", &[]).with("value", kind.clone()).with("dtype", Attr::Type(1)),
        );
        let is_integers = matches!(&kind, Attr::List(list) if !list.i.is_empty());
        for (name, legal, graph, fits) in [
            ("strides", "a list of integers", strides, is_integers),
            ("padding", "a string", padding, matches!(kind, Attr::S(_))),
            ("axis", "an integer", integer, matches!(kind, Attr::I(_))),
            ("alpha", "a float", float, matches!(kind, Attr::F(_))),
            ("keep_dims", "a truth value", flag, matches!(kind, Attr::B(_))),
            ("output_type", "an element type", element, matches!(kind, Attr::Type(_))),
            ("value", "a tensor", tensor.outputs(&["y"]), matches!(kind, Attr::Tensor(_))),
        ] {
            if !fits {
                let message = graph.reason().to_string();
                assert_eq!(message, format!("attribute \"{name}\" is {found}; legal: {legal}"));
            }
        }
    }
}

/// Attributes with element types repeat the types of the operands, so lists of them are accepted.
#[test]
fn lists_of_element_types_are_no_attributes_of_concern() {
    let identities = |kinds: Attr| {
        let graph = graph_def::Graph::default().input("x", &[1]).input("z", &[1]);
        graph.node(graph_def::node("IdentityN", "y", &["x", "z"]).with("T", kinds))
    };
    assert_eq!(identities(Attr::List(ListValue::default())).import().unwrap().outputs.len(), 2);
    assert_eq!(identities(Attr::Type(1)).import().unwrap().outputs.len(), 2);
    let unknown = Reason::AttributeUnknown { name: "T".to_owned(), opset: None };
    for list in [
        ListValue { i: vec![1], ..ListValue::default() },
        ListValue { f: vec![1.0], ..ListValue::default() },
        ListValue { s: vec![vec![]], ..ListValue::default() },
    ] {
        assert_eq!(identities(Attr::List(list)).reason(), unknown);
    }
}

/// A shape that the caller gives replaces an invalid shape in the model.
#[test]
fn a_given_shape_stands_for_one_that_makes_no_sense() {
    let mut model = Model::new(13).node(node("Relu", &["x"], &["y"])).output("y");
    model.graph().input.push(value_info("x", 1, &[2, -5]));
    assert!(matches!(model.reason(), Reason::Dimension { axis: 1, size: -5, .. }));
    let shapes = [("x".to_owned(), vec![2, 3])].into();
    let graph = model.read(&Options { shapes, ..Options::default() }).unwrap().graph;
    assert_eq!(graph.shape(graph.outputs[0]), [2, 3]);
}
