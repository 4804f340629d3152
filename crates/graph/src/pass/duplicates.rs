//! Removal of repeated computations.

use std::collections::HashMap;

use super::{Pass, PassError};
use crate::ir::{Graph, ValueId};

pub(super) const PASS: Pass = Pass {
    name: "duplicates",
    description: "lets nodes of equal operators and operands share one result",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let mut seen: HashMap<Vec<ValueId>, Vec<usize>> = HashMap::new();
    let mut index = 0;
    let before = graph.nodes.len();
    while index < graph.nodes.len() {
        let node = &graph.nodes[index];
        let alike = seen.entry(node.inputs.clone()).or_default();
        let first = alike.iter().copied().find(|&first| graph.nodes[first].op == node.op);
        match first {
            Some(first) if !node.outputs.iter().any(|&output| graph.is_output(output)) => {
                let node = graph.nodes.remove(index);
                let kept = graph.nodes[first].outputs.clone();
                node.outputs.iter().zip(kept).for_each(|(&from, to)| graph.replace_uses(from, to));
            }
            _ => {
                alike.push(index);
                index += 1;
            }
        }
    }
    Ok(graph.nodes.len() != before)
}
