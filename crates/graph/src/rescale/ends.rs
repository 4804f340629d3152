//! Final results of a network that fit no format at any scale: [`unfit_ends`].

use super::ranges::Ranges;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::macs;

/// Returns the nodes whose results are larger than `largest` while their operands fit, and whose
/// results only lead to outputs of the graph, directly or through other such nodes.
///
/// Scaling cannot help there, as the scale of outputs is fixed. Nodes with multiply-accumulates are
/// excluded.
pub fn unfit_ends(graph: &Graph, ranges: &Ranges, largest: f64) -> Vec<NodeId> {
    let (consumers, mut is_end) = (graph.consumers(), vec![false; graph.nodes.len()]);
    for id in graph.node_ids().collect::<Vec<_>>().into_iter().rev() {
        let node = graph.node(id);
        let ends = |&value: &ValueId| {
            let readers = &consumers[value.0 as usize];
            f64::from(ranges.of(value)) > largest
                && (graph.is_output(value) || !readers.is_empty())
                && readers.iter().all(|reader| is_end[reader.0 as usize])
        };
        is_end[id.0 as usize] = !multiplies(graph, node) && node.outputs.iter().all(ends);
    }
    // If an operand is too large already, removing the following nodes changes nothing.
    let mut is_whole: Vec<bool> = graph.values.iter().map(|value| value.constant.is_some()).collect();
    for id in graph.node_ids() {
        let node = graph.node(id);
        let comes_whole =
            |&input: &ValueId| is_whole[input.0 as usize] || f64::from(ranges.of(input)) <= largest;
        is_end[id.0 as usize] &= node.inputs.iter().all(comes_whole);
        node.outputs.iter().for_each(|output| is_whole[output.0 as usize] = is_end[id.0 as usize]);
    }
    graph.node_ids().filter(|id| is_end[id.0 as usize]).collect()
}

/// Whether the node has multiply-accumulates, the operations that accelerators are built for.
fn multiplies(graph: &Graph, node: &Node) -> bool {
    macs::of_node(graph, node) > 0
}
