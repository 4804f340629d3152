//! Inputs and outputs of a model: shapes from the options, names kept.

use std::collections::{BTreeSet, HashMap, HashSet};

use npukit_graph::op::Reshape;
use npukit_graph::{ValueId, ValueInfo};

use super::builder::first;
use super::error::{ImportError, Reason};
use super::importer::{Binding, Importer};
use super::proto::{DimensionProto, TensorTypeProto, TypeProto, ValueInfoProto};
use super::tensor;

/// The type of an input that is a tensor.
fn tensor_type(input: &ValueInfoProto) -> Option<&TensorTypeProto> {
    input.r#type.as_ref().and_then(|kind: &TypeProto| kind.tensor_type.as_ref())
}

/// Axis and name of the dimensions that have a name in place of a size.
fn open_dimensions(input: &ValueInfoProto) -> impl Iterator<Item = (usize, &str)> {
    let dims = tensor_type(input).and_then(|stated| stated.shape.as_ref()).map(|shape| shape.dim.iter());
    dims.into_iter().flatten().enumerate().filter_map(|(axis, dim)| {
        let name = dim.dim_param.as_deref().filter(|name| !name.is_empty() && dim.dim_value.is_none());
        name.map(|name| (axis, name))
    })
}

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
        let sizes = self.named_sizes(&inputs)?;
        for input in inputs {
            let taken = self.bindings.contains_key(input.name.as_str());
            if taken || self.producers.contains_key(input.name.as_str()) {
                self.duplicate(&input.name, "input", &input.name);
            }
            let binding = match self.input_info(input, &sizes) {
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
    fn input_info(&self, input: &ValueInfoProto, sizes: &HashMap<&str, usize>) -> Result<ValueInfo, Reason> {
        let stated = tensor_type(input).ok_or(Reason::NoShape)?;
        let element = tensor::element_type(stated.elem_type)?;
        if let Some(shape) = self.options.shapes.get(&input.name) {
            tensor::check_shape(shape)?;
            return Ok(ValueInfo { shape: shape.clone(), element });
        }
        let dims = &stated.shape.as_ref().ok_or(Reason::NoShape)?.dim;
        let size = |dim: &DimensionProto| {
            let named = dim.dim_param.as_deref().and_then(|name| sizes.get(name));
            let open = *named.unwrap_or(&self.options.dimension);
            dim.dim_value.unwrap_or(i64::try_from(open).unwrap_or(i64::MAX))
        };
        Ok(ValueInfo { shape: tensor::shape(&dims.iter().map(size).collect::<Vec<_>>())?, element })
    }

    /// Sizes of dimensions by name: the caller's, and those that the caller's shapes of inputs say.
    ///
    /// Errors: a name in the options that no input has. Two sizes for one name are a problem of
    /// the second input.
    fn named_sizes(&mut self, inputs: &[&'a ValueInfoProto]) -> Result<HashMap<&'a str, usize>, ImportError> {
        let mut sizes = HashMap::new();
        let named = |input: &'a ValueInfoProto| open_dimensions(input).map(|(_, name)| name);
        let names: BTreeSet<&str> = inputs.iter().copied().flat_map(named).collect();
        for (name, &size) in &self.options.sizes {
            let Some(known) = names.get(name.as_str()) else {
                let available = names.iter().map(|&name| name.to_owned()).collect();
                return Err(ImportError::UnknownName { kind: "dimension", name: name.clone(), available });
            };
            sizes.insert(*known, size);
        }
        for &input in inputs {
            let Some(shape) = self.options.shapes.get(&input.name) else { continue };
            for (axis, name) in open_dimensions(input) {
                let Some(&size) = shape.get(axis) else { continue };
                let other = *sizes.entry(name).or_insert(size);
                if other != size {
                    let name = name.to_owned();
                    self.problem(&input.name, "input", Reason::DimensionName { name, sizes: [other, size] });
                }
            }
        }
        Ok(sizes)
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
