//! Stated and omitted attributes. Each result differs if the standard's default does. Expected
//! values are computed from the operators' definitions.

use npukit_import::Reason;
use npukit_import::onnx::proto::{NodeProto, TensorProto, data_type};

use crate::model::{Model, With, counting, float_tensor, floats, int_tensor, node, unary};

/// Runs a node for `x` of `shape`; its other operands are constants.
fn run(
    opset: i64,
    shape: &[usize],
    values: &[f32],
    node: NodeProto,
    constants: Vec<TensorProto>,
) -> Vec<f32> {
    let dims: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
    unary(opset, &dims, node, constants).run(&[floats(shape, values)]).1
}

fn assert_close(name: &str, found: &[f32], expected: &[f64]) {
    let close = |(&found, &expected): (&f32, &f64)| {
        (f64::from(found) - expected).abs() <= 1e-6 * (1.0 + expected.abs())
    };
    let all = found.len() == expected.len() && found.iter().zip(expected).all(close);
    assert!(all, "{name}: {found:?} is not {expected:?}");
}

/// `(x - mean) / sqrt(variance + epsilon)` of two elements, whose mean is 0 and whose variance is
/// `x^2`.
fn normalized(x: f64, epsilon: f64) -> [f64; 2] {
    [x / (x * x + epsilon).sqrt(), -x / (x * x + epsilon).sqrt()]
}

/// A small variance reveals the added epsilon: 1e-5 by default.
#[test]
fn epsilons_are_a_hundred_thousandth() {
    let x = 1e-3f64;
    let of = |op: &str, operands: &[&str]| node(op, &[&["x"], operands].concat(), &["y"]);
    let parameters = |count: i64| {
        let all = |name: &str, value: f32| float_tensor(name, &[count], &vec![value; count as usize]);
        vec![all("one", 1.0), all("zero", 0.0), all("v", (x * x) as f32)]
    };
    let batch = of("BatchNormalization", &["one", "zero", "zero", "v"]);
    for (node, shape, count) in [
        (batch, &[2, 1][..], 1),
        (of("InstanceNormalization", &["one", "zero"]), &[1, 1, 2], 1),
        (of("GroupNormalization", &["one", "zero"]).int("num_groups", 1), &[1, 2], 2),
        (of("LayerNormalization", &["one", "zero"]), &[1, 2], 2),
        (of("RMSNormalization", &["one"]), &[1, 2], 2),
    ] {
        for (epsilon, node) in [(1e-5, node.clone()), (1e-3, node.float("epsilon", 1e-3))] {
            let name = format!("{} {epsilon}", node.op_type);
            let found = run(23, shape, &[x as f32, -x as f32], node, parameters(count));
            assert_close(&name, &found, &normalized(x, epsilon));
        }
    }
}

#[test]
fn norms_are_over_the_last_axis_and_euclidean() {
    let lp = |node: NodeProto| run(22, &[2, 2], &[3.0, 4.0, 0.0, -4.0], node, vec![]);
    let norm = || node("LpNormalization", &["x"], &["y"]);
    assert_close("default", &lp(norm()), &[0.6, 0.8, 0.0, -1.0]);
    assert_close("p 2", &lp(norm().int("p", 2).int("axis", -1)), &[0.6, 0.8, 0.0, -1.0]);
    assert_close("p 1", &lp(norm().int("p", 1)), &[3.0 / 7.0, 4.0 / 7.0, 0.0, -1.0]);
    let half = 0.5f64.sqrt();
    assert_close("axis 0", &lp(norm().int("axis", 0)), &[1.0, half, 0.0, -half]);
}

/// `x / (bias + alpha / size * sum of squares)^beta`, over channels.
#[test]
fn responses_are_divided_by_the_size_of_the_window() {
    let lrn = |node: NodeProto| run(13, &[1, 3, 1, 1], &[10.0, 20.0, 30.0], node.int("size", 3), vec![]);
    let of = || node("LRN", &["x"], &["y"]);
    let by = |alpha: f64, beta: f64, bias: f64| {
        [(10.0, 500.0), (20.0, 1400.0), (30.0, 1300.0)]
            .map(|(x, squares)| x / (bias + alpha / 3.0 * squares).powf(beta))
    };
    assert_close("default", &lrn(of()), &by(1e-4, 0.75, 1.0));
    let stated = of().float("alpha", 0.5).float("beta", 0.5).float("bias", 2.0);
    assert_close("stated", &lrn(stated), &by(0.5, 0.5, 2.0));
    let missing = unary(13, &[1, 3, 1, 1], of(), vec![]).reason();
    assert_eq!(missing, Reason::AttributeMissing { name: "size" });
}

/// `alpha * A * B + beta * C` with either matrix transposed.
#[test]
fn products_have_factors_and_transpositions() {
    let of = |node: NodeProto| {
        let constants =
            vec![float_tensor("b", &[2, 2], &[5.0, 6.0, 7.0, 8.0]), float_tensor("c", &[2], &[100.0, 200.0])];
        run(13, &[2, 2], &[1.0, 2.0, 3.0, 4.0], node, constants)
    };
    let gemm = || node("Gemm", &["x", "b", "c"], &["y"]);
    assert_eq!(of(gemm()), [119.0, 222.0, 143.0, 250.0]);
    assert_eq!(of(gemm().float("alpha", 2.0).float("beta", 0.5)), [88.0, 144.0, 136.0, 200.0]);
    assert_eq!(of(gemm().int("transA", 1)), [126.0, 230.0, 138.0, 244.0]);
    assert_eq!(of(gemm().int("transB", 1)), [117.0, 223.0, 139.0, 253.0]);
    assert_eq!(of(node("Gemm", &["x", "b"], &["y"])), [19.0, 22.0, 43.0, 50.0]);
    let flag = unary(13, &[2, 2], gemm().int("transA", 2), vec![]);
    let flag = flag.floats("b", &[2, 2], &[0.0; 4]).floats("c", &[2], &[0.0; 2]).reason();
    assert_eq!(flag.to_string(), "attribute \"transA\" is 2; legal: 0 or 1");
}

/// Defaults: dense windows, no padding, and one group of channels.
#[test]
fn windows_are_dense_and_without_padding() {
    let ones = float_tensor("w", &[1, 1, 2, 2], &[1.0; 4]);
    let x: Vec<f32> = (0..9).map(|value| value as f32).collect();
    let conv = run(13, &[1, 1, 3, 3], &x, node("Conv", &["x", "w"], &["y"]), vec![ones.clone()]);
    assert_eq!(conv, [8.0, 12.0, 20.0, 24.0]);
    let spread =
        run(13, &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0], node("ConvTranspose", &["x", "w"], &["y"]), vec![ones]);
    assert_eq!(spread, [1.0, 3.0, 2.0, 4.0, 10.0, 6.0, 3.0, 7.0, 4.0]);
    for op in ["MaxPool", "AveragePool"] {
        let missing = unary(13, &[1, 1, 2, 2], node(op, &["x"], &["y"]), vec![]).reason();
        assert_eq!(missing, Reason::AttributeMissing { name: "kernel_shape" });
    }
}

/// Each group of a transposed convolution has separate weights and results.
#[test]
fn groups_of_transposed_convolutions_stay_apart() {
    let weights = float_tensor("w", &[2, 2, 1, 1], &[1.0, 10.0, 100.0, 1000.0]);
    let of = |node: NodeProto| run(13, &[1, 2, 1, 1], &[2.0, 3.0], node, vec![weights.clone()]);
    let conv = || node("ConvTranspose", &["x", "w"], &["y"]);
    assert_eq!(of(conv().int("group", 2)), [2.0, 20.0, 300.0, 3000.0]);
    assert_eq!(of(conv()), [302.0, 3020.0]);
    let signal = float_tensor("w", &[2, 1, 2], &[1.0, 10.0, 100.0, 1000.0]);
    let signal = run(13, &[1, 2, 1], &[2.0, 3.0], conv().int("group", 2), vec![signal]);
    assert_eq!(signal, [2.0, 20.0, 300.0, 3000.0]);
    let odd =
        unary(13, &[1, 2, 1, 1], conv().int("group", 2), vec![float_tensor("w", &[3, 1, 1, 1], &[1.0; 3])]);
    let message = odd.reason().to_string();
    assert_eq!(message, "operand \"W\" is [3, 1, 1, 1]; legal: a multiple of 2 input channels");
}

/// The standard's examples: DCR takes channels from within blocks, CRD takes blocks from within
/// channels.
#[test]
fn depth_and_space_are_exchanged_in_either_order() {
    let moved = |op: &str, mode: Option<&str>, shape: &[usize]| {
        let moved = node(op, &["x"], &["y"]).int("blocksize", 2);
        let moved = match mode {
            Some(mode) => moved.string("mode", mode),
            None => moved,
        };
        let dims: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
        unary(13, &dims, moved, vec![]).run(&[counting(shape)])
    };
    // Channels 0 to 7 of one pixel, as two channels of 2x2 pixels.
    let by_block = (vec![1, 2, 2, 2], vec![0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]);
    assert_eq!(moved("DepthToSpace", None, &[1, 8, 1, 1]), by_block);
    assert_eq!(moved("DepthToSpace", Some("DCR"), &[1, 8, 1, 1]), by_block);
    let by_channel = (vec![1, 2, 2, 2], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(moved("DepthToSpace", Some("CRD"), &[1, 8, 1, 1]), by_channel);
    let wide = (vec![1, 1, 2, 4], vec![0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    assert_eq!(moved("DepthToSpace", None, &[1, 4, 1, 2]), wide);
    assert_eq!(moved("DepthToSpace", None, &[1, 4, 3, 1]).0, [1, 1, 6, 2]);
    assert_eq!(moved("DepthToSpace", Some("CRD"), &[1, 4, 1, 3]).0, [1, 1, 2, 6]);
    assert_eq!(moved("DepthToSpace", Some("CRD"), &[1, 4, 3, 1]).0, [1, 1, 6, 2]);
    assert_eq!(moved("DepthToSpace", None, &[1, 4, 1, 3]).0, [1, 1, 2, 6]);
    for mode in ["DCR", "CRD"] {
        assert_eq!(moved("SpaceToDepth", Some(mode), &[1, 3, 2, 6]).0, [1, 12, 1, 3]);
        assert_eq!(moved("SpaceToDepth", Some(mode), &[1, 3, 6, 2]).0, [1, 12, 3, 1]);
    }
    let deep = (vec![1, 8, 1, 1], vec![0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0]);
    assert_eq!(moved("SpaceToDepth", None, &[1, 2, 2, 2]), deep);
    let by_channel = (vec![1, 8, 1, 1], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(moved("SpaceToDepth", Some("CRD"), &[1, 2, 2, 2]), by_channel);
    for (op, from, to) in
        [("DepthToSpace", [1, 9, 1, 1], vec![1, 1, 3, 3]), ("SpaceToDepth", [1, 1, 3, 3], vec![1, 9, 1, 1])]
    {
        for mode in ["DCR", "CRD"] {
            let moved = node(op, &["x"], &["y"]).int("blocksize", 3).string("mode", mode);
            let found = unary(13, &from.map(|size| size as i64), moved, vec![]).run(&[counting(&from)]);
            assert_eq!(found, (to.clone(), counting(&from).as_f32().unwrap().to_vec()), "{op} {mode}");
        }
    }
    let refused = |op: &str, dims: &[i64], node: NodeProto| {
        let node = NodeProto { op_type: op.to_owned(), ..node };
        unary(13, dims, node, vec![]).reason().to_string()
    };
    let of = |block: i64| node("", &["x"], &["y"]).int("blocksize", block);
    for (op, dims, block) in [
        ("DepthToSpace", [1, 8, 1, 1], 3),
        ("DepthToSpace", [1, 2, 1, 1], 2),
        ("SpaceToDepth", [1, 1, 2, 3], 2),
        ("SpaceToDepth", [1, 1, 2, 2], 0),
        ("DepthToSpace", [1, 0, 1, 1], 0),
        ("SpaceToDepth", [1, 1, 0, 0], 0),
        ("SpaceToDepth", [1, 1, 0, 0], 1 << 24),
    ] {
        let message = refused(op, &dims, of(block));
        assert!(
            message.starts_with(&format!("attribute \"blocksize\" is {block}; legal: a number ")),
            "{message}"
        );
    }
    assert_eq!(refused("DepthToSpace", &[8], of(2)), "operand \"input\" is [8]; legal: [n, c, h, w]");
    let mode = refused("DepthToSpace", &[1, 8, 1, 1], of(2).string("mode", "RCD"));
    assert_eq!(mode, "attribute \"mode\" is \"RCD\"; legal: DCR or CRD");
    assert_eq!(
        refused("SpaceToDepth", &[1, 8, 2, 2], node("", &["x"], &["y"])),
        "attribute \"blocksize\" is missing"
    );
}

#[test]
fn values_are_repeated_broadcast_and_cut_in_triangles() {
    let of = |node: NodeProto, shape: &[i64], operand: &[i64]| {
        let tensor = int_tensor("o", &[operand.len() as i64], operand);
        unary(14, shape, node, vec![tensor])
    };
    let row = |node: NodeProto, operand: &[i64]| of(node, &[2, 1], operand).run(&[counting(&[2, 1])]);
    let tile = || node("Tile", &["x", "o"], &["y"]);
    let expand = || node("Expand", &["x", "o"], &["y"]);
    assert_eq!(row(tile(), &[2, 2]), (vec![4, 2], vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]));
    assert_eq!(row(tile(), &[0, 1]), (vec![0, 1], vec![]));
    assert_eq!(row(expand(), &[2, 2]), (vec![2, 2], vec![0.0, 0.0, 1.0, 1.0]));
    assert_eq!(of(expand(), &[2, 1], &[2, 2]).import().unwrap().nodes.len(), 1);
    // A size of 1 keeps the operand's size; so do axes that are not listed.
    assert_eq!(row(expand(), &[1, 1]), (vec![2, 1], vec![0.0, 1.0]));
    assert_eq!(row(expand(), &[3]), (vec![2, 3], vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0]));
    assert_eq!(row(expand(), &[2, 1, 1]), (vec![2, 2, 1], vec![0.0, 1.0, 0.0, 1.0]));
    let message = of(expand(), &[2, 1], &[3, 1]).reason().to_string();
    assert_eq!(message, "operand \"shape\" is [3, 1]; legal: sizes that broadcast with [2, 1]");
    for wrong in [&[1][..], &[1, -1], &[1, 1, 1]] {
        let message = of(tile(), &[2, 1], wrong).reason().to_string();
        assert_eq!(
            message,
            format!(
                "operand \"repeats\" is {wrong:?}; legal: one number of 0 or more for each axis of [2, 1]"
            )
        );
    }
    let triangle = |node: NodeProto, constants: Vec<TensorProto>| {
        unary(14, &[2, 3], node, constants).run(&[floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]).1
    };
    let trilu = |inputs: &[&str]| node("Trilu", inputs, &["y"]);
    let offset = |k: i64| vec![int_tensor("k", &[], &[k])];
    assert_eq!(triangle(trilu(&["x"]), vec![]), [1.0, 2.0, 3.0, 0.0, 5.0, 6.0]);
    assert_eq!(triangle(trilu(&["x"]).int("upper", 0), vec![]), [1.0, 0.0, 0.0, 4.0, 5.0, 0.0]);
    assert_eq!(triangle(trilu(&["x", "k"]), offset(1)), [0.0, 2.0, 3.0, 0.0, 0.0, 6.0]);
    assert_eq!(triangle(trilu(&["x", "k"]).int("upper", 0), offset(-1)), [0.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
}

#[test]
fn values_are_chosen_counted_and_cast() {
    let truths = TensorProto {
        name: "c".to_owned(),
        dims: vec![2],
        data_type: data_type::BOOL,
        int32_data: vec![1, 0],
        ..TensorProto::default()
    };
    let chosen = node("Where", &["c", "x", "z"], &["y"]);
    let zero = float_tensor("z", &[], &[9.0]);
    assert_eq!(run(13, &[2, 2], &[1.0, 2.0, 3.0, 4.0], chosen, vec![truths, zero]), [1.0, 9.0, 3.0, 9.0]);
    assert_eq!(run(13, &[2, 3], &[0.0; 6], node("Size", &["x"], &["y"]), vec![]), [6.0]);
    let like = node("CastLike", &["x", "i"], &["y"]);
    let cast = unary(15, &[2], like, vec![int_tensor("i", &[1], &[0])]);
    assert_eq!(cast.run(&[floats(&[2], &[1.75, -1.75])]).1, [1.0, -1.0]);
    // Powers of two; the nearest one is the default.
    for (mode, expected) in [
        (None, [4.0, 4.0]),
        (Some("up"), [4.0, 4.0]),
        (Some("down"), [2.0, 2.0]),
        (Some("nearest"), [2.0, 4.0]),
    ] {
        let cast = node("Cast", &["x"], &["y"]).int("to", data_type::FLOAT8E8M0.into());
        let cast = match mode {
            Some(mode) => cast.string("round_mode", mode),
            None => cast,
        };
        assert_eq!(run(24, &[2], &[2.5, 3.5], cast, vec![]), expected, "{mode:?}");
    }
    let refused = |node: NodeProto| unary(13, &[2], node, vec![]).reason().to_string();
    assert_eq!(refused(node("Cast", &["x"], &["y"])), "attribute \"to\" is missing");
    let of = |code: i64| node("Cast", &["x"], &["y"]).int("to", code);
    assert_eq!(refused(of(8)), "element type string is not supported (numbers and truth values are)");
    assert_eq!(
        refused(of(1 << 40)),
        format!("element type {} is not supported (numbers and truth values are)", i32::MAX)
    );
    let mode = of(1).string("round_mode", "zero");
    assert_eq!(refused(mode), "attribute \"round_mode\" is \"zero\"; legal: up, down or nearest");
}

/// Default axes: the first for indices and parts, the second for flattening, all for transposing.
#[test]
fn axes_have_defaults_and_count_from_either_end() {
    let of = |node: NodeProto, constants| unary(13, &[2, 3], node, constants).run(&[counting(&[2, 3])]);
    let places = vec![int_tensor("i", &[1], &[1])];
    assert_eq!(of(node("Gather", &["x", "i"], &["y"]), places), (vec![1, 3], vec![3.0, 4.0, 5.0]));
    assert_eq!(of(node("Split", &["x"], &["y", "z"]), vec![]), (vec![1, 3], vec![0.0, 1.0, 2.0]));
    assert_eq!(of(node("Flatten", &["x"], &["y"]), vec![]).0, [2, 3]);
    assert_eq!(of(node("Transpose", &["x"], &["y"]), vec![]).1, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    for (op, axis, legal) in [
        ("Softmax", 2, "-2 to 1"),
        ("Softmax", -3, "-2 to 1"),
        ("ArgMax", 2, "-2 to 1"),
        ("Concat", 2, "-2 to 1"),
        ("Split", -3, "-2 to 1"),
        ("LpNormalization", 2, "-2 to 1"),
        ("Flatten", 3, "-2 to 2"),
        ("Flatten", -3, "-2 to 2"),
    ] {
        let node = node(op, &["x"], &["y"]).int("axis", axis);
        let message = unary(13, &[2, 3], node, vec![]).reason().to_string();
        assert_eq!(message, format!("attribute \"axis\" is {axis}; legal: {legal}"), "{op}");
    }
}

/// Rotates pairs of features by an angle per position: features of both halves, or adjacent ones.
#[test]
fn features_are_turned_by_their_position() {
    let turned = |node: NodeProto, shape: &[usize]| {
        let dims: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
        // No rotation at position 0, a quarter turn at position 1.
        let model = Model::new(23).input("x", &dims).floats("cos", &[2, 2], &[1.0, 1.0, 0.0, 0.0]);
        let mut model = model.floats("sin", &[2, 2], &[0.0, 0.0, 1.0, 1.0]).node(node).output("y");
        model.graph().initializer.push(int_tensor("p", &[1, 2], &[1, 0]));
        model.run(&[floats(shape, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])]).1
    };
    let of = |name: &str| node("RotaryEmbedding", &["x", "cos", "sin", name], &["y"]);
    // The positions are 1 and 0: the first token is rotated.
    assert_eq!(turned(of("p"), &[1, 1, 2, 4]), [-3.0, -4.0, 1.0, 2.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(
        turned(of("p").int("interleaved", 1), &[1, 1, 2, 4]),
        [-2.0, 1.0, -4.0, 3.0, 5.0, 6.0, 7.0, 8.0]
    );
    assert_eq!(turned(of("p").int("num_heads", 1), &[1, 2, 4]), [-3.0, -4.0, 1.0, 2.0, 5.0, 6.0, 7.0, 8.0]);
    let wrong = |node: NodeProto| {
        let model = Model::new(23).input("x", &[1, 2, 4]).floats("cos", &[1, 2, 2], &[1.0; 4]);
        let inputs = ["x", "cos", "cos"].map(str::to_owned).to_vec();
        model.node(NodeProto { input: inputs, ..node }).output("y").reason().to_string()
    };
    let legal = "at least 1 for an operand of 3 axes";
    assert_eq!(wrong(of("p")), format!("attribute \"num_heads\" is 0; legal: {legal}"));
    assert_eq!(wrong(of("p").int("num_heads", -1)), "attribute \"num_heads\" is -1; legal: 0 or more");
}

/// The last of three axes is normalized by default.
#[test]
fn normalizations_are_over_the_last_axis() {
    let of = |op: &str, operands: &[&str]| node(op, &[&["x"], operands].concat(), &["y"]);
    let parameters = || vec![float_tensor("one", &[2], &[1.0; 2]), float_tensor("zero", &[2], &[0.0; 2])];
    let root = 12.5f64.sqrt();
    for (node, x, expected) in [
        (of("LpNormalization", &[]), [3.0, 4.0, 0.0, -4.0], [0.6, 0.8, 0.0, -1.0]),
        (
            of("LayerNormalization", &["one", "zero"]).float("epsilon", 0.0),
            [1.0, 3.0, 10.0, 30.0],
            [-1.0, 1.0, -1.0, 1.0],
        ),
        (
            of("RMSNormalization", &["one"]).float("epsilon", 0.0),
            [3.0, 4.0, 5.0, -5.0],
            [3.0 / root, 4.0 / root, 1.0, -1.0],
        ),
    ] {
        let name = node.op_type.clone();
        assert_close(&name, &run(23, &[1, 2, 2], &x, node, parameters()), &expected);
    }
}

/// Blocks of 3x3 pixels with two channels: `CRD` keeps the pixels of a channel together, `DCR` the
/// channels of a pixel.
#[test]
fn blocks_of_three_have_two_channels() {
    let x: Vec<f32> = (0..18).map(|value| value as f32).collect();
    let moved = |op: &str, mode: &str, shape: &[usize]| {
        run(13, shape, &x, node(op, &["x"], &["y"]).int("blocksize", 3).string("mode", mode), vec![])
    };
    let alternating: Vec<f32> = (0..18).map(|place| (place % 9 * 2 + place / 9) as f32).collect();
    assert_eq!(moved("DepthToSpace", "DCR", &[1, 18, 1, 1]), alternating);
    assert_eq!(moved("DepthToSpace", "CRD", &[1, 18, 1, 1]), x);
    let pairs: Vec<f32> = (0..18).map(|place| (place % 2 * 9 + place / 2) as f32).collect();
    assert_eq!(moved("SpaceToDepth", "DCR", &[1, 2, 3, 3]), pairs);
    assert_eq!(moved("SpaceToDepth", "CRD", &[1, 2, 3, 3]), x);
}

/// Heads are concatenated. Each is rotated as a whole unless a part is stated.
#[test]
fn heads_of_a_token_are_turned_one_by_one() {
    let turned = |node: NodeProto| {
        let model = Model::new(23).input("x", &[1, 1, 4]).floats("cos", &[1, 1, 1], &[0.0]);
        let model = model.floats("sin", &[1, 1, 1], &[1.0]).node(node.int("num_heads", 2)).output("y");
        model.run(&[floats(&[1, 1, 4], &[1.0, 2.0, 3.0, 4.0])]).1
    };
    let of = || node("RotaryEmbedding", &["x", "cos", "sin"], &["y"]);
    assert_eq!(turned(of()), [-2.0, 1.0, -4.0, 3.0]);
    assert_eq!(turned(of().int("rotary_embedding_dim", 2)), [-2.0, 1.0, -4.0, 3.0]);
}
