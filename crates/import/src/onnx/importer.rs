//! [`import`]: from the messages of a file to a graph, node by node.

use std::collections::{HashMap, HashSet};

use npukit_graph::op::Reshape;
use npukit_graph::{Graph, ValueId, ValueInfo};

use super::Options;
use super::builder::{Builder, first};
use super::context::Context;
use super::error::{ImportError, NodeProblem, Reason};
use super::proto::{GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto};
use super::{ops, order, tensor};

/// Elements that folding may make beyond what the file itself can hold: shape arithmetic needs
/// far less, a file made to exhaust memory meets it soon.
const FOLDING_ROOM: usize = 1 << 22;

/// What a name stands for.
#[derive(Clone, Copy)]
enum Binding {
    /// A value of the graph.
    Value(ValueId),
    /// Something that could not be imported; the problem is already recorded.
    Failed,
}

/// A model being imported.
struct Importer<'a> {
    proto: &'a GraphProto,
    opset: i64,
    options: &'a Options,
    builder: Builder,
    initializers: HashMap<&'a str, &'a TensorProto>,
    producers: HashMap<&'a str, usize>,
    bindings: HashMap<&'a str, Binding>,
    problems: Vec<NodeProblem>,
}

/// The graph of `proto`, read at `opset` from a file of `size_bytes`.
pub(super) fn import(
    proto: &GraphProto,
    name: &str,
    opset: i64,
    options: &Options,
    size_bytes: usize,
) -> Result<Graph, ImportError> {
    let mut importer = Importer {
        proto,
        opset,
        options,
        builder: Builder::new(name, reserved_names(proto), size_bytes.saturating_add(FOLDING_ROOM)),
        initializers: HashMap::new(),
        producers: HashMap::new(),
        bindings: HashMap::new(),
        problems: Vec::new(),
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

    fn duplicate(&mut self, node: &str, op: &str, name: &str) {
        self.problem(node, op, Reason::DuplicateName { name: name.to_owned() });
    }

    fn problem(&mut self, node: &str, op: &str, reason: Reason) {
        self.problems.push(NodeProblem::new(node, op, reason));
    }

    /// Adds the inputs that are not initialisers, in the model's order.
    fn add_inputs(&mut self) -> Result<(), ImportError> {
        let proto = self.proto;
        let held = |name: &str| self.initializers.contains_key(name) || self.bindings.contains_key(name);
        let inputs: Vec<&'a ValueInfoProto> = proto.input.iter().filter(|input| !held(&input.name)).collect();
        for name in self.options.shapes.keys() {
            if !inputs.iter().any(|input| input.name == *name) {
                let available = inputs.iter().map(|input| input.name.clone()).collect();
                return Err(ImportError::UnknownName { kind: "input", name: name.clone(), available });
            }
        }
        for input in inputs {
            let taken = self.bindings.contains_key(input.name.as_str());
            if taken || self.producers.contains_key(input.name.as_str()) {
                self.duplicate(&input.name, "input", &input.name);
            }
            let binding = match self.input_info(input) {
                Ok(info) => Binding::Value(self.builder.graph.add_input(&input.name, info)),
                Err(reason) => {
                    self.problem(&input.name, "input", reason);
                    Binding::Failed
                }
            };
            self.bindings.insert(&input.name, binding);
        }
        Ok(())
    }

    /// Shape and type of an input: the model's, with the caller's sizes put in.
    fn input_info(&self, input: &ValueInfoProto) -> Result<ValueInfo, Reason> {
        let stated = input.r#type.as_ref().and_then(|kind: &TypeProto| kind.tensor_type.as_ref());
        let stated = stated.ok_or(Reason::NoShape)?;
        let element = tensor::element_type(stated.elem_type)?;
        if let Some(shape) = self.options.shapes.get(&input.name) {
            tensor::check_shape(shape)?;
            return Ok(ValueInfo { shape: shape.clone(), element });
        }
        let dims = &stated.shape.as_ref().ok_or(Reason::NoShape)?.dim;
        let default = i64::try_from(self.options.dimension).unwrap_or(i64::MAX);
        let sizes: Vec<i64> = dims.iter().map(|dim| dim.dim_value.unwrap_or(default)).collect();
        Ok(ValueInfo { shape: tensor::shape(&sizes)?, element })
    }

    /// Names of the outputs: the caller's, else the model's.
    fn wanted(&self) -> Result<Vec<&'a str>, ImportError> {
        if self.options.outputs.is_empty() {
            return Ok(self.proto.output.iter().map(|output| output.name.as_str()).collect());
        }
        let wanted: Vec<&str> = self.options.outputs.iter().map(String::as_str).collect();
        let known = |name: &str| {
            self.producers.contains_key(name)
                || self.bindings.contains_key(name)
                || self.initializers.contains_key(name)
        };
        match wanted.iter().find(|name| !known(name)) {
            None => Ok(wanted),
            Some(&name) => {
                let name = name.to_owned();
                Err(ImportError::UnknownName { kind: "value", name, available: self.available() })
            }
        }
    }

    /// Names that can be outputs: the model's own first, then results from the last to the first.
    fn available(&self) -> Vec<String> {
        let own = self.proto.output.iter().map(|output| &output.name);
        let results = self.proto.node.iter().rev().flat_map(|node| &node.output);
        let mut seen = HashSet::new();
        own.chain(results).filter(|name| !name.is_empty() && seen.insert(*name)).cloned().collect()
    }

    /// Translates the nodes that `wanted` needs.
    fn add_nodes(&mut self, wanted: &[&'a str]) {
        let proto = self.proto;
        let order = order::sort(proto, &self.producers, wanted);
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
    fn lookup(&mut self, name: &'a str, user: (&str, &str)) -> Option<ValueId> {
        if let Some(&binding) = self.bindings.get(name) {
            return match binding {
                Binding::Value(id) => Some(id),
                Binding::Failed => None,
            };
        }
        let binding = match self.initializers.get(name) {
            Some(proto) => match tensor::read(proto) {
                Ok(tensor) => Binding::Value(self.builder.graph.add_constant(name, tensor)),
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
        let mut context = Context::new(&mut self.builder, node, name, operands, self.opset, self.options)?;
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

    /// Adds the outputs under the names asked for.
    fn add_outputs(&mut self, wanted: &[&'a str]) {
        let names: HashSet<&str> = wanted.iter().copied().collect();
        for &name in wanted {
            let Some(id) = self.lookup(name, (name, "output")) else { continue };
            match self.named(id, name, &names) {
                Ok(id) => self.builder.graph.outputs.push(id),
                Err(reason) => self.problem(name, "output", reason),
            }
        }
    }

    /// The value `id` under the name `name`. The result of a node that passes through to an
    /// output (by Identity, say) takes the output's name; inputs, constants of the file and
    /// values that are outputs already are copied by a Reshape to their own shape.
    fn named(&mut self, id: ValueId, name: &str, wanted: &HashSet<&str>) -> Result<ValueId, Reason> {
        let graph = &self.builder.graph;
        let current = graph.value(id).name.as_str();
        if current == name {
            return Ok(id);
        }
        if self.producers.contains_key(current) && !wanted.contains(current) {
            self.builder.rename(id, name);
            return Ok(id);
        }
        let shape = graph.shape(id).to_vec();
        let copy = first(&self.builder.emit(name, Reshape { shape }.into(), vec![id])?, name)?;
        self.builder.rename(copy, name);
        Ok(copy)
    }

    fn finish(self) -> Result<Graph, ImportError> {
        if self.problems.is_empty() {
            Ok(self.builder.graph)
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
    let operator = match node.domain.as_str() {
        "" | "ai.onnx" => node.op_type.clone(),
        domain => format!("{domain}::{}", node.op_type),
    };
    Reason::Operator { operator }
}
