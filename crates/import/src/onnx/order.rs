//! The order in which nodes can be translated: [`sort`] puts producers first.

use std::collections::{BinaryHeap, HashMap};

use super::proto::{GraphProto, NodeProto};

/// The nodes that the wanted values need, producers first, and what stands in the way.
pub(super) struct Order {
    /// Indices of nodes, each after its producers; file order where that is one.
    pub(super) nodes: Vec<usize>,
    /// Nodes needed that are part of a cycle or follow one.
    pub(super) stuck: Vec<usize>,
    /// One cycle, when `stuck` is not empty: each node consumes a result of the one before.
    pub(super) cycle: Vec<usize>,
}

/// Orders the nodes of `graph` that `wanted` needs. `producers` says which node makes a name.
pub(super) fn sort(graph: &GraphProto, producers: &HashMap<&str, usize>, wanted: &[&str]) -> Order {
    let needed = needed(graph, producers, wanted);
    let mut waiting: Vec<usize> = vec![0; graph.node.len()];
    let mut consumers: Vec<Vec<usize>> = vec![Vec::new(); graph.node.len()];
    for &index in &needed {
        for producer in producers_of(&graph.node[index], producers) {
            waiting[index] += 1;
            consumers[producer].push(index);
        }
    }
    // A heap of the smallest index first keeps a file that is in order as it is.
    let mut ready: BinaryHeap<std::cmp::Reverse<usize>> =
        needed.iter().filter(|&&index| waiting[index] == 0).map(|&index| std::cmp::Reverse(index)).collect();
    let mut nodes = Vec::with_capacity(needed.len());
    while let Some(std::cmp::Reverse(index)) = ready.pop() {
        nodes.push(index);
        for &consumer in &consumers[index] {
            waiting[consumer] -= 1;
            if waiting[consumer] == 0 {
                ready.push(std::cmp::Reverse(consumer));
            }
        }
    }
    let stuck: Vec<usize> = needed.into_iter().filter(|&index| waiting[index] > 0).collect();
    let cycle = cycle(graph, producers, &waiting, stuck.first().copied());
    Order { nodes, stuck, cycle }
}

/// The nodes that lead to `wanted`, in file order.
fn needed(graph: &GraphProto, producers: &HashMap<&str, usize>, wanted: &[&str]) -> Vec<usize> {
    let mut seen = vec![false; graph.node.len()];
    let mut stack: Vec<usize> = wanted.iter().filter_map(|name| producers.get(name).copied()).collect();
    while let Some(index) = stack.pop() {
        if !std::mem::replace(&mut seen[index], true) {
            stack.extend(producers_of(&graph.node[index], producers));
        }
    }
    (0..seen.len()).filter(|&index| seen[index]).collect()
}

fn producers_of<'a>(
    node: &'a NodeProto,
    producers: &'a HashMap<&str, usize>,
) -> impl Iterator<Item = usize> + 'a {
    node.input.iter().filter_map(|name| producers.get(name.as_str()).copied())
}

/// Walks from a stuck node to producers that are stuck too until one comes round again.
fn cycle(
    graph: &GraphProto,
    producers: &HashMap<&str, usize>,
    waiting: &[usize],
    start: Option<usize>,
) -> Vec<usize> {
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut path = Vec::new();
    let mut next = start;
    while let Some(index) = next {
        if let Some(&first) = place.get(&index) {
            let mut cycle = path.split_off(first);
            cycle.push(index);
            cycle.reverse();
            return cycle;
        }
        place.insert(index, path.len());
        path.push(index);
        next = producers_of(&graph.node[index], producers).find(|&producer| waiting[producer] > 0);
    }
    Vec::new()
}
