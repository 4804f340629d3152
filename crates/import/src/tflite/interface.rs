//! Inputs and outputs of a file: the inputs and outputs of its first graph.

use std::collections::HashSet;

use npukit_graph::op::Reshape;
use npukit_graph::{ValueId, ValueInfo};

use super::Options;
use super::importer::{Importer, damaged, index};
use super::model;
use crate::builder::first;
use crate::dimension::{Dimension, OpenInput};
use crate::error::{ImportError, Reason};
use crate::open;
use crate::shape::shape;

impl Importer<'_> {
    /// Converts tensor numbers to indices, which must be in range.
    fn indices(&self, numbers: &[i32], what: &str) -> Result<Vec<usize>, ImportError> {
        let count = self.frame.names.len();
        let one = |&number: &i32| {
            index(number, count).ok_or_else(|| damaged(format!("{what} is tensor {number}, of {count}")))
        };
        numbers.iter().map(one).collect()
    }

    /// Adds the inputs, with the sizes in the options.
    pub(super) fn add_inputs(&mut self, options: &Options) -> Result<(), ImportError> {
        let graph = self.frame.graph;
        let mut indices = self.indices(&graph.inputs, "an input")?;
        let mut seen = HashSet::new();
        indices.retain(|&index| seen.insert(index));
        let stated = |&index: &usize| {
            let tensor = &graph.tensors[index];
            let sizes = if tensor.signature.is_empty() { &tensor.shape } else { &tensor.signature };
            let dimension = |&size: &i32| match usize::try_from(size) {
                Ok(size) => Dimension::sized(size),
                Err(_) => Dimension::open(None),
            };
            let dimensions = Some(sizes.iter().map(dimension).collect());
            OpenInput { name: self.frame.names[index].clone(), dimensions }
        };
        let mut inputs: Vec<OpenInput> = indices.iter().map(stated).collect();
        let available = || inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>();
        if let Some(name) =
            options.shapes.keys().chain(options.values.keys()).find(|&name| !available().contains(name))
        {
            return Err(ImportError::UnknownName {
                kind: "input",
                name: name.clone(),
                available: available(),
            });
        }
        open::fix(&mut inputs, options, &mut self.remarks)?;
        open::check(&inputs)?;
        for (index, input) in indices.into_iter().zip(inputs) {
            let info = self.input(index, &input.sizes());
            let values = &options.values;
            match info.and_then(|info| self.builder.input_or_constant(&input.name, info, values)) {
                Ok(id) => {
                    self.frame.values.insert(index, id);
                }
                Err(reason) => {
                    self.frame.failed.insert(index);
                    self.problem(&input.name, "input", reason);
                }
            }
        }
        Ok(())
    }

    fn input(&self, index: usize, sizes: &[usize]) -> Result<ValueInfo, Reason> {
        let kind = self.frame.graph.tensors[index].kind;
        if kind == model::COMPLEX {
            return Err(Reason::ElementType { name: "complex64".to_owned() });
        }
        let sizes: Vec<i64> = sizes.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
        Ok(ValueInfo { shape: shape(&sizes)?, element: model::element_type(kind)? })
    }

    /// Wanted outputs: those in the options, or the outputs of the model.
    pub(super) fn wanted(&self, options: &Options) -> Result<Vec<usize>, ImportError> {
        let names = || self.frame.names.to_vec();
        if options.outputs.is_empty() {
            let outputs = self.indices(&self.frame.graph.outputs, "an output")?;
            return if outputs.is_empty() {
                Err(ImportError::NoOutputs { available: names() })
            } else {
                Ok(outputs)
            };
        }
        let one =
            |name: &String| {
                self.frame.names.iter().position(|known| known == name).ok_or_else(|| {
                    ImportError::UnknownName { kind: "value", name: name.clone(), available: names() }
                })
            };
        options.outputs.iter().map(one).collect()
    }

    /// Adds the outputs under their names.
    pub(super) fn add_outputs(&mut self, wanted: &[usize]) {
        for &index in wanted {
            if self.frame.failed.contains(&index) {
                continue;
            }
            let name = self.frame.names[index].clone();
            match self.output(index, &name) {
                Ok(id) => self.builder.graph.outputs.push(id),
                Err(reason) => self.problem(&name, "output", reason),
            }
        }
    }

    fn output(&mut self, index: usize, name: &str) -> Result<ValueId, Reason> {
        if self.frame.graph.tensors[index].kind == model::COMPLEX {
            return Err(Reason::ElementType { name: "complex64".to_owned() });
        }
        let id = self.value(index)?;
        self.named(id, name)
    }

    /// Returns the value under that name, as a copy if it has another name.
    pub(super) fn named(&mut self, id: ValueId, name: &str) -> Result<ValueId, Reason> {
        let graph = &self.builder.graph;
        if graph.value(id).name == name && graph.constant(id).is_none() && !graph.outputs.contains(&id) {
            return Ok(id);
        }
        let shape = graph.shape(id).to_vec();
        let copy = first(&self.builder.emit(name, Reshape { shape }.into(), vec![id])?, name)?;
        self.builder.rename(copy, name);
        Ok(copy)
    }
}
