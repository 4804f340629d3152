//! Truncated, damaged and random files: an error or a graph, never a panic.

use npukit_graph::op::Cast;
use npukit_graph::{Graph, Operator, ValueInfo, Work, evaluate, pass};
use npukit_import::onnx::proto::NodeProto;
use npukit_import::onnx::{ImportError, Options, read};
use npukit_numeric::{Tensor, TensorData};
use proptest::prelude::*;

use crate::model::{Model, With, float_tensor, node};

/// A network with most operators, shape arithmetic and all kinds of operands.
fn network() -> Vec<u8> {
    let weights: Vec<f32> = (0..36).map(|value| value as f32 / 36.0).collect();
    let mut model = Model::new(13)
        .input("x", &[-1, 2, 6, 6])
        .ints("pads", &[0, 0, 1, 0, 0, 0, 1, 0])
        .ints("starts", &[0])
        .ints("ends", &[1])
        .ints("axes", &[0])
        .ints("rest", &[-1])
        .ints("parts", &[1, 1])
        .floats("scales", &[4], &[1.0, 1.0, 2.0, 0.5])
        .node(node("Pad", &["x", "pads"], &["p"]).string("mode", "reflect"))
        .node(
            node("Conv", &["p", "w"], &["c"])
                .string("auto_pad", "SAME_UPPER")
                .ints("strides", &[2, 1])
                .ints("kernel_shape", &[3, 3])
                .int("group", 1),
        )
        .node(node("BatchNormalization", &["c", "g", "g", "g", "g"], &["n"]).float("epsilon", 1e-3))
        .node(node("LeakyRelu", &["n"], &["r"]).float("alpha", 0.1))
        .node(node("Split", &["r", "parts"], &["s0", "s1"]).int("axis", 1))
        .node(node("Concat", &["s1", "s0"], &["j"]).int("axis", 1))
        .node(node("MaxPool", &["j"], &["m"]).ints("kernel_shape", &[2, 2]).ints("pads", &[0, 1, 0, 1]))
        .node(node("Resize", &["m", "", "scales"], &["z"]).string("mode", "linear"))
        .node(node("AveragePool", &["z"], &["a"]).ints("kernel_shape", &[2, 2]).int("ceil_mode", 1))
        .node(node("Shape", &["a"], &["shape"]))
        .node(node("Slice", &["shape", "starts", "ends"], &["batch"]))
        .node(node("Concat", &["batch", "rest"], &["target"]).int("axis", 0))
        .node(node("Reshape", &["a", "target"], &["f"]))
        .node(node("Transpose", &["f"], &["t"]).ints("perm", &[1, 0]))
        .node(node("Unsqueeze", &["t", "axes"], &["u"]))
        .node(node("Squeeze", &["u", "axes"], &["v"]))
        .node(node("ConstantOfShape", &["parts"], &["k"]).tensor("value", float_tensor("", &[1], &[2.0])))
        .node(node("Mul", &["v", "k"], &["scaled"]))
        .node(node("Softmax", &["scaled"], &["y"]).int("axis", 0))
        .output("y");
    model.graph().initializer.push(float_tensor("w", &[2, 2, 3, 3], &weights));
    model.graph().initializer.push(float_tensor("g", &[2], &[1.0, 2.0]));
    model.bytes()
}

/// Imports a file. An accepted one must give a valid graph that can be simplified and, if that is
/// cheap, be evaluated or report why not.
fn import(bytes: &[u8]) {
    let Ok(imported) = read(bytes, "test", &Options::default()) else { return };
    let mut graph = imported.graph;
    graph.validate().unwrap();
    evaluate_small(&graph);
    pass::simplify(&mut graph).unwrap_or_else(|error| panic!("{error}\n{graph}"));
    evaluate_small(&graph);
}

fn evaluate_small(graph: &Graph) {
    let shapes = || graph.inputs.iter().map(|&id| &graph.value(id).info);
    let count = |shape: &[usize]| shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    let small = |limit: usize| shapes().all(|info| count(&info.shape).is_some_and(|count| count <= limit));
    let work = Work::of(graph);
    if work.operations > 1 << 20 || work.peak_bytes > 1 << 24 || !small(1 << 12) {
        return;
    }
    let input = |info: &ValueInfo| {
        let ones = TensorData::I64(vec![1; count(&info.shape)?]);
        let ones = Tensor::new(info.shape.clone(), ones).ok()?;
        Cast::new(info.element).eval(&[&ones]).ok()?.pop()
    };
    let inputs: Option<Vec<Tensor>> = shapes().map(input).collect();
    if let Some(inputs) = inputs {
        let _ = evaluate(graph, &inputs);
    }
}

#[test]
fn the_network_itself_is_good() {
    read(&network(), "test", &Options::default()).unwrap();
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = network();
    // Whole fields may be missing at the end. The opset is last, so the version check reports it.
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length], "test", &Options::default()).is_err(), "{length} bytes");
    }
}

/// Operators on indices, positions, windows and lists, and a function; after the letter that
/// selects the fuzzer's format.
const INDEXED: &[u8] = include_bytes!("../../../../fuzz/corpus/models/indexed");

#[test]
fn every_byte_may_be_damaged() {
    damage(&network());
    read(&INDEXED[1..], "test", &Options::default()).unwrap();
    damage(&INDEXED[1..]);
}

/// Imports the file with each byte damaged in several ways.
fn damage(bytes: &[u8]) {
    for place in 0..bytes.len() {
        for value in [0x00, 0x01, 0x7f, 0x80, 0xff, bytes[place] ^ 0x40, bytes[place].wrapping_add(1)] {
            let mut damaged = bytes.to_vec();
            damaged[place] = value;
            import(&damaged);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_files_never_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = network();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        import(&bytes);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        import(&bytes);
    }

    /// Attributes and operands that decode, but are meaningless.
    #[test]
    fn random_numbers_never_panic(
        op in prop::sample::select(vec![
            "AveragePool", "Clip", "Concat", "Conv", "Flatten", "Gather", "MaxPool", "Pad", "Reshape", "Resize",
            "Slice", "Softmax", "Split", "Squeeze", "Transpose", "Unsqueeze", "Upsample", "ConstantOfShape",
        ]),
        opset in 7i64..=25,
        dims in prop::collection::vec(size(), 0..6),
        numbers in prop::collection::vec(prop::collection::vec(number(), 0..6), 8),
        single in number(),
    ) {
        // Attributes of the operator at this opset: lists, single numbers, and the number of
        // operands.
        let (lists, singles, operands): (&[&str], &[&str], usize) = match op {
            "Conv" => (&["strides", "dilations", "pads", "kernel_shape"], &["group"], 2),
            "MaxPool" | "AveragePool" => (&["strides", "dilations", "pads", "kernel_shape"], &[], 1),
            "Pad" if opset < 11 => (&["pads"], &[], 1),
            "Slice" if opset < 10 => (&["starts", "ends", "axes"], &[], 1),
            "Slice" => (&[], &[], 5),
            "Split" if opset < 13 => (&["split"], &["axis"], 1),
            "Split" => (&[], &["axis"], 2),
            "Squeeze" | "Unsqueeze" if opset < 13 => (&["axes"], &[], 1),
            "Transpose" => (&["perm"], &[], 1),
            "Concat" | "Flatten" | "Softmax" => (&[], &["axis"], 1),
            "Gather" => (&[], &["axis"], 2),
            "Squeeze" | "Unsqueeze" | "Reshape" => (&[], &[], 2),
            _ => (&[], &[], 4),
        };
        let names = ["x", "a", "b", "c", "d"];
        let mut node = node(op, &names[..operands], &["y", "z"]);
        for (name, values) in lists.iter().zip(&numbers) {
            node = node.ints(name, values);
        }
        for name in singles {
            node = node.int(name, single);
        }
        let mut model = Model::new(opset).input("x", &dims).node(node).output("y");
        for (name, values) in names[1..].iter().zip(&numbers[4..]) {
            let scales: Vec<f32> = values.iter().map(|&value| value as f32 / 2.0).collect();
            model = match op {
                "Conv" => model.floats(name, &[2, 2, 3, 1], &[0.5; 12]),
                "Resize" | "Upsample" | "Clip" => model.floats(name, &[scales.len() as i64], &scales),
                _ => model.ints(name, values),
            };
        }
        import(&model.bytes());
    }
}

/// Names of values in an adversarial graph. `x`, `w`, `i` and `q` exist. The others are results of
/// nodes, undefined, or results of the node that consumes them.
const NAMES: [&str; 10] = ["x", "w", "i", "q", "a", "b", "c", "d", "e", "y"];

/// A node of a random operator and random operands and results.
fn any_node() -> impl Strategy<Value = NodeProto> {
    let ops = vec![
        "Add",
        "Mul",
        "MatMul",
        "Gemm",
        "Conv",
        "ConvTranspose",
        "Concat",
        "Reshape",
        "Expand",
        "Tile",
        "Transpose",
        "Relu",
        "Cast",
        "QuantizeLinear",
        "DequantizeLinear",
        "MaxPool",
        "AveragePool",
        "LRN",
        "ReduceSum",
        "Gather",
        "Shape",
        "ConstantOfShape",
        "Softmax",
        "Resize",
        "Pad",
        "Identity",
        "Einsum",
        "Where",
        "Range",
        "Max",
    ];
    let name = || prop::sample::select(&NAMES[..]);
    let attribute = prop::sample::select(vec![
        "axis",
        "to",
        "perm",
        "kernel_shape",
        "group",
        "pads",
        "block_size",
        "size",
    ]);
    let attributes =
        prop::collection::vec((attribute, prop::collection::vec(number(), 1..4), any::<bool>()), 0..3);
    (prop::sample::select(ops), prop::collection::vec(name(), 1..4), name(), attributes).prop_map(
        |(op, inputs, output, attributes)| {
            let mut result = node(op, &inputs, &[output]);
            let mut given = Vec::new();
            for (name, values, list) in attributes {
                if !given.contains(&name) {
                    result = if list { result.ints(name, &values) } else { result.int(name, values[0]) };
                    given.push(name);
                }
            }
            result
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Cycles, undefined names, multiplying sizes: a graph, or an error that names a part.
    #[test]
    fn adversarial_graphs_are_read_or_refused_by_name(
        nodes in prop::collection::vec(any_node(), 1..12),
        dims in prop::collection::vec(size(), 0..5),
        opset in 7i64..=28,
    ) {
        let mut model = Model::new(opset)
            .input("x", &dims)
            .floats("w", &[2, 2, 1, 1], &[0.5; 4])
            .ints("i", &[2, 1 << 20])
            .floats("q", &[], &[0.25])
            .output("y");
        model.graph().node.extend(nodes);
        let bytes = model.bytes();
        import(&bytes);
        if let Err(ImportError::Problems { problems }) = read(&bytes, "test", &Options::default()) {
            prop_assert!(problems.iter().all(|problem| !problem.node.is_empty() && !problem.op.is_empty()));
        }
    }
}

/// Sizes as models have them, and invalid ones.
fn size() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 0i64..9, 1 => Just(-1), 1 => number()]
}

/// Mostly small numbers, and some that cause overflow.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => -3i64..6,
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, 1 << 31, 1 << 32, -(1 << 31)]),
        1 => any::<i64>(),
    ]
}
