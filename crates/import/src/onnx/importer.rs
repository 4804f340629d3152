//! [`import`]: from the messages of a file to a graph, node by node. Inputs and outputs are the
//! business of `interface`.

use std::collections::{HashMap, HashSet};

use npukit_graph::ValueId;

use super::Options;
use super::builder::Builder;
use super::context::{Context, File};
use super::error::{ImportError, NodeProblem, Reason};
use super::external::External;
use super::proto::{GraphProto, NodeProto, TensorProto};
use super::{ops, order, tensor};
use crate::builder::FOLDING_ROOM;
use crate::format::Format;
use crate::remark::{Imported, Remark};

/// What a name stands for.
#[derive(Clone, Copy)]
pub(super) enum Binding {
    /// A value of the graph.
    Value(ValueId),
    /// Something that could not be imported; the problem is already recorded.
    Failed,
}

/// A model being imported.
pub(super) struct Importer<'a> {
    pub(super) proto: &'a GraphProto,
    opset: i64,
    pub(super) options: &'a Options,
    external: &'a External<'a>,
    pub(super) builder: Builder,
    pub(super) initializers: HashMap<&'a str, &'a TensorProto>,
    pub(super) producers: HashMap<&'a str, usize>,
    pub(super) bindings: HashMap<&'a str, Binding>,
    problems: Vec<NodeProblem>,
    pub(super) remarks: Vec<Remark>,
}

/// The graph of `proto`, read at `opset` from a file of `size_bytes`.
pub(super) fn import(
    proto: &GraphProto,
    name: &str,
    opset: i64,
    options: &Options,
    external: &External<'_>,
    size_bytes: usize,
) -> Result<Imported, ImportError> {
    let mut importer = Importer {
        proto,
        opset,
        options,
        external,
        builder: Builder::new(name, reserved_names(proto), size_bytes.saturating_add(FOLDING_ROOM)),
        initializers: HashMap::new(),
        producers: HashMap::new(),
        bindings: HashMap::new(),
        problems: Vec::new(),
        remarks: Vec::new(),
    };
    importer.define();
    importer.add_inputs()?;
    let wanted = importer.wanted()?;
    importer.add_nodes(&wanted);
    importer.add_outputs(&wanted);
    importer.finish()
}

/// Every name of the file: names made for helpers must differ from them.
fn reserved_names(proto: &GraphProto) -> HashSet<String> {
    let inputs = proto.input.iter().map(|input| &input.name);
    let initializers = proto.initializer.iter().map(|tensor| &tensor.name);
    let results = proto.node.iter().flat_map(|node| &node.output);
    inputs.chain(initializers).chain(results).cloned().collect()
}

impl<'a> Importer<'a> {
    /// Records who defines which name, and names that are defined twice.
    fn define(&mut self) {
        let proto = self.proto;
        for tensor in &proto.initializer {
            if self.initializers.insert(&tensor.name, tensor).is_some() {
                self.duplicate(&tensor.name, "initializer", &tensor.name);
            }
        }
        for sparse in &proto.sparse_initializer {
            let name = sparse.values.as_ref().map_or("", |values| values.name.as_str());
            self.problem(name, "initializer", Reason::TensorKind { kind: "sparse" });
            self.bindings.insert(name, Binding::Failed);
        }
        for (index, node) in proto.node.iter().enumerate() {
            for output in node.output.iter().filter(|output| !output.is_empty()) {
                let held = self.initializers.contains_key(output.as_str());
                if self.producers.insert(output, index).is_some() || held {
                    self.duplicate(name_of(node), &node.op_type, output);
                }
            }
        }
    }

    /// Records a name that is defined twice.
    pub(super) fn duplicate(&mut self, node: &str, op: &str, name: &str) {
        self.problem(node, op, Reason::DuplicateName { name: name.to_owned() });
    }

    /// Records a problem.
    pub(super) fn problem(&mut self, node: &str, op: &str, reason: Reason) {
        self.problems.push(NodeProblem::new(Format::Onnx, node, op, reason));
    }

    /// Translates the nodes that `wanted` needs.
    fn add_nodes(&mut self, wanted: &[&'a str]) {
        let proto = self.proto;
        let indices = wanted.iter().filter_map(|name| self.producers.get(name).copied());
        let order = order::sort(&self.dependencies(), indices);
        let needed = order.nodes.iter().chain(&order.stuck);
        let used: HashSet<&str> = needed
            .flat_map(|&index| &proto.node[index].input)
            .map(String::as_str)
            .chain(wanted.iter().copied())
            .collect();
        if let Some(&index) = order.cycle.first() {
            let node = &proto.node[index];
            let nodes = order.cycle.iter().map(|&index| name_of(&proto.node[index]).to_owned()).collect();
            self.problem(name_of(node), &node.op_type, Reason::Cycle { nodes });
        }
        for index in order.nodes {
            self.add_node(&proto.node[index], &used);
        }
        for index in order.stuck {
            self.fail(&proto.node[index]);
        }
    }

    /// For each node, the nodes whose results it consumes.
    fn dependencies(&self) -> Vec<Vec<usize>> {
        let producer = |name: &String| self.producers.get(name.as_str()).copied();
        self.proto.node.iter().map(|node| node.input.iter().filter_map(producer).collect()).collect()
    }

    /// Translates one node, unless something it needs failed.
    fn add_node(&mut self, node: &'a NodeProto, used: &HashSet<&str>) {
        let Some(operands) = self.operands(node) else { return self.fail(node) };
        match self.translate(node, operands, used) {
            Ok(results) => {
                for (output, id) in node.output.iter().zip(results) {
                    self.bindings.insert(output, Binding::Value(id));
                }
            }
            Err(reason) => {
                self.problem(name_of(node), &node.op_type, reason);
                self.bind_failed(node);
            }
        }
    }

    /// The values of a node's operands; `None` when one of them failed.
    fn operands(&mut self, node: &'a NodeProto) -> Option<Vec<Option<ValueId>>> {
        let mut operands = Vec::with_capacity(node.input.len());
        let mut complete = true;
        for name in &node.input {
            let operand =
                if name.is_empty() { None } else { self.lookup(name, (name_of(node), &node.op_type)) };
            complete &= operand.is_some() || name.is_empty();
            operands.push(operand);
        }
        complete.then_some(operands)
    }

    /// The value behind a name; reads the tensor when this is its first use. `user` is the name
    /// and operator of who asks, for the error.
    pub(super) fn lookup(&mut self, name: &'a str, user: (&str, &str)) -> Option<ValueId> {
        if let Some(&binding) = self.bindings.get(name) {
            return match binding {
                Binding::Value(id) => Some(id),
                Binding::Failed => None,
            };
        }
        let binding = match self.initializers.get(name) {
            Some(proto) => match tensor::read(proto, self.external) {
                Ok(tensor) => {
                    if !proto.external_data.is_empty() {
                        self.builder.allow(tensor.data().len());
                    }
                    Binding::Value(self.builder.graph.add_constant(name, tensor))
                }
                Err(reason) => {
                    self.problem(name, "initializer", reason);
                    Binding::Failed
                }
            },
            None => {
                self.problem(user.0, user.1, Reason::Undefined { name: name.to_owned() });
                Binding::Failed
            }
        };
        self.bindings.insert(name, binding);
        match binding {
            Binding::Value(id) => Some(id),
            Binding::Failed => None,
        }
    }

    fn translate(
        &mut self,
        node: &'a NodeProto,
        operands: Vec<Option<ValueId>>,
        used: &HashSet<&str>,
    ) -> Result<Vec<ValueId>, Reason> {
        let handler = ops::handler(node).ok_or_else(|| unknown_operator(node))?;
        let mark = self.builder.graph.values.len();
        let name = name_of(node).to_owned();
        let file = File { opset: self.opset, options: self.options, external: self.external };
        let mut context =
            Context::new(&mut self.builder, &mut self.remarks, node, name, operands, file)?;
        let results = handler(&mut context)?;
        context.finish()?;
        let missing = node.output.iter().enumerate().skip(results.len());
        if let Some((index, name)) = missing.into_iter().find(|(_, name)| used.contains(name.as_str())) {
            return Err(Reason::Output { index, name: name.clone() });
        }
        for (&id, output) in results.iter().zip(&node.output) {
            // Older values came in under their own name: this node passes them through.
            if id.0 as usize >= mark && !output.is_empty() {
                self.builder.rename(id, output);
            }
        }
        Ok(results)
    }

    /// Marks the results of a node that cannot be translated because of others; an operator
    /// nobody knows is reported all the same.
    fn fail(&mut self, node: &'a NodeProto) {
        if ops::handler(node).is_none() {
            self.problem(name_of(node), &node.op_type, unknown_operator(node));
        }
        self.bind_failed(node);
    }

    fn bind_failed(&mut self, node: &'a NodeProto) {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            self.bindings.insert(output, Binding::Failed);
        }
    }

    fn finish(self) -> Result<Imported, ImportError> {
        if self.problems.is_empty() {
            Ok(Imported { graph: self.builder.graph, remarks: self.remarks })
        } else {
            Err(ImportError::Problems { problems: self.problems })
        }
    }
}

/// What a node is called: its name, else its first result's.
fn name_of(node: &NodeProto) -> &str {
    if node.name.is_empty() { node.output.first().map_or("", String::as_str) } else { &node.name }
}

fn unknown_operator(node: &NodeProto) -> Reason {
    Reason::Operator { operator: ops::qualified(node).into_owned() }
}
