//! TensorFlow's conditions, loops and lists, in the form of frozen graphs.

use npukit_import::tensorflow::proto::NodeDef;

use crate::graph_def::{Graph, With, names, node};
use crate::model::floats;

/// A graph with constants of floats (`one`, `two`, `limit`) and of integers (`first`, `step`,
/// `last`).
fn constants() -> Graph {
    let graph = Graph::default().floats("one", &[], &[1.0]).floats("two", &[], &[2.0]);
    let graph = graph.floats("limit", &[], &[100.0]).integers("axes", &[1], &[0]);
    graph.integers("first", &[], &[0]).integers("step", &[], &[1]).integers("last", &[], &[3])
}

/// Nodes of a loop variable, without the nodes that compute.
fn variable(graph: Graph, name: &str, begin: &str, next: &str) -> Graph {
    let of = |kind: &str| format!("{kind}_{name}");
    let enter = node("Enter", &of("enter"), &[begin]).string("frame_name", "loop").flag("is_constant", false);
    graph
        .node(enter.int("parallel_iterations", 10))
        .node(node("Merge", &of("merge"), &[&of("enter"), &of("next")]).int("N", 2))
        .node(node("Switch", &of("switch"), &[&of("merge"), "goes_on"]))
        .node(node("NextIteration", &of("next"), &[next]))
        .node(node("Exit", &of("exit"), &[&of("switch")]))
}

/// A loop of `x * 2`, with a counter `i`.
fn doubling(condition: &[NodeDef]) -> Graph {
    let graph = condition.iter().cloned().fold(constants().input("x", &[2]), Graph::node);
    let graph = variable(graph, "i", "first", "more").node(node("AddV2", "more", &["switch_i:1", "step"]));
    variable(graph, "x", "x", "twice").node(node("Mul", "twice", &["switch_x:1", "two"]))
}

#[test]
fn a_loop_of_known_rounds_is_its_rounds() {
    let condition = [node("Less", "less", &["merge_i", "last"]), node("LoopCond", "goes_on", &["less"])];
    let graph = doubling(&condition).node(node("Identity", "y", &["exit_x"]));
    let imported = graph.import().unwrap();
    assert_eq!(names(&imported, &imported.outputs), ["y"]);
    assert!(imported.nodes.iter().all(|node| !node.op.to_string().starts_with("Loop")));
    assert_eq!(graph.run(&[floats(&[2], &[1.0, -3.0])]).1, [8.0, -24.0]);
}

#[test]
fn a_loop_that_values_end_stays_a_loop() {
    let sum = node("Sum", "sum", &["size", "axes"]);
    let condition = [
        node("Abs", "size", &["merge_x"]),
        sum,
        node("Less", "less", &["sum", "limit"]),
        node("LoopCond", "goes_on", &["less"]),
    ];
    let graph = doubling(&condition).outputs(&["exit_x", "exit_i"]);
    graph.import().unwrap().validate().unwrap();
    let of = |output: &str, x: [f32; 2]| graph.clone().outputs(&[output]).run(&[floats(&[2], &x)]).1;
    assert_eq!(of("exit_x", [1.0, -3.0]), [32.0, -96.0]);
    assert_eq!(of("exit_i", [1.0, -3.0]), [5.0]);
    assert_eq!(of("exit_i", [100.0, 0.0]), [0.0]);
}

#[test]
fn a_loop_without_its_condition_or_within_itself_is_refused() {
    let graph = doubling(&[]).outputs(&["exit_x"]);
    assert!(!graph.problems().is_empty());
    let condition = [node("LoopCond", "goes_on", &["exit_i"])];
    assert!(!doubling(&condition).outputs(&["exit_x"]).problems().is_empty());
}

#[test]
fn a_condition_chooses_between_branches_and_branches_within_them() {
    let graph = constants()
        .input("x", &[2])
        .node(node("Sum", "sum", &["x", "axes"]))
        .node(node("Greater", "is_more", &["sum", "one"]))
        .node(node("Greater", "is_most", &["sum", "limit"]))
        .node(node("Switch", "x_in", &["x", "is_more"]))
        .node(node("Switch", "x_inner", &["x_in:1", "is_most"]))
        .node(node("Switch", "pivot", &["is_more", "is_more"]))
        .node(node("Identity", "pivot_no", &["pivot"]))
        .node(node("Neg", "most", &["x_inner:1"]))
        .node(node("Mul", "more", &["x_inner:0", "two"]))
        .node(node("Merge", "inner", &["more", "most"]).int("N", 2))
        // A node that does not depend on the inputs waits for its branch.
        .node(node("Identity", "less", &["pair", "^pivot_no"]))
        .floats("pair", &[2], &[7.0, 8.0])
        .node(node("Merge", "y", &["less", "inner"]).int("N", 2));
    let imported = graph.import().unwrap();
    assert_eq!(names(&imported, &imported.outputs), ["y"]);
    let of = |x: [f32; 2]| graph.run(&[floats(&[2], &x)]).1;
    assert_eq!(of([0.0, 0.0]), [7.0, 8.0]);
    assert_eq!(of([2.0, 3.0]), [4.0, 6.0]);
    assert_eq!(of([200.0, 3.0]), [-200.0, -3.0]);
}

#[test]
fn lists_are_known_when_the_file_is_read() {
    let graph = constants().input("x", &[2, 2]).integers("shape", &[1], &[-1]).integers("count", &[], &[3]);
    let graph = graph
        .node(node("TensorListFromTensor", "rows", &["x", "shape"]))
        .node(node("TensorListGetItem", "row", &["rows", "step", "shape"]))
        .node(node("TensorListReserve", "empty", &["shape", "count"]))
        .node(node("TensorListSetItem", "set", &["empty", "first", "row"]))
        .node(node("TensorListPushBack", "longer", &["set", "row"]))
        .node(node("TensorListStack", "y", &["longer", "shape"]).int("num_elements", -1));
    let x = [floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])];
    let graph = graph.outputs(&["y"]);
    assert_eq!(graph.run(&x), (vec![4, 2], vec![3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0]));
    assert!(!graph.clone().outputs(&["set"]).problems().is_empty(), "a list cannot be an output");
}
