//! Inputs and outputs of a model: shapes from the options, names kept.

use std::collections::HashSet;

use npukit_graph::op::Reshape;
use npukit_graph::{ValueId, ValueInfo};

use super::builder::first;
use super::error::{ImportError, Reason};
use super::importer::{Binding, Importer};
use super::proto::{TypeProto, ValueInfoProto};
use super::tensor;

impl<'a> Importer<'a> {
    /// Adds the inputs that are not initialisers, in the model's order.
    pub(super) fn add_inputs(&mut self) -> Result<(), ImportError> {
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
    pub(super) fn wanted(&self) -> Result<Vec<&'a str>, ImportError> {
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

    /// Adds the outputs under the names asked for.
    pub(super) fn add_outputs(&mut self, wanted: &[&'a str]) {
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
}
