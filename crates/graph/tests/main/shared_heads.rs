//! Products of groups of heads with operands repeated for them.

use npukit_graph::op::{MatMul, Reshape, Tile, Transpose};
use npukit_graph::pass::simplify;
use npukit_graph::{Graph, Op, ValueId, ValueInfo, evaluate};
use npukit_numeric::ElementType;

use crate::near_misses::{after, names};
use crate::support::{Net, distance, noise};

fn input(graph: &mut Graph, name: &str, shape: &[usize]) -> ValueId {
    graph.add_input(name, ValueInfo { shape: shape.to_vec(), element: ElementType::F32 })
}

fn node(graph: &mut Graph, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
    let name = graph.fresh_name("v");
    graph.add_node(name.clone(), op.into(), inputs.to_vec(), &[&name]).unwrap()[0]
}

/// Scores of 6 query heads on 2 key heads: `q [2, 6, 3, 4]`, `k [2, 2, 5, 4]`, with keys repeated
/// according to `apart` and `repeats`.
fn scores(apart: [usize; 5], repeats: [usize; 5]) -> Graph {
    let mut graph = Graph::default();
    let (q, k) = (input(&mut graph, "q", &[2, 6, 3, 4]), input(&mut graph, "k", &[2, 2, 5, 4]));
    let apart = node(&mut graph, Reshape { shape: apart.to_vec() }, &[k]);
    let tiled = node(&mut graph, Tile { repeats: repeats.to_vec() }, &[apart]);
    let joined = node(&mut graph, Reshape { shape: vec![2, 6, 5, 4] }, &[tiled]);
    let keys = node(&mut graph, Transpose { perm: vec![0, 1, 3, 2] }, &[joined]);
    let scores = node(&mut graph, MatMul, &[q, keys]);
    graph.outputs = vec![scores];
    graph
}

/// Whether a repetition remains after simplification, which must not change the result.
fn repeats(graph: &mut Graph) -> bool {
    let inputs: Vec<_> = graph.inputs.iter().map(|&id| noise(graph.shape(id), id.0.into())).collect();
    let before = evaluate(graph, &inputs).unwrap();
    simplify(graph).unwrap();
    let after = evaluate(graph, &inputs).unwrap();
    assert!(distance(&before[0], &after[0]) <= 1e-6, "{graph}");
    graph.nodes.iter().any(|node| matches!(node.op, Op::Tile(_)))
}

#[test]
fn keys_of_a_group_are_multiplied_once() {
    let mut graph = scores([2, 2, 1, 5, 4], [1, 1, 3, 1, 1]);
    assert!(!repeats(&mut graph), "{graph}");
    let products = graph.nodes.iter().filter(|node| matches!(node.op, Op::MatMul(_)));
    let shapes: Vec<_> = products.map(|node| graph.shape(node.outputs[0]).to_vec()).collect();
    assert_eq!(shapes, [vec![2, 2, 9, 5]]);
}

#[test]
fn values_of_a_group_are_multiplied_once() {
    let mut graph = Graph::default();
    let (p, v) = (input(&mut graph, "p", &[1, 4, 3, 5]), input(&mut graph, "v", &[1, 2, 5, 4]));
    let apart = node(&mut graph, Reshape { shape: vec![1, 2, 1, 5, 4] }, &[v]);
    let tiled = node(&mut graph, Tile { repeats: vec![1, 1, 2, 1, 1] }, &[apart]);
    let joined = node(&mut graph, Reshape { shape: vec![1, 4, 5, 4] }, &[tiled]);
    let seen = node(&mut graph, MatMul, &[p, joined]);
    graph.outputs = vec![seen];
    assert!(!repeats(&mut graph), "{graph}");
}

/// Heads repeated in an interleaved order are not groups of neighbors.
#[test]
fn other_repetitions_stay() {
    assert!(repeats(&mut scores([2, 1, 2, 5, 4], [1, 3, 1, 1, 1])));
}

/// Shapes of queries and keys, how these are split and joined, and the order of axes that they are
/// permuted to.
type Heads = ([usize; 4], [usize; 4], [usize; 5], [usize; 4], Option<[usize; 4]>);

/// Groups of three heads in each of two batches, and variants that differ in one respect.
#[test]
fn only_groups_of_heads_of_one_batch_are_multiplied_once() {
    let turn = Some([0, 1, 3, 2]);
    let table: [(Heads, bool); 9] = [
        (([2, 6, 3, 4], [2, 2, 5, 4], [2, 2, 1, 5, 4], [2, 6, 5, 4], turn), true),
        (([2, 6, 3, 5], [2, 2, 5, 4], [2, 2, 1, 5, 4], [2, 6, 5, 4], None), true),
        (([2, 6, 3, 4], [2, 2, 4, 4], [2, 2, 1, 4, 4], [2, 6, 4, 4], Some([0, 1, 2, 3])), false),
        (([6, 6, 3, 4], [6, 2, 5, 4], [6, 2, 1, 5, 4], [6, 6, 5, 4], Some([1, 0, 3, 2])), false),
        // Queries of one batch, or of one head, are used by all.
        (([1, 6, 3, 4], [2, 2, 5, 4], [2, 2, 1, 5, 4], [2, 6, 5, 4], turn), false),
        (([2, 1, 3, 4], [2, 2, 5, 4], [2, 2, 1, 5, 4], [2, 6, 5, 4], turn), false),
        // The repeated part, or the result of the repetition, is not a head.
        (([2, 6, 3, 4], [2, 2, 5, 4], [2, 10, 1, 4, 1], [2, 6, 5, 4], turn), false),
        (([2, 6, 3, 4], [2, 2, 5, 4], [2, 2, 1, 5, 4], [2, 6, 4, 5], None), false),
        (([6, 2, 3, 4], [2, 2, 5, 4], [2, 2, 1, 5, 4], [6, 2, 5, 4], turn), false),
    ];
    for (heads, goes) in table {
        let (queries, keys, apart, joined, order) = heads;
        let mut net = Net::default();
        let (q, k) = (net.input(noise(&queries, 1)), net.input(noise(&keys, 2)));
        let apart = net.node(Reshape { shape: apart.to_vec() }, &[k]);
        let tiled = net.node(Tile { repeats: vec![1, 1, 3, 1, 1] }, &[apart]);
        let joined = net.node(Reshape { shape: joined.to_vec() }, &[tiled]);
        let shared = order.map_or(joined, |perm| net.node(Transpose { perm: perm.to_vec() }, &[joined]));
        let product = net.node(MatMul, &[q, shared]);
        let left = names(&after("shared-heads", &net.giving(product)));
        assert_eq!(!left.contains(&"Tile"), goes, "{heads:?}");
    }
}
