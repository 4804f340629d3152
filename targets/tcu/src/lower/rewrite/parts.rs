//! Replacement of one node by several: [`replace_nodes`].

use npukit_graph::{Graph, Node, Op, Operator, Value, ValueId};

/// Nodes under construction that replace one node.
pub struct Parts<'g> {
    /// Graph, without the new nodes.
    pub graph: &'g mut Graph,
    /// Name of the replaced node.
    pub name: String,
    nodes: Vec<Node>,
}

/// Replaces every node for which `write` emits parts, with the result last. A node for which
/// `write` returns `None` is kept.
pub fn replace_nodes(graph: &mut Graph, write: impl Fn(&mut Parts<'_>, &Node) -> Option<()>) {
    let mut index = 0;
    while index < graph.nodes.len() {
        let node = graph.nodes[index].clone();
        let mut parts = Parts { graph, name: node.name.clone(), nodes: Vec::new() };
        let Some(nodes) = write(&mut parts, &node).and_then(|()| parts.finish(&node)) else {
            index += 1;
            continue;
        };
        let next = index + nodes.len();
        graph.nodes.splice(index..=index, nodes);
        index = next;
    }
}

impl Parts<'_> {
    /// Adds a node with one result.
    pub fn add(&mut self, what: &str, op: impl Into<Op>, inputs: &[ValueId]) -> Option<ValueId> {
        let op = op.into();
        let operands: Vec<&Value> = inputs.iter().map(|&id| self.graph.value(id)).collect();
        let info = op.infer(&operands).ok()?.into_iter().next()?;
        let name = self.graph.fresh_name(&format!("{}/{what}", self.name));
        let output = self.graph.add_value(Value { name: name.clone(), info, constant: None });
        self.nodes.push(Node { name, op, inputs: inputs.to_vec(), outputs: vec![output] });
        Some(output)
    }

    /// Returns the nodes; the last one takes the name and the result of `node`.
    fn finish(self, node: &Node) -> Option<Vec<Node>> {
        let mut nodes = self.nodes;
        let last = nodes.last_mut()?;
        (last.name, last.outputs) = (node.name.clone(), node.outputs.clone());
        Some(nodes)
    }
}
