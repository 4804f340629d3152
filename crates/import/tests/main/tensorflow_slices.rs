//! TensorFlow's operators that select parts and join parts. Expected values follow from the NumPy
//! notation before each case.

use npukit_graph::Op;
use npukit_import::tensorflow::proto::NodeDef;
use npukit_import::{ImportError, Reason};

use crate::graph_def::{Graph, With, node};
use crate::model::counting;

/// A graph with `x`, 0 to 5 in two rows, and integer constants.
fn rows(constants: &[(&str, &[i32])]) -> Graph {
    constants.iter().fold(Graph::default().input("x", &[2, 3]), |graph, (name, values)| match values {
        [value] if name.starts_with("scalar") => graph.integers(name, &[], &[*value]),
        _ => graph.integers(name, &[values.len() as i64], values),
    })
}

fn run(graph: &Graph) -> (Vec<usize>, Vec<f32>) {
    graph.run(&[counting(&[2, 3])])
}

/// Begin, end and step of each index, and the masks: of begin, end, ellipsis, new and shrinking
/// axes.
struct Index {
    begin: &'static [i32],
    end: &'static [i32],
    step: &'static [i32],
    masks: [i64; 5],
}

const fn index(begin: &'static [i32], end: &'static [i32], step: &'static [i32], masks: [i64; 5]) -> Index {
    Index { begin, end, step, masks }
}

fn strided(index: &Index) -> Graph {
    let names = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
    let slice = node("StridedSlice", "y", &["x", "begin", "end", "step"]);
    // A zero mask may be omitted.
    let masks = names.iter().zip(index.masks).filter(|(_, mask)| *mask != 0);
    let slice = masks.fold(slice, |slice, (name, mask)| slice.int(name, mask));
    rows(&[("begin", index.begin), ("end", index.end), ("step", index.step)]).node(slice)
}

#[test]
fn strided_slices_are_numpys() {
    const NONE: [i64; 5] = [0; 5];
    for (name, index, shape, values) in [
        ("x[0:2, 1:3]", index(&[0, 1], &[2, 3], &[1, 1], NONE), &[2, 2][..], &[1.0, 2.0, 4.0, 5.0][..]),
        ("x[1]", index(&[1], &[2], &[1], [0, 0, 0, 0, 1]), &[3], &[3.0, 4.0, 5.0]),
        ("x[0]", index(&[0], &[1], &[1], [0, 0, 0, 0, 1]), &[3], &[0.0, 1.0, 2.0]),
        ("x[-1]", index(&[-1], &[0], &[1], [0, 0, 0, 0, 1]), &[3], &[3.0, 4.0, 5.0]),
        ("x[-2]", index(&[-2], &[0], &[1], [0, 0, 0, 0, 1]), &[3], &[0.0, 1.0, 2.0]),
        ("x[..., 1]", index(&[0, 1], &[0, 2], &[1, 1], [0, 0, 1, 0, 2]), &[2], &[1.0, 4.0]),
        ("x[0:1, 2]", index(&[0, 2], &[1, 3], &[1, 1], [0, 0, 0, 0, 2]), &[1], &[2.0]),
        ("x[1, 2]", index(&[1, 2], &[2, 3], &[1, 1], [0, 0, 0, 0, 3]), &[], &[5.0]),
        ("x[:, ::2]", index(&[9, 9], &[-9, -9], &[1, 2], [3, 3, 0, 0, 0]), &[2, 2], &[0.0, 2.0, 3.0, 5.0]),
        ("x[:, 1:]", index(&[9, 1], &[-9, -9], &[1, 1], [1, 3, 0, 0, 0]), &[2, 2], &[1.0, 2.0, 4.0, 5.0]),
        ("x[:1, :1]", index(&[9, 9], &[1, 1], &[1, 1], [3, 0, 0, 0, 0]), &[1, 1], &[0.0]),
        (
            "x[:, newaxis, ::-1]",
            index(&[0; 3], &[0; 3], &[1, 1, -1], [5, 5, 0, 2, 0]),
            &[2, 1, 3],
            &[2.0, 1.0, 0.0, 5.0, 4.0, 3.0],
        ),
        ("x[newaxis]", index(&[0], &[0], &[1], [0, 0, 0, 1, 0]), &[1, 2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        ("x[...]", index(&[0], &[0], &[1], [0, 0, 1, 0, 0]), &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        ("x[:]", index(&[0], &[2], &[1], NONE), &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        ("x[1:0]", index(&[1], &[0], &[1], NONE), &[0, 3], &[]),
        ("x[::-1]", index(&[0], &[0], &[-1], [1, 1, 0, 0, 0]), &[2, 3], &[3.0, 4.0, 5.0, 0.0, 1.0, 2.0]),
        // An index that is an ellipsis has no other meaning.
        ("x[..., 0:2]", index(&[0, 0], &[0, 2], &[1, 1], [0, 0, 1, 1, 1]), &[2, 2], &[0.0, 1.0, 3.0, 4.0]),
    ] {
        assert_eq!(run(&strided(&index)), (shape.to_vec(), values.to_vec()), "{name}");
    }
}

#[test]
fn strided_slices_that_name_no_part_are_refused() {
    for (index, message) in [
        (
            index(&[0; 3], &[1; 3], &[1; 3], [0; 5]),
            "operand \"begin\" is 3 indices and 0 ellipses; legal: at most 2 indices and one ellipsis",
        ),
        (
            index(&[0; 2], &[1; 2], &[1; 2], [0, 0, 3, 0, 0]),
            "operand \"begin\" is 0 indices and 2 ellipses; legal: at most 2 indices and one ellipsis",
        ),
        (
            index(&[2], &[3], &[1], [0, 0, 0, 0, 1]),
            "operand \"begin\" is 2; legal: an element of axis 0, -2 to 1",
        ),
        (
            index(&[0, -4], &[1, 1], &[1, 1], [0, 0, 0, 0, 2]),
            "operand \"begin\" is -4; legal: an element of axis 1, -3 to 2",
        ),
        (
            index(&[0], &[1], &[-1], [0, 0, 0, 0, 1]),
            "operand \"begin\" is 0; legal: an element of axis 0, -2 to 1",
        ),
        (
            index(&[1], &[2], &[0], [0, 0, 0, 0, 1]),
            "operand \"begin\" is 1; legal: an element of axis 0, -2 to 1",
        ),
        (index(&[0], &[1], &[0], [0; 5]), "attribute \"steps\" is 0; legal: any number except 0"),
        (
            index(&[0, 0], &[1], &[1, 1], [0; 5]),
            "attribute \"begin, end, strides\" is [2, 1, 2]; legal: one of each per index",
        ),
        (
            index(&[0, 0], &[1, 1], &[1], [0; 5]),
            "attribute \"begin, end, strides\" is [2, 2, 1]; legal: one of each per index",
        ),
    ] {
        assert_eq!(strided(&index).reason().to_string(), message);
    }
}

#[test]
fn slices_have_a_begin_and_a_size() {
    let slice = |begin: &[i32], size: &[i32]| {
        rows(&[("begin", begin), ("size", size)]).node(node("Slice", "y", &["x", "begin", "size"]))
    };
    assert_eq!(run(&slice(&[1, 0], &[1, 2])), (vec![1, 2], vec![3.0, 4.0]));
    assert_eq!(run(&slice(&[0, 1], &[-1, -1])), (vec![2, 2], vec![1.0, 2.0, 4.0, 5.0]));
    assert_eq!(run(&slice(&[2, 0], &[0, 3])), (vec![0, 3], vec![]));
    for (begin, size, shown) in [
        ([0, 1], [2, 3], "[1, 3]; legal: a part of axis 1, 0 to 3"),
        ([0, 4], [2, -1], "[4, -1]; legal: a part of axis 1, 0 to 3"),
        ([-1, 0], [1, 1], "[-1, 1]; legal: a part of axis 0, 0 to 2"),
        ([0, 0], [2, -2], "[0, -2]; legal: a part of axis 1, 0 to 3"),
    ] {
        let message = slice(&begin, &size).reason().to_string();
        assert_eq!(message, format!("attribute \"begin, size\" is {shown}"));
    }
    let reason = slice(&[0], &[1]).reason();
    assert_eq!(reason.to_string(), "attribute \"begin, size\" is [1, 1]; legal: one of each per axis");
}

/// Values of all outputs.
fn parts(graph: &Graph) -> Vec<(Vec<usize>, Vec<f32>)> {
    let graph = graph.import().unwrap();
    let found = npukit_graph::evaluate(&graph, &[counting(&[2, 3])]).unwrap();
    found.iter().map(crate::model::shape_and_numbers).collect()
}

#[test]
fn splits_are_equal_or_of_given_sizes() {
    let equal = |axis: i32, count: i64| {
        rows(&[("scalar", &[axis])]).node(node("Split", "y", &["scalar", "x"]).int("num_split", count))
    };
    assert_eq!(parts(&equal(0, 2)), [(vec![1, 3], vec![0.0, 1.0, 2.0]), (vec![1, 3], vec![3.0, 4.0, 5.0])]);
    let columns = [vec![0.0, 3.0], vec![1.0, 4.0], vec![2.0, 5.0]];
    assert_eq!(parts(&equal(-1, 3)), columns.map(|column| (vec![2, 1], column)));
    for count in [0, 2, 4, -1] {
        let message = equal(1, count).reason().to_string();
        assert_eq!(
            message,
            format!("attribute \"num_split\" is {count}; legal: a divisor of 3, the size of the axis")
        );
    }
    let given = |sizes: &[i32], count: i64| {
        let split = node("SplitV", "y", &["x", "sizes", "scalar"]).int("num_split", count);
        rows(&[("sizes", sizes), ("scalar", &[1])]).node(split)
    };
    let expected = [(vec![2, 1], vec![0.0, 3.0]), (vec![2, 2], vec![1.0, 2.0, 4.0, 5.0])];
    for sizes in [[1, 2], [1, -1], [-1, 2]] {
        assert_eq!(parts(&given(&sizes, 2)), expected, "{sizes:?}");
    }
    for (sizes, count) in
        [(&[1, 1][..], 2), (&[2, 2], 2), (&[-1, -1], 2), (&[1, 2], 3), (&[4, -1], 2), (&[5, -2], 2)]
    {
        let reason = given(sizes, count).reason();
        assert!(matches!(reason, Reason::OperandValue { operand: "size_splits", .. }), "{sizes:?}: {reason}");
    }
}

#[test]
fn parts_are_packed_and_unpacked_along_an_axis() {
    let unpack =
        |axis: i64| Graph::default().input("x", &[2, 3]).node(node("Unpack", "y", &["x"]).int("axis", axis));
    assert_eq!(parts(&unpack(0)), [(vec![3], vec![0.0, 1.0, 2.0]), (vec![3], vec![3.0, 4.0, 5.0])]);
    assert_eq!(parts(&unpack(-1)).len(), 3);
    assert_eq!(parts(&unpack(1))[1], (vec![2], vec![1.0, 4.0]));
    let default = Graph::default().input("x", &[2, 3]).node(node("Unpack", "y", &["x"]).int("num", 2));
    assert_eq!(parts(&default).len(), 2);
    let wrong = Graph::default().input("x", &[2, 3]).node(node("Unpack", "y", &["x"]).int("num", 3)).reason();
    assert_eq!(wrong.to_string(), "attribute \"num\" is 3; legal: 2, the size of axis 0");
    let pack = |axis: Option<i64>| {
        let pack = node("Pack", "y", &["x", "x"]).int("N", 2);
        Graph::default().input("x", &[2, 3]).node(match axis {
            Some(axis) => pack.int("axis", axis),
            None => pack,
        })
    };
    let rows = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    assert_eq!(run(&pack(None)), (vec![2, 2, 3], [rows, rows].concat()));
    let by_row = vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 3.0, 4.0, 5.0];
    assert_eq!(run(&pack(Some(1))), (vec![2, 2, 3], by_row));
    assert_eq!(run(&pack(Some(-1))).0, [2, 3, 2]);
    assert!(matches!(pack(Some(3)).reason(), Reason::AttributeValue { name: "axis", .. }));
}

#[test]
fn concatenations_name_their_axis_first_or_last() {
    let rows = || rows(&[("scalar", &[1])]);
    let expected = (vec![2, 6], vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 3.0, 4.0, 5.0]);
    assert_eq!(run(&rows().node(node("Concat", "y", &["scalar", "x", "x"]).int("N", 2))), expected);
    assert_eq!(run(&rows().node(node("ConcatV2", "y", &["x", "x", "scalar"]).int("N", 2))), expected);
    for (op, operands) in [("Concat", &["scalar"][..]), ("ConcatV2", &["scalar"])] {
        let reason = rows().node(node(op, "y", operands)).reason();
        assert!(
            matches!(reason, Reason::OperandMissing { .. } | Reason::AttributeValue { .. }),
            "{op}: {reason}"
        );
    }
}

/// Gather uses axis 0; GatherV2 states the axis.
#[test]
fn gathers_take_parts_by_their_places() {
    let gather = |op: &str, operands: &[&str]| {
        rows(&[("places", &[1, 0, 1]), ("scalar", &[1])]).node(node(op, "y", operands))
    };
    let rows_of = (vec![3, 3], vec![3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(run(&gather("Gather", &["x", "places"])), rows_of);
    let columns = (vec![2, 3], vec![1.0, 0.0, 1.0, 4.0, 3.0, 4.0]);
    assert_eq!(run(&gather("GatherV2", &["x", "places", "scalar"])), columns);
    let batched = node("GatherV2", "y", &["x", "places", "scalar"]).int("batch_dims", 1);
    let reason = rows(&[("places", &[1, 0]), ("scalar", &[1])]).node(batched).reason();
    assert_eq!(reason.to_string(), "attribute \"batch_dims\" is 1; legal: 0");
}

/// Applies an operator with integer constants to a value of this shape.
fn moved(shape: &[i64], node: NodeDef, constants: &[(&str, &[i32])]) -> Graph {
    let graph = Graph::default().input("x", shape);
    let graph = constants.iter().fold(graph, |graph, (name, values)| {
        let sizes = if name.starts_with("scalar") { vec![] } else { vec![values.len() as i64] };
        graph.integers(name, &sizes, values)
    });
    graph.node(node)
}

#[test]
fn axes_come_go_and_change_places() {
    let shape = |sizes: &[i64], node, constants: &[(&str, &[i32])]| {
        let input: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
        moved(sizes, node, constants).run(&[counting(&input)])
    };
    let expand =
        |axis: i32| shape(&[2, 3], node("ExpandDims", "y", &["x", "scalar"]), &[("scalar", &[axis])]).0;
    assert_eq!([expand(0), expand(1), expand(2), expand(-1)], [[1, 2, 3], [2, 1, 3], [2, 3, 1], [2, 3, 1]]);
    let squeeze = |sizes: &[i64], axes: &[i64]| {
        shape(sizes, node("Squeeze", "y", &["x"]).ints("squeeze_dims", axes), &[]).0
    };
    assert_eq!(squeeze(&[1, 3, 1], &[]), [3]);
    assert_eq!(squeeze(&[1, 3, 1], &[0]), [3, 1]);
    assert_eq!(squeeze(&[1, 3, 1], &[-1]), [1, 3]);
    let wrong = moved(&[1, 3], node("Squeeze", "y", &["x"]).ints("squeeze_dims", &[1]), &[]).reason();
    assert_eq!(wrong.to_string(), "operand \"input\" is [1, 3]; legal: size 1 at axis 1");
    let transpose = node("Transpose", "y", &["x", "perm"]);
    let found = shape(&[2, 3], transpose.clone(), &[("perm", &[1, 0])]);
    assert_eq!(found, (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    assert!(matches!(moved(&[2, 3], transpose, &[("perm", &[1, 1])]).reason(), Reason::Shape(_)));
    let reshape = |sizes: &[i32]| moved(&[2, 3], node("Reshape", "y", &["x", "shape"]), &[("shape", sizes)]);
    assert_eq!(run(&reshape(&[3, -1])).0, [3, 2]);
    // Unlike in ONNX, a 0 does not copy the operand's size.
    for wrong in [&[0, 6][..], &[0, -1], &[4, -1], &[-1, -1]] {
        reshape(wrong).reason();
    }
}

#[test]
fn values_are_repeated() {
    let tile = |counts: &[i32]| moved(&[2, 1], node("Tile", "y", &["x", "m"]), &[("m", counts)]);
    assert_eq!(tile(&[1, 2]).run(&[counting(&[2, 1])]), (vec![2, 2], vec![0.0, 0.0, 1.0, 1.0]));
    assert_eq!(tile(&[2, 1]).run(&[counting(&[2, 1])]), (vec![4, 1], vec![0.0, 1.0, 0.0, 1.0]));
    assert_eq!(tile(&[0, 1]).run(&[counting(&[2, 1])]).0, [0, 1]);
    for wrong in [&[1][..], &[-1, 1], &[1, 1, 1]] {
        let reason = tile(wrong).reason();
        assert!(matches!(reason, Reason::OperandValue { operand: "multiples", .. }), "{reason}");
    }
    let broadcast = |sizes: &[i32]| moved(&[2, 1], node("BroadcastTo", "y", &["x", "s"]), &[("s", sizes)]);
    assert_eq!(broadcast(&[2, 2]).run(&[counting(&[2, 1])]), (vec![2, 2], vec![0.0, 0.0, 1.0, 1.0]));
    let deeper = (vec![2, 2, 2], vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(broadcast(&[2, 2, 2]).run(&[counting(&[2, 1])]), deeper);
    for wrong in [&[2][..], &[3, 1], &[1, 2]] {
        let reason = broadcast(wrong).reason();
        assert!(matches!(reason, Reason::OperandValue { operand: "shape", .. }), "{reason}");
    }
}

#[test]
fn shapes_are_constants_of_the_type_asked_for() {
    let of = |op: &str| moved(&[2, 3], node(op, "y", &["x"]), &[]);
    assert_eq!(run(&of("Shape")), (vec![2], vec![2.0, 3.0]));
    assert_eq!(run(&of("Rank")), (vec![], vec![2.0]));
    assert_eq!(run(&of("Size")), (vec![], vec![6.0]));
    let both = Graph::default().input("x", &[2, 3]).node(node("ShapeN", "y", &["x", "x"]).int("N", 2));
    assert_eq!(parts(&both), [(vec![2], vec![2.0, 3.0]), (vec![2], vec![2.0, 3.0])]);
    let typed = |code: i32| {
        let shape =
            node("Shape", "y", &["x"]).with("out_type", npukit_import::tensorflow::proto::Attr::Type(code));
        moved(&[2, 3], shape, &[])
    };
    let element = |graph: Result<npukit_graph::Graph, ImportError>| {
        let graph = graph.unwrap();
        graph.value(graph.outputs[0]).info.element
    };
    assert_eq!(element(typed(9).import()), npukit_numeric::ElementType::I64);
    assert_eq!(element(of("Shape").import()), npukit_numeric::ElementType::I32);
    assert!(typed(1).reason().to_string().ends_with("legal: int32 or int64"));
}

/// A slice is one node. Inserted or removed axes add one more node, and are the only node if
/// nothing is cut.
#[test]
fn strided_slices_are_no_more_nodes_than_they_need() {
    const NONE: [i64; 5] = [0; 5];
    for (index, expected) in [
        (index(&[0, 1], &[2, 3], &[1, 1], NONE), &["slice"][..]),
        (index(&[1], &[2], &[1], [0, 0, 0, 0, 1]), &["slice", "reshape"]),
        (index(&[0], &[0], &[1], [0, 0, 0, 1, 0]), &["reshape"]),
        (index(&[0], &[2], &[1], NONE), &["reshape"]),
    ] {
        let name = |op: &Op| match op {
            Op::Slice(_) => "slice",
            Op::Reshape(_) => "reshape",
            _ => "other",
        };
        let graph = strided(&index).import().unwrap();
        let found: Vec<&str> = graph.nodes.iter().map(|node| name(&node.op)).collect();
        assert_eq!(found, expected);
    }
}
