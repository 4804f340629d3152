//! Results at the end of a network that fit no format at any scale: [`unfit_ends`].

use super::ranges::Ranges;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::macs;

/// The nodes whose results are larger than `largest` and go nowhere but to outputs of the graph, at once or through others
/// of them, while what they are made of fits. Scales do not help there, as outputs are as they are; nodes that multiply and
/// accumulate are not among them.
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
    // Where an operand is already too large, leaving out what follows it changes nothing.
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

/// Whether the node is one of those that accelerators are for.
fn multiplies(graph: &Graph, node: &Node) -> bool {
    macs::of_node(graph, node) > 0
}
