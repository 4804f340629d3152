//! Removal of repeated computations.

use std::collections::{HashMap, HashSet};

use super::{Pass, PassError};
use crate::ir::{Graph, Node, ValueId};

pub(super) const PASS: Pass =
    Pass { name: "duplicates", description: "merges nodes with equal operators and operands", run };

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let outputs: HashSet<ValueId> = graph.outputs.iter().copied().collect();
    let mut seen: HashMap<Vec<ValueId>, Vec<usize>> = HashMap::new();
    // Duplicate results and the earlier result that replaces them, so that each node is visited
    // once.
    let mut same: HashMap<ValueId, ValueId> = HashMap::new();
    let mut kept: Vec<Node> = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        for input in &mut node.inputs {
            *input = same.get(input).copied().unwrap_or(*input);
        }
        let alike = seen.entry(node.inputs.clone()).or_default();
        let first = alike.iter().copied().find(|&first| kept[first].op == node.op);
        match first {
            Some(first) if !node.outputs.iter().any(|output| outputs.contains(output)) => {
                for (&from, &to) in node.outputs.iter().zip(&kept[first].outputs) {
                    graph.state_alike(from, to);
                    same.insert(from, to);
                }
            }
            _ => {
                alike.push(kept.len());
                kept.push(node);
            }
        }
    }
    graph.nodes = kept;
    Ok(!same.is_empty())
}
