//! Forms of operators at different opsets, and the names in their errors. Results are worked out
//! manually from the operators' definitions.

use npukit_graph::op::Cast;
use npukit_graph::{Op, Operator, evaluate};
use npukit_import::Reason;
use npukit_import::onnx::proto::{NodeProto, TensorProto, data_type};

use crate::model::{
    Model, With, float_tensor, floats, int_tensor, node, shape_and_numbers, unary, value_info,
};

/// The values of the node's only output for `x` of shape `[2, 2]`.
fn run(opset: i64, node: NodeProto, constants: Vec<TensorProto>) -> (Vec<usize>, Vec<f32>) {
    unary(opset, &[2, 2], node, constants).run(&[floats(&[2, 2], &[1.0, -2.0, 3.0, 4.0])])
}

fn refused(opset: i64, node: NodeProto, constants: Vec<TensorProto>) -> Reason {
    unary(opset, &[2, 2], node, constants).reason()
}

#[test]
fn axes_of_reductions_are_attributes_then_operands() {
    let sum = |inputs: &[&str]| node("ReduceSum", inputs, &["y"]).int("keepdims", 0);
    let axes = || vec![int_tensor("a", &[1], &[-1])];
    assert_eq!(run(11, sum(&["x"]).ints("axes", &[-1]), vec![]), (vec![2], vec![-1.0, 7.0]));
    assert_eq!(run(13, sum(&["x", "a"]), axes()), (vec![2], vec![-1.0, 7.0]));
    assert_eq!(run(13, sum(&["x"]), vec![]), (vec![], vec![6.0]));
    let mean = |inputs: &[&str]| node("ReduceMean", inputs, &["y"]);
    assert_eq!(run(17, mean(&["x"]).ints("axes", &[0]), vec![]), (vec![1, 2], vec![2.0, 1.0]));
    assert_eq!(run(18, mean(&["x", "a"]), axes()), (vec![2, 1], vec![-0.5, 3.5]));
    let each = node("ReduceSumSquare", &["x"], &["y"]).int("noop_with_empty_axes", 1);
    assert_eq!(run(18, each, vec![]), (vec![2, 2], vec![1.0, 4.0, 9.0, 16.0]));
    let twice = refused(11, sum(&["x"]).ints("axes", &[1, -1]), vec![]);
    assert!(matches!(twice, Reason::AttributeValue { name: "axes", .. }), "{twice}");
}

#[test]
fn any_number_of_operands() {
    let row = || vec![float_tensor("r", &[2], &[0.0, 6.0])];
    let of = |op: &str| node(op, &["x", "r", "x"], &["y"]);
    assert_eq!(run(8, of("Sum"), row()).1, [2.0, 2.0, 6.0, 14.0]);
    assert_eq!(run(13, of("Max"), row()).1, [1.0, 6.0, 3.0, 6.0]);
    assert_eq!(run(13, of("Min"), row()).1, [0.0, -2.0, 0.0, 4.0]);
    let mean = node("Mean", &["x", "r"], &["y"]);
    assert_eq!(run(13, mean, row()).1, [0.5, 2.0, 1.5, 5.0]);
    for op in ["Max", "Mean", "Min", "Sum"] {
        let single = || node(op, &["x"], &["y"]);
        assert_eq!(run(13, single(), vec![]).1, [1.0, -2.0, 3.0, 4.0], "{op}");
        let graph = unary(13, &[2, 2], single(), vec![]).import().unwrap();
        assert!(!graph.nodes.iter().any(|node| matches!(node.op, Op::Binary(_))), "{op}: {graph}");
        assert_eq!(refused(13, node(op, &[], &["y"]), vec![]), Reason::OperandMissing { operand: "data_0" });
    }
}

#[test]
fn bounds_of_clip_may_be_computed() {
    let model = Model::new(13)
        .input("x", &[3])
        .input("low", &[1])
        .floats("high", &[], &[2.0])
        .node(node("Clip", &["x", "low", "high"], &["y"]))
        .output("y");
    let inputs = [floats(&[3], &[-5.0, 0.5, 9.0]), floats(&[1], &[-1.0])];
    assert_eq!(model.run(&inputs), (vec![3], vec![-1.0, 0.5, 2.0]));
    // A scalar bound is used directly; other bounds are reshaped to a scalar, so a scalar result
    // stays one.
    for (dims, nodes) in [(&[][..], 1), (&[1], 2), (&[1, 1], 2)] {
        let clip = node("Clip", &["x", "low"], &["y"]);
        let model = Model::new(13).input("x", &[]).input("low", dims).node(clip).output("y");
        let low: Vec<usize> = vec![1; dims.len()];
        assert_eq!(model.run(&[floats(&[], &[-5.0]), floats(&low, &[-1.0])]), (vec![], vec![-1.0]));
        assert_eq!(model.import().unwrap().nodes.len(), nodes, "{dims:?}");
    }
    // Too wide for a single precision bound, but exact nevertheless.
    let wide = vec![int_tensor("i", &[2], &[1 << 40, 3]), int_tensor("high", &[], &[(1 << 40) - 1])];
    let clip = node("Clip", &["i", "", "high"], &["y"]);
    let graph = Model::new(13).input("x", &[1]).node(clip).output("y");
    let mut graph = graph;
    graph.graph().initializer = wide;
    let graph = graph.import().unwrap();
    let clipped = graph.constant(graph.outputs[0]).unwrap();
    assert_eq!(clipped.as_i64(), Some(&[(1i64 << 40) - 1, 3][..]));
}

/// Constant bounds that fit make one node; a bound must be a single number.
#[test]
fn bounds_of_clip_are_numbers_of_any_type() {
    for (code, element) in [
        (data_type::FLOAT, "F32"),
        (data_type::INT64, "I64"),
        (data_type::INT32, "I32"),
        (data_type::UINT8, "U8"),
    ] {
        let bound = |name: &str, values: &[i32]| TensorProto {
            name: name.to_owned(),
            dims: if values.len() == 1 { vec![] } else { vec![values.len() as i64] },
            data_type: code,
            float_data: values.iter().map(|&value| value as f32).collect(),
            int64_data: values.iter().map(|&value| value.into()).collect(),
            int32_data: values.to_vec(),
            ..TensorProto::default()
        };
        let clip = |low: &[i32]| {
            let mut model = Model::new(13).node(node("Clip", &["x", "low", "high"], &["y"])).output("y");
            model.graph().input.push(value_info("x", code, &[3]));
            model.graph().initializer = vec![bound("low", low), bound("high", &[5])];
            model
        };
        let graph = clip(&[2]).import().unwrap();
        assert!(matches!(&graph.nodes[..], [node] if matches!(node.op, Op::Clip(_))), "{element}: {graph}");
        let kind = graph.value(graph.inputs[0]).info.element;
        let x = Cast::new(kind).eval(&[&floats(&[3], &[1.0, 3.0, 9.0])]).unwrap().remove(0);
        let found = evaluate(&graph, &[x.with_element(kind).unwrap()]).unwrap().remove(0);
        assert_eq!(shape_and_numbers(&found).1, [2.0, 3.0, 5.0], "{element}");
        let message = clip(&[2, 3]).reason().to_string();
        assert_eq!(message, "operand \"min\" is [2]; legal: one number", "{element}");
    }
}

#[test]
fn the_axis_of_a_transform_is_an_attribute_then_an_operand() {
    let x = floats(&[1, 4, 1], &[1.0, 2.0, 3.0, 5.0]);
    let run = |opset, node: NodeProto, constants| {
        let (shape, values) = unary(opset, &[1, 4, 1], node, constants).run(std::slice::from_ref(&x));
        (shape, values.iter().map(|value| value.round() as i32).collect::<Vec<_>>())
    };
    let expected = (vec![1, 3, 2], vec![11, 0, -2, 3, -3, 0]);
    let dft = |inputs: &[&str]| node("DFT", inputs, &["y"]).int("onesided", 1);
    assert_eq!(run(17, dft(&["x"]).int("axis", 1), vec![]), expected);
    assert_eq!(run(17, dft(&["x"]), vec![]), expected);
    assert_eq!(run(20, dft(&["x", "", "a"]), vec![int_tensor("a", &[], &[1])]), expected);
    let shorter = run(20, node("DFT", &["x", "l"], &["y"]), vec![int_tensor("l", &[], &[2])]);
    assert_eq!(shorter, (vec![1, 2, 2], vec![3, 0, -1, 0]));
    let empty = unary(20, &[1, 4, 1], dft(&["x", "l"]), vec![int_tensor("l", &[], &[0])]).reason();
    assert!(matches!(empty, Reason::OperandValue { operand: "dft_length", .. }), "{empty}");
}

#[test]
fn softmax_flattens_before_opset_13() {
    let x = floats(&[1, 2, 2], &[0.0; 4]);
    let run = |opset, axis| {
        let node = node("LogSoftmax", &["x"], &["y"]).int("axis", axis);
        unary(opset, &[1, 2, 2], node, vec![]).run(std::slice::from_ref(&x)).1[0]
    };
    assert_eq!(run(11, 1), -4f32.ln());
    assert_eq!(run(13, 1), -2f32.ln());
}

#[test]
fn group_normalization_has_parameters_by_group_before_opset_21() {
    let normalize = |opset, scales: &[f32], biases: &[f32]| {
        let count = scales.len() as i64;
        let constants = vec![float_tensor("s", &[count], scales), float_tensor("b", &[count], biases)];
        let node =
            node("GroupNormalization", &["x", "s", "b"], &["y"]).int("num_groups", 2).float("epsilon", 0.0);
        unary(opset, &[1, 4, 1], node, constants).run(&[floats(&[1, 4, 1], &[0.0, 2.0, 5.0, 7.0])]).1
    };
    assert_eq!(normalize(18, &[2.0, 3.0], &[1.0, 5.0]), [-1.0, 3.0, 2.0, 8.0]);
    assert_eq!(normalize(21, &[2.0, 4.0, 3.0, 1.0], &[1.0, 0.0, 5.0, 6.0]), [-1.0, 4.0, 2.0, 7.0]);
    let model = |groups: i64| {
        let node = node("GroupNormalization", &["x", "x", "x"], &["y"]).int("num_groups", groups);
        unary(21, &[1, 4, 1], node, vec![]).reason().to_string()
    };
    let none = node("GroupNormalization", &["x", "x", "x"], &["y"]).int("num_groups", 0);
    let message = unary(18, &[1, 0, 1], none, vec![]).reason().to_string();
    assert_eq!(message, "attribute \"num_groups\" is 0; legal: a divisor of 0");
    for groups in [0, 3, -1] {
        assert_eq!(model(groups), format!("attribute \"num_groups\" is {groups}; legal: a divisor of 4"));
    }
}

#[test]
fn statistics_of_layer_normalization() {
    let outputs = ["y", "mean", "inverse"];
    for (output, expected) in [("mean", vec![-0.5, 3.5]), ("inverse", vec![1.0 / 1.5, 1.0 / 0.5])] {
        let layer = node("LayerNormalization", &["x", "s"], &outputs).float("epsilon", 0.0);
        let model =
            Model::new(17).input("x", &[2, 2]).floats("s", &[2], &[1.0, 1.0]).node(layer).output(output);
        assert_eq!(model.run(&[floats(&[2, 2], &[1.0, -2.0, 3.0, 4.0])]), (vec![2, 1], expected));
    }
}

#[test]
fn training_is_refused_by_name() {
    let truth = |name: &str| {
        let data = vec![1];
        TensorProto {
            data_type: data_type::BOOL,
            name: name.to_owned(),
            int32_data: data,
            ..TensorProto::default()
        }
    };
    let ratio = |value| float_tensor("r", &[], &[value]);
    let dropout = || node("Dropout", &["x", "r", "t"], &["y"]);
    let reason = refused(13, dropout(), vec![ratio(0.5), truth("t")]);
    let expected = "operand \"training_mode\" is Bool []; legal: false, unless the ratio is 0";
    assert_eq!(reason.to_string(), expected);
    assert_eq!(run(13, dropout(), vec![ratio(0.0), truth("t")]).1, [1.0, -2.0, 3.0, 4.0]);
    let mask = Model::new(13).input("x", &[2]).node(node("Dropout", &["x"], &["y", "m"])).output("m");
    assert_eq!(mask.run(&[floats(&[2], &[0.0, 5.0])]), (vec![2], vec![1.0, 1.0]));
}

#[test]
fn attributes_out_of_range() {
    let reason = refused(13, node("LRN", &["x"], &["y"]).int("size", 0), vec![]);
    assert!(matches!(reason, Reason::AttributeValue { name: "size", .. }), "{reason}");
    let reason = refused(20, node("Gelu", &["x"], &["y"]).string("approximate", "fast"), vec![]);
    assert!(matches!(reason, Reason::AttributeValue { name: "approximate", .. }), "{reason}");
    let reason = refused(22, node("LpNormalization", &["x"], &["y"]).int("p", 3), vec![]);
    assert!(matches!(reason, Reason::AttributeValue { name: "p", .. }), "{reason}");
    let constants =
        vec![int_tensor("s", &[], &[0]), int_tensor("l", &[], &[i64::MAX]), int_tensor("d", &[], &[1])];
    let reason = refused(13, node("Range", &["s", "l", "d"], &["y"]), constants);
    assert!(matches!(reason, Reason::OperandValue { .. }), "{reason}");
}

/// The mask holds numbers before opset 10, and truth values since.
#[test]
fn the_mask_of_a_dropout_is_one_everywhere() {
    for (opset, element) in [(9, npukit_numeric::ElementType::F32), (10, npukit_numeric::ElementType::Bool)] {
        let model = Model::new(opset).input("x", &[2]).node(node("Dropout", &["x"], &["y", "m"])).output("m");
        let found = evaluate(&model.import().unwrap(), &[floats(&[2], &[3.0, 4.0])]).unwrap().remove(0);
        assert_eq!((found.element(), shape_and_numbers(&found)), (element, (vec![2], vec![1.0, 1.0])));
    }
}

#[test]
fn a_transform_is_undone_by_its_inverse() {
    let dft = |opset: i64, inverse: i64, x: &[f32]| {
        let dft = node("DFT", &["x"], &["y"]).int("inverse", inverse);
        unary(opset, &[1, 2, 2], dft, vec![]).run(&[floats(&[1, 2, 2], x)]).1
    };
    for opset in [17, 20] {
        let forward = dft(opset, 0, &[1.0, 0.0, 3.0, 0.0]);
        let back = dft(opset, 1, &forward);
        let close =
            |found: &[f32], expected: &[f32]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(close(&forward, &[4.0, 0.0, -2.0, 0.0]), "{forward:?}");
        assert!(close(&back, &[1.0, 0.0, 3.0, 0.0]), "{back:?}");
    }
}
