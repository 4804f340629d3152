//! Variables of the importer: reading, assignment, and state kept from run to run.

use std::sync::Arc;

use npukit_graph::{ValueId, ValueInfo};
use npukit_numeric::{Tensor, TensorData};

use super::importer::Importer;
use super::model;
use super::variables::Variable;
use crate::elements::{repeated, typed};
use crate::error::Reason;
use crate::remark::{Remark, State};
use crate::shape::shape;

impl Importer<'_> {
    /// Returns the value of a variable. `info` is its type and shape if they are not known
    /// otherwise.
    pub(super) fn read_variable(&mut self, name: &str, info: ValueInfo) -> Result<ValueId, Reason> {
        self.check_sealed(name)?;
        let changes = self.variables.changes(name);
        let variable = self.variables.all.entry(name.to_owned()).or_default();
        if let Some(known) = variable.value.or(variable.input) {
            return Ok(known);
        }
        if let Some(initial) = variable.initial.clone().filter(|_| !changes || self.variables.is_beginning) {
            return Ok(self.builder.constant(name, initial));
        }
        let info = match &variable.initial {
            Some(initial) => ValueInfo { shape: initial.shape().to_vec(), element: initial.element() },
            None => info,
        };
        let id = self.builder.input(name, info);
        variable.input = Some(id);
        // It keeps its name when a tensor reads it.
        self.renamed.insert(id);
        Ok(id)
    }

    /// Assigns a value to a variable.
    pub(super) fn assign_variable(&mut self, name: &str, value: ValueId) -> Result<(), Reason> {
        self.check_sealed(name)?;
        let constant = self.builder.graph.constant(value).cloned();
        let variable = self.variables.all.entry(name.to_owned()).or_default();
        if !self.variables.is_beginning {
            variable.value = Some(value);
            return Ok(());
        }
        let initial = constant.ok_or(Reason::OperandNotConstant { operand: "value" })?;
        variable.initial = Some(initial);
        Ok(())
    }

    fn check_sealed(&self, name: &str) -> Result<(), Reason> {
        if !self.variables.is_sealed {
            return Ok(());
        }
        let found = format!("variable {name:?} within a loop whose number of rounds is computed at run time");
        let legal = "variables only outside repeated graphs".to_owned();
        Err(Reason::OperandValue { operand: "resource", found, legal })
    }

    /// Returns the value of a tensor that an operator keeps from run to run.
    pub(super) fn state_of(&mut self, index: usize) -> Result<ValueId, Reason> {
        let name = self.state_name(index);
        let tensor = &self.frame.graph.tensors[index];
        let sizes: Vec<i64> = tensor.shape.iter().map(|&size| size.into()).collect();
        let info = ValueInfo { shape: shape(&sizes)?, element: model::element_type(tensor.kind)? };
        let zero = tensor.scales.as_ref().and_then(|scales| scales.zero_point.first().copied());
        if !self.variables.all.contains_key(&name) {
            let initial =
                filled(&info, zero.map_or(0, |zero| zero as i32), |shape| self.builder.reserve(shape))?;
            let variable = Variable { initial: Some(Arc::new(initial)), ..Variable::default() };
            self.variables.all.insert(name.clone(), variable);
            self.variables.assigned.get_or_insert_default().insert(name.clone());
        }
        self.read_variable(&name, info)
    }

    /// Stores real numbers in such a tensor.
    pub(super) fn keep(&mut self, index: usize, value: ValueId) -> Result<(), Reason> {
        let name = self.state_name(index);
        let value = self.integers(index, value, &name, false)?;
        self.assign_variable(&name, value)
    }

    fn state_name(&self, index: usize) -> String {
        match self.depth {
            0 => self.frame.names[index].clone(),
            _ => format!("{}:{}", self.frame.number, self.frame.names[index]),
        }
    }

    /// Returns the variables that are inputs. If `wanted`, adds their values for the next run as
    /// outputs.
    pub(super) fn add_states(&mut self, wanted: bool) -> Vec<State> {
        let all = std::mem::take(&mut self.variables.all);
        let mut states = Vec::new();
        for variable in all.into_values() {
            let Some(input) = variable.input else { continue };
            let ValueInfo { shape, element } = self.builder.graph.value(input).info.clone();
            let name = self.builder.graph.value(input).name.clone();
            let info = ValueInfo { shape, element };
            let initial = match variable.initial {
                Some(initial) => Ok(initial.as_ref().clone()),
                None => filled(&info, 0, |shape| self.builder.reserve(shape)),
            };
            let next = format!("{name}/next");
            let output = match wanted {
                true => self.next(variable.value.unwrap_or(input), &next).map(Some),
                false => Ok(None),
            };
            match (initial, output) {
                (Ok(initial), Ok(output)) => {
                    self.builder.graph.outputs.extend(output);
                    states.push(State { input: name, output: output.map(|_| next), initial });
                }
                (Err(reason), _) | (_, Err(reason)) => self.problem(&name, "state", reason),
            }
        }
        if !states.is_empty() {
            let inputs = states.iter().map(|state| state.input.clone()).collect();
            self.remarks.push(Remark::States { inputs });
        }
        states
    }

    /// Returns the value under that name, which no tensor has.
    fn next(&mut self, id: ValueId, name: &str) -> Result<ValueId, Reason> {
        let graph = &self.builder.graph;
        let is_free =
            graph.constant(id).is_none() && !graph.inputs.contains(&id) && !graph.outputs.contains(&id);
        if !is_free {
            return self.named(id, name);
        }
        self.builder.rename(id, name);
        Ok(id)
    }
}

/// Makes a tensor filled with one number. `reserve` checks the budget first.
fn filled(
    info: &ValueInfo,
    number: i32,
    reserve: impl FnOnce(&[usize]) -> Result<(), Reason>,
) -> Result<Tensor, Reason> {
    reserve(&info.shape)?;
    let data = match TensorData::empty(info.element.storage()) {
        TensorData::F32(_) => TensorData::F32(vec![number as f32]),
        TensorData::I64(_) => TensorData::I64(vec![number.into()]),
        TensorData::I32(_) => TensorData::I32(vec![number]),
        TensorData::Bool(_) => TensorData::Bool(vec![number != 0]),
    };
    let one = typed(info.element, Vec::new(), data)?;
    repeated(&one, info.shape.clone())?.ok_or(Reason::NoShape)
}
