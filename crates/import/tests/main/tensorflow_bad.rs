//! Truncated, damaged and random TensorFlow files: an error or a graph, never a panic.

use npukit_import::Options;
use npukit_import::tensorflow::read;
use proptest::prelude::*;

use crate::graph_def::{Graph, With, node};

/// A network with most kinds of operands and attributes.
fn network() -> Graph {
    let weights: Vec<f32> = (0..36).map(|value| value as f32 / 36.0).collect();
    Graph::default()
        .input("x", &[-1, 6, 6, 2])
        .integers("pads", &[4, 2], &[0, 0, 1, 0, 1, 0, 0, 0])
        .integers("block", &[2], &[2, 2])
        .integers("ends", &[2, 2], &[1, 1, 1, 1])
        .integers("size", &[2], &[3, 5])
        .integers("axis", &[], &[3])
        .integers("zero", &[1], &[0])
        .integers("one", &[1], &[1])
        .integers("rest", &[], &[-1])
        .integers("rows", &[2], &[1, 2])
        .floats("w", &[3, 3, 2, 2], &weights)
        .floats("d", &[2, 2, 2, 1], &weights[..8])
        .floats("g", &[2], &[1.0, 2.0])
        .node(node("MirrorPad", "p", &["x", "pads"]).string("mode", "REFLECT"))
        .node(node("Conv2D", "c", &["p", "w"]).ints("strides", &[1, 2, 1, 1]).string("padding", "SAME"))
        .node(node("BiasAdd", "b", &["c", "g"]))
        .node(
            node("FusedBatchNormV3", "n", &["b", "g", "g", "g", "g"])
                .flag("is_training", false)
                .float("epsilon", 1e-3),
        )
        .node(node("LeakyRelu", "r", &["n"]).float("alpha", 0.1))
        .node(node("SpaceToBatchND", "cut", &["x", "block", "ends"]))
        .node(
            node("DepthwiseConv2dNative", "k", &["cut", "d"])
                .ints("strides", &[1, 1, 1, 1])
                .string("padding", "VALID"),
        )
        .node(node("BatchToSpaceND", "whole", &["k", "block", "ends"]))
        .node(node("Split", "s", &["axis", "r"]).int("num_split", 2))
        .node(node("ConcatV2", "j", &["s:1", "s", "axis"]).int("N", 2))
        .node(
            node("MaxPool", "m", &["j"])
                .ints("ksize", &[1, 2, 2, 1])
                .ints("strides", &[1, 1, 1, 1])
                .string("padding", "SAME"),
        )
        .node(node("ResizeBilinear", "z", &["m", "size"]).flag("half_pixel_centers", true))
        .node(node("Mean", "mean", &["z", "rows"]).flag("keep_dims", false))
        .node(node("Shape", "shape", &["mean"]))
        .node(node("StridedSlice", "batch", &["shape", "zero", "one", "one"]).int("shrink_axis_mask", 1))
        .node(node("Pack", "target", &["batch", "rest"]).int("N", 2).int("axis", 0))
        .node(node("Reshape", "f", &["z", "target"]))
        .node(node("Softmax", "y", &["f"]))
        .node(node("Identity", "Identity", &["y", "^whole"]))
}

/// Imports a file; an accepted one must give a valid graph.
fn import(bytes: &[u8]) {
    if let Ok(graph) = read(bytes, "test", &Options::default()) {
        graph.graph.validate().unwrap();
    }
}

#[test]
fn the_network_itself_is_good() {
    network().import().unwrap();
}

#[test]
fn truncations_never_panic() {
    let bytes = network().bytes();
    (0..bytes.len()).for_each(|length| import(&bytes[..length]));
}

#[test]
fn every_byte_may_be_damaged() {
    let bytes = network().bytes();
    for place in 0..bytes.len() {
        for value in [0x00, 0x01, 0x7f, 0x80, 0xff, bytes[place] ^ 0x40, bytes[place].wrapping_add(1)] {
            let mut damaged = bytes.clone();
            damaged[place] = value;
            import(&damaged);
        }
    }
}

/// Operators with integer operands and attributes: name, data operands, integer operands, lists
/// of integers, single integers.
type Shape = (&'static str, &'static [&'static str], usize, &'static [&'static str], &'static [&'static str]);

const SHAPES: &[Shape] = &[
    ("ArgMax", &["x"], 1, &[], &[]),
    ("AvgPool", &["x"], 0, &["ksize", "strides"], &[]),
    ("BatchToSpaceND", &["x"], 2, &[], &[]),
    ("BroadcastTo", &["x"], 1, &[], &[]),
    ("Conv2D", &["x", "w"], 0, &["strides", "dilations", "explicit_paddings"], &[]),
    ("DepthToSpace", &["x"], 0, &[], &["block_size"]),
    ("ExpandDims", &["x"], 1, &[], &[]),
    ("GatherV2", &["x"], 2, &[], &["batch_dims"]),
    ("LRN", &["x"], 0, &[], &["depth_radius"]),
    ("MaxPoolV2", &["x"], 2, &[], &[]),
    ("Mean", &["x"], 1, &[], &[]),
    ("Pack", &["x", "x"], 0, &[], &["axis"]),
    ("Pad", &["x"], 1, &[], &[]),
    ("Range", &[], 3, &[], &[]),
    ("Reshape", &["x"], 1, &[], &[]),
    ("ResizeNearestNeighbor", &["x"], 1, &[], &[]),
    ("Slice", &["x"], 2, &[], &[]),
    ("SpaceToBatchND", &["x"], 2, &[], &[]),
    ("SpaceToDepth", &["x"], 0, &[], &["block_size"]),
    ("SplitV", &["x"], 2, &[], &["num_split"]),
    ("Squeeze", &["x"], 0, &["squeeze_dims"], &[]),
    (
        "StridedSlice",
        &["x"],
        3,
        &[],
        &["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"],
    ),
    ("Tile", &["x"], 1, &[], &[]),
    ("Transpose", &["x"], 1, &[], &[]),
    ("Unpack", &["x"], 0, &[], &["axis", "num"]),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_files_never_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = network().bytes();
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
        (op, data, operands, lists, singles) in prop::sample::select(SHAPES),
        padding in prop::sample::select(vec!["SAME", "VALID", "EXPLICIT"]),
        dims in prop::collection::vec(prop_oneof![6 => 0i64..9, 1 => Just(-1), 1 => any::<i64>()], 0..6),
        numbers in prop::collection::vec(prop::collection::vec(number(), 0..9), 4),
        single in prop::collection::vec(number(), 5),
        pairs in any::<bool>(),
    ) {
        let names = ["a", "b", "c"];
        let inputs = [data, &names[..operands]].concat();
        let mut node = node(op, "y", &inputs);
        for (name, values) in lists.iter().zip(&numbers) {
            node = node.ints(name, &values.iter().map(|&value| value.into()).collect::<Vec<_>>());
        }
        for (name, &value) in singles.iter().zip(&single) {
            node = node.int(name, value.into());
        }
        if matches!(op, "AvgPool" | "Conv2D" | "MaxPoolV2") {
            node = node.string("padding", padding);
        }
        let mut graph = Graph::default().input("x", &dims).floats("w", &[2, 2, 3, 1], &[0.5]);
        for (name, values) in names.iter().zip(&numbers) {
            let count = values.len() as i64;
            graph = match values[..] {
                [value] => graph.integers(name, &[], &[value]),
                _ if pairs => graph.integers(name, &[count / 2, 2], &values[..values.len() / 2 * 2]),
                _ => graph.integers(name, &[count], values),
            };
        }
        import(&graph.node(node).bytes());
    }
}

/// Mostly small numbers, and some that cause overflow.
fn number() -> impl Strategy<Value = i32> {
    prop_oneof![8 => -3i32..6, 1 => prop::sample::select(vec![i32::MIN, i32::MAX, 1 << 24]), 1 => any::<i32>()]
}
