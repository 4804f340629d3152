//! The program over a prime field, which `npu verify` compares with the model.

mod culprit;
mod images;
mod references;

use npukit_graph::field::{FieldTensor, Images, Operand, apply};
use npukit_graph::{Graph, Op};
use npukit_numeric::Element;
use npukit_target::{Culprit, Expected, FieldProgram, FieldValues, References, TargetError};

use super::TcuProgram;
use super::placed::{named, unfit};
use crate::machine::arith::field::Modular;
use crate::program::Binding;
use crate::program::symbolic_run::SymbolicRun;
use images::ConvertedImages;

/// A program with the images of its constants.
pub(super) struct TcuField<'a> {
    owner: &'a TcuProgram,
    images: ConvertedImages,
}

impl<'a> TcuField<'a> {
    pub fn new(owner: &'a TcuProgram) -> Self {
        let config = &owner.program.config;
        let images =
            ConvertedImages { format: config.data_type.format(), has_tables: config.lookup_tables > 0 };
        Self { owner, images }
    }

    /// Returns the vectors of all inputs, in program order.
    fn packed(&self, inputs: &FieldValues) -> Result<Vec<Vec<Element>>, TargetError> {
        let pack = |binding: &Binding| {
            let tensor = named(binding, inputs)?;
            let stored: Vec<Element> =
                tensor.elements.iter().map(|element| element.scaled(-binding.exponent())).collect();
            self.owner.placed(binding, &tensor.shape, &stored)
        };
        self.owner.program.inputs.iter().map(pack).collect()
    }

    fn start(&self, inputs: &FieldValues, seed: u64) -> Result<SymbolicRun<'_, Modular>, TargetError> {
        SymbolicRun::over_field(&self.owner.program, &self.packed(inputs)?, seed).map_err(TargetError::failed)
    }

    /// Returns an output in the model's shape, before host steps.
    fn unpacked(
        &self,
        binding: &Binding,
        run: &SymbolicRun<'_, Modular>,
    ) -> Result<FieldTensor, TargetError> {
        let vectors = run.output(binding).map_err(TargetError::failed)?;
        let shape = self.owner.port(binding).shape;
        let stored = self.owner.scalars_of(binding, vectors)?;
        let elements = stored.into_iter().map(|element| element.scaled(binding.exponent())).collect();
        Ok(FieldTensor { shape, elements })
    }

    fn output(&self, binding: &Binding, run: &SymbolicRun<'_, Modular>) -> Result<FieldTensor, TargetError> {
        let steps = self.owner.program.host_steps.iter().filter(|step| step.output == binding.name);
        steps.fold(self.unpacked(binding, run), |tensor, step| {
            let op = Op::from(step.op.clone());
            // Lookup tables are omitted because host steps do not use them.
            let images = ConvertedImages { has_tables: false, ..self.images };
            let results = apply(&op, &[Operand::Field(tensor?.into())], &images);
            match results.map_err(TargetError::failed)?.pop() {
                Some(Operand::Field(tensor)) => Ok(FieldTensor::clone(&tensor)),
                _ => Err(unfit(format!("host step {op} has no result"))),
            }
        })
    }
}

impl FieldProgram for TcuField<'_> {
    fn images(&self, _part: usize) -> &dyn Images {
        &self.images
    }

    fn references<'b>(&'b self, graph: &'b Graph) -> References<'b> {
        Box::new(references::of(graph, &self.owner.program.config, self.owner.port_scales()).map(Ok))
    }

    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        let mut run = self.start(inputs, seed)?;
        run.finish(|_, _| ()).map_err(TargetError::failed)?;
        let outputs = self.owner.program.outputs.iter();
        outputs.map(|binding| Ok((binding.name.clone(), self.output(binding, &run)?))).collect()
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
