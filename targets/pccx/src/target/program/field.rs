//! Execution of a program over a prime field, with which `npu verify` compares the model.

use std::sync::Arc;

use npukit_graph::Graph;
use npukit_graph::field::{FieldTensor, Images, Operand, constant_elements};
use npukit_target::{Culprit, Expected, FieldProgram, FieldValues, Reference, References, TargetError};

use super::PccxProgram;
use crate::lower::{Constants, Options, reference};
use crate::machine::Machine;
use crate::machine::arith::Arithmetic;
use crate::machine::arith::field::{Laws, Modular};
use crate::program::runtime::{Observer, Session};

mod assumptions;
mod culprit;
#[cfg(test)]
mod tests;

/// A program without hazards.
pub(super) struct PccxField<'a> {
    pub owner: &'a PccxProgram,
}

/// Reason why a model and an artifact do not belong together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UnfitModel(String);

fn unfit(message: String) -> TargetError {
    TargetError::failed(UnfitModel(message))
}

impl PccxField<'_> {
    /// Returns the inputs in the order of the host.
    fn slots(&self, inputs: &FieldValues) -> Result<Vec<Operand>, TargetError> {
        let graph = &self.owner.host().graph;
        let slot = |&id: &npukit_graph::ValueId| {
            let value = graph.value(id);
            let named = inputs.iter().find(|(name, _)| *name == value.name);
            let (_, tensor) =
                named.ok_or_else(|| unfit(format!("the model has no input `{}`", value.name)))?;
            if tensor.shape != value.info.shape {
                return Err(unfit(format!(
                    "input `{}` has shape {:?} in the model and {:?} in the artifact",
                    value.name, tensor.shape, value.info.shape
                )));
            }
            Ok(Operand::Field(Arc::new(tensor.clone())))
        };
        graph.inputs.iter().map(slot).collect()
    }

    /// Runs the program; `observe` is called before each host operation and instruction.
    fn run_observed(
        &self,
        inputs: &FieldValues,
        seed: u64,
        observe: &mut Observer<'_, Modular>,
    ) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        let slots = self.slots(inputs)?;
        let config = &self.owner.config;
        let mut machine = Machine::<Modular>::filled(config, Some(seed)).map_err(TargetError::failed)?;
        let (program, host) = (&self.owner.executable.program, self.owner.host());
        let mut session = Session::new(&mut machine, program, host).map_err(TargetError::failed)?;
        let outputs = session.run_slots(slots, observe).map_err(TargetError::failed)?;
        let output = |(&id, slot): (&npukit_graph::ValueId, Operand)| {
            let name = host.graph.value(id).name.clone();
            let shape = Modular::shape(&slot).to_vec();
            let elements = match &slot {
                Operand::Field(tensor) => tensor.elements.clone(),
                Operand::Constant(tensor) => constant_elements(tensor, &Laws),
            };
            Ok((name, FieldTensor { shape, elements }))
        };
        host.graph.outputs.iter().zip(outputs).map(output).collect()
    }

    /// Returns the choices of the compiler.
    fn options(&self) -> Result<Options, TargetError> {
        Ok(Options::of_program(&self.owner.config, self.owner.host())?)
    }
}

impl FieldProgram for PccxField<'_> {
    fn images(&self, _part: usize) -> &dyn Images {
        &Laws
    }

    fn references<'b>(&'b self, graph: &'b Graph) -> References<'b> {
        let reference = || {
            let (config, options) = (&self.owner.config, self.options()?);
            let made = |constants| reference(config, graph, &options, constants).map_err(TargetError::failed);
            let [graph, unrounded] = [made(Constants::Machine)?, made(Constants::Exact)?];
            let order = String::new();
            Ok(Reference { order, graph, unrounded, approximated: Vec::new(), parts: Vec::new() })
        };
        Box::new(std::iter::once_with(reference))
    }

    fn assumptions(&self, _: &Graph) -> Vec<String> {
        assumptions::of(&self.owner.executable.program)
    }

    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        self.run_observed(inputs, seed, &mut |_, _| ())
    }

    fn culprit(
        &self,
        inputs: &FieldValues,
        seed: u64,
        wrong: (&str, usize),
        expected: &dyn Expected,
    ) -> Result<Option<Culprit>, TargetError> {
        culprit::find(self, inputs, seed, wrong, &|element| expected.is_known(element))
    }
}
