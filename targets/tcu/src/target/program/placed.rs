//! Conversion between tensors of any scalars and a program's vectors, for scalars that are neither
//! rounded nor numbers.

use npukit_target::TargetError;

use super::TcuProgram;
use crate::machine::arith::field::UnfitModel;
use crate::program::Binding;

impl TcuProgram {
    /// Returns the vectors of an input with shape `shape` in the model.
    pub(super) fn placed<T: Clone + Default>(
        &self,
        binding: &Binding,
        shape: &[usize],
        scalars: &[T],
    ) -> Result<Vec<T>, TargetError> {
        let expected = self.port(binding).shape;
        let packed = match &binding.layout {
            Some(layout) if shape == layout.model_shape => layout.pack(scalars, self.lanes()),
            Some(_) => None,
            None => in_vectors(shape, scalars, self.lanes())
                .filter(|packed| packed.len() == expected.iter().product::<usize>()),
        };
        let message = || {
            let name = &binding.name;
            format!("input `{name}` has shape {shape:?} in the model and {expected:?} in the artifact")
        };
        packed.ok_or_else(|| unfit(message()))
    }

    /// Returns the scalars of an output, in the model's order if the artifact records it.
    pub(super) fn scalars_of<T: Clone + Default>(
        &self,
        binding: &Binding,
        vectors: Vec<T>,
    ) -> Result<Vec<T>, TargetError> {
        let scalars = match &binding.layout {
            Some(layout) => layout.unpack(&vectors, self.lanes()),
            None => Some(vectors),
        };
        scalars.ok_or_else(|| unfit(format!("output `{}` has no layout", binding.name)))
    }
}

/// Returns the value given for an input.
pub(super) fn named<'a, T>(binding: &Binding, inputs: &'a [(String, T)]) -> Result<&'a T, TargetError> {
    let found = inputs.iter().find(|(name, _)| *name == binding.name).map(|(_, input)| input);
    found.ok_or_else(|| unfit(format!("the model has no input `{}`", binding.name)))
}

/// Packs scalars with the channels last into vectors of `lanes`, the default layout of artifacts.
fn in_vectors<T: Clone + Default>(shape: &[usize], scalars: &[T], lanes: usize) -> Option<Vec<T>> {
    let channels = *shape.last()?;
    let mut packed = Vec::new();
    for group in scalars.chunks(channels.max(1)) {
        packed.extend_from_slice(group);
        packed.resize(packed.len().next_multiple_of(lanes), T::default());
    }
    Some(packed)
}

/// Returns the error for a model that does not match the artifact.
pub(super) fn unfit(message: String) -> TargetError {
    TargetError::failed(UnfitModel(message))
}
