//! [`LikeInField`]: an artifact that only knows rows of vectors, in field arithmetic with the names
//! and shapes of its model.

use npukit_graph::Graph;
use npukit_graph::field::{FieldTensor, Images};
use npukit_target::{Compiled, Culprit, Expected, FieldProgram, FieldValues, References, TargetError};

use super::{PortShape, ShapeSource};
use crate::error::Error;
use crate::model::Model;

/// Program in field arithmetic whose inputs and outputs are the model's.
struct LikeInField<'a> {
    like: ShapeSource,
    program: Box<dyn FieldProgram + 'a>,
}

/// Returns the program in field arithmetic, as [`Compiled::in_field`] does. If it only knows rows
/// of vectors, it gets the names and shapes of `model`.
///
/// # Errors
///
/// Fails as [`Compiled::in_field`] does, and with [`Error::UnfitArtifact`] if the number or the
/// sizes of inputs or outputs differ.
pub(crate) fn in_field<'a>(
    compiled: &'a dyn Compiled,
    model: &Model,
) -> Result<Box<dyn FieldProgram + 'a>, Error> {
    let program = compiled.in_field()?;
    let mut ports = compiled.inputs().into_iter().chain(compiled.outputs());
    if !ports.any(|port| port.only_vectors().is_some()) {
        return Ok(program);
    }
    let like = ShapeSource::of(compiled, model).map_err(|message| Error::UnfitArtifact { message })?;
    Ok(Box::new(LikeInField { like, program }))
}

impl LikeInField<'_> {
    /// Converts inputs of the model to the artifact's form.
    fn packed(&self, inputs: &FieldValues) -> Vec<(String, FieldTensor)> {
        let packed = |(name, tensor): &(String, FieldTensor)| match named(&self.like.inputs, name) {
            Some(lent) => (lent.port.name.clone(), lent.packed(tensor)),
            None => (name.clone(), tensor.clone()),
        };
        inputs.iter().map(packed).collect()
    }
}

impl PortShape {
    fn packed(&self, tensor: &FieldTensor) -> FieldTensor {
        let rows =
            self.rows.as_ref().and_then(|rows| Some((rows.vectors.to_vec(), rows.packed(&tensor.elements)?)));
        match rows {
            Some((shape, elements)) => FieldTensor { shape, elements },
            None => tensor.clone(),
        }
    }

    fn unpacked(&self, tensor: FieldTensor) -> FieldTensor {
        match self.rows.as_ref().and_then(|rows| rows.unpacked(&tensor.elements)) {
            Some(elements) => FieldTensor { shape: self.wanted.port.shape.clone(), elements },
            None => tensor,
        }
    }
}

/// Returns the entry for the model's name `name`.
fn named<'a>(all: &'a [PortShape], name: &str) -> Option<&'a PortShape> {
    all.iter().find(|lent| lent.wanted.port.name == name)
}

impl FieldProgram for LikeInField<'_> {
    fn images(&self, part: usize) -> &dyn Images {
        self.program.images(part)
    }

    fn references<'a>(&'a self, graph: &'a Graph) -> References<'a> {
        self.program.references(graph)
    }

    fn assumptions(&self, graph: &Graph) -> Vec<String> {
        self.like.notes().into_iter().chain(self.program.assumptions(graph)).collect()
    }

    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        let outputs = self.program.run(&self.packed(inputs), seed)?;
        let unpacked = |(name, tensor)| match self.like.outputs.iter().find(|lent| lent.port.name == name) {
            Some(lent) => (lent.wanted.port.name.clone(), lent.unpacked(tensor)),
            None => (name, tensor),
        };
        Ok(outputs.into_iter().map(unpacked).collect())
    }

    fn culprit(
        &self,
        inputs: &FieldValues,
        seed: u64,
        (output, element): (&str, usize),
        expected: &dyn Expected,
    ) -> Result<Option<Culprit>, TargetError> {
        let Some(lent) = named(&self.like.outputs, output) else { return Ok(None) };
        let scalar = match &lent.rows {
            Some(rows) => rows.scalar(element),
            None => Some(element),
        };
        let Some(scalar) = scalar else { return Ok(None) };
        self.program.culprit(&self.packed(inputs), seed, (&lent.port.name, scalar), expected)
    }
}
