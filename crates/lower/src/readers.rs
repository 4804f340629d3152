//! Readers and producers of the values of a graph: [`Readers`].

use npukit_graph::{Graph, NodeId, ValueId};

/// The readers and the producer of each value of a graph, looked up in constant time.
#[derive(Clone, Debug)]
pub struct Readers {
    readers: Vec<Vec<NodeId>>,
    producers: Vec<Option<NodeId>>,
    is_output: Vec<bool>,
}

impl Readers {
    /// Builds the table for `graph`.
    pub fn of(graph: &Graph) -> Self {
        let mut is_output = vec![false; graph.values.len()];
        graph.outputs.iter().for_each(|&output| is_output[index(output)] = true);
        Self { readers: graph.consumers(), producers: graph.producers(), is_output }
    }

    /// Returns the nodes that read `value`, in graph order; a node that reads it twice appears
    /// twice.
    pub fn all(&self, value: ValueId) -> &[NodeId] {
        &self.readers[index(value)]
    }

    /// Returns the only reader of `value`. `None` if there are several reads, or if the value is an
    /// output of the graph.
    pub fn only(&self, value: ValueId) -> Option<NodeId> {
        match self.all(value) {
            &[reader] if !self.is_output(value) => Some(reader),
            _ => None,
        }
    }

    /// Returns the node that produces `value`; `None` for inputs and constants.
    pub fn producer(&self, value: ValueId) -> Option<NodeId> {
        self.producers[index(value)]
    }

    /// Whether `value` is an output of the graph.
    pub fn is_output(&self, value: ValueId) -> bool {
        self.is_output[index(value)]
    }
}

fn index(value: ValueId) -> usize {
    value.0 as usize
}
