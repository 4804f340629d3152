//! TensorFlow's operators of layers and whole tensors, worked out manually from their
//! documentation, with the defaults of their attributes.

use npukit_graph::Op;
use npukit_import::Reason;
use npukit_import::tensorflow::proto::{Attr, NodeDef, TensorProto};
use npukit_numeric::{ElementType, TensorData};

use crate::graph_def::{Graph, With, node, shape};
use crate::model::{counting, floats};

/// Shape and elements of a node's result for one float input; the node may use the constants.
fn run(constants: Graph, node: NodeDef, sizes: &[usize], values: &[f32]) -> (Vec<usize>, Vec<f32>) {
    let dims: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
    constants.input("x", &dims).node(node).outputs(&["y"]).run(&[floats(sizes, values)])
}

fn assert_close(found: &[f32], expected: &[f32]) {
    let close = |(found, expected): (&f32, &f32)| (found - expected).abs() <= 1e-5 * (1.0 + expected.abs());
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?} {expected:?}");
}

#[test]
fn products_of_matrices_may_be_transposed() {
    // [[1, 2], [3, 4]] and [[5, 6], [7, 8]].
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
    for (op, left, right, dims) in [
        ("MatMul", "transpose_a", "transpose_b", &[2, 2][..]),
        ("BatchMatMul", "adj_x", "adj_y", &[1, 2, 2]),
        ("BatchMatMulV2", "adj_x", "adj_y", &[1, 2, 2]),
        ("BatchMatMulV2", "adj_x", "adj_y", &[2, 2]),
        ("BatchMatMulV3", "adj_x", "adj_y", &[1, 2, 2]),
    ] {
        let sizes: Vec<usize> = dims.iter().map(|&size| size as usize).collect();
        let of = |node: NodeDef| run(Graph::default().floats("b", dims, &b), node, &sizes, &a).1;
        let product = || node(op, "y", &["x", "b"]);
        assert_eq!(of(product()), [19.0, 22.0, 43.0, 50.0], "{op}");
        assert_eq!(of(product().flag(left, true)), [26.0, 30.0, 38.0, 44.0], "{op}");
        assert_eq!(of(product().flag(right, true)), [17.0, 23.0, 39.0, 53.0], "{op}");
        assert_eq!(of(product().flag(left, true).flag(right, true)), [23.0, 31.0, 34.0, 46.0], "{op}");
        assert_eq!(of(product().flag(left, false).flag(right, false)), [19.0, 22.0, 43.0, 50.0], "{op}");
    }
    let flat = Graph::default().input("x", &[2]).floats("b", &[2, 2], &b);
    let reason = flat.node(node("BatchMatMul", "y", &["x", "b"]).flag("adj_x", true)).reason();
    assert_eq!(reason.to_string(), "operand \"x\" is [2]; legal: at least two axes");
}

#[test]
fn einsum_has_its_equation_as_an_attribute() {
    let product = node("Einsum", "y", &["x", "b"]).string("equation", "ij,kj->ki").int("N", 2);
    let b = Graph::default().floats("b", &[2, 2], &[5.0, 6.0, 7.0, 8.0]);
    assert_eq!(run(b, product, &[2, 2], &[1.0, 2.0, 3.0, 4.0]).1, [17.0, 39.0, 23.0, 53.0]);
}

#[test]
fn a_bias_is_added_by_channel() {
    let bias = |order: Option<&str>, sizes: &[usize]| {
        let add = node("BiasAdd", "y", &["x", "b"]);
        let add = match order {
            Some(order) => add.string("data_format", order),
            None => add,
        };
        let count: usize = sizes.iter().product();
        run(Graph::default().floats("b", &[2], &[10.0, 20.0]), add, sizes, &vec![0.0; count]).1
    };
    assert_eq!(bias(None, &[1, 3, 2]), [10.0, 20.0, 10.0, 20.0, 10.0, 20.0]);
    assert_eq!(bias(Some("NHWC"), &[3, 2]), [10.0, 20.0, 10.0, 20.0, 10.0, 20.0]);
    assert_eq!(bias(Some("NCHW"), &[1, 2, 3]), [10.0, 10.0, 10.0, 20.0, 20.0, 20.0]);
    assert_eq!(bias(Some("NCHW"), &[1, 2, 2, 1]), [10.0, 10.0, 20.0, 20.0]);
    assert_eq!(bias(Some("NCHW"), &[2, 2]), [10.0, 20.0, 10.0, 20.0]);
    let refused = |bias: &[i64], order: &str| {
        let graph = Graph::default().input("x", &[1, 3, 2]).floats("b", bias, &[1.0]);
        graph.node(node("BiasAdd", "y", &["x", "b"]).string("data_format", order)).reason().to_string()
    };
    assert_eq!(refused(&[1, 2], "NHWC"), "operand \"bias\" is [1, 2]; legal: a vector");
    let by_channel = "legal: a number for each channel of [1, 3, 2]";
    assert_eq!(refused(&[3], "NHWC"), format!("operand \"bias\" is [3]; {by_channel}"));
    assert_eq!(refused(&[2], "NCHW"), format!("operand \"bias\" is [2]; {by_channel}"));
    assert_eq!(refused(&[2], "NWHC"), "attribute \"data_format\" is \"NWHC\"; legal: NHWC or NCHW");
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + offset`, with the statistics of training or of
/// the operand.
#[test]
fn batches_are_normalized() {
    let constants = || {
        let two = |graph: Graph, name: &str, values: [f32; 2]| graph.floats(name, &[2], &values);
        let graph = two(two(Graph::default(), "scale", [2.0, 3.0]), "offset", [1.0, -1.0]);
        two(two(graph, "mean", [1.0, 2.0]), "variance", [3.75, 0.75])
    };
    let given = || node("FusedBatchNormV3", "y", &["x", "scale", "offset", "mean", "variance"]);
    let frozen = |node: NodeDef, sizes: &[usize], x: &[f32]| {
        run(constants(), node.flag("is_training", false), sizes, x).1
    };
    let quarter = || given().float("epsilon", 0.25);
    assert_eq!(frozen(quarter(), &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]), [1.0, -1.0, 3.0, 5.0]);
    let channels_first = quarter().string("data_format", "NCHW");
    assert_eq!(frozen(channels_first, &[1, 2, 1, 2], &[1.0, 3.0, 2.0, 4.0]), [1.0, 3.0, -1.0, 5.0]);
    let by_default = frozen(given(), &[1, 1, 1, 2], &[3.0, 4.0]);
    let root = |variance: f32| (variance + 1e-4).sqrt();
    assert_close(&by_default, &[1.0 + 4.0 / root(3.75), -1.0 + 6.0 / root(0.75)]);
    // Statistics of the channels: means 2 and 5, variances 1 and 4.
    let own = node("FusedBatchNormV3", "y", &["x", "scale", "offset"]).float("epsilon", 0.0);
    let found = run(constants(), own.clone(), &[1, 1, 2, 2], &[1.0, 3.0, 3.0, 7.0]).1;
    assert_close(&found, &[-1.0, -4.0, 3.0, 2.0]);
    let graph = constants().input("x", &[1, 1, 2, 2]).node(own.flag("is_training", false));
    assert_eq!(graph.outputs(&["y"]).reason(), Reason::OperandMissing { operand: "mean" });
}

/// `x / (bias + alpha * sum(x^2 over the neighbors))^beta`.
#[test]
fn responses_are_normalized_by_their_neighbors() {
    let lrn = |node: NodeDef| run(Graph::default(), node, &[1, 1, 1, 3], &[1.0, 2.0, 3.0]).1;
    let squares = [5.0f32, 14.0, 13.0];
    let by = |bias: f32, alpha: f32, beta: f32, squares: [f32; 3]| -> Vec<f32> {
        (1..=3).zip(squares).map(|(x, squares)| x as f32 / (bias + alpha * squares).powf(beta)).collect()
    };
    let stated = node("LRN", "y", &["x"]).int("depth_radius", 1).float("alpha", 0.5).float("beta", 0.75);
    assert_close(&lrn(stated.float("bias", 2.0)), &by(2.0, 0.5, 0.75, squares));
    assert_close(&lrn(node("LRN", "y", &["x"]).int("depth_radius", 1)), &by(1.0, 1.0, 0.5, squares));
    // Five neighbors on either side cover all channels.
    assert_close(&lrn(node("LRN", "y", &["x"])), &by(1.0, 1.0, 0.5, [14.0; 3]));
    let graph =
        Graph::default().input("x", &[1, 1, 1, 3]).node(node("LRN", "y", &["x"]).int("depth_radius", -1));
    assert_eq!(graph.reason().to_string(), "attribute \"depth_radius\" is -1; legal: 0 to 268435456");
    let widest = |radius| {
        Graph::default().input("x", &[1, 1, 1, 3]).node(node("LRN", "y", &["x"]).int("depth_radius", radius))
    };
    widest(1 << 28).import().unwrap();
    assert!(matches!(widest((1 << 28) + 1).reason(), Reason::AttributeValue { name: "depth_radius", .. }));
}

#[test]
fn values_are_bound_chosen_and_converted() {
    let bounds = || Graph::default().floats("low", &[], &[-1.0]).floats("high", &[], &[2.0]);
    let clip = node("ClipByValue", "y", &["x", "low", "high"]);
    assert_eq!(run(bounds(), clip, &[3], &[-5.0, 0.5, 9.0]).1, [-1.0, 0.5, 2.0]);
    let truths = |values: &[bool]| {
        let bool_val = values.to_vec();
        let tensor_shape = Some(shape(&[values.len() as i64]));
        Graph::default()
            .constant("c", TensorProto { dtype: 10, tensor_shape, bool_val, ..TensorProto::default() })
    };
    let choose = |op: &str| {
        let graph = truths(&[true, false]).floats("z", &[2, 2], &[0.0]);
        run(graph, node(op, "y", &["c", "x", "z"]), &[2, 2], &[1.0, 2.0, 3.0, 4.0]).1
    };
    // Select chooses rows, SelectV2 broadcasts.
    assert_eq!(choose("Select"), [1.0, 2.0, 0.0, 0.0]);
    assert_eq!(choose("SelectV2"), [1.0, 0.0, 3.0, 0.0]);
    let cast = node("Cast", "y", &["x"]).with("DstT", Attr::Type(3));
    let graph = Graph::default().input("x", &[2]).node(cast).import().unwrap();
    assert_eq!(graph.value(graph.outputs[0]).info.element, ElementType::I32);
    let missing = Graph::default().input("x", &[2]).node(node("Cast", "y", &["x"])).reason();
    assert_eq!(missing, Reason::AttributeMissing { name: "DstT" });
}

/// Zeros and ones have the type and shape of their operand; filled tensors have the type of their
/// value.
#[test]
fn tensors_are_filled() {
    for (dtype, element, ones) in [
        (1, ElementType::F32, TensorData::F32(vec![1.0; 2])),
        (3, ElementType::I32, TensorData::I32(vec![1; 2])),
        (9, ElementType::I64, TensorData::I64(vec![1; 2])),
        (10, ElementType::Bool, TensorData::Bool(vec![true; 2])),
    ] {
        let tensor = TensorProto { dtype, tensor_shape: Some(shape(&[2])), ..TensorProto::default() };
        let of = |op: &str| {
            let graph = Graph::default().constant("c", tensor.clone()).node(node(op, "y", &["c"]));
            let graph = graph.outputs(&["y"]).import().unwrap();
            graph.constant(graph.outputs[0]).unwrap().as_ref().clone()
        };
        assert_eq!((of("OnesLike").element(), of("OnesLike").data()), (element, &ones));
        let zeros = of("ZerosLike");
        assert_eq!((zeros.element(), zeros.shape()), (element, &[2][..]));
        assert!(zeros.reals().iter().all(|&zero| zero == 0.0));
    }
    let fill = |value: &[i32], sizes: &[i64]| {
        let graph = Graph::default().integers("d", &[2], &[1, 3]).integers("v", sizes, value);
        graph.node(node("Fill", "y", &["d", "v"]))
    };
    assert_eq!(fill(&[7], &[]).run(&[]), (vec![1, 3], vec![7.0; 3]));
    let reason = fill(&[7, 8], &[2]).reason();
    assert_eq!(reason.to_string(), "operand \"value\" is I32 [2]; legal: one element");
    let range = Graph::default().integers("s", &[], &[3]).integers("l", &[], &[-4]).integers("d", &[], &[-3]);
    assert_eq!(range.node(node("Range", "y", &["s", "l", "d"])).run(&[]), (vec![3], vec![3.0, 0.0, -3.0]));
}

#[test]
fn images_are_padded_by_zeros_a_value_or_their_mirror() {
    let pad = |node: NodeDef| {
        let constants = Graph::default().integers("p", &[2, 2], &[0, 0, 2, 1]).floats("v", &[], &[9.0]);
        run(constants, node, &[1, 3], &[1.0, 2.0, 3.0])
    };
    assert_eq!(pad(node("Pad", "y", &["x", "p"])), (vec![1, 6], vec![0.0, 0.0, 1.0, 2.0, 3.0, 0.0]));
    assert_eq!(pad(node("PadV2", "y", &["x", "p", "v"])).1, [9.0, 9.0, 1.0, 2.0, 3.0, 9.0]);
    let mirror = |mode: &str| pad(node("MirrorPad", "y", &["x", "p"]).string("mode", mode)).1;
    assert_eq!(mirror("REFLECT"), [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]);
    assert_eq!(mirror("SYMMETRIC"), [2.0, 1.0, 1.0, 2.0, 3.0, 3.0]);
    let refused = |pads: &[i32], node: NodeDef| {
        let pairs = pads.len() as i64 / 2;
        Graph::default().input("x", &[1, 3]).integers("p", &[pairs, 2], pads).node(node).reason().to_string()
    };
    let legal = "legal: 2 pairs of numbers from 0 to 268435456";
    let plain = || node("Pad", "y", &["x", "p"]);
    assert_eq!(refused(&[0, 1], plain()), format!("operand \"paddings\" is 1 pairs; {legal}"));
    let legal = "legal: at most 32 pairs of numbers from 0 to 268435456";
    assert_eq!(refused(&[0, 0, -1, 0], plain()), format!("operand \"paddings\" is I32 [2, 2]; {legal}"));
    assert_eq!(
        refused(&[0, 0, 0, (1 << 28) + 1], plain()),
        format!("operand \"paddings\" is I32 [2, 2]; {legal}")
    );
    assert_eq!(refused(&[0; 4], node("MirrorPad", "y", &["x", "p"])), "attribute \"mode\" is missing");
    assert_eq!(refused(&[0; 4], node("PadV2", "y", &["x", "p"])), "operand \"constant_values\" is missing");
    let other = node("MirrorPad", "y", &["x", "p"]).string("mode", "WRAP");
    assert_eq!(refused(&[0; 4], other), "attribute \"mode\" is \"WRAP\"; legal: REFLECT or SYMMETRIC");
}

/// A row of the elements 0 and 8, enlarged to twice its width: positions of results, and nearest
/// elements.
#[test]
fn images_are_resized() {
    let resize = |op: &str, flags: &[&str], columns: i32| {
        let resize = flags.iter().fold(node(op, "y", &["x", "size"]), |node, flag| node.flag(flag, true));
        run(Graph::default().integers("size", &[2], &[1, columns]), resize, &[1, 1, 2, 1], &[0.0, 8.0]).1
    };
    let (corners, centers) = (&["align_corners"][..], &["half_pixel_centers"][..]);
    assert_eq!(resize("ResizeBilinear", &[], 4), [0.0, 4.0, 8.0, 8.0]);
    assert_eq!(resize("ResizeBilinear", centers, 4), [0.0, 2.0, 6.0, 8.0]);
    assert_eq!(resize("ResizeBilinear", corners, 5), [0.0, 2.0, 4.0, 6.0, 8.0]);
    assert_eq!(resize("ResizeNearestNeighbor", &[], 3), [0.0, 0.0, 8.0]);
    assert_eq!(resize("ResizeNearestNeighbor", centers, 4), [0.0, 0.0, 8.0, 8.0]);
    // A position halfway between both is rounded up.
    assert_eq!(resize("ResizeNearestNeighbor", corners, 3), [0.0, 8.0, 8.0]);
    assert_eq!(resize("ResizeNearestNeighbor", centers, 1), [8.0]);
    for op in ["ResizeBilinear", "ResizeNearestNeighbor"] {
        let graph = Graph::default().input("x", &[1, 1, 2, 1]).integers("size", &[2], &[1, 4]);
        let graph = graph.node(node(op, "y", &["x", "size"])).import().unwrap();
        assert!(matches!(&graph.nodes[..], [node] if matches!(node.op, Op::Resize(_))), "{graph}");
    }
    // Rows and columns are not exchanged.
    let tall = run(
        Graph::default().integers("size", &[2], &[4, 1]),
        node("ResizeBilinear", "y", &["x", "size"]),
        &[1, 2, 1, 1],
        &[0.0, 8.0],
    );
    assert_eq!(tall, (vec![1, 4, 1, 1], vec![0.0, 4.0, 8.0, 8.0]));
    let refused = |size: &[i32], node: NodeDef| {
        let graph = Graph::default().input("x", &[1, 1, 2, 1]).integers("size", &[size.len() as i64], size);
        graph.node(node).reason().to_string()
    };
    let plain = || node("ResizeBilinear", "y", &["x", "size"]);
    for size in [&[4][..], &[0, 4], &[4, -1], &[1, 1, 1]] {
        let legal = "legal: rows and columns from 1 to 268435456";
        assert_eq!(refused(size, plain()), format!("operand \"size\" is {size:?}; {legal}"));
    }
    let both = plain().flag("align_corners", true).flag("half_pixel_centers", true);
    assert_eq!(
        refused(&[1, 4], both),
        "attribute \"half_pixel_centers\" is true; legal: false with align_corners"
    );
}

#[test]
fn bilinear_results_are_floats_whatever_the_image_is_of() {
    let image = TensorProto {
        dtype: 4,
        tensor_shape: Some(shape(&[1, 1, 2, 1])),
        int_val: vec![0, 9],
        ..TensorProto::default()
    };
    let graph = Graph::default().constant("c", image).integers("size", &[2], &[1, 4]);
    let graph = graph.node(node("ResizeBilinear", "y", &["c", "size"]));
    let imported = graph.import().unwrap();
    assert_eq!(imported.value(imported.outputs[0]).info.element, ElementType::F32);
    assert_eq!(graph.run(&[]).1, [0.0, 4.5, 9.0, 9.0]);
}

#[test]
fn depth_and_space_are_exchanged_in_blocks() {
    let moved = |op: &str, order: &str, sizes: &[usize]| {
        let moved = node(op, "y", &["x"]).int("block_size", 2).string("data_format", order);
        let count: usize = sizes.iter().product();
        let values: Vec<f32> = (0..count).map(|value| value as f32).collect();
        run(Graph::default(), moved, sizes, &values)
    };
    // The example of the documentation: pixels of a block become adjacent channels.
    let blocks = [0.0, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0];
    assert_eq!(moved("SpaceToDepth", "NHWC", &[1, 2, 4, 1]), (vec![1, 1, 2, 4], blocks.to_vec()));
    assert_eq!(moved("DepthToSpace", "NHWC", &[1, 1, 2, 4]), (vec![1, 2, 4, 1], blocks.to_vec()));
    let first = [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0];
    assert_eq!(moved("SpaceToDepth", "NCHW", &[1, 1, 2, 4]), (vec![1, 4, 1, 2], first.to_vec()));
    let (_, three) = moved("DepthToSpace", "NHWC", &[1, 1, 3, 4]);
    assert_eq!(three, [0.0, 1.0, 4.0, 5.0, 8.0, 9.0, 2.0, 3.0, 6.0, 7.0, 10.0, 11.0]);
    assert_eq!(moved("DepthToSpace", "NHWC", &[1, 3, 1, 4]).0, [1, 6, 2, 1]);
    assert_eq!(moved("SpaceToDepth", "NHWC", &[1, 2, 6, 1]).0, [1, 1, 3, 4]);
    assert_eq!(moved("SpaceToDepth", "NHWC", &[1, 6, 2, 1]).0, [1, 3, 1, 4]);
    for (op, from, to) in
        [("DepthToSpace", [1, 1, 1, 9], vec![1, 3, 3, 1]), ("SpaceToDepth", [1, 3, 3, 1], vec![1, 1, 1, 9])]
    {
        let nine: Vec<f32> = (0..9).map(|value| value as f32).collect();
        let found = run(Graph::default(), node(op, "y", &["x"]).int("block_size", 3), &from, &nine);
        assert_eq!(found, (to, nine), "{op}");
    }
    // The two features of each pixel stay together, in blocks of any size.
    let pairs: Vec<f32> = (0..18).map(|value| value as f32).collect();
    for (op, from, to) in
        [("DepthToSpace", [1, 1, 1, 18], vec![1, 3, 3, 2]), ("SpaceToDepth", [1, 3, 3, 2], vec![1, 1, 1, 18])]
    {
        let found = run(Graph::default(), node(op, "y", &["x"]).int("block_size", 3), &from, &pairs);
        assert_eq!(found, (to, pairs.clone()), "{op}");
    }
    let features = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    assert_eq!(moved("SpaceToDepth", "NHWC", &[1, 2, 2, 2]), (vec![1, 1, 1, 8], features.to_vec()));
    assert_eq!(moved("DepthToSpace", "NHWC", &[1, 1, 1, 8]), (vec![1, 2, 2, 2], features.to_vec()));
    let refused = |op: &str, block: i64| {
        Graph::default()
            .input("x", &[1, 2, 3, 8])
            .node(node(op, "y", &["x"]).int("block_size", block))
            .reason()
    };
    for (op, block) in [
        ("SpaceToDepth", 2),
        ("DepthToSpace", 3),
        ("DepthToSpace", 4),
        ("SpaceToDepth", 0),
        ("SpaceToDepth", 9),
    ] {
        let reason = refused(op, block);
        assert!(
            matches!(reason, Reason::AttributeValue { name: "block_size", .. }),
            "{op} {block}: {reason}"
        );
    }
}

/// Blocks become batches: the documentation's example, and one with padding and crops.
#[test]
fn blocks_are_batches() {
    let cut = |op: &str, pads: [i32; 4], sizes: &[usize]| {
        let graph = Graph::default().integers("b", &[2], &[2, 2]).integers("p", &[2, 2], &pads);
        let count: usize = sizes.iter().product();
        let values: Vec<f32> = (1..=count).map(|value| value as f32).collect();
        let node = if op.ends_with("ND") {
            node(op, "y", &["x", "b", "p"])
        } else {
            node(op, "y", &["x", "p"]).int("block_size", 2)
        };
        run(graph, node, sizes, &values)
    };
    for op in ["SpaceToBatchND", "SpaceToBatch"] {
        assert_eq!(cut(op, [0; 4], &[1, 2, 2, 1]), (vec![4, 1, 1, 1], vec![1.0, 2.0, 3.0, 4.0]), "{op}");
        let padded = vec![0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0];
        assert_eq!(cut(op, [0, 0, 2, 0], &[1, 2, 2, 1]), (vec![4, 1, 2, 1], padded), "{op}");
    }
    for op in ["BatchToSpaceND", "BatchToSpace"] {
        assert_eq!(cut(op, [0; 4], &[4, 1, 1, 1]), (vec![1, 2, 2, 1], vec![1.0, 2.0, 3.0, 4.0]), "{op}");
        assert_eq!(cut(op, [0, 0, 1, 0], &[4, 1, 1, 1]), (vec![1, 2, 1, 1], vec![2.0, 4.0]), "{op}");
        assert_eq!(cut(op, [1, 0, 0, 1], &[4, 1, 1, 1]), (vec![1, 1, 1, 1], vec![3.0]), "{op}");
    }
    let refused = |sizes: &[i64], pads: &[i32]| {
        let graph = Graph::default().input("x", sizes).integers("b", &[2], &[2, 2]);
        let graph = graph.integers("p", &[2, 2], pads).node(node("BatchToSpaceND", "y", &["x", "b", "p"]));
        graph.reason().to_string()
    };
    assert_eq!(
        refused(&[3, 1, 1, 1], &[0; 4]),
        "operand \"input\" is [3, 1, 1, 1]; legal: a multiple of 4 batches"
    );
    let flat =
        Graph::default().input("x", &[4, 2]).integers("b", &[2], &[2, 2]).integers("p", &[2, 2], &[0; 4]);
    let message = flat.node(node("BatchToSpaceND", "y", &["x", "b", "p"])).reason().to_string();
    let legal = "a positive size for each pair of ends, at most 1 axes";
    assert_eq!(message, format!("attribute \"block_shape\" is [2, 2]; legal: {legal}"));
    let crops = "attribute \"crops\" is [2, 1]; legal: at most the 2 elements of axis 2";
    assert_eq!(refused(&[4, 1, 1, 1], &[0, 0, 2, 1]), crops);
}

/// Each channel has its own filters, whose results are adjacent.
#[test]
fn depthwise_convolutions_keep_channels_apart() {
    let conv = |order: &str, sizes: &[usize]| {
        let weights = Graph::default().floats("w", &[1, 1, 2, 2], &[1.0, 10.0, 100.0, 1000.0]);
        let conv = node("DepthwiseConv2dNative", "y", &["x", "w"]).ints("strides", &[1; 4]);
        let conv = conv.string("padding", "VALID").string("data_format", order);
        run(weights, conv, sizes, &[2.0, 3.0])
    };
    assert_eq!(conv("NHWC", &[1, 1, 1, 2]), (vec![1, 1, 1, 4], vec![2.0, 20.0, 300.0, 3000.0]));
    assert_eq!(conv("NCHW", &[1, 2, 1, 1]), (vec![1, 4, 1, 1], vec![2.0, 20.0, 300.0, 3000.0]));
    let conv =
        node("DepthwiseConv2dNative", "y", &["x", "w"]).ints("strides", &[1; 4]).string("padding", "VALID");
    let graph = Graph::default().input("x", &[1, 1, 1, 3]).floats("w", &[1, 1, 2, 2], &[1.0]).node(conv);
    assert_eq!(
        graph.reason().to_string(),
        "operand \"filter\" is [1, 1, 2, 2]; legal: 3 channels, as the input"
    );
}

/// A filter with a part of the channels makes groups; without channels, nothing is convolved.
#[test]
fn convolutions_may_have_groups() {
    let weights = Graph::default().floats("w", &[1, 1, 1, 2], &[1.0, 10.0]);
    let conv = node("Conv2D", "y", &["x", "w"]).ints("strides", &[1; 4]).string("padding", "VALID");
    assert_eq!(run(weights, conv, &[1, 1, 1, 2], &[2.0, 3.0]).1, [2.0, 30.0]);
    let conv = node("Conv2D", "y", &["x", "w"]).ints("strides", &[1; 4]).string("padding", "VALID");
    for (channels, of_filter) in [(2, 0), (0, 2), (3, 2)] {
        let graph = Graph::default().input("x", &[1, 1, 1, channels]).floats("w", &[1, 1, of_filter, 2], &[]);
        let reason = graph.node(conv.clone()).reason();
        assert!(matches!(reason, Reason::Shape(_)), "{channels} by {of_filter}: {reason}");
    }
}

/// A mean over rows and columns is a pool; other means are reductions.
#[test]
fn the_mean_of_an_image_is_a_pool() {
    let mean = |sizes: &[usize], axes: &[i32], keep: bool| {
        let graph = Graph::default().integers("a", &[axes.len() as i64], axes);
        let dims: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
        let graph = graph.input("x", &dims).node(node("Mean", "y", &["x", "a"]).flag("keep_dims", keep));
        let is_pool = graph.import().unwrap().nodes.iter().any(|node| matches!(node.op, Op::AveragePool(_)));
        (graph.run(&[counting(sizes)]), is_pool)
    };
    assert_eq!(mean(&[1, 2, 2, 2], &[1, 2], true), ((vec![1, 1, 1, 2], vec![3.0, 4.0]), true));
    assert_eq!(mean(&[1, 2, 2, 2], &[-2, 1, 1], false), ((vec![1, 2], vec![3.0, 4.0]), true));
    assert_eq!(mean(&[1, 2, 2, 2], &[2, 3], false), ((vec![1, 2], vec![1.5, 5.5]), false));
    assert_eq!(mean(&[2, 2, 2], &[1, 2], true), ((vec![2, 1, 1], vec![1.5, 5.5]), false));
}
