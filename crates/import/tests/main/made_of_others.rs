//! Operators that become others, sequences that become values, and functions that become their
//! nodes. `tests/python/node_cases.py` runs the standard's own cases of each.

use npukit_graph::Operator;
use npukit_import::onnx::Reason;
use npukit_import::onnx::proto::{AttributeProto, FunctionProto, NodeProto, TensorProto};

use crate::model::{Model, With, float_tensor, floats, int_tensor, node, unary};

/// Shape and values of a node for `x`; its other operands are constants.
fn run(
    opset: i64,
    x: (&[i64], &[f32]),
    node: NodeProto,
    constants: Vec<TensorProto>,
) -> (Vec<usize>, Vec<f32>) {
    let shape: Vec<usize> = x.0.iter().map(|&size| size as usize).collect();
    unary(opset, x.0, node, constants).run(&[floats(&shape, x.1)])
}

#[test]
fn positions_become_ones() {
    let hot = node("OneHot", &["x", "d", "v"], &["y"]).int("axis", 0);
    let constants = || vec![int_tensor("d", &[1], &[3]), float_tensor("v", &[2], &[5.0, 7.0])];
    // -1 counts from the end; 3 is out of range.
    let expected = vec![7.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 7.0, 5.0];
    assert_eq!(run(13, (&[3], &[0.0, -1.0, 3.0]), hot, constants()), (vec![3, 3], expected));
    let hardmax =
        |opset| run(opset, (&[1, 2, 2], &[1.0, 3.0, 3.0, 2.0]), node("Hardmax", &["x"], &["y"]), vec![]).1;
    assert_eq!(hardmax(13), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(hardmax(11), [0.0, 1.0, 0.0, 0.0], "axes starting at 1 are flattened");
    let nan = (&[4][..], &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0][..]);
    assert_eq!(run(13, nan, node("IsNaN", &["x"], &["y"]), vec![]).1, [1.0, 0.0, 0.0, 0.0]);
    let inf = node("IsInf", &["x"], &["y"]).int("detect_positive", 0);
    assert_eq!(run(13, nan, inf, vec![]).1, [0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn whole_sequences_are_turned_by_a_slice() {
    let reverse = || node("ReverseSequence", &["x", "n"], &["y"]).int("batch_axis", 0).int("time_axis", 1);
    let x = (&[2, 3][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]);
    for (lengths, expected, op) in [
        ([3, 3], [3.0, 2.0, 1.0, 6.0, 5.0, 4.0], "Slice"),
        ([1, 2], [1.0, 2.0, 3.0, 5.0, 4.0, 6.0], "GatherND"),
    ] {
        let model = unary(13, x.0, reverse(), vec![int_tensor("n", &[2], &lengths)]);
        assert_eq!(model.run(&[floats(&[2, 3], x.1)]).1, expected);
        let graph = model.import().unwrap();
        assert!(graph.nodes.iter().any(|node| node.op.name() == op), "{lengths:?}");
    }
}

/// Distinct operator names of a graph.
fn operators(model: &Model) -> Vec<&'static str> {
    let mut names: Vec<_> = model.import().unwrap().nodes.iter().map(|node| node.op.name()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn known_indices_that_name_a_box_are_slices() {
    let x = floats(&[3, 4], &(0..12).map(|i| i as f32).collect::<Vec<_>>());
    // x[1:, 1:3] = 20, 21, 22, 23, in tuples.
    let tuples = [1, 1, 1, -2, 2, 1, 2, 2];
    let scatter = |indices: &[i64]| {
        let constants =
            vec![int_tensor("i", &[2, 2, 2], indices), float_tensor("u", &[2, 2], &[20.0, 21.0, 22.0, 23.0])];
        unary(18, &[3, 4], node("ScatterND", &["x", "i", "u"], &["y"]), constants)
    };
    let expected = [0.0, 1.0, 2.0, 3.0, 4.0, 20.0, 21.0, 7.0, 8.0, 22.0, 23.0, 11.0];
    assert_eq!(scatter(&tuples).run(std::slice::from_ref(&x)).1, expected);
    assert_eq!(operators(&scatter(&tuples)), ["Concat", "Slice"]);
    let twice = [1, 1, 1, 1, 2, 1, 2, 2];
    assert_eq!(operators(&scatter(&twice)), ["ScatterND"], "one element is put twice");
    let gather = |op: &str, dims: &[i64], indices: &[i64]| {
        unary(18, &[3, 4], node(op, &["x", "i"], &["y"]), vec![int_tensor("i", dims, indices)])
    };
    let rows = gather("GatherND", &[2, 1], &[0, 2]);
    assert_eq!(
        rows.run(std::slice::from_ref(&x)),
        (vec![2, 4], vec![0.0, 1.0, 2.0, 3.0, 8.0, 9.0, 10.0, 11.0])
    );
    assert!(!operators(&rows).contains(&"GatherND"));
    let columns = gather("GatherElements", &[2, 2], &[1, 0, 1, 0]);
    assert_eq!(columns.run(std::slice::from_ref(&x)).1, [4.0, 1.0, 4.0, 1.0]);
    assert_eq!(operators(&columns), ["GatherElements"]);
    assert_eq!(operators(&gather("GatherElements", &[1, 4], &[2; 4])), ["Slice"]);
    let beyond = gather("GatherND", &[1, 1], &[3]).import().unwrap();
    assert!(npukit_graph::evaluate(&beyond, &[x]).is_err());
}

#[test]
fn what_decides_a_shape_must_be_known() {
    let compress = |condition: &str| node("Compress", &["x", condition], &["y"]).int("axis", 0);
    let condition = || vec![int_tensor("c", &[2], &[0, 1])];
    assert_eq!(run(13, (&[3], &[4.0, 5.0, 6.0]), compress("c"), condition()).1, [5.0]);
    for (node, operand) in [
        (compress("x"), "condition"),
        (node("NonZero", &["x"], &["y"]), "X"),
        (node("Unique", &["x"], &["y"]), "X"),
        (node("NonMaxSuppression", &["x", "x"], &["y"]), "boxes"),
    ] {
        assert_eq!(unary(13, &[3], node, vec![]).reason(), Reason::ShapeByValue { operand });
    }
    assert_eq!(unary(13, &[3], node("RandomNormalLike", &["x"], &["y"]), vec![]).reason(), Reason::Random);
}

#[test]
fn sizes_from_a_file_are_bounded() {
    let huge = || vec![int_tensor("k", &[1], &[1 << 40])];
    for node in [
        node("TopK", &["x", "k"], &["y"]),
        node("HannWindow", &["k"], &["y"]),
        node("OneHot", &["x", "k", "x"], &["y"]),
        node("CenterCropPad", &["x", "k"], &["y"]),
        node("Col2Im", &["x", "k", "k"], &["y"]),
        node("STFT", &["x", "k"], &["y"]),
    ] {
        unary(18, &[4], node, huge()).reason();
    }
}

#[test]
fn lists_are_known_when_the_file_is_read() {
    let model = |place: i64| {
        Model::new(13)
            .input("x", &[2, 3])
            .ints("place", &[place])
            .node(node("SplitToSequence", &["x"], &["parts"]).int("axis", 1).int("keepdims", 0))
            .node(node("SequenceAt", &["parts", "place"], &["part"]))
            .node(node("SequenceInsert", &["parts", "part"], &["more"]))
            .node(node("ConcatFromSequence", &["more"], &["y"]).int("axis", 0).int("new_axis", 1))
            .output("y")
    };
    let x = floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let expected = vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0, 3.0, 6.0];
    assert_eq!(model(-1).run(std::slice::from_ref(&x)), (vec![4, 2], expected));
    assert!(matches!(model(3).reason(), Reason::AttributeValue { name: "position", .. }));
    let mut model = model(0);
    model.graph().node.push(node("Relu", &["more"], &["z"]));
    assert_eq!(model.output("z").reason(), Reason::Sequence { name: "more".to_owned() });
}

/// A function `scaled(a, b) = LeakyRelu(a, slope) + b`, with `b` optional.
fn scaled() -> FunctionProto {
    let slope = AttributeProto {
        name: "alpha".to_owned(),
        ref_attr_name: "slope".to_owned(),
        r#type: 1,
        ..Default::default()
    };
    FunctionProto {
        name: "scaled".to_owned(),
        domain: "own".to_owned(),
        input: vec!["a".to_owned(), "b".to_owned()],
        output: vec!["c".to_owned()],
        attribute: vec!["slope".to_owned()],
        node: vec![node("LeakyRelu", &["a"], &["t"]).with(slope), node("Clip", &["t", "", "b"], &["c"])],
        ..Default::default()
    }
}

fn call(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto { domain: "own".to_owned(), ..node(op, inputs, &[output]) }
}

#[test]
fn functions_are_replaced_by_their_nodes() {
    let x = floats(&[2], &[-4.0, 4.0]);
    let mut model = Model::new(13).input("x", &[2]).floats("b", &[], &[3.0]);
    model.proto.functions = vec![scaled()];
    let model = model
        .node(call("scaled", &["x", "b"], "t").float("slope", 0.5))
        // Without the attribute, the operator's default applies; without the operand, there is no
        // bound.
        .node(call("scaled", &["t"], "y"))
        .output("y");
    assert_eq!(model.run(&[x]).1, [-0.02, 3.0]);
    assert_eq!(model.import().unwrap().outputs.len(), 1);
    let unknown = |node: NodeProto| {
        let mut model = Model::new(13).input("x", &[2]).node(node).output("y");
        model.proto.functions = vec![scaled()];
        model.reason()
    };
    assert!(matches!(unknown(call("scaled", &["x"], "y").int("other", 1)), Reason::AttributeUnknown { .. }));
    assert!(matches!(unknown(call("scaled", &["x", "", "x"], "y")), Reason::OperandUnknown { index: 2, .. }));
}

#[test]
fn functions_that_call_themselves_come_to_an_end() {
    let endless = |calls: usize| FunctionProto {
        name: "endless".to_owned(),
        domain: "own".to_owned(),
        input: vec!["a".to_owned()],
        output: vec!["c0".to_owned()],
        node: (0..calls).map(|index| call("endless", &["a"], &format!("c{index}"))).collect(),
        ..Default::default()
    };
    for calls in [1, 40] {
        let mut model = Model::new(13).input("x", &[2]).node(call("endless", &["x"], "y")).output("y");
        model.proto.functions = vec![endless(calls)];
        assert!(model.import().is_err());
    }
}
