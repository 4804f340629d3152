//! [`import`]: translates the messages of a file to a graph, node by node. `interface` handles
//! inputs and outputs.

use std::collections::{HashMap, HashSet};

use npukit_graph::ValueId;

use super::Options;
use super::binding::Binding;
use super::blocks::Blocks;
use super::context::Context;
use super::error::{ImportError, NodeProblem, Reason};
use super::frames::Frames;
use super::names::{Reference, node_of, result_name};
use super::proto::{GraphDef, NodeDef};
use super::{ops, order};
use crate::builder::{Builder, FOLDING_ROOM};
use crate::format::Format;
use crate::remark::{Imported, Remark};

/// State of the import of a model.
pub(super) struct Importer<'a> {
    pub(super) proto: &'a GraphDef,
    pub(super) options: &'a Options,
    pub(super) builder: Builder,
    pub(super) nodes: HashMap<&'a str, usize>,
    pub(super) bindings: Vec<Option<Binding>>,
    pub(super) blocks: Blocks,
    pub(super) frames: Frames,
    /// Number of loops around the current node.
    pub(super) rounds: usize,
    /// Shapes of inputs, by the names of their nodes.
    pub(super) shapes: HashMap<String, Vec<usize>>,
    problems: Vec<NodeProblem>,
    pub(super) remarks: Vec<Remark>,
}

/// Imports the graph of `proto`, read from a file of `size_bytes`.
pub(super) fn import(
    proto: &GraphDef,
    name: &str,
    options: &Options,
    size_bytes: usize,
) -> Result<Imported, ImportError> {
    let reserved = proto.node.iter().map(|node| node.name.clone()).collect();
    let mut importer = Importer {
        proto,
        options,
        builder: Builder::new(name, reserved, size_bytes.saturating_add(FOLDING_ROOM)),
        nodes: HashMap::new(),
        bindings: proto.node.iter().map(|_| None).collect(),
        blocks: Blocks::default(),
        frames: Frames::default(),
        rounds: 0,
        shapes: HashMap::new(),
        problems: Vec::new(),
        remarks: Vec::new(),
    };
    importer.define();
    importer.frames = Frames::of(proto, &importer.nodes);
    importer.check_shapes()?;
    let wanted = importer.wanted()?;
    importer.add_nodes(wanted.iter().map(|wanted| wanted.node))?;
    importer.add_outputs(&wanted);
    importer.finish()
}

impl<'a> Importer<'a> {
    /// Records the node of each name, and unusable names.
    fn define(&mut self) {
        for (index, node) in self.proto.node.iter().enumerate() {
            if node.name.is_empty() || node.name.contains([':', '^']) {
                self.problem(node, Reason::Name { name: node.name.clone() });
            } else if self.nodes.insert(&node.name, index).is_some() {
                self.problem(node, Reason::DuplicateName { name: node.name.clone() });
            }
        }
    }

    /// Records a problem of a node.
    pub(super) fn problem(&mut self, node: &NodeDef, reason: Reason) {
        self.problems.push(NodeProblem::new(Format::TensorFlow, &node.name, &node.op, reason));
    }

    /// Whether a problem was recorded.
    pub(super) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Records a problem of a wanted output.
    pub(super) fn output_problem(&mut self, name: &str, reason: Reason) {
        self.problems.push(NodeProblem::new(Format::TensorFlow, name, "output", reason));
    }

    /// Translates the nodes at the indices `wanted`, and the nodes that they need.
    ///
    /// # Errors
    ///
    /// Shapes of inputs stay open.
    fn add_nodes(&mut self, wanted: impl Iterator<Item = usize>) -> Result<(), ImportError> {
        let proto = self.proto;
        let order = order::sort(&self.producers(), wanted);
        self.fix_shapes(&order.nodes)?;
        if let Some(&index) = order.cycle.first() {
            let nodes = order.cycle.iter().map(|&index| proto.node[index].name.clone()).collect();
            self.problem(&proto.node[index], Reason::Cycle { nodes });
        }
        for index in order.nodes {
            let binding = self.add_node(index);
            self.bindings[index] = Some(binding);
        }
        for index in order.stuck {
            self.bindings[index] = Some(self.failed(&proto.node[index]));
        }
        Ok(())
    }

    /// For each node, the nodes whose results it consumes.
    pub(super) fn dependencies(&self) -> Vec<Vec<usize>> {
        let producer = |text: &String| self.nodes.get(Reference::parse(text)?.node).copied();
        self.proto.node.iter().map(|node| node.input.iter().filter_map(producer).collect()).collect()
    }

    /// Translates one node, unless a value that it needs failed.
    pub(super) fn add_node(&mut self, index: usize) -> Binding {
        let node = &self.proto.node[index];
        if let Some(flow) = self.flow(index) {
            self.builder.has_leftovers = true;
            return flow.unwrap_or_else(|reason| {
                self.problem(node, reason);
                Binding::Failed
            });
        }
        let Some(operands) = self.operands(node) else { return self.failed(node) };
        match self.translate(node, operands) {
            Ok(results) => Binding::Values(results),
            Err(reason) => {
                self.problem(node, reason);
                Binding::Failed
            }
        }
    }

    /// Returns the values of a node's operands, or `None` if one of them failed.
    fn operands(&mut self, node: &'a NodeDef) -> Option<Vec<Option<ValueId>>> {
        let references = node.input.iter().filter_map(|text| Reference::parse(text));
        let operands: Vec<_> = references.map(|reference| self.lookup(reference, node)).collect();
        operands.iter().all(Option::is_some).then_some(operands)
    }

    /// Returns the value of a reference; `user` is the consuming node, for errors.
    fn lookup(&mut self, reference: Reference<'a>, user: &'a NodeDef) -> Option<ValueId> {
        let Some(&index) = self.nodes.get(reference.node) else {
            self.problem(user, Reason::Undefined { name: reference.node.to_owned() });
            return None;
        };
        match self.result(index, reference.index) {
            Ok(value) => value,
            Err(reason) => {
                self.problem(&self.proto.node[index], reason);
                None
            }
        }
    }

    /// Returns result `result` of the node at `index`, or `None` if the node failed. The failure is
    /// recorded.
    ///
    /// # Errors
    ///
    /// The node does not have this result, or it is not supported.
    pub(super) fn result(&self, index: usize, result: usize) -> Result<Option<ValueId>, Reason> {
        let values = match &self.bindings[index] {
            Some(Binding::Values(values)) => values,
            Some(Binding::List(_)) => {
                return Err(Reason::Sequence { name: self.proto.node[index].name.clone() });
            }
            Some(Binding::Failed) | None => return Ok(None),
        };
        let name = || result_name(&self.proto.node[index].name, result);
        values.get(result).map(|&id| Some(id)).ok_or_else(|| Reason::Output { index: result, name: name() })
    }

    fn translate(
        &mut self,
        node: &'a NodeDef,
        operands: Vec<Option<ValueId>>,
    ) -> Result<Vec<ValueId>, Reason> {
        let handler = ops::handler(node).ok_or_else(|| unknown_operator(node))?;
        let mark = self.builder.graph.values.len();
        let shape = self.shapes.get(node.name.as_str()).map(Vec::as_slice);
        let value = self.options.values.iter().find(|(name, _)| node_of(name) == node.name);
        let value = value.map(|(_, value)| value.as_str()).filter(|_| ops::is_placeholder(node));
        let mut context = Context::new(&mut self.builder, node, operands, shape, value, &mut self.blocks);
        let results = handler(&mut context)?;
        context.finish()?;
        let mut named = HashSet::new();
        if self.rounds > 0 {
            // The values differ in every iteration.
            return Ok(results);
        }
        for (index, &id) in results.iter().enumerate() {
            // Values created earlier keep their names: this node passes them through.
            if id.0 as usize >= mark && named.insert(id) {
                self.builder.rename(id, &result_name(&node.name, index));
            }
        }
        Ok(results)
    }

    /// Returns the binding of a node that cannot be translated because of its operands. An unknown
    /// operator is reported all the same.
    fn failed(&mut self, node: &'a NodeDef) -> Binding {
        if ops::handler(node).is_none() && !ops::is_flow(node) {
            self.problem(node, unknown_operator(node));
        }
        Binding::Failed
    }

    fn finish(mut self) -> Result<Imported, ImportError> {
        if !self.problems.is_empty() {
            return Err(ImportError::Problems { problems: self.problems });
        }
        // Fused patterns may leave nodes without other uses.
        self.builder.graph.remove_dead();
        Ok(Imported {
            graph: self.builder.graph,
            remarks: self.remarks,
            defaults: Vec::new(),
            states: Vec::new(),
        })
    }
}

fn unknown_operator(node: &NodeDef) -> Reason {
    Reason::Operator { operator: node.op.clone() }
}
