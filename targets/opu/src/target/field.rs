//! The program over a prime field, which `npu verify` compares with the model.

mod assumptions;
mod culprit;
pub(super) mod references;

use npukit_graph::field::{Exact, FieldTensor, Images, Operand, apply};
use npukit_graph::{Graph, Op};
use npukit_numeric::Element;
use npukit_target::{Culprit, Expected, FieldProgram, FieldValues, References, TargetError};

use crate::machine::arith::field::{FieldElements, FieldImages};
use crate::machine::state::State;
use crate::program::symbolic_run::SymbolicRun;
use crate::program::{Binding, Program};

/// Program on the machine over the field.
pub(super) struct OpuField<'a> {
    program: &'a Program,
}

/// Reason why a model and a program cannot be compared.
#[derive(Debug, thiserror::Error)]
pub(super) enum FieldError {
    /// The artifact of an integer program has no fraction lengths.
    #[error(
        "the artifact does not record the fraction lengths of the model's constants: compile the model \
         again with this npukit"
    )]
    Fractions,
    /// The model has no such input, or one of another shape.
    #[error("input `{name}` has shape {expected:?} in the program, but {found:?} in the model")]
    Input {
        /// Name of the input.
        name: String,
        /// Shape in the program.
        expected: Vec<usize>,
        /// Shape in the model; `None` if it has no such input.
        found: Option<Vec<usize>>,
    },
    /// A step of the host is not defined over the field.
    #[error("step {0} of the host cannot be computed in the field")]
    Step(String),
}

impl FieldError {
    pub(super) fn input(binding: &Binding, found: Option<Vec<usize>>) -> Self {
        Self::Input { name: binding.name.clone(), expected: binding.shape.clone(), found }
    }
}

impl<'a> OpuField<'a> {
    /// Prepares the comparison.
    ///
    /// # Errors
    ///
    /// The program uses integers, and its fraction lengths are unknown.
    pub fn new(program: &'a Program) -> Result<Self, TargetError> {
        if program.config.types.itype.fixed().is_some() && program.fractions.is_empty() {
            return Err(TargetError::failed(FieldError::Fractions));
        }
        Ok(Self { program })
    }

    /// Returns the maps of all inputs, in units of ITYPE.
    fn maps(&self, inputs: &FieldValues) -> Result<Vec<Vec<Element>>, TargetError> {
        self.program.inputs.iter().map(|binding| map(binding, inputs)).collect()
    }

    fn start(&self, inputs: &FieldValues, seed: u64) -> Result<SymbolicRun<'a, FieldElements>, TargetError> {
        SymbolicRun::new(self.program, State::default(), FieldImages { seed }, &self.maps(inputs)?)
            .map_err(TargetError::failed)
    }

    /// Returns an output in the model's shape, after the steps of the host.
    fn output(
        &self,
        binding: &Binding,
        run: &SymbolicRun<'_, FieldElements>,
    ) -> Result<FieldTensor, TargetError> {
        let map = run.output(binding).map_err(TargetError::failed)?;
        let elements = binding.unpack(&map).into_iter().map(|element| element.scaled(-binding.fraction));
        let tensor = FieldTensor { shape: binding.shape.clone(), elements: elements.collect() };
        let steps = self.program.host_steps.iter().filter(|step| step.output == binding.name);
        steps.map(|step| Op::from(step.op.clone())).try_fold(tensor, |tensor, op| {
            let results = apply(&op, &[Operand::Field(tensor.into())], &Exact);
            match results.map_err(TargetError::failed)?.pop() {
                Some(Operand::Field(tensor)) => Ok(FieldTensor::clone(&tensor)),
                _ => Err(TargetError::failed(FieldError::Step(op.to_string()))),
            }
        })
    }
}

/// Returns an input's map, in units of ITYPE.
fn map(binding: &Binding, inputs: &FieldValues) -> Result<Vec<Element>, TargetError> {
    let found = inputs.iter().find(|(name, _)| *name == binding.name).map(|(_, tensor)| tensor);
    let fitting = found.filter(|tensor| tensor.shape == binding.shape);
    let tensor = fitting.ok_or_else(|| {
        let found = found.map(|tensor| tensor.shape.clone());
        TargetError::failed(FieldError::input(binding, found))
    })?;
    let order = binding.order().into_iter();
    let elements = order.filter_map(|place| tensor.elements.get(place));
    Ok(binding.patched(elements.map(|element| element.scaled(binding.fraction)).collect()))
}

impl FieldProgram for OpuField<'_> {
    /// Always the program's: references hold the machine's constants.
    fn images(&self, _part: usize) -> &dyn Images {
        &Exact
    }

    fn references<'b>(&'b self, graph: &'b Graph) -> References<'b> {
        Box::new(std::iter::once_with(|| references::of(graph, self.program)))
    }

    fn assumptions(&self, graph: &Graph) -> Vec<String> {
        assumptions::of(graph, self.program)
    }

    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        let mut run = self.start(inputs, seed)?;
        run.finish(|_, ()| ()).map_err(TargetError::failed)?;
        let outputs = self.program.outputs.iter();
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
