//! Inputs and outputs of a frozen graph, which does not state either. Placeholders are inputs;
//! nodes whose results are not consumed are outputs.

use std::collections::HashSet;

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::Options;
use super::attributes::Attributes;
use super::binding::Binding;
use super::error::{ImportError, Reason};
use super::importer::Importer;
use super::names::{Reference, node_of, result_name};
use super::ops;
use super::proto::{Dim, NodeDef};
use crate::builder::first;
use crate::dimension::{Dimension, OpenInput};
use crate::open;
use crate::shape::{MAX_RANK, size};

/// A wanted output.
pub(super) struct Wanted {
    /// Index of the node that computes it.
    pub(super) node: usize,
    /// Index of the result; `None` for all supported results.
    result: Option<usize>,
    /// Name given by the caller.
    name: String,
}

/// Names and values that must not be renamed.
struct UsedNames<'a> {
    /// Names of outputs.
    names: HashSet<&'a str>,
    /// Inputs and outputs added so far.
    values: HashSet<ValueId>,
}

/// Dimensions that a placeholder states: the inner `None` if the rank is unknown, the outer `None`
/// if a dimension is not a size, which the translation reports.
fn stated_dimensions(node: &NodeDef) -> Option<Option<Vec<Dimension>>> {
    let stated = Attributes::new(node).shape("shape").ok()?;
    let Some(stated) = stated.filter(|stated| !stated.unknown_rank) else { return Some(None) };
    let dimension = |(axis, dim): (usize, &Dim)| match dim.size {
        -1 => Some(Dimension::open(None)),
        stated => size(axis, stated).ok().map(Dimension::sized),
    };
    let dimensions = stated.dim.iter().enumerate().map(dimension);
    dimensions.collect::<Option<Vec<_>>>().filter(|_| stated.dim.len() <= MAX_RANK).map(Some)
}

impl Importer<'_> {
    /// Returns an error if the options give a shape for a name that is not a placeholder.
    pub(super) fn check_shapes(&self) -> Result<(), ImportError> {
        let placeholders = || self.proto.node.iter().filter(|node| ops::is_placeholder(node));
        let mut names = self.options.shapes.keys().chain(self.options.values.keys());
        let unknown = names.find(|name| {
            let node = node_of(name);
            !placeholders().any(|placeholder| placeholder.name == node)
        });
        match unknown {
            None => Ok(()),
            Some(name) => Err(ImportError::UnknownName {
                kind: "input",
                name: name.clone(),
                available: placeholders().map(|node| node.name.clone()).collect(),
            }),
        }
    }

    /// Applies the sizes in the options to the inputs among the nodes at `indices`. A placeholder
    /// with a default is not an input unless the caller gives its shape.
    ///
    /// # Errors
    ///
    /// Dimensions stay open.
    pub(super) fn fix_shapes(&mut self, indices: &[usize]) -> Result<(), ImportError> {
        let proto = self.proto;
        let shapes =
            self.options.shapes.iter().map(|(name, shape)| (node_of(name).to_owned(), shape.clone()));
        let options = Options { shapes: shapes.collect(), ..self.options.clone() };
        let nodes = indices.iter().map(|&index| &proto.node[index]).filter(|node| ops::is_placeholder(node));
        let mut inputs = Vec::new();
        for node in nodes {
            let given = options.shapes.contains_key(&node.name);
            let dimensions = if given { Some(None) } else { stated_dimensions(node) };
            match dimensions {
                Some(_) if !given && !node.input.is_empty() => {}
                Some(dimensions) => inputs.push(OpenInput { name: node.name.clone(), dimensions }),
                None => {}
            }
        }
        open::fix(&mut inputs, &options, &mut self.remarks)?;
        open::check(&inputs)?;
        self.shapes = inputs.iter().map(|input| (input.name.clone(), input.sizes())).collect();
        Ok(())
    }

    /// Wanted outputs: those in the options, or the nodes that no other node consumes.
    pub(super) fn wanted(&self) -> Result<Vec<Wanted>, ImportError> {
        if !self.options.outputs.is_empty() {
            return self.options.outputs.iter().map(|name| self.named_by_caller(name)).collect();
        }
        let wanted = |node: usize| Wanted { node, result: None, name: self.proto.node[node].name.clone() };
        let last: Vec<Wanted> = self.last_nodes().map(wanted).collect();
        if last.is_empty() { Err(ImportError::NoOutputs { available: self.available() }) } else { Ok(last) }
    }

    fn named_by_caller(&self, name: &str) -> Result<Wanted, ImportError> {
        let reference = Reference::parse(name);
        let node = reference.and_then(|reference| self.nodes.get(reference.node).copied());
        match (node, reference) {
            (Some(node), Some(reference)) => {
                Ok(Wanted { node, result: Some(reference.index), name: name.to_owned() })
            }
            _ => Err(ImportError::UnknownName {
                kind: "value",
                name: name.to_owned(),
                available: self.available(),
            }),
        }
    }

    /// Nodes that compute a result which no other node consumes, in file order.
    fn last_nodes(&self) -> impl Iterator<Item = usize> {
        let consumed: HashSet<usize> = self.dependencies().into_iter().flatten().collect();
        let pivots: HashSet<usize> = self.pivots().collect();
        let nodes = self.proto.node.iter().enumerate();
        let last: Vec<usize> = nodes
            .filter(|(index, node)| {
                !consumed.contains(index) && !pivots.contains(index) && !ops::has_no_outcome(node)
            })
            .map(|(index, _)| index)
            .collect();
        // An unused result of a loop is an output only without other outputs.
        let is_exit = |index: &usize| self.proto.node[*index].op == "Exit";
        let others: Vec<usize> = last.iter().copied().filter(|index| !is_exit(index)).collect();
        if others.is_empty() { last.into_iter() } else { others.into_iter() }
    }

    /// Nodes that others wait for without using their result. They decide which branch is taken, or
    /// read a variable that is constant.
    fn pivots(&self) -> impl Iterator<Item = usize> {
        let waited: HashSet<&str> = self
            .proto
            .node
            .iter()
            .flat_map(|node| node.input.iter().filter_map(|text| text.strip_prefix('^')))
            .collect();
        self.proto.node.iter().enumerate().filter_map(move |(index, node)| {
            let producer = Reference::parse(node.input.first()?)?.node;
            let producer = self.nodes.get(producer).map(|&at| self.proto.node[at].op.as_str());
            let computes_nothing = matches!(producer, Some("Switch" | "Const"));
            (node.op == "Identity" && computes_nothing && waited.contains(node.name.as_str()))
                .then_some(index)
        })
    }

    /// Possible output names for messages: first the default outputs, then all nodes from last to
    /// first.
    fn available(&self) -> Vec<String> {
        let name = |index: usize| &self.proto.node[index].name;
        let all = (0..self.proto.node.len()).rev();
        let mut seen = HashSet::new();
        self.last_nodes().chain(all).map(name).filter(|name| seen.insert(*name)).cloned().collect()
    }

    /// Adds the outputs under the wanted names.
    pub(super) fn add_outputs(&mut self, wanted: &[Wanted]) {
        let names = wanted.iter().map(|wanted| wanted.name.as_str()).collect();
        let mut kept = UsedNames { names, values: self.builder.graph.inputs.iter().copied().collect() };
        for wanted in wanted {
            match wanted.result {
                Some(result) => self.add_output(wanted.node, result, &wanted.name, &mut kept),
                None => {
                    let Some(Binding::Values(values)) = &self.bindings[wanted.node] else { continue };
                    for result in 0..values.len() {
                        self.add_output(wanted.node, result, &result_name(&wanted.name, result), &mut kept);
                    }
                }
            }
        }
    }

    fn add_output(&mut self, node: usize, result: usize, name: &str, kept: &mut UsedNames<'_>) {
        let named = match self.result(node, result) {
            Ok(Some(id)) => self.named(id, name, kept),
            Ok(None) => return,
            Err(reason) => Err(reason),
        };
        match named {
            Ok(id) => {
                kept.values.insert(id);
                self.builder.graph.outputs.push(id);
            }
            Err(reason) => self.output_problem(name, reason),
        }
    }

    /// Returns `id` under the name `name`. If a node passes its operand through to an output
    /// (Identity, for example), that operand's result takes the output's name. Inputs, constants,
    /// and values that are already outputs are copied by a Reshape to their own shape.
    fn named(&mut self, id: ValueId, name: &str, kept: &UsedNames<'_>) -> Result<ValueId, Reason> {
        let graph = &self.builder.graph;
        let current = graph.value(id).name.as_str();
        if current == name {
            return Ok(id);
        }
        let is_kept = kept.values.contains(&id) || kept.names.contains(current);
        if graph.constant(id).is_none() && !is_kept {
            self.builder.rename(id, name);
            return Ok(id);
        }
        let shape = graph.shape(id).to_vec();
        let copy = first(&self.builder.emit(name, Reshape { shape }.into(), vec![id])?, name)?;
        self.builder.rename(copy, name);
        Ok(copy)
    }
}
