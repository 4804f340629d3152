//! Sharing of cheap nodes with the host, where that saves a program or reduces the transfers
//! between host and machine.

use npukit_graph::{Graph, NodeId, Op, ValueId};

use super::{index, phases};
use crate::readers::Readers;

/// Returns, for each node, whether the host computes it: the `refused` nodes and cheap nodes next
/// to them.
pub(super) fn share(graph: &Graph, refused: &[bool]) -> Vec<bool> {
    let macs: Vec<u64> = graph.macs_by_node().collect();
    let mut work = Work {
        graph,
        readers: Readers::of(graph),
        is_cheap: macs.iter().map(|&macs| macs == 0).collect(),
        on_host: refused[..graph.nodes.len()].to_vec(),
    };
    while work.idle_programs() || work.edges() {}
    work.on_host
}

struct Work<'g> {
    graph: &'g Graph,
    readers: Readers,
    /// Whether each node has no multiply-accumulates.
    is_cheap: Vec<bool>,
    on_host: Vec<bool>,
}

impl Work<'_> {
    /// Moves connected parts of a program to the host that have no multiply-accumulates and are
    /// next to the host's nodes. Returns whether there was any.
    fn idle_programs(&mut self) -> bool {
        let islands = self.islands();
        let mut is_idle = vec![true; self.graph.nodes.len()];
        let mut is_beside = vec![false; self.graph.nodes.len()];
        for id in self.graph.node_ids().filter(|&id| !self.on_host[index(id)]) {
            is_idle[islands[index(id)]] &= self.is_cheap[index(id)];
            is_beside[islands[index(id)]] |= self.is_beside_host(id);
        }
        let goes = |id: &NodeId| {
            let island = islands[index(*id)];
            !self.on_host[index(*id)] && is_idle[island] && is_beside[island]
        };
        let gone: Vec<NodeId> = self.graph.node_ids().filter(goes).collect();
        gone.iter().for_each(|&id| self.on_host[index(id)] = true);
        !gone.is_empty()
    }

    /// Returns, for each node, the first node that it is connected with inside its program.
    fn islands(&self) -> Vec<usize> {
        let phases = phases(self.graph, &self.on_host);
        let mut parents: Vec<usize> = (0..self.graph.nodes.len()).collect();
        for id in self.graph.node_ids() {
            for producer in self.producers(id).filter(|&other| phases[index(other)] == phases[index(id)]) {
                let (a, b) = (root(&parents, index(producer)), root(&parents, index(id)));
                parents[a.max(b)] = a.min(b);
            }
        }
        (0..parents.len()).map(|node| root(&parents, node)).collect()
    }

    /// Moves the first or the last cheap node of a program to the host, if that reduces the
    /// transfers to and from the machine. Returns whether there was such a node.
    fn edges(&mut self) -> bool {
        let phases = phases(self.graph, &self.on_host);
        let is_gain = |&id: &NodeId| {
            let is_free = !self.on_host[index(id)] && self.is_cheap[index(id)];
            is_free && (self.saves_at_start(id, &phases) || self.saves_at_end(id))
        };
        let found = self.graph.node_ids().find(is_gain);
        found.inspect(|&id| self.on_host[index(id)] = true).is_some()
    }

    /// Whether the node is the first of its program, reads results of the host, and its results are
    /// smaller than its operands.
    fn saves_at_start(&self, id: NodeId, phases: &[usize]) -> bool {
        let is_first = self.producers(id).all(|other| phases[index(other)] < phases[index(id)]);
        if !is_first || !self.producers(id).any(|other| self.on_host[index(other)]) {
            return false;
        }
        let others = |value: ValueId| {
            let mut readers = self.readers.all(value).iter();
            readers.any(|&other| other != id && !self.on_host[index(other)])
        };
        let read = self.operands(id).filter(|&value| !others(value));
        self.is_less(id, self.elements(&self.graph.node(id).outputs), self.elements(&distinct(read)))
    }

    /// Whether only the host reads the node's results, and its operands are smaller than they are.
    fn saves_at_end(&self, id: NodeId) -> bool {
        let outputs = &self.graph.node(id).outputs;
        let readers = || outputs.iter().flat_map(|&output| self.readers.all(output));
        let is_the_hosts = readers().all(|&other| self.on_host[index(other)]) && readers().next().is_some();
        if !is_the_hosts || outputs.iter().any(|&output| self.readers.is_output(output)) {
            return false;
        }
        self.is_less(id, self.elements(&distinct(self.operands(id))), self.elements(outputs))
    }

    /// Whether `after` elements are fewer than `before`; equal numbers are enough for a node that
    /// only moves elements.
    fn is_less(&self, id: NodeId, after: u64, before: u64) -> bool {
        after < before || after == before && only_moves(&self.graph.node(id).op)
    }

    fn is_beside_host(&self, id: NodeId) -> bool {
        let outputs = self.graph.node(id).outputs.iter();
        let mut readers = outputs.flat_map(|&output| self.readers.all(output));
        readers.any(|&other| self.on_host[index(other)])
            || self.producers(id).any(|other| self.on_host[index(other)])
    }

    /// Returns the operands that are not constants.
    fn operands(&self, id: NodeId) -> impl Iterator<Item = ValueId> {
        let inputs = self.graph.node(id).inputs.iter().copied();
        inputs.filter(|&value| self.graph.constant(value).is_none())
    }

    fn producers(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.graph.node(id).inputs.iter().filter_map(|&input| self.readers.producer(input))
    }

    fn elements(&self, values: &[ValueId]) -> u64 {
        let elements = |&value: &ValueId| {
            self.graph.shape(value).iter().fold(1u64, |all, &size| all.saturating_mul(size as u64))
        };
        values.iter().map(elements).fold(0, u64::saturating_add)
    }
}

fn distinct(values: impl Iterator<Item = ValueId>) -> Vec<ValueId> {
    let mut values: Vec<ValueId> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn root(parents: &[usize], mut node: usize) -> usize {
    while parents[node] != node {
        node = parents[node];
    }
    node
}

/// Whether an operator only moves elements to other positions.
const fn only_moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Concat(_)
            | Op::Gather(_)
            | Op::Reshape(_)
            | Op::Slice(_)
            | Op::Split(_)
            | Op::Tile(_)
            | Op::Transpose(_)
    )
}
