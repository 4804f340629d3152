//! Alternative names of operators: older names, names of a runtime, and operators that pass their
//! operands on.

use npukit_import::Reason;
use npukit_import::onnx::proto::{NodeProto, TensorProto, data_type};

use crate::graph_def;
use crate::graph_def::With as _;
use crate::model::{Model, With as _, float_tensor, floats, node, unary};

#[test]
fn operators_that_pass_their_operands_on_make_no_nodes() {
    for (name, node) in [
        ("CheckNumerics", graph_def::node("CheckNumerics", "same", &["x"]).string("message", "is finite")),
        ("EnsureShape", graph_def::node("EnsureShape", "same", &["x"])),
        ("Identity", graph_def::node("Identity", "same", &["x"])),
        ("IdentityN", graph_def::node("IdentityN", "same", &["x"])),
        ("PreventGradient", graph_def::node("PreventGradient", "same", &["x"]).string("message", "no")),
        ("ReadVariableOp", graph_def::node("ReadVariableOp", "same", &["x"])),
        ("Snapshot", graph_def::node("Snapshot", "same", &["x"])),
        ("StopGradient", graph_def::node("StopGradient", "same", &["x"])),
    ] {
        let graph = graph_def::Graph::default().input("x", &[2]).node(node);
        let graph = graph.node(graph_def::node("Neg", "y", &["same"]));
        assert_eq!(graph.import().unwrap().nodes.len(), 1, "{name}");
        assert_eq!(graph.run(&[floats(&[2], &[1.0, -2.0])]).1, [-1.0, 2.0], "{name}");
    }
    let waiting = graph_def::Graph::default().input("x", &[1]).node(graph_def::node("NoOp", "wait", &[]));
    let waiting = waiting.node(graph_def::node("Neg", "y", &["x", "^wait"]));
    assert_eq!(waiting.import().unwrap().nodes.len(), 1);
}

#[test]
fn older_names_mean_the_same_in_tensorflow() {
    let image = || {
        let graph = graph_def::Graph::default().input("x", &[1, 1, 1, 2]);
        graph.floats("one", &[2], &[1.0]).floats("b", &[2], &[3.0, 4.0])
    };
    let run = |graph: graph_def::Graph| graph.outputs(&["y"]).run(&[floats(&[1, 1, 1, 2], &[1.0, 2.0])]).1;
    for op in ["BiasAdd", "BiasAddV1"] {
        assert_eq!(run(image().node(graph_def::node(op, "y", &["x", "b"]))), [4.0, 6.0], "{op}");
    }
    for op in ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"] {
        // The variance is 1, and nothing is added.
        let norm = graph_def::node(op, "y", &["x", "b", "one", "one", "one"]).float("epsilon", 0.0);
        assert_eq!(run(image().node(norm.flag("is_training", false))), [1.0, 5.0], "{op}");
    }
    let placeholder = |op: &str| {
        let shape = graph_def::shape(&[1, 1, 1, 2]);
        let input =
            graph_def::node(op, "x", &[]).with("dtype", npukit_import::tensorflow::proto::Attr::Type(1));
        let input = input.with("shape", npukit_import::tensorflow::proto::Attr::Shape(shape));
        graph_def::Graph::default().node(input).node(graph_def::node("Neg", "y", &["x"]))
    };
    for op in ["Placeholder", "PlaceholderV2"] {
        assert_eq!(run(placeholder(op)), [-1.0, -2.0], "{op}");
    }
}

/// ONNX Runtime's quantization operators equal the standard's; other domains are unknown.
#[test]
fn domains_are_part_of_a_name() {
    let zero = TensorProto {
        name: "z".to_owned(),
        data_type: data_type::UINT16,
        int32_data: vec![7],
        ..TensorProto::default()
    };
    for domain in ["", "ai.onnx", "com.microsoft"] {
        let of = |op: &str, inputs: &[&str], output: &str| NodeProto {
            domain: domain.to_owned(),
            ..node(op, inputs, &[output])
        };
        let mut model = Model::new(21).floats("x", &[2], &[1.0, -2.0]).floats("s", &[], &[0.5]);
        model.graph().initializer.push(zero.clone());
        let model = model.node(of("QuantizeLinear", &["x", "s", "z"], "q"));
        let model = model.node(of("DequantizeLinear", &["q", "s", "z"], "y")).output("q").output("y");
        let found = npukit_graph::evaluate(&model.import().unwrap(), &[]).unwrap();
        let integers = crate::model::shape_and_numbers(&found[0]).1;
        assert_eq!((integers, found[1].as_f32()), (vec![9.0, 3.0], Some(&[1.0, -2.0][..])), "{domain:?}");
    }
    let strange = NodeProto { domain: "com.microsoft".to_owned(), ..node("Relu", &["x"], &["y"]) };
    let reason = unary(13, &[1], strange, vec![]).reason();
    assert_eq!(reason, Reason::Operator { operator: "com.microsoft::Relu".to_owned() });
}

/// Training features are refused by their value, not by their presence.
#[test]
fn attributes_of_training_are_accepted_as_long_as_they_are_off() {
    let one = || ["s", "b", "m", "v"].map(|name| float_tensor(name, &[1], &[1.0])).to_vec();
    let norm = |opset: i64, name: &str, value: i64| {
        let norm = node("BatchNormalization", &["x", "s", "b", "m", "v"], &["y"]).int(name, value);
        unary(opset, &[2, 1], norm.float("epsilon", 0.0), one())
    };
    let unstated = node("BatchNormalization", &["x", "s", "b", "m", "v"], &["y"]).float("epsilon", 0.0);
    let unstated = unary(7, &[2, 1], unstated, one());
    for model in [norm(15, "training_mode", 0), norm(7, "spatial", 1), unstated] {
        assert_eq!(model.run(&[floats(&[2, 1], &[3.0, 5.0])]).1, [3.0, 5.0]);
    }
    // In training, the operand's own statistics apply.
    assert_eq!(norm(15, "training_mode", 1).run(&[floats(&[2, 1], &[3.0, 5.0])]).1, [0.0, 2.0]);
    let message = norm(7, "spatial", 0).reason().to_string();
    assert_eq!(message, "attribute \"spatial\" is 0; legal: 1");
    let message = norm(9, "spatial", 1).reason().to_string();
    assert_eq!(message, "attribute \"spatial\" is not one of the operator's at opset 9");
}

/// Bytes are pooled directly: their maximum is one of them.
#[test]
fn maxima_of_bytes_are_bytes() {
    for (code, values, expected) in [
        (data_type::INT8, [-7, -3, 5, -128], [-3.0, 5.0]),
        (data_type::UINT8, [200, 3, 255, 7], [200.0, 255.0]),
    ] {
        let x = TensorProto {
            name: "c".to_owned(),
            dims: vec![1, 1, 1, 4],
            data_type: code,
            int32_data: values.to_vec(),
            ..TensorProto::default()
        };
        let pool = node("MaxPool", &["c"], &["y"]).ints("kernel_shape", &[1, 2]).ints("strides", &[1, 2]);
        let mut model = Model::new(12).node(pool).output("y");
        model.graph().initializer.push(x.clone());
        let found = npukit_graph::evaluate(&model.import().unwrap(), &[]).unwrap().remove(0);
        assert!(matches!(found.element(), npukit_numeric::ElementType::I8 | npukit_numeric::ElementType::U8));
        assert_eq!(crate::model::shape_and_numbers(&found).1, expected);
    }
}
