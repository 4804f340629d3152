//! Translation order of nodes: [`sort`] puts producers first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Nodes that the wanted ones need, producers first, and the nodes that cannot be ordered.
pub(crate) struct Order {
    /// Indices of nodes, each after its producers. File order is kept if it is valid.
    pub(crate) nodes: Vec<usize>,
    /// Needed nodes that are part of a cycle or depend on one.
    pub(crate) stuck: Vec<usize>,
    /// One cycle, if `stuck` is not empty. Each node consumes a result of the node before it.
    pub(crate) cycle: Vec<usize>,
}

/// Sorts the nodes that `wanted` needs. `producers` lists, per node, the producers of its operands,
/// once per operand.
pub(crate) fn sort(producers: &[Vec<usize>], wanted: impl IntoIterator<Item = usize>) -> Order {
    let needed = needed(producers, wanted.into_iter().collect());
    let mut waiting = vec![0usize; producers.len()];
    let mut consumers: Vec<Vec<usize>> = vec![Vec::new(); producers.len()];
    for &index in &needed {
        for &producer in &producers[index] {
            waiting[index] += 1;
            consumers[producer].push(index);
        }
    }
    // A min-heap of indices keeps the order of a file that is already sorted.
    let mut ready: BinaryHeap<Reverse<usize>> =
        needed.iter().filter(|&&index| waiting[index] == 0).map(|&index| Reverse(index)).collect();
    let mut nodes = Vec::with_capacity(needed.len());
    while let Some(Reverse(index)) = ready.pop() {
        nodes.push(index);
        for &consumer in &consumers[index] {
            waiting[consumer] -= 1;
            if waiting[consumer] == 0 {
                ready.push(Reverse(consumer));
            }
        }
    }
    let stuck: Vec<usize> = needed.into_iter().filter(|&index| waiting[index] > 0).collect();
    let cycle = cycle(producers, &waiting, stuck.first().copied());
    Order { nodes, stuck, cycle }
}

/// Nodes on which the nodes in `stack` depend, in file order.
pub(crate) fn needed(producers: &[Vec<usize>], mut stack: Vec<usize>) -> Vec<usize> {
    let mut seen = vec![false; producers.len()];
    while let Some(index) = stack.pop() {
        if !std::mem::replace(&mut seen[index], true) {
            stack.extend(&producers[index]);
        }
    }
    (0..seen.len()).filter(|&index| seen[index]).collect()
}

/// Walks from a stuck node along stuck producers until a node repeats.
fn cycle(producers: &[Vec<usize>], waiting: &[usize], start: Option<usize>) -> Vec<usize> {
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
        next = producers[index].iter().copied().find(|&producer| waiting[producer] > 0);
    }
    Vec::new()
}
