//! Nodes that take the place of one: [`replace_nodes`].

use npukit_graph::{Graph, Node, Op, Operator, Value, ValueId};

/// The nodes that take the place of one, while they are written.
pub struct Parts<'g> {
    /// The graph, without them.
    pub graph: &'g mut Graph,
    /// Name of the node they replace.
    pub name: String,
    nodes: Vec<Node>,
}

/// Replaces every node that `write` writes the parts of, the one with its result last; one for which it
/// gives `None` is left as it is.
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
    /// A node with one result.
    pub fn add(&mut self, what: &str, op: impl Into<Op>, inputs: &[ValueId]) -> Option<ValueId> {
        let op = op.into();
        let operands: Vec<&Value> = inputs.iter().map(|&id| self.graph.value(id)).collect();
        let info = op.infer(&operands).ok()?.into_iter().next()?;
        let name = self.graph.fresh_name(&format!("{}/{what}", self.name));
        let output = self.graph.add_value(Value { name: name.clone(), info, constant: None });
        self.nodes.push(Node { name, op, inputs: inputs.to_vec(), outputs: vec![output] });
        Some(output)
    }

    /// The nodes, the last one with name and result of `node`.
    fn finish(self, node: &Node) -> Option<Vec<Node>> {
        let mut nodes = self.nodes;
        let last = nodes.last_mut()?;
        (last.name, last.outputs) = (node.name.clone(), node.outputs.clone());
        Some(nodes)
    }
}
