//! The program over a prime field: what `npu verify` compares with the model.

mod culprit;
mod images;
mod references;

use npukit_graph::field::{FieldTensor, Images, Operand, apply};
use npukit_graph::{Graph, Op};
use npukit_numeric::Element;
use npukit_target::{Culprit, FieldProgram, FieldValues, References, TargetError};

use super::TcuProgram;
use crate::modular::{self, Run};
use crate::program::Binding;
use images::ConvertedImages;

/// A program and what its constants are.
pub(super) struct TcuField<'a> {
    owner: &'a TcuProgram,
    images: ConvertedImages,
}

impl<'a> TcuField<'a> {
    pub fn new(owner: &'a TcuProgram) -> Self {
        Self { owner, images: ConvertedImages { format: owner.program.config.data_type.format() } }
    }

    /// The vectors of all inputs, in the program's order.
    fn packed(&self, inputs: &FieldValues) -> Result<Vec<Vec<Element>>, TargetError> {
        self.owner.program.inputs.iter().map(|binding| self.pack(binding, inputs)).collect()
    }

    fn pack(&self, binding: &Binding, inputs: &FieldValues) -> Result<Vec<Element>, TargetError> {
        let named = inputs.iter().find(|(name, _)| *name == binding.name);
        let (_, tensor) = named.ok_or_else(|| unfit(format!("the model has no input `{}`", binding.name)))?;
        let shape = self.owner.port(binding).shape;
        let lanes = self.owner.lanes();
        let packed = match &binding.layout {
            Some(layout) if tensor.shape == layout.model_shape => layout.pack(&tensor.elements, lanes),
            Some(_) => None,
            None => {
                in_vectors(tensor, lanes).filter(|packed| packed.len() == shape.iter().product::<usize>())
            }
        };
        let told = || {
            format!(
                "input `{}` has shape {:?} in the model and {shape:?} in the artifact",
                binding.name, tensor.shape
            )
        };
        packed.ok_or_else(|| unfit(told()))
    }

    fn start(&self, inputs: &FieldValues, seed: u64) -> Result<Run<'_>, TargetError> {
        Run::new(&self.owner.program, &self.packed(inputs)?, seed).map_err(TargetError::failed)
    }

    /// An output in the model's shape, before the host's steps.
    fn unpacked(&self, binding: &Binding, run: &Run<'_>) -> Result<FieldTensor, TargetError> {
        let vectors = run.output(binding).map_err(TargetError::failed)?;
        let shape = self.owner.port(binding).shape;
        let elements = match &binding.layout {
            Some(layout) => layout.unpack(&vectors, self.owner.lanes()),
            None => Some(vectors),
        };
        let elements = elements.ok_or_else(|| unfit(format!("output `{}` has no layout", binding.name)))?;
        Ok(FieldTensor { shape, elements })
    }

    fn output(&self, binding: &Binding, run: &Run<'_>) -> Result<FieldTensor, TargetError> {
        let steps = self.owner.program.host_steps.iter().filter(|step| step.output == binding.name);
        steps.fold(self.unpacked(binding, run), |tensor, step| {
            let op = Op::from(step.op.clone());
            let results = apply(&op, &[Operand::Field(tensor?.into())], &self.images);
            match results.map_err(TargetError::failed)?.pop() {
                Some(Operand::Field(tensor)) => Ok(FieldTensor::clone(&tensor)),
                _ => Err(unfit(format!("step {op} of the host has no result"))),
            }
        })
    }
}

/// Elements with the channels last, in vectors of `lanes`: what artifacts hold that do not say more.
fn in_vectors(tensor: &FieldTensor, lanes: usize) -> Option<Vec<Element>> {
    let channels = *tensor.shape.last()?;
    let mut packed = Vec::new();
    for group in tensor.elements.chunks(channels.max(1)) {
        packed.extend_from_slice(group);
        packed.resize(packed.len().next_multiple_of(lanes), Element::ZERO);
    }
    Some(packed)
}

fn unfit(told: String) -> TargetError {
    TargetError::failed(modular::UnfitModel(told))
}

impl FieldProgram for TcuField<'_> {
    fn images(&self) -> &dyn Images {
        &self.images
    }

    fn references<'b>(&'b self, graph: &'b Graph) -> References<'b> {
        Box::new(references::of(graph, &self.owner.program.config).map(Ok))
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
        is_known: &dyn Fn(Element) -> bool,
    ) -> Result<Option<Culprit>, TargetError> {
        culprit::find(self, inputs, seed, wrong, is_known)
    }
}
