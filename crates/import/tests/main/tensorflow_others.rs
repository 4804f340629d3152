//! TensorFlow operators that become ONNX operators or matrix products, compared with TensorFlow
//! 2.15.1.

use npukit_import::Reason;
use npukit_import::tensorflow::proto::{Attr, ListValue, NodeDef};

use crate::graph_def::{Graph, With, node};
use crate::model::floats;

/// Elements of a node's result for one float input; the node may use the constants.
fn run(constants: Graph, node: NodeDef, sizes: &[usize], values: &[f32]) -> Vec<f32> {
    let dims: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
    constants.input("x", &dims).node(node).outputs(&["y"]).run(&[floats(sizes, values)]).1
}

fn assert_close(found: &[f32], expected: &[f32]) {
    let close = |(found, expected): (&f32, &f32)| (found - expected).abs() <= 1e-5 * (1.0 + expected.abs());
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?} {expected:?}");
}

fn counted(count: usize) -> Vec<f32> {
    (0..count).map(|i| i as f32).collect()
}

#[test]
fn images_are_resampled_with_weights_at_steps_of_an_element() {
    let x: Vec<f32> = counted(6).iter().map(|x| x * x).collect();
    let resize = |op: &str, size: [i32; 2], flag: Option<&str>| {
        let resize = node(op, "y", &["x", "size"]);
        let resize = if let Some(flag) = flag { resize.flag(flag, true) } else { resize };
        run(Graph::default().integers("size", &[2], &size), resize, &[1, 2, 3, 1], &x)
    };
    assert_close(
        &resize("ResizeBicubic", [3, 4], Some("half_pixel_centers")),
        &[
            -0.624587, -0.396763, 1.026272, 2.752399, 4.291045, 6.586061, 11.020112, 14.813433, 9.206676,
            13.568885, 21.01395, 26.874466,
        ],
    );
    assert_close(
        &resize("ResizeBicubic", [3, 4], None),
        &[
            0.0, 0.457031, 2.59375, 4.316406, 6.169841, 9.374379, 15.319045, 19.146515, 10.0, 14.910156,
            23.21875, 28.352863,
        ],
    );
    assert_close(
        &resize("ResizeBicubic", [3, 5], Some("align_corners")),
        &[
            0.0, 0.21875, 1.0, 2.59375, 4.0, 4.5, 5.9375, 8.5, 11.875, 14.5, 9.0, 11.65625, 16.0, 21.15625,
            25.0,
        ],
    );
    let area = [0.333333, 3.0, 5.833334, 12.500001, 11.333333, 21.999998];
    assert_close(&resize("ResizeArea", [3, 2], None), &area);
}

#[test]
fn numbers_are_rounded_to_those_between_moved_bounds() {
    let x = [-2.0, -0.64, 0.0, 0.33, 1.2, 9.0];
    let args = node("FakeQuantWithMinMaxArgs", "y", &["x"]).float("min", -1.0).float("max", 2.0);
    let args = run(Graph::default(), args.int("num_bits", 4), &[6], &x);
    assert_close(&args, &[-1.0, -0.6, 0.0, 0.4, 1.2, 2.0]);
    let bounds = |min: &[f32], max: &[f32]| {
        let sizes: &[i64] = &[min.len() as i64][usize::from(min.len() == 1)..];
        Graph::default().floats("min", sizes, min).floats("max", sizes, max)
    };
    let vars = node("FakeQuantWithMinMaxVars", "y", &["x", "min", "max"]).flag("narrow_range", true);
    let vars = run(bounds(&[-1.5], &[1.0]), vars.int("num_bits", 3), &[6], &x);
    assert_close(&vars, &[-1.666667, -0.833333, 0.0, 0.416667, 0.833333, 0.833333]);
    let by_channel = node("FakeQuantWithMinMaxVarsPerChannel", "y", &["x", "min", "max"]);
    let by_channel = run(bounds(&[-1.0, -2.0], &[1.0, 0.5]), by_channel, &[3, 2], &x);
    assert_close(&by_channel, &[-0.996078, -0.637255, 0.0, 0.333333, 1.003922, 0.5]);
}

#[test]
fn rows_go_where_numbers_say() {
    let ids = |count: i64, ids: &[i32]| Graph::default().integers("ids", &[count], ids);
    let sum = node("SegmentSum", "y", &["x", "ids"]);
    let sum = run(ids(3, &[0, 0, 2]), sum, &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(sum, [4.0, 6.0, 0.0, 0.0, 5.0, 6.0]);
    let largest = node("UnsortedSegmentMax", "y", &["x", "ids", "count"]);
    let constants = ids(3, &[1, 1, 0]).integers("count", &[], &[2]);
    assert_eq!(run(constants, largest, &[3], &[1.0, 5.0, 3.0]), [3.0, 5.0]);
    let added = node("ScatterNd", "y", &["places", "x", "shape"]);
    let constants = Graph::default().integers("places", &[3, 1], &[3, 1, 3]).integers("shape", &[1], &[4]);
    assert_eq!(run(constants, added, &[3], &[1.0, 2.0, 4.0]), [0.0, 2.0, 0.0, 5.0]);
    let put = node("TensorScatterUpdate", "y", &["x", "places", "new"]);
    let constants = Graph::default().integers("places", &[1, 1], &[2]).floats("new", &[1], &[7.0]);
    assert_eq!(run(constants, put, &[3], &[1.0, 2.0, 4.0]), [1.0, 2.0, 7.0]);
}

#[test]
fn the_main_diagonal_is_put_in_a_matrix() {
    let constants =
        Graph::default().integers("k", &[], &[0]).integers("n", &[], &[-1]).floats("pad", &[], &[7.0]);
    let made = node("MatrixDiagV3", "y", &["x", "k", "n", "n", "pad"]).string("align", "RIGHT_LEFT");
    assert_eq!(run(constants, made, &[2], &[1.0, 2.0]), [1.0, 7.0, 7.0, 2.0]);
    let set = node("MatrixSetDiag", "y", &["x", "d"]);
    let set = run(Graph::default().floats("d", &[2], &[8.0, 9.0]), set, &[2, 3], &counted(6));
    assert_eq!(set, [8.0, 1.0, 2.0, 3.0, 9.0, 5.0]);
}

#[test]
fn elements_move_and_are_found() {
    let reversed = node("ReverseV2", "y", &["x", "axis"]);
    let axis = |axes: &[i32]| Graph::default().integers("axis", &[axes.len() as i64], axes);
    assert_eq!(run(axis(&[-1, 0]), reversed, &[2, 2], &counted(4)), [3.0, 2.0, 1.0, 0.0]);
    let rolled = node("Roll", "y", &["x", "shift", "axis"]);
    let constants = axis(&[0, 1]).integers("shift", &[2], &[1, -1]);
    assert_eq!(run(constants, rolled, &[2, 3], &counted(6)), [4.0, 5.0, 3.0, 1.0, 2.0, 0.0]);
    let constants = || {
        let graph = Graph::default().integers("depth", &[], &[3]);
        graph.floats("on", &[], &[5.0]).floats("off", &[], &[-1.0]).integers("i", &[3], &[2, -1, 0])
    };
    let hot = node("OneHot", "h", &["i", "depth", "on", "off"]).int("axis", 0);
    let sum = constants().node(hot);
    let found = run(sum, node("AddV2", "y", &["h", "x"]), &[1], &[0.0]);
    assert_eq!(found, [-1.0, -1.0, 5.0, -1.0, -1.0, -1.0, 5.0, -1.0, -1.0], "-1 is nowhere");
    let largest = node("TopKV2", "t", &["x", "k"]).flag("sorted", true);
    let graph =
        Graph::default().integers("k", &[], &[2]).input("x", &[4]).node(largest).outputs(&["t", "t:1"]);
    let (values, places) = (graph.clone().outputs(&["t"]), graph.outputs(&["t:1"]));
    let x = [floats(&[4], &[1.0, 7.0, 3.0, 5.0])];
    assert_eq!(values.run(&x).1, [7.0, 5.0]);
    assert_eq!(places.run(&x).1, [1.0, 3.0]);
    let bounds = Attr::List(ListValue { f: vec![-0.7, 0.33, 5.0], ..ListValue::default() });
    let bucket = node("Bucketize", "b", &["x"]).with("boundaries", bounds);
    let cast = node("Cast", "y", &["b"]).with("DstT", Attr::Type(1)).with("SrcT", Attr::Type(3));
    let found = run(Graph::default().node(bucket), cast, &[4], &[-2.0, -0.7, 0.33, 9.0]);
    assert_eq!(found, [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn volumes_are_convolved_and_pooled() {
    let five = |op: &str, inputs: &[&str], strides: &[i64]| {
        node(op, "y", inputs).ints("strides", strides).string("padding", "SAME")
    };
    let pool = five("AvgPool3D", &["x"], &[1; 5]).ints("ksize", &[1, 2, 1, 2, 1]);
    let pooled = run(Graph::default(), pool, &[1, 2, 2, 2, 1], &counted(8));
    assert_eq!(pooled, [2.5, 3.0, 4.5, 5.0, 4.5, 5.0, 6.5, 7.0]);
    let weights = Graph::default().floats("w", &[2, 2, 2, 2, 1], &counted(16));
    let conv = run(weights, five("Conv3D", &["x", "w"], &[1; 5]), &[1, 2, 2, 2, 2], &counted(16));
    assert_eq!(conv, [1240.0, 604.0, 556.0, 254.0, 364.0, 142.0, 86.0, 15.0]);
    let constants = Graph::default().integers("size", &[5], &[1, 2, 3, 3, 1]);
    let constants = constants.floats("w", &[2, 2, 2, 1, 1], &counted(8));
    let back = five("Conv3DBackpropInputV2", &["size", "w", "x"], &[1, 2, 2, 2, 1]);
    let x = [1.0, 2.0, 3.0, 4.0];
    let expected =
        [0.0, 1.0, 0.0, 2.0, 3.0, 4.0, 0.0, 3.0, 0.0, 4.0, 5.0, 8.0, 6.0, 7.0, 12.0, 12.0, 15.0, 16.0];
    assert_eq!(run(constants, back, &[1, 1, 2, 2, 1], &x), expected);
}

#[test]
fn shapes_that_depend_on_values_need_constants() {
    let graph = Graph::default().input("x", &[4]).node(node("Unique", "y", &["x"])).outputs(&["y"]);
    assert!(matches!(graph.reason(), Reason::ShapeByValue { .. }));
    let known = Graph::default().floats("c", &[4], &[3.0, 1.0, 3.0, 2.0]).node(node("Unique", "u", &["c"]));
    assert_eq!(run(known, node("AddV2", "y", &["u", "x"]), &[1], &[0.5]), [3.5, 1.5, 2.5]);
}
