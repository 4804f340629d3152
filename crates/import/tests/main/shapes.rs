//! Operators that move elements, in their attribute and operand forms.

use npukit_import::onnx::Reason;
use npukit_import::onnx::proto::NodeProto;

use crate::model::{Model, With, counting, float_tensor, int_tensor, node, unary};

/// Runs a node over 0, 1, 2, .. of `shape`, with integer operands `constants`.
fn run(opset: i64, shape: &[i64], node: NodeProto, constants: &[(&str, &[i64])]) -> (Vec<usize>, Vec<f32>) {
    let sizes: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
    model(opset, shape, node, constants).run(&[counting(&sizes)])
}

fn model(opset: i64, shape: &[i64], node: NodeProto, constants: &[(&str, &[i64])]) -> Model {
    let tensor = |(name, values): &(&str, &[i64])| int_tensor(name, &[values.len() as i64], values);
    unary(opset, shape, node, constants.iter().map(tensor).collect())
}

fn shape_of(opset: i64, shape: &[i64], node: NodeProto, constants: &[(&str, &[i64])]) -> Vec<usize> {
    run(opset, shape, node, constants).0
}

#[test]
fn reshape_resolves_zero_and_minus_one() {
    let reshape = || node("Reshape", &["x", "s"], &["y"]);
    assert_eq!(shape_of(7, &[2, 3, 4], reshape(), &[("s", &[0, -1])]), [2, 12]);
    assert_eq!(shape_of(7, &[2, 3, 4], reshape(), &[("s", &[4, 0, 2])]), [4, 3, 2]);
    assert_eq!(shape_of(14, &[0, 3], reshape().int("allowzero", 1), &[("s", &[3, 0])]), [3, 0]);
    for wrong in [&[-1, -1][..], &[5, -1], &[24, 1, 1, 0], &[-2, 12]] {
        model(7, &[2, 3, 4], reshape(), &[("s", wrong)]).reason();
    }
}

#[test]
fn flatten_cuts_in_two() {
    let flatten = || node("Flatten", &["x"], &["y"]);
    assert_eq!(shape_of(9, &[2, 3, 4], flatten(), &[]), [2, 12]);
    assert_eq!(shape_of(9, &[2, 3, 4], flatten().int("axis", 0), &[]), [1, 24]);
    assert_eq!(shape_of(9, &[2, 3, 4], flatten().int("axis", 3), &[]), [24, 1]);
    assert_eq!(shape_of(11, &[2, 3, 4], flatten().int("axis", -1), &[]), [6, 4]);
}

#[test]
fn squeeze_and_unsqueeze() {
    let squeeze = || node("Squeeze", &["x"], &["y"]);
    assert_eq!(shape_of(7, &[1, 3, 1], squeeze().ints("axes", &[0]), &[]), [3, 1]);
    assert_eq!(shape_of(11, &[1, 3, 1], squeeze().ints("axes", &[-1]), &[]), [1, 3]);
    assert_eq!(shape_of(13, &[1, 3, 1], squeeze(), &[]), [3]);
    assert_eq!(shape_of(13, &[1, 3, 1], node("Squeeze", &["x", "a"], &["y"]), &[("a", &[2])]), [1, 3]);
    let reason = model(7, &[1, 3, 1], squeeze().ints("axes", &[1]), &[]).reason();
    assert!(matches!(reason, Reason::OperandValue { operand: "data", .. }), "{reason}");
    let unsqueeze = node("Unsqueeze", &["x"], &["y"]).ints("axes", &[2, 0]);
    assert_eq!(shape_of(7, &[3, 4], unsqueeze, &[]), [1, 3, 1, 4]);
    let unsqueeze = node("Unsqueeze", &["x", "a"], &["y"]);
    assert_eq!(shape_of(13, &[3, 4], unsqueeze, &[("a", &[-1])]), [3, 4, 1]);
}

#[test]
fn transpose_permutes() {
    assert_eq!(
        run(7, &[2, 3], node("Transpose", &["x"], &["y"]), &[]),
        (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0])
    );
    let transpose = node("Transpose", &["x"], &["y"]).ints("perm", &[1, 2, 0]);
    assert_eq!(shape_of(7, &[2, 3, 4], transpose, &[]), [3, 4, 2]);
    let transpose = node("Transpose", &["x"], &["y"]).ints("perm", &[1, 1]);
    assert!(matches!(model(7, &[2, 3], transpose, &[]).reason(), Reason::Shape(_)));
}

#[test]
fn concat_and_gather() {
    let concat = node("Concat", &["x", "x"], &["y"]).int("axis", -1);
    assert_eq!(run(11, &[2, 1], concat, &[]), (vec![2, 2], vec![0.0, 0.0, 1.0, 1.0]));
    let gather = node("Gather", &["x", "i"], &["y"]).int("axis", 1);
    assert_eq!(run(11, &[2, 3], gather, &[("i", &[2, -3])]), (vec![2, 2], vec![2.0, 0.0, 5.0, 3.0]));
}

#[test]
fn split_by_sizes_or_count() {
    let split = |inputs: &[&str]| node("Split", inputs, &["a", "y"]).int("axis", 0);
    assert_eq!(run(7, &[4], split(&["x"]), &[]).1, [2.0, 3.0]);
    assert_eq!(run(7, &[4], split(&["x"]).ints("split", &[1, 3]), &[]).1, [1.0, 2.0, 3.0]);
    assert_eq!(run(13, &[4], split(&["x", "s"]), &[("s", &[3, 1])]).1, [3.0]);
    assert_eq!(run(13, &[4], split(&["x", "s"]), &[("s", &[0, 4])]).1, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(run(18, &[5], split(&["x"]).int("num_outputs", 2), &[]).1, [3.0, 4.0]);
    for (opset, wrong) in [
        (13, split(&["x"])),
        (18, split(&["x"]).int("num_outputs", 3)),
        (7, split(&["x"]).ints("split", &[4, -1])),
        (7, split(&["x"]).ints("split", &[2, 2])),
    ] {
        model(opset, &[5], wrong, &[]).reason();
    }
}

#[test]
fn slice_follows_numpy() {
    let slice =
        node("Slice", &["x"], &["y"]).ints("starts", &[1]).ints("ends", &[i64::MAX]).ints("axes", &[0]);
    assert_eq!(run(7, &[4], slice, &[]).1, [1.0, 2.0, 3.0]);
    let slice = |start: i64, end: i64, step: i64| {
        let node = node("Slice", &["x", "s", "e", "a", "t"], &["y"]);
        run(10, &[5], node, &[("s", &[start]), ("e", &[end]), ("a", &[-1]), ("t", &[step])]).1
    };
    assert_eq!(slice(0, 5, 2), [0.0, 2.0, 4.0]);
    assert_eq!(slice(-1, i64::MIN, -1), [4.0, 3.0, 2.0, 1.0, 0.0]);
    assert_eq!(slice(3, -9, -2), [3.0, 1.0]);
    assert_eq!(slice(9, i64::MIN, -1), [4.0, 3.0, 2.0, 1.0, 0.0]);
    assert_eq!(slice(5, 2, -1), [4.0, 3.0]);
    assert_eq!(slice(2, 2, -1), [0.0; 0]);
    assert_eq!(slice(-2, 9, 1), [3.0, 4.0]);
    assert_eq!(slice(4, 1, 1), [0.0; 0]);
    assert_eq!(slice(9, 12, i64::MAX), [0.0; 0]);
    assert_eq!(slice(2, i64::MIN, i64::MIN), [2.0]);
    let node = node("Slice", &["x", "s", "e", "", "t"], &["y"]);
    let reason = model(10, &[5], node, &[("s", &[0]), ("e", &[1]), ("t", &[0])]).reason();
    assert!(matches!(reason, Reason::AttributeValue { name: "steps", .. }), "{reason}");
}

#[test]
fn pad_in_all_forms() {
    let pad = || node("Pad", &["x"], &["y"]).ints("pads", &[1, 2]);
    assert_eq!(run(7, &[3], pad(), &[]).1, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    assert_eq!(run(7, &[3], pad().float("value", 9.0), &[]).1, [9.0, 0.0, 1.0, 2.0, 9.0, 9.0]);
    assert_eq!(run(7, &[3], pad().string("mode", "edge"), &[]).1, [0.0, 0.0, 1.0, 2.0, 2.0, 2.0]);
    assert_eq!(run(7, &[3], pad().string("mode", "reflect"), &[]).1, [1.0, 0.0, 1.0, 2.0, 1.0, 0.0]);
    let operands = || node("Pad", &["x", "p"], &["y"]);
    assert_eq!(run(11, &[3], operands(), &[("p", &[0, 1])]).1, [0.0, 1.0, 2.0, 0.0]);
    let with_axes = node("Pad", &["x", "p", "", "a"], &["y"]);
    assert_eq!(shape_of(18, &[2, 3], with_axes, &[("p", &[1, 1]), ("a", &[-1])]), [2, 5]);
    let wrapped = run(19, &[3], operands().string("mode", "wrap"), &[("p", &[1, 2])]).1;
    assert_eq!(wrapped, [2.0, 0.0, 1.0, 2.0, 0.0, 1.0]);
    let reason = model(19, &[3], operands().string("mode", "turn"), &[("p", &[0, 1])]).reason();
    assert!(matches!(reason, Reason::AttributeValue { name: "mode", .. }), "{reason}");
    let reason = model(11, &[3], operands(), &[("p", &[i64::MAX, 1])]).reason();
    assert!(matches!(reason, Reason::AttributeValue { name: "pads", .. }), "{reason}");
}

/// The last opset whose operators have an attribute, and the next one, whose operators have an
/// operand instead.
#[test]
fn operands_take_the_place_of_attributes_at_their_opset() {
    let of = |op: &str| node(op, &["x"], &["y"]);
    let with = |op: &str, operands: &[&str]| node(op, &[&["x"], operands].concat(), &["y"]);
    type Case<'a> = (i64, &'a [i64], NodeProto, NodeProto, &'a [(&'a str, &'a [i64])]);
    let cases: [Case<'_>; 8] = [
        (
            10,
            &[4],
            of("Slice").ints("starts", &[1]).ints("ends", &[3]),
            with("Slice", &["a", "b"]),
            &[("a", &[1]), ("b", &[3])],
        ),
        (11, &[2], of("Pad").ints("pads", &[1, 2]), with("Pad", &["a"]), &[("a", &[1, 2])]),
        (13, &[1, 2], of("Squeeze").ints("axes", &[0]), with("Squeeze", &["a"]), &[("a", &[0])]),
        (13, &[2], of("Unsqueeze").ints("axes", &[0]), with("Unsqueeze", &["a"]), &[("a", &[0])]),
        (13, &[2, 2], of("Split").ints("split", &[2]), with("Split", &["a"]), &[("a", &[2])]),
        (13, &[2, 2], of("ReduceSum").ints("axes", &[0]), with("ReduceSum", &["a"]), &[("a", &[0])]),
        (18, &[2, 2], of("ReduceMax").ints("axes", &[0]), with("ReduceMax", &["a"]), &[("a", &[0])]),
        (18, &[2, 2], of("ReduceMean").ints("axes", &[0]), with("ReduceMean", &["a"]), &[("a", &[0])]),
    ];
    for (since, shape, before, after, constants) in cases {
        let name = before.op_type.clone();
        assert_eq!(
            run(since - 1, shape, before.clone(), &[]),
            run(since, shape, after.clone(), constants),
            "{name}"
        );
        model(since, shape, before, &[]).problems();
        model(since - 1, shape, after, constants).problems();
    }
    // Float operands.
    let bounds = || vec![float_tensor("a", &[], &[1.0]), float_tensor("b", &[], &[2.0])];
    let clipped = |opset, node, constants| unary(opset, &[4], node, constants).run(&[counting(&[4])]).1;
    assert_eq!(clipped(10, of("Clip").float("min", 1.0).float("max", 2.0), vec![]), [1.0, 1.0, 2.0, 2.0]);
    assert_eq!(clipped(11, with("Clip", &["a", "b"]), bounds()), [1.0, 1.0, 2.0, 2.0]);
    unary(11, &[4], of("Clip").float("min", 1.0), vec![]).problems();
    unary(10, &[4], with("Clip", &["a", "b"]), bounds()).problems();
    let scales = || vec![float_tensor("a", &[4], &[1.0, 1.0, 1.0, 2.0])];
    let up = |opset, node, constants| {
        unary(opset, &[1, 1, 1, 2], node, constants).run(&[counting(&[1, 1, 1, 2])]).1
    };
    let stated = || of("Upsample").floats("scales", &[1.0, 1.0, 1.0, 2.0]);
    assert_eq!(up(8, stated(), vec![]), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(up(9, with("Upsample", &["a"]), scales()), [0.0, 0.0, 1.0, 1.0]);
    unary(9, &[1, 1, 1, 2], stated(), vec![]).problems();
    unary(8, &[1, 1, 1, 2], with("Upsample", &["a"]), scales()).problems();
}

/// Defaults and meanings that changed with an opset, tested on both sides of the change.
#[test]
fn meanings_change_at_their_opset() {
    let of = |opset, op: &str| {
        let node = node(op, &["x"], &["y"]);
        unary(opset, &[1, 2, 2], node, vec![]).run(&[counting(&[1, 2, 2])]).1
    };
    // Over the trailing axes together, or over the last one only.
    let exp = |x: f32| x.exp();
    let all: f32 = (0..4).map(|x| exp(x as f32)).sum();
    assert!((of(12, "Softmax")[3] - exp(3.0) / all).abs() < 1e-6);
    assert!((of(13, "Softmax")[3] - exp(3.0) / (exp(2.0) + exp(3.0))).abs() < 1e-6);
    // A transform is along axis 1 of an attribute, or axis -2 of an operand.
    let dft = |opset: i64| unary(opset, &[1, 3, 2, 1], node("DFT", &["x"], &["y"]), vec![]);
    let sums = |opset| dft(opset).run(&[counting(&[1, 3, 2, 1])]).1[0];
    assert_eq!(sums(19), 6.0);
    assert_eq!(sums(20), 1.0);
    // The last part of a split may be smaller.
    let split = |opset| unary(opset, &[3], node("Split", &["x"], &["y", "z"]), vec![]);
    assert_eq!(split(18).run(&[counting(&[3])]).1, [0.0, 1.0]);
    assert!(matches!(split(17).reason(), Reason::OperandValue { operand: "input", .. }));
}

#[test]
fn shape_arithmetic_folds() {
    // Graph that PyTorch exports for x.view(x.shape[0], -1).
    let model = Model::new(13)
        .input("x", &[-1, 3, 4])
        .ints("rest", &[-1])
        .ints("axes", &[0])
        .node(node("Shape", &["x"], &["s"]))
        .node(node("Constant", &[], &["zero"]).int("value_int", 0))
        .node(node("Gather", &["s", "zero"], &["n"]).int("axis", 0))
        .node(node("Unsqueeze", &["n", "axes"], &["n1"]))
        .node(node("Concat", &["n1", "rest"], &["target"]).int("axis", 0))
        .node(node("Reshape", &["x", "target"], &["y"]))
        .output("y");
    let graph = model.import().unwrap();
    assert_eq!(graph.nodes.len(), 1, "{:?}", graph.nodes);
    assert_eq!(graph.shape(graph.outputs[0]), [1, 12]);
}

#[test]
fn shape_takes_a_part_since_opset_15() {
    let shape = |node| run(15, &[2, 3, 4], node, &[]).1;
    assert_eq!(shape(node("Shape", &["x"], &["y"]).int("start", 1)), [3.0, 4.0]);
    assert_eq!(shape(node("Shape", &["x"], &["y"]).int("end", -1)), [2.0, 3.0]);
    assert_eq!(shape(node("Shape", &["x"], &["y"]).int("start", 2).int("end", 1)), [0.0; 0]);
}

#[test]
fn lists_of_axes_are_refused_with_what_is_legal() {
    let of = |opset: i64, node: NodeProto, constants: &[(&str, &[i64])]| {
        let tensor = |(name, values): &(&str, &[i64])| int_tensor(name, &[values.len() as i64], values);
        unary(opset, &[2, 3], node, constants.iter().map(tensor).collect()).reason().to_string()
    };
    let slice = || node("Slice", &["x", "s", "e", "a"], &["y"]);
    let ones: (&str, &[i64]) = ("s", &[0, 0]);
    let message = of(13, slice(), &[ones, ("e", &[1, 1]), ("a", &[1, -1])]);
    assert_eq!(message, "attribute \"axes\" is [1, -1]; legal: each axis once");
    let message = of(13, slice(), &[ones, ("e", &[1]), ("a", &[0, 1])]);
    assert_eq!(
        message,
        "attribute \"starts, ends, axes, steps\" is [2, 1, 2, 2]; legal: one of each per axis"
    );
    let message = of(13, slice(), &[ones, ("e", &[1, 1]), ("a", &[0, 2])]);
    assert_eq!(message, "attribute \"axes\" is 2; legal: -2 to 1");
    let message = of(7, node("Unsqueeze", &["x"], &["y"]).ints("axes", &[0, -4]), &[]);
    assert_eq!(message, "attribute \"axes\" is [0, -4]; legal: each axis once");
    assert_eq!(of(7, node("Unsqueeze", &["x"], &["y"]), &[]), "attribute \"axes\" is missing");
    let message = of(13, node("Transpose", &["x"], &["y"]).ints("perm", &[0]), &[]);
    assert_eq!(message, "attribute \"perm\" is 1; legal: the 2 axes of the operand");
    let message = of(13, node("Squeeze", &["x", "a"], &["y"]), &[("a", &[1])]);
    assert_eq!(message, "operand \"data\" is [2, 3]; legal: size 1 at axis 1");
    let message = of(11, node("Split", &["x"], &["y", "z"]).int("axis", 1).ints("split", &[2, 2]), &[]);
    assert_eq!(message, "attribute \"split\" is [2, 2]; legal: 2 sizes with the sum 3");
    let message = of(11, node("Split", &["x"], &["y", "z"]).int("axis", 1), &[]);
    assert_eq!(message, "operand \"input\" is an axis of 3; legal: a multiple of 2");
    let message = of(18, node("Split", &["x"], &["y", "z"]).int("num_outputs", 3), &[]);
    assert_eq!(message, "attribute \"num_outputs\" is 3; legal: 2, as results are named");
    let message = of(18, node("Pad", &["x", "p", "", "a"], &["y"]), &[("p", &[1; 4]), ("a", &[1, -1])]);
    assert_eq!(message, "attribute \"axes\" is [1, 1]; legal: each axis once");
    let message = of(18, node("Pad", &["x", "p"], &["y"]), &[("p", &[1])]);
    assert_eq!(message, "attribute \"pads\" is [1]; legal: 4 numbers from -268435456 to 268435456");
    let message = of(18, node("Trilu", &["x", "k"], &["y"]), &[("k", &[1, 2])]);
    assert_eq!(message, "operand \"k\" is [1, 2]; legal: one integer");
    let message = of(13, node("Reshape", &["x", "s"], &["y"]), &[("s", &[-1, -1])]);
    assert_eq!(
        message,
        "operand \"shape\" is [-1, -1] for an operand of shape [2, 3]; legal: -1 at most once"
    );
    let message = of(13, node("Reshape", &["x", "s"], &["y"]), &[("s", &[4, -1])]);
    assert_eq!(message, "operand \"shape\" is [4, -1] for an operand of shape [2, 3]; legal: a divisor");
}

/// A split into a number of parts rounds their size up. The last part is the remainder, which may
/// be empty but not negative.
#[test]
fn the_last_of_equal_parts_takes_what_is_left() {
    let names = ["a", "b", "c", "d"];
    let split = |size: i64, parts: usize| {
        let split = node("Split", &["x"], &names[..parts]).int("num_outputs", parts as i64);
        let model = Model::new(18).input("x", &[size]).node(split);
        names[..parts].iter().fold(model, |model, name| model.output(name))
    };
    let sizes = |size: i64, parts: usize| {
        let graph = split(size, parts).import().unwrap();
        graph.outputs.iter().map(|&id| graph.shape(id)[0]).collect::<Vec<_>>()
    };
    assert_eq!(sizes(5, 3), [2, 2, 1]);
    assert_eq!(sizes(4, 3), [2, 2, 0]);
    assert_eq!(sizes(8, 4), [2, 2, 2, 2]);
    assert_eq!(sizes(6, 4), [2, 2, 2, 0]);
    let message = split(5, 4).reason().to_string();
    assert_eq!(message, "operand \"input\" is an axis of 5; legal: a multiple of 4");
}

/// Steps are an operand since opset 10.
#[test]
fn slices_have_steps_since_opset_10() {
    let constants: [(&str, &[i64]); 4] = [("s", &[4]), ("e", &[0]), ("a", &[0]), ("t", &[-3])];
    let slice = || node("Slice", &["x", "s", "e", "a", "t"], &["y"]);
    for opset in [10, 11, 13] {
        assert_eq!(run(opset, &[5], slice(), &constants).1, [4.0, 1.0], "opset {opset}");
    }
    model(9, &[5], slice(), &constants).problems();
}
