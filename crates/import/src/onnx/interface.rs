//! Inputs and outputs of a model. Shapes follow the options; names are kept.

use std::collections::{HashMap, HashSet};

use npukit_graph::op::Reshape;
use npukit_graph::{ValueId, ValueInfo};

use super::builder::first;
use super::error::{ImportError, Reason};
use super::importer::{Binding, Importer};
use super::proto::{DimensionProto, TensorTypeProto, TypeProto, ValueInfoProto};
use super::tensor;
use crate::dimension::{Dimension, OpenInput};
use crate::open;
use crate::shape::MAX_RANK;

/// Type of an input, or `None` if it is not a tensor.
fn tensor_type(input: &ValueInfoProto) -> Option<&TensorTypeProto> {
    input.r#type.as_ref().and_then(|kind: &TypeProto| kind.tensor_type.as_ref())
}

/// Dimensions of an input; unknown sizes are open. `None` if the rank is not stated.
fn dimensions(input: &ValueInfoProto) -> Result<Option<Vec<Dimension>>, Reason> {
    let Some(stated) = &tensor_type(input).ok_or(Reason::NoShape)?.shape else { return Ok(None) };
    if stated.dim.len() > MAX_RANK {
        return Err(Reason::Rank { rank: stated.dim.len(), limit: MAX_RANK });
    }
    let dimension = |(axis, dim): (usize, &DimensionProto)| match dim.dim_value {
        // Exporters write -1 for an open size, as TensorFlow does.
        None | Some(-1) => Ok(Dimension::open(dim.dim_param.as_deref())),
        Some(size) => tensor::size(axis, size).map(Dimension::sized),
    };
    stated.dim.iter().enumerate().map(dimension).collect::<Result<_, _>>().map(Some)
}

/// Shape and type of an input.
fn input_info(input: &ValueInfoProto, shape: Vec<usize>) -> Result<ValueInfo, Reason> {
    let stated = tensor_type(input).ok_or(Reason::NoShape)?;
    let element = tensor::element_type(stated.elem_type)?;
    tensor::check_shape(&shape)?;
    Ok(ValueInfo { shape, element })
}

impl<'a> Importer<'a, '_> {
    /// Adds the inputs that are not initializers, in the model's order.
    pub(super) fn add_inputs(&mut self) -> Result<(), ImportError> {
        let proto = self.proto;
        self.take_defaults();
        let held = |name: &str| self.initializers.contains_key(name) || self.bindings.contains_key(name);
        let inputs: Vec<&'a ValueInfoProto> = proto.input.iter().filter(|input| !held(&input.name)).collect();
        for name in self.options.shapes.keys().chain(self.options.values.keys()) {
            if !inputs.iter().any(|input| input.name == *name) {
                let available = inputs.iter().map(|input| input.name.clone()).collect();
                return Err(ImportError::UnknownName { kind: "input", name: name.clone(), available });
            }
        }
        let shapes = self.shapes(&inputs)?;
        for (input, shape) in inputs.into_iter().zip(shapes) {
            let taken = self.bindings.contains_key(input.name.as_str());
            if taken || self.producers.contains_key(input.name.as_str()) {
                self.duplicate(&input.name, "input", &input.name);
            }
            let info = shape.and_then(|shape| input_info(input, shape));
            let binding = match info
                .and_then(|info| self.builder.input_or_constant(&input.name, info, &self.options.values))
            {
                Ok(id) => Binding::Value(id),
                Err(reason) => {
                    self.problem(&input.name, "input", reason);
                    Binding::Failed
                }
            };
            self.bindings.insert(&input.name, binding);
        }
        Ok(())
    }

    /// Handles inputs with a default (an initializer of the same name). Inputs that the caller
    /// gives lose the default; the others are reported.
    fn take_defaults(&mut self) {
        let inputs = self.proto.input.iter().map(|input| input.name.as_str());
        let (given, others): (Vec<&str>, Vec<&str>) = inputs
            .filter(|name| self.initializers.contains_key(name))
            .partition(|&name| self.options.given.contains(name));
        for name in given {
            self.initializers.remove(name);
        }
        self.defaults.extend(others.into_iter().map(str::to_owned));
    }

    /// Returns the shapes of the inputs: the shapes in the model, with the sizes of the caller.
    ///
    /// # Errors
    ///
    /// An option names an unknown input, or dimensions stay open.
    fn shapes(
        &mut self,
        inputs: &[&'a ValueInfoProto],
    ) -> Result<Vec<Result<Vec<usize>, Reason>>, ImportError> {
        let given = |input: &ValueInfoProto| self.options.shapes.contains_key(&input.name);
        let stated = |input: &&'a ValueInfoProto| match dimensions(input) {
            Err(_) if given(input) => Ok(None),
            stated => stated,
        };
        let stated: Vec<Result<_, Reason>> = inputs.iter().map(stated).collect();
        let known = inputs.iter().zip(&stated).filter_map(|(input, stated)| {
            Some(OpenInput { name: input.name.clone(), dimensions: stated.clone().ok()? })
        });
        let mut known: Vec<OpenInput> = known.collect();
        open::fix(&mut known, self.options, self.remarks)?;
        open::check(&known)?;
        let mut known = known.iter().map(OpenInput::sizes);
        let shape = |stated: Result<_, Reason>| {
            stated.map(|_| known.next().expect("all stated dimensions are known"))
        };
        Ok(stated.into_iter().map(shape).collect())
    }

    /// Names of the wanted outputs: the names of the caller, or the outputs of the model.
    pub(super) fn wanted(&self) -> Result<Vec<&'a str>, ImportError> {
        if self.options.outputs.is_empty() {
            if self.proto.output.is_empty() {
                return Err(ImportError::Nothing { available: self.available() });
            }
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

    /// Possible output names, for messages: the model's own first, then results from last to first.
    fn available(&self) -> Vec<String> {
        let own = self.proto.output.iter().map(|output| &output.name);
        let results = self.proto.node.iter().rev().flat_map(|node| &node.output);
        let mut seen = HashSet::new();
        own.chain(results).filter(|name| !name.is_empty() && seen.insert(*name)).cloned().collect()
    }

    /// Adds the outputs under the wanted names.
    pub(super) fn add_outputs(&mut self, wanted: &[&'a str]) {
        let names: HashSet<&str> = wanted.iter().copied().collect();
        // An output may be listed twice, but is copied once.
        let mut known: HashMap<&str, ValueId> = HashMap::new();
        for &name in wanted {
            let Some(id) = self.lookup(name, (name, "output")) else { continue };
            let named = known.get(name).map_or_else(|| self.named(id, name, &names), |&id| Ok(id));
            match named {
                Ok(id) => {
                    known.insert(name, id);
                    self.builder.graph.outputs.push(id);
                }
                Err(reason) => self.problem(name, "output", reason),
            }
        }
    }

    /// Returns `id` under the name `name`. If a node passes its operand through to an output
    /// (Identity, for example), that operand's result takes the output's name. Inputs, constants of
    /// the file, and values that are already outputs are copied by a Reshape to their own shape.
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
