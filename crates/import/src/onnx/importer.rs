//! [`import`]: translates the messages of a file to a graph, node by node. `interface` handles
//! inputs and outputs.

use std::collections::{HashMap, HashSet};

use npukit_graph::ValueId;

use super::Options;
use super::builder::Builder;
use super::context::{Context, File};
use super::error::{ImportError, NodeProblem, Reason};
use super::proto::{GraphProto, NodeProto, TensorProto};
use super::scope::{Scope, holds_graphs};
use super::{ops, order, tensor};
use crate::builder::FOLDING_ROOM;
use crate::format::Format;
use crate::remark::{Imported, Remark};

/// Definition of a name.
#[derive(Clone, Copy)]
pub(super) enum Binding {
    /// A value of the graph.
    Value(ValueId),
    /// A value that could not be imported; the problem is already recorded.
    Failed,
}

/// Import of one graph of a model: the outermost graph, or a branch.
pub(super) struct Importer<'a, 'b> {
    scope: &'a Scope,
    pub(super) proto: &'a GraphProto,
    pub(super) file: File<'a>,
    pub(super) options: &'a Options,
    pub(super) builder: &'b mut Builder,
    pub(super) initializers: HashMap<&'a str, &'a TensorProto>,
    pub(super) producers: HashMap<&'a str, usize>,
    pub(super) bindings: HashMap<&'a str, Binding>,
    /// Names of sequences, with their values.
    pub(super) sequences: HashMap<&'a str, Vec<ValueId>>,
    /// Constant conditions of the Ifs seen so far, by node index.
    pub(super) conditions: HashMap<usize, bool>,
    /// Whether this is a branch. The names of a branch are private, so others may have the same.
    pub(super) is_branch: bool,
    /// Names of inputs that became constants because they have a default.
    pub(super) defaults: Vec<String>,
    /// Current nesting depth of function calls.
    pub(super) depth: usize,
    pub(super) problems: &'b mut Vec<NodeProblem>,
    pub(super) remarks: &'b mut Vec<Remark>,
}

/// Imports the graph of `scope`, the outermost one of a file of `size_bytes`.
pub(super) fn import(
    scope: &Scope,
    name: &str,
    file: File<'_>,
    size_bytes: usize,
) -> Result<Imported, ImportError> {
    let budget = size_bytes.saturating_add(FOLDING_ROOM);
    let mut builder = Builder::new(name, reserved_names(&scope.proto), budget);
    let (mut problems, mut remarks) = (Vec::new(), Vec::new());
    let mut importer = Importer::new(scope, file, &mut builder, &mut problems, &mut remarks);
    importer.define();
    importer.add_inputs()?;
    let wanted = importer.wanted()?;
    importer.add_nodes(&wanted);
    importer.add_outputs(&wanted);
    let defaults = importer.defaults;
    if !problems.is_empty() {
        return Err(ImportError::Problems { problems });
    }
    if builder.has_leftovers {
        // Removes values that only untaken branches need, and loops that were not unrolled.
        builder.graph.remove_dead();
    }
    Ok(Imported { graph: builder.graph, remarks, defaults, states: Vec::new() })
}

/// Collects every name of the file. Names made for helpers must differ from them.
fn reserved_names(proto: &GraphProto) -> HashSet<String> {
    let inputs = proto.input.iter().map(|input| &input.name);
    let initializers = proto.initializer.iter().map(|tensor| &tensor.name);
    let results = proto.node.iter().flat_map(|node| &node.output);
    inputs.chain(initializers).chain(results).cloned().collect()
}

impl<'a, 'b> Importer<'a, 'b> {
    pub(super) fn new(
        scope: &'a Scope,
        file: File<'a>,
        builder: &'b mut Builder,
        problems: &'b mut Vec<NodeProblem>,
        remarks: &'b mut Vec<Remark>,
    ) -> Self {
        Self {
            scope,
            proto: &scope.proto,
            file,
            options: file.options,
            builder,
            initializers: HashMap::new(),
            producers: HashMap::new(),
            bindings: HashMap::new(),
            sequences: HashMap::new(),
            conditions: HashMap::new(),
            is_branch: false,
            defaults: Vec::new(),
            depth: 0,
            problems,
            remarks,
        }
    }

    /// Records the definition of each name, and names that are defined twice.
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

    /// Records the problem of a name that is defined twice.
    pub(super) fn duplicate(&mut self, node: &str, op: &str, name: &str) {
        self.problem(node, op, Reason::DuplicateName { name: name.to_owned() });
    }

    /// Records a problem of a node.
    pub(super) fn problem(&mut self, node: &str, op: &str, reason: Reason) {
        self.problems.push(NodeProblem::new(Format::Onnx, node, op, reason));
    }

    /// Translates the nodes that `wanted` depends on.
    fn add_nodes(&mut self, wanted: &[&'a str]) {
        let proto = self.proto;
        let indices: Vec<usize> =
            wanted.iter().filter_map(|name| self.producers.get(name).copied()).collect();
        let order = order::sort(&self.dependencies(), indices.iter().copied());
        let needed = || order.nodes.iter().chain(&order.stuck).copied();
        let operands = needed().flat_map(|index| &proto.node[index].input).map(String::as_str);
        let captured = needed().flat_map(|index| self.scope.captured(index, None));
        let used: HashSet<&str> = operands.chain(captured).chain(wanted.iter().copied()).collect();
        if let Some(&index) = order.cycle.first() {
            let node = &proto.node[index];
            let nodes = order.cycle.iter().map(|&index| name_of(&proto.node[index]).to_owned()).collect();
            self.problem(name_of(node), &node.op_type, Reason::Cycle { nodes });
        }
        let first = self.problems.len();
        let mut nodes = Vec::new();
        for &index in &order.nodes {
            self.add_node(index, &used);
            nodes.resize(self.problems.len() - first, index);
        }
        for index in order.stuck {
            self.fail(&proto.node[index]);
        }
        if !self.conditions.is_empty() {
            self.forget_problems(first, &nodes, &indices);
        }
    }

    /// Removes the problems starting at index `first`, of the nodes `nodes`, that only untaken
    /// branches depend on.
    fn forget_problems(&mut self, first: usize, nodes: &[usize], wanted: &[usize]) {
        let needed: HashSet<usize> =
            order::needed(&self.dependencies(), wanted.to_vec()).into_iter().collect();
        let found = self.problems.split_off(first);
        let counts = |place: usize| nodes.get(place).is_none_or(|node| needed.contains(node));
        let kept =
            found.into_iter().enumerate().filter(|(place, _)| counts(*place)).map(|(_, problem)| problem);
        self.problems.extend(kept);
    }

    /// For each node, the nodes whose results it consumes. An If with an unknown condition consumes
    /// the values of both branches.
    fn dependencies(&self) -> Vec<Vec<usize>> {
        let producer = |name: &str| self.producers.get(name).copied();
        let of = |(index, node): (usize, &NodeProto)| {
            let operands = node.input.iter().map(String::as_str);
            let captured = self.scope.captured(index, self.conditions.get(&index).copied());
            operands.chain(captured).filter_map(producer).collect()
        };
        self.proto.node.iter().enumerate().map(of).collect()
    }

    /// Translates one node, unless a value that it needs failed.
    fn add_node(&mut self, index: usize, used: &HashSet<&str>) {
        let scope = self.scope;
        let node = &scope.proto.node[index];
        if ops::is_of_sequences(node) {
            return match self.of_sequences(node) {
                Ok(Some(given)) => self.bind_given(node, given),
                Ok(None) => self.bind_failed(node),
                Err(reason) => self.refuse(node, reason),
            };
        }
        let Some(operands) = self.operands(node) else { return self.fail(node) };
        let translated = match scope.bodies.get(&index) {
            Some(bodies) => self.control(index, bodies, &operands),
            None => match self.file.functions.of(node).filter(|_| ops::handler(node).is_none()) {
                Some(function) => self.with_names(node, |importer| importer.call(function, node, &operands)),
                None => self.translate(node, operands, used).map(Some),
            },
        };
        match translated {
            Ok(None) => self.bind_failed(node),
            Ok(Some(results)) => {
                for (output, id) in node.output.iter().zip(results) {
                    self.bindings.insert(output, Binding::Value(id));
                }
            }
            Err(reason) => self.refuse(node, reason),
        }
    }

    /// Records the reason why a node cannot be translated.
    fn refuse(&mut self, node: &'a NodeProto, reason: Reason) {
        self.problem(name_of(node), &node.op_type, reason);
        self.bind_failed(node);
    }

    /// Returns the values of a node's operands, or `None` if one of them failed.
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

    /// Returns the value of a name, and reads its tensor on the first use. `user` is the name and
    /// operator of the consumer, for errors.
    pub(super) fn lookup(&mut self, name: &'a str, user: (&str, &str)) -> Option<ValueId> {
        if let Some(&binding) = self.bindings.get(name) {
            return match binding {
                Binding::Value(id) => Some(id),
                Binding::Failed => None,
            };
        }
        if self.sequences.contains_key(name) {
            self.problem(user.0, user.1, Reason::Sequence { name: name.to_owned() });
            return None;
        }
        let binding = match self.initializers.get(name) {
            Some(proto) => match tensor::read(proto, self.file.external) {
                Ok(tensor) => {
                    if tensor::is_external(proto) {
                        self.builder.allow(tensor.data().len());
                    }
                    Binding::Value(if self.is_branch {
                        self.builder.constant(name, tensor)
                    } else {
                        self.builder.graph.add_constant(name, tensor)
                    })
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
        let mut context = self.context(node, operands)?;
        let results = handler(&mut context)?;
        context.finish()?;
        let missing = node.output.iter().enumerate().skip(results.len());
        if let Some((index, name)) = missing.into_iter().find(|(_, name)| used.contains(name.as_str())) {
            return Err(Reason::Output { index, name: name.clone() });
        }
        self.name_results(node, &results, mark);
        Ok(results)
    }

    /// Creates the context of a node for its handler.
    pub(super) fn context<'c>(
        &'c mut self,
        node: &'c NodeProto,
        operands: Vec<Option<ValueId>>,
    ) -> Result<Context<'c>, Reason> {
        let name = name_of(node).to_owned();
        Context::new(&mut *self.builder, &mut *self.remarks, node, name, operands, self.file)
    }

    /// Runs `translate` and gives its results the names of the node's outputs.
    fn with_names(
        &mut self,
        node: &NodeProto,
        translate: impl FnOnce(&mut Self) -> Result<Option<Vec<ValueId>>, Reason>,
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let mark = self.builder.graph.values.len();
        let results = translate(self)?;
        if let Some(results) = &results {
            self.name_results(node, results, mark);
        }
        Ok(results)
    }

    /// Renames the results of a node to its output names. Values created before `mark` keep their
    /// names: the node passes them through.
    pub(super) fn name_results(&mut self, node: &NodeProto, results: &[ValueId], mark: usize) {
        let new = results.iter().zip(&node.output).filter(|(id, _)| id.0 as usize >= mark);
        for (&id, output) in new.filter(|(_, output)| !output.is_empty() && !self.is_branch) {
            self.builder.rename(id, output);
        }
    }

    /// Returns the results of a graph that a node holds.
    pub(super) fn branch(
        &mut self,
        scope: &'a Scope,
        bindings: HashMap<&'a str, Binding>,
        user: (&str, &str),
    ) -> Option<Vec<ValueId>> {
        let (builder, problems, remarks) = (&mut *self.builder, &mut *self.problems, &mut *self.remarks);
        let branch = Importer::new(scope, self.file, builder, problems, remarks);
        branch.held(bindings, self.depth, user)
    }

    /// Like [`Importer::branch`], for a graph that stays separate.
    pub(super) fn branch_in(
        &mut self,
        builder: &mut Builder,
        scope: &'a Scope,
        bindings: HashMap<&'a str, Binding>,
        user: (&str, &str),
    ) -> Option<Vec<ValueId>> {
        let (problems, remarks) = (&mut *self.problems, &mut *self.remarks);
        let branch = Importer::new(scope, self.file, builder, problems, remarks);
        branch.held(bindings, self.depth, user)
    }

    fn held(
        mut self,
        bindings: HashMap<&'a str, Binding>,
        depth: usize,
        user: (&str, &str),
    ) -> Option<Vec<ValueId>> {
        (self.bindings, self.is_branch, self.depth) = (bindings, true, depth);
        self.results(user)
    }

    /// Returns the results of a graph that replaces a node.
    pub(super) fn results(&mut self, user: (&str, &str)) -> Option<Vec<ValueId>> {
        self.define();
        let wanted: Vec<&str> = self.proto.output.iter().map(|output| output.name.as_str()).collect();
        self.add_nodes(&wanted);
        wanted.iter().map(|name| self.lookup(name, user)).collect()
    }

    /// Marks the results of a node that cannot be translated because of its operands. An unknown
    /// operator is reported all the same.
    fn fail(&mut self, node: &'a NodeProto) {
        let is_known = ops::handler(node).is_some() || holds_graphs(node) || ops::is_of_sequences(node);
        if !is_known && self.file.functions.of(node).is_none() {
            self.problem(name_of(node), &node.op_type, unknown_operator(node));
        }
        self.bind_failed(node);
    }

    fn bind_failed(&mut self, node: &'a NodeProto) {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            self.bindings.insert(output, Binding::Failed);
        }
    }
}

/// Name of a node, or of its first result if it is unnamed.
pub(super) fn name_of(node: &NodeProto) -> &str {
    if node.name.is_empty() { node.output.first().map_or("", String::as_str) } else { &node.name }
}

fn unknown_operator(node: &NodeProto) -> Reason {
    Reason::Operator { operator: ops::qualified(node).into_owned() }
}
