//! Queries on a whole [`Graph`]: producers and consumers of values, names, order, validity.

use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::ir::{Graph, Node, NodeId, Value, ValueId};
use crate::op::{Op, OpError, Operator};

/// Reason why a graph is invalid.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum GraphError {
    /// A node, input or output refers to a value that does not exist.
    #[error("{user} refers to value {id}, but the graph has {count} values")]
    UnknownValue {
        /// Where the reference is: a node's name, `inputs` or `outputs`.
        user: String,
        /// Index of the value.
        id: u32,
        /// Number of values.
        count: usize,
    },
    /// Two values have the same name.
    #[error("two values are named `{name}`")]
    DuplicateName {
        /// Name of both values.
        name: String,
    },
    /// A value is produced twice, or is produced although it is an input or a constant.
    #[error("value `{value}` is produced by node `{node}`, but it already has a producer or content")]
    ProducedTwice {
        /// Name of the value.
        value: String,
        /// Name of the second producer.
        node: String,
    },
    /// A value is used before any node produces it.
    #[error("{user} uses value `{value}`, which nothing before it produces")]
    NotProduced {
        /// Where it is used: a node's name or `outputs`.
        user: String,
        /// Name of the value.
        value: String,
    },
    /// The nodes have a cyclic dependency.
    #[error("the nodes have a cyclic dependency, which includes node `{node}`")]
    Cycle {
        /// Name of one node of the cycle.
        node: String,
    },
    /// A node rejects its operands.
    #[error("node `{node}`: {error}")]
    Op {
        /// Name of the node.
        node: String,
        /// Error of the operator.
        #[source]
        error: OpError,
    },
    /// The recorded result of a node differs from what its operator infers.
    #[error("node `{node}`: result `{value}` is recorded as {recorded}, but inferred as {inferred}")]
    Result {
        /// Name of the node.
        node: String,
        /// Name of the result.
        value: String,
        /// Recorded shape and type.
        recorded: String,
        /// Inferred shape and type.
        inferred: String,
    },
    /// The elements of a constant do not have the recorded shape and type.
    #[error("constant `{value}` is recorded as {recorded}, but its elements are {found}")]
    Constant {
        /// Name of the constant.
        value: String,
        /// Recorded shape and type.
        recorded: String,
        /// Shape and type of the elements.
        found: String,
    },
}

impl Graph {
    /// Returns the node with the number `id`.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Returns all node ids, producers first.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Returns, for each value, the node that produces it; `None` for inputs and constants.
    pub fn producers(&self) -> Vec<Option<NodeId>> {
        let mut producers = vec![None; self.values.len()];
        for (id, node) in self.node_ids().zip(&self.nodes) {
            node.outputs.iter().for_each(|output| producers[output.0 as usize] = Some(id));
        }
        producers
    }

    /// Returns, for each value, the nodes that use it, in graph order. A node that uses it twice
    /// appears twice.
    pub fn consumers(&self) -> Vec<Vec<NodeId>> {
        let mut consumers = vec![Vec::new(); self.values.len()];
        for (id, node) in self.node_ids().zip(&self.nodes) {
            node.inputs.iter().for_each(|input| consumers[input.0 as usize].push(id));
        }
        consumers
    }

    /// Whether all nodes that read an integer value convert it to real numbers; false without such
    /// nodes.
    pub fn becomes_real(&self, id: ValueId) -> bool {
        let to_real = |node: &Node| match &node.op {
            Op::Cast(cast) => cast.to.is_float(),
            op => matches!(op, Op::DequantizeLinear(_)),
        };
        let mut readers = self.nodes.iter().filter(|node| node.inputs.contains(&id)).peekable();
        readers.peek().is_some() && readers.all(to_real)
    }

    /// Whether `id` is an output of the graph.
    pub fn is_output(&self, id: ValueId) -> bool {
        self.outputs.contains(&id)
    }

    /// Returns the value named `name`.
    pub fn find_value(&self, name: &str) -> Option<ValueId> {
        self.values.iter().position(|value| value.name == name).map(|index| ValueId(index as u32))
    }

    /// Returns the first node named `name`.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name).map(|index| NodeId(index as u32))
    }

    /// Checks that all references exist, names are unique, and each value has one producer. Also
    /// checks that each node follows its producers and that all shapes and types are as inferred.
    ///
    /// # Errors
    ///
    /// [`GraphError`] with the first wrong reference, name, order, shape or type.
    pub fn validate(&self) -> Result<(), GraphError> {
        self.validate_references()?;
        self.validate_values()?;
        let mut known: Vec<bool> = self.values.iter().map(|value| value.constant.is_some()).collect();
        self.inputs.iter().for_each(|input| known[input.0 as usize] = true);
        for node in &self.nodes {
            self.validate_node(node, &mut known)?;
        }
        let unknown = self.outputs.iter().find(|output| !known[output.0 as usize]);
        unknown.map_or(Ok(()), |&output| Err(self.not_produced("outputs", output)))
    }

    fn validate_references(&self) -> Result<(), GraphError> {
        let count = self.values.len();
        let check = |user: &str, ids: &[ValueId]| match ids.iter().find(|id| id.0 as usize >= count) {
            Some(id) => Err(GraphError::UnknownValue { user: user.to_owned(), id: id.0, count }),
            None => Ok(()),
        };
        check("inputs", &self.inputs)?;
        check("outputs", &self.outputs)?;
        self.nodes
            .iter()
            .try_for_each(|node| check(&node.name, &node.inputs).and(check(&node.name, &node.outputs)))
    }

    fn validate_values(&self) -> Result<(), GraphError> {
        let mut names = HashSet::new();
        for value in &self.values {
            if !names.insert(value.name.as_str()) {
                return Err(GraphError::DuplicateName { name: value.name.clone() });
            }
            let Some(tensor) = &value.constant else { continue };
            if tensor.shape() != value.info.shape || tensor.element() != value.info.element {
                return Err(GraphError::Constant {
                    value: value.name.clone(),
                    recorded: value.info.to_string(),
                    found: format!("{:?}{:?}", tensor.element(), tensor.shape()),
                });
            }
        }
        Ok(())
    }

    fn validate_node(&self, node: &Node, known: &mut [bool]) -> Result<(), GraphError> {
        if let Some(&input) = node.inputs.iter().find(|input| !known[input.0 as usize]) {
            return Err(self.not_produced(&node.name, input));
        }
        let operands: Vec<&Value> = node.inputs.iter().map(|&input| self.value(input)).collect();
        let refused = |error| GraphError::Op { node: node.name.clone(), error };
        let infos = node.op.infer(&operands).map_err(refused)?;
        if infos.len() != node.outputs.len() {
            let (op, expected, found) = (node.op.name(), infos.len(), node.outputs.len());
            return Err(refused(OpError::ResultCount { op, expected, found }));
        }
        for (info, &output) in infos.iter().zip(&node.outputs) {
            let value = self.value(output);
            let (node, name) = (node.name.clone(), value.name.clone());
            if std::mem::replace(&mut known[output.0 as usize], true) {
                return Err(GraphError::ProducedTwice { value: name, node });
            }
            if *info != value.info {
                let (recorded, inferred) = (value.info.to_string(), info.to_string());
                return Err(GraphError::Result { node, value: name, recorded, inferred });
            }
        }
        Ok(())
    }

    fn not_produced(&self, user: &str, value: ValueId) -> GraphError {
        GraphError::NotProduced { user: user.to_owned(), value: self.value(value).name.clone() }
    }

    /// Sorts the nodes topologically; the sort keeps the order of independent nodes.
    ///
    /// # Errors
    ///
    /// [`GraphError::Cycle`] if a node depends on its own result; the graph is then unchanged.
    pub fn sort_nodes(&mut self) -> Result<(), GraphError> {
        let producers = self.producers();
        let mut waiting = vec![0usize; self.nodes.len()];
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for producer in node.inputs.iter().filter_map(|input| producers[input.0 as usize]) {
                waiting[index] += 1;
                dependents[producer.0 as usize].push(index);
            }
        }
        let free = (0..self.nodes.len()).filter(|&index| waiting[index] == 0);
        let mut ready: BinaryHeap<_> = free.map(std::cmp::Reverse).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(std::cmp::Reverse(index)) = ready.pop() {
            order.push(index);
            for &dependent in &dependents[index] {
                waiting[dependent] -= 1;
                if waiting[dependent] == 0 {
                    ready.push(std::cmp::Reverse(dependent));
                }
            }
        }
        if let Some(index) = waiting.iter().position(|&count| count > 0) {
            return Err(GraphError::Cycle { node: self.nodes[index].name.clone() });
        }
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        self.nodes = order.into_iter().filter_map(|index| nodes[index].take()).collect();
        Ok(())
    }

    /// Removes nodes whose results are all unused, and values without references. Inputs and
    /// outputs of the graph stay. Values and nodes are renumbered. Returns whether it removed any.
    pub fn remove_dead(&mut self) -> bool {
        let (node_count, value_count) = (self.nodes.len(), self.values.len());
        let mut live = vec![false; self.values.len()];
        self.outputs.iter().for_each(|output| live[output.0 as usize] = true);
        let keep_node = |node: &Node, live: &mut [bool]| {
            let kept = node.outputs.iter().any(|output| live[output.0 as usize]);
            if kept {
                let values = node.inputs.iter().chain(&node.outputs);
                values.for_each(|value| live[value.0 as usize] = true);
            }
            kept
        };
        let kept: Vec<bool> = self.nodes.iter().rev().map(|node| keep_node(node, &mut live)).collect();
        let mut kept = kept.into_iter().rev();
        self.nodes.retain(|_| kept.next().expect("one mark per node"));
        self.inputs.iter().for_each(|input| live[input.0 as usize] = true);
        self.keep_values(&live);
        (node_count, value_count) != (self.nodes.len(), self.values.len())
    }

    /// Keeps the values marked `live`, renumbering them. All values with references are live.
    fn keep_values(&mut self, live: &[bool]) {
        if live.iter().all(|live| *live) {
            return;
        }
        let mut numbers: HashMap<ValueId, ValueId> = HashMap::new();
        for (index, _) in live.iter().enumerate().filter(|(_, live)| **live) {
            let number = ValueId(numbers.len() as u32);
            numbers.insert(ValueId(index as u32), number);
        }
        let mut marks = live.iter();
        self.values.retain(|_| *marks.next().expect("one mark per value"));
        self.forget_names();
        let in_nodes = self.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs));
        for id in in_nodes.chain(&mut self.inputs).chain(&mut self.outputs) {
            *id = numbers.get(id).copied().unwrap_or(*id);
        }
        let scales = std::mem::take(&mut self.scales).into_iter();
        self.scales = scales.filter_map(|(id, stated)| Some((*numbers.get(&id)?, stated))).collect();
    }

    /// Returns the multiply-accumulates of each node, defined as in [`Graph::macs`].
    pub fn macs_by_node(&self) -> impl Iterator<Item = u64> + '_ {
        self.nodes.iter().map(|node| crate::macs::of_node(self, node))
    }

    /// Returns the multiply-accumulates of one evaluation: Conv without taps on padding,
    /// ConvTranspose without cropped products, Gemm and MatMul.
    pub fn macs(&self) -> u64 {
        self.macs_by_node().fold(0, u64::saturating_add)
    }
}
