//! Convolutions and pools: NCHW models over NHWC graphs, windows and their padding.

use npukit_graph::Op;
use npukit_import::onnx::Reason;
use npukit_import::onnx::proto::NodeProto;
use npukit_numeric::Tensor;

use crate::model::{Model, With, counting, float_tensor, floats, node, unary};

/// A convolution of `x` by ones of the given shape.
fn conv(dims: &[i64], weights: &[i64], node: NodeProto) -> Model {
    let count = weights.iter().product::<i64>() as usize;
    unary(10, dims, node, vec![float_tensor("w", weights, &vec![1.0; count])])
}

fn ones(shape: &[usize]) -> Tensor {
    floats(shape, &vec![1.0; shape.iter().product()])
}

#[test]
fn convolution_keeps_the_models_layout() {
    // Two output channels: the sum of both inputs, and the second input only.
    let weights = float_tensor("w", &[2, 2, 1, 1], &[1.0, 1.0, 0.0, 1.0]);
    let bias = float_tensor("b", &[2], &[0.5, 0.0]);
    let model = unary(7, &[1, 2, 1, 2], node("Conv", &["x", "w", "b"], &["y"]), vec![weights, bias]);
    let expected = vec![2.5, 4.5, 2.0, 3.0];
    assert_eq!(model.run(&[counting(&[1, 2, 1, 2])]), (vec![1, 2, 1, 2], expected));
}

#[test]
fn convolution_weights_become_hwio_at_once() {
    let model = conv(&[1, 2, 4, 4], &[3, 2, 3, 3], node("Conv", &["x", "w"], &["y"]));
    let graph = model.import().unwrap();
    let conv = graph.nodes.iter().find(|node| matches!(node.op, Op::Conv(_))).unwrap();
    assert_eq!(graph.shape(conv.inputs[1]), [3, 3, 2, 3]);
    assert!(graph.constant(conv.inputs[1]).is_some());
    assert_eq!(conv.name, "y");
    assert_eq!(graph.shape(graph.outputs[0]), [1, 3, 2, 2]);
}

#[test]
fn automatic_padding_follows_the_stride() {
    // A row of 6 ones, 3 taps at stride 2: SAME needs one element of padding.
    let run = |rule: &str| {
        let node = node("Conv", &["x", "w"], &["y"]).string("auto_pad", rule).ints("strides", &[1, 2]);
        conv(&[1, 1, 1, 6], &[1, 1, 1, 3], node).run(&[ones(&[1, 1, 1, 6])]).1
    };
    assert_eq!(run("SAME_UPPER"), [3.0, 3.0, 2.0]);
    assert_eq!(run("SAME_LOWER"), [2.0, 3.0, 3.0]);
    assert_eq!(run("VALID"), [3.0, 3.0]);
    assert_eq!(run("NOTSET"), [3.0, 3.0]);
}

#[test]
fn automatic_padding_follows_the_dilation() {
    let node = node("Conv", &["x", "w"], &["y"]).string("auto_pad", "SAME_UPPER").ints("dilations", &[1, 2]);
    let model = conv(&[1, 1, 1, 4], &[1, 1, 1, 3], node);
    assert_eq!(model.run(&[ones(&[1, 1, 1, 4])]).1, [2.0, 2.0, 2.0, 2.0]);
}

#[test]
fn groups_divide_the_channels() {
    let node = || node("Conv", &["x", "w"], &["y"]).int("group", 2);
    let model = conv(&[1, 2, 1, 1], &[2, 1, 1, 1], node());
    assert_eq!(model.run(&[floats(&[1, 2, 1, 1], &[3.0, 4.0])]).1, [3.0, 4.0]);
    let model =
        conv(&[1, 2, 1, 1], &[2, 1, 1, 1], node().ints("pads", &[0, 0, 0, 0]).ints("kernel_shape", &[1, 1]));
    assert_eq!(model.run(&[floats(&[1, 2, 1, 1], &[3.0, 4.0])]).1, [3.0, 4.0]);
}

#[test]
fn convolutions_that_make_no_sense_are_refused() {
    let base = || node("Conv", &["x", "w"], &["y"]);
    let refused = |dims: &[i64], weights: &[i64], node| conv(dims, weights, node).reason();
    for node in [
        base().int("group", 0),
        base().int("group", -1),
        base().ints("strides", &[0, 1]),
        base().ints("strides", &[i64::MAX, 1]),
        base().ints("dilations", &[1]),
        base().ints("pads", &[i64::MIN, 0, 0, 0]),
        base().ints("pads", &[1, 1]),
        base().ints("kernel_shape", &[2, 2]),
        base().string("auto_pad", "SAME"),
        base().string("auto_pad", "SAME_UPPER").ints("pads", &[1, 1, 1, 1]),
    ] {
        let reason = refused(&[1, 2, 4, 4], &[2, 2, 3, 3], node);
        assert!(matches!(reason, Reason::AttributeValue { .. }), "{reason}");
    }
    // Wrong channels, a kernel larger than the image, and different numbers of axes.
    assert!(matches!(refused(&[1, 3, 4, 4], &[2, 2, 3, 3], base()), Reason::Shape(_)));
    assert!(matches!(refused(&[1, 2, 2, 2], &[2, 2, 3, 3], base()), Reason::Shape(_)));
    let reason = refused(&[1, 2, 4], &[2, 2, 3, 3], base());
    let expected = "operand \"W\" is [2, 2, 3, 3]; legal: 3 axes, the last 1 of 1 or more";
    assert_eq!(reason.to_string(), expected);
    for dims in [&[1, 2][..], &[1, 2, 4, 4, 4, 4]] {
        let reason = refused(dims, &[&[2, 2], &dims[2..]].concat(), base());
        assert!(matches!(reason, Reason::OperandValue { operand: "X", .. }), "{reason}");
    }
}

#[test]
fn pools_of_windows() {
    let x = || counting(&[1, 1, 2, 4]);
    let run =
        |node: NodeProto| unary(10, &[1, 1, 2, 4], node.ints("kernel_shape", &[2, 2]), vec![]).run(&[x()]).1;
    assert_eq!(run(node("MaxPool", &["x"], &["y"])), [5.0, 6.0, 7.0]);
    assert_eq!(run(node("AveragePool", &["x"], &["y"]).ints("strides", &[2, 2])), [2.5, 4.5]);
    let padded = || node("AveragePool", &["x"], &["y"]).ints("strides", &[2, 4]).ints("pads", &[0, 1, 0, 0]);
    assert_eq!(run(padded()), [2.0]);
    assert_eq!(run(padded().int("count_include_pad", 1)), [1.0]);
}

#[test]
fn ceil_mode_counts_unless_the_padding_states_the_size() {
    let run = |size: i64, kernel: i64, stride: i64, rule: &str| {
        let node = node("MaxPool", &["x"], &["y"]).ints("kernel_shape", &[1, kernel]);
        let node = node.ints("strides", &[1, stride]).int("ceil_mode", 1).string("auto_pad", rule);
        unary(10, &[1, 1, 1, size], node, vec![]).run(&[counting(&[1, 1, 1, size as usize])]).1
    };
    assert_eq!(run(6, 1, 3, "SAME_UPPER"), [0.0, 3.0]);
    assert_eq!(run(5, 2, 2, "NOTSET"), [1.0, 3.0, 4.0]);
    assert_eq!(run(5, 2, 2, "VALID"), [1.0, 3.0, 4.0]);
}

#[test]
fn positions_of_maxima_are_the_second_result() {
    let pool = |order: Option<i64>| {
        let pool = node("MaxPool", &["x"], &["y", "where"]).ints("kernel_shape", &[1, 2]);
        let pool = match order {
            Some(order) => pool.int("storage_order", order),
            None => pool,
        };
        let mut model = unary(10, &[1, 1, 2, 3], pool, vec![]).output("where");
        model.graph().output.remove(0);
        model.run(&[floats(&[1, 1, 2, 3], &[1.0, 2.0, 0.0, 7.0, 8.0, 9.0])]).1
    };
    assert_eq!(pool(None), [1.0, 1.0, 4.0, 5.0]);
    assert_eq!(pool(Some(0)), [1.0, 1.0, 4.0, 5.0]);
    assert_eq!(pool(Some(1)), [2.0, 2.0, 3.0, 5.0]);
    // Three axes are pooled one after the other, which loses the indices.
    let pool = node("MaxPool", &["x"], &["y", "where"]).ints("kernel_shape", &[1, 1, 1]);
    let model = unary(10, &[1, 1, 1, 1, 1], pool, vec![]);
    assert_eq!(model.run(&[ones(&[1, 1, 1, 1, 1])]).1, [1.0]);
    assert_eq!(model.output("where").reason(), Reason::Output { index: 1, name: "where".to_owned() });
}

#[test]
fn signals_are_images_of_one_row() {
    let node = node("Conv", &["x", "w"], &["y"]).ints("strides", &[2]).ints("pads", &[1, 0]);
    let model = conv(&[1, 1, 5], &[1, 1, 2], node);
    assert_eq!(model.run(&[counting(&[1, 1, 5])]), (vec![1, 1, 3], vec![0.0, 3.0, 7.0]));
    let graph = model.import().unwrap();
    let conv = graph.nodes.iter().find(|node| matches!(node.op, Op::Conv(_))).unwrap();
    assert_eq!(graph.shape(conv.inputs[1]), [1, 2, 1, 1]);
}

#[test]
fn negative_pads_crop() {
    let node = node("Conv", &["x", "w"], &["y"]).ints("pads", &[-1, 1]);
    let model = conv(&[1, 1, 4], &[1, 1, 2], node);
    assert_eq!(model.run(&[counting(&[1, 1, 4])]).1, [3.0, 5.0, 3.0]);
}

/// The rules of the standard, as ONNX Runtime applies them.
#[test]
fn transposed_convolutions_pad_by_size_or_rule() {
    let run = |node: NodeProto| {
        let node = node.ints("strides", &[2]);
        conv(&[1, 1, 2], &[1, 1, 3], node).run(&[floats(&[1, 1, 2], &[1.0, 10.0])]).1
    };
    let node = || node("ConvTranspose", &["x", "w"], &["y"]);
    assert_eq!(run(node()), [1.0, 1.0, 11.0, 10.0, 10.0]);
    assert_eq!(run(node().ints("pads", &[1, 2])), [1.0, 11.0]);
    assert_eq!(run(node().ints("output_padding", &[1])), [1.0, 1.0, 11.0, 10.0, 10.0, 0.0]);
    assert_eq!(run(node().ints("output_shape", &[7])), [1.0, 1.0, 11.0, 10.0, 10.0, 0.0, 0.0]);
    let same = |rule: &str| run(node().string("auto_pad", rule));
    assert_eq!(
        (same("SAME_UPPER"), same("SAME_LOWER")),
        (vec![1.0, 1.0, 11.0, 10.0], vec![1.0, 11.0, 10.0, 10.0])
    );
    assert_eq!(run(node().ints("output_shape", &[4])), [1.0, 11.0, 10.0, 10.0]);
    assert_eq!(run(node().ints("output_shape", &[2])), [11.0, 10.0]);
    // 1 at 0, 2 and 4; 10 at 2, 4 and 6; one element less on either side.
    let apart = node().ints("dilations", &[2]).ints("output_shape", &[5]);
    assert_eq!(run(apart), [0.0, 11.0, 0.0, 11.0, 0.0]);
}

/// Rows only, columns only: each crop applies to its axis.
#[test]
fn negative_pads_crop_rows_or_columns() {
    let run = |pads: &[i64]| {
        let model = conv(&[1, 1, 2, 3], &[1, 1, 1, 1], node("Conv", &["x", "w"], &["y"]).ints("pads", pads));
        model.run(&[counting(&[1, 1, 2, 3])])
    };
    assert_eq!(run(&[-1, 0, 0, 0]), (vec![1, 1, 1, 3], vec![3.0, 4.0, 5.0]));
    assert_eq!(run(&[0, 0, -1, 0]), (vec![1, 1, 1, 3], vec![0.0, 1.0, 2.0]));
    assert_eq!(run(&[0, -1, 0, 0]), (vec![1, 1, 2, 2], vec![1.0, 2.0, 4.0, 5.0]));
    assert_eq!(run(&[0, 0, 0, -1]), (vec![1, 1, 2, 2], vec![0.0, 1.0, 3.0, 4.0]));
    assert_eq!(run(&[-1, -1, 0, 1]), (vec![1, 1, 1, 3], vec![4.0, 5.0, 0.0]));
}

/// Unused features do not add nodes: a crop of nothing, and indices of maxima without a name.
#[test]
fn a_window_is_one_node_between_transpositions() {
    let ops = |model: Model| -> Vec<&'static str> {
        let name = |op: &Op| match op {
            Op::Transpose(_) => "Transpose",
            Op::Conv(_) => "Conv",
            Op::MaxPool(_) => "MaxPool",
            Op::AveragePool(_) => "AveragePool",
            _ => "other",
        };
        model.import().unwrap().nodes.iter().map(|node| name(&node.op)).collect()
    };
    let plain = conv(&[1, 1, 2, 3], &[1, 1, 1, 1], node("Conv", &["x", "w"], &["y"]));
    assert_eq!(ops(plain), ["Transpose", "Conv", "Transpose"]);
    for outputs in [&["y"][..], &["y", ""]] {
        let pool = node("MaxPool", &["x"], outputs).ints("kernel_shape", &[1, 1]);
        assert_eq!(ops(unary(12, &[1, 1, 2, 3], pool, vec![])), ["Transpose", "MaxPool", "Transpose"]);
    }
    let global = unary(7, &[1, 2, 2, 2], node("GlobalAveragePool", &["x"], &["y"]), vec![]);
    assert_eq!(ops(global), ["Transpose", "AveragePool", "Transpose"]);
}

/// Signals, images, volumes and higher ranks: all axes after the channels are pooled.
#[test]
fn global_pools_are_over_all_axes_after_the_channels() {
    for image in [&[4][..], &[2, 2], &[2, 1, 2], &[1, 2, 1, 2]] {
        let shape = [&[1, 2], image].concat();
        let dims: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
        let pooled = [vec![1, 2], vec![1; image.len()]].concat();
        for (op, expected) in [("GlobalAveragePool", [1.5, 5.5]), ("GlobalMaxPool", [3.0, 7.0])] {
            let model = unary(7, &dims, node(op, &["x"], &["y"]), vec![]);
            assert_eq!(model.run(&[counting(&shape)]), (pooled.clone(), expected.to_vec()), "{op} {shape:?}");
        }
    }
    let flat = unary(7, &[1, 2], node("GlobalMaxPool", &["x"], &["y"]), vec![]).reason().to_string();
    assert_eq!(flat, "operand \"X\" is [1, 2]; legal: [n, c, ..] with an image axis");
}

#[test]
fn global_average_is_one_window() {
    let model = unary(7, &[1, 2, 2, 2], node("GlobalAveragePool", &["x"], &["y"]), vec![]);
    assert_eq!(model.run(&[counting(&[1, 2, 2, 2])]), (vec![1, 2, 1, 1], vec![1.5, 5.5]));
}

/// Elements 1, 10 and 100 at stride 2 spread 1, 2, 3 to 1, 2, 13, 20, 130, 200, 300. The rule or
/// the stated shape selects a part.
#[test]
fn transposed_convolutions_are_cut_from_the_whole() {
    let of = |node: NodeProto| {
        let weights = float_tensor("w", &[1, 1, 3], &[1.0, 2.0, 3.0]);
        unary(10, &[1, 1, 3], node.ints("strides", &[2]), vec![weights])
    };
    let run = |node: NodeProto| of(node).run(&[floats(&[1, 1, 3], &[1.0, 10.0, 100.0])]).1;
    let node = || node("ConvTranspose", &["x", "w"], &["y"]);
    let rule = |rule: &str| node().string("auto_pad", rule);
    let whole = [1.0, 2.0, 13.0, 20.0, 130.0, 200.0, 300.0];
    assert_eq!(run(rule("VALID")), whole);
    assert_eq!(run(rule("SAME_UPPER")), whole[..6]);
    assert_eq!(run(rule("SAME_LOWER")), whole[1..]);
    let shaped = |size: i64| node().ints("output_shape", &[size]);
    assert_eq!(run(shaped(5)), whole[1..6]);
    // One element is added after the whole, and one is cropped at either end.
    assert_eq!(run(shaped(6).ints("output_padding", &[1])), whole[1..]);
    // A stated shape determines the pads; a rule excludes explicit pads.
    assert_eq!(run(shaped(5).string("auto_pad", "VALID").ints("pads", &[2, 0])), whole[1..6]);
    for name in ["VALID", "SAME_UPPER", "SAME_LOWER"] {
        assert_eq!(run(rule(name).ints("pads", &[0, 0])), run(rule(name)), "{name}");
        let message = of(rule(name).ints("pads", &[0, 1])).reason().to_string();
        assert_eq!(message, format!("attribute \"pads\" is [0, 1]; legal: zeros with auto_pad {name}"));
    }
}
