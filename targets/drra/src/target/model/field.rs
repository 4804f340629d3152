//! A model's plan over a prime field: what `npu verify` compares with the model.

mod images;

use npukit_graph::Graph;
use npukit_graph::field::{FieldTensor, Images};
use npukit_numeric::Element;
use npukit_target::{Culprit, FieldProgram, FieldValues, Reference, TargetError, Unset};

use crate::artifact::Model;
use crate::exec::field::FieldWord;
use crate::lower::plan::{Step, Value};
use crate::lower::{Ran, Runner, prepare, rounded::rounded};
use crate::revision::Revision;
use images::FabricImages;

/// A model and the revision that computes it.
pub(super) struct ModelField<'a> {
    model: &'a Model,
    revision: Revision,
    images: FabricImages,
}

/// Why a model and a plan do not belong together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unfit(String);

impl<'a> ModelField<'a> {
    pub fn new(model: &'a Model, revision: Revision) -> Self {
        let has_extremes = model.executable.fabric.options.extensions;
        Self { model, revision, images: FabricImages { has_extremes } }
    }

    fn value(&self, number: usize) -> &Value {
        &self.model.executable.plan.values[number]
    }

    /// The words of an input: integers with its fraction length.
    fn words(&self, number: usize, inputs: &FieldValues) -> Result<Vec<FieldWord>, TargetError> {
        let value = self.value(number);
        let named = inputs.iter().find(|(name, _)| *name == value.name);
        let (_, tensor) = named.ok_or_else(|| unfit(format!("the model has no input `{}`", value.name)))?;
        if tensor.shape != value.shape {
            let told = format!(
                "input `{}` has shape {:?} in the model and {:?} in the plan",
                value.name, tensor.shape, value.shape
            );
            return Err(unfit(told));
        }
        let word = |element: &Element| FieldWord::any(element.scaled(value.fraction));
        Ok(tensor.elements.iter().map(word).collect())
    }

    fn ran(&self, inputs: &FieldValues, seed: u64) -> Result<Ran<FieldWord>, TargetError> {
        let executable = &self.model.executable;
        let words = executable.plan.inputs.iter().map(|&number| self.words(number, inputs));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let runner = Runner::new(executable, self.revision, Unset::Garbage(seed));
        runner.run(&words).map_err(TargetError::failed)
    }

    /// The real numbers of a value.
    fn tensor(&self, number: usize, ran: &Ran<FieldWord>) -> FieldTensor {
        let value = self.value(number);
        let element = |word: &FieldWord| word.element.scaled(-value.fraction);
        FieldTensor { shape: value.shape.clone(), elements: ran.values[number].iter().map(element).collect() }
    }

    /// The values of the plan's own are named after their number.
    fn is_of_graph(&self, number: usize) -> bool {
        !self.value(number).name.ends_with(&format!(".{number}"))
    }
}

fn unfit(told: String) -> TargetError {
    TargetError::failed(Unfit(told))
}

impl FieldProgram for ModelField<'_> {
    fn images(&self) -> &dyn Images {
        &self.images
    }

    fn references(&self, graph: &Graph) -> Result<Vec<Reference>, TargetError> {
        let unrounded = prepare(graph).map_err(TargetError::failed)?;
        let executable = &self.model.executable;
        let names = executable.plan.values.iter().map(|value| (&value.name, &value.shape));
        let own = unrounded.values.iter().map(|value| (&value.name, &value.info.shape));
        if executable.plan.values.len() < unrounded.values.len() || !own.zip(names).all(|(a, b)| a == b) {
            return Err(unfit("the plan was made of another model".to_owned()));
        }
        let graph =
            rounded(&executable.fabric, &unrounded, &executable.plan).map_err(TargetError::Refused)?;
        Ok(vec![Reference { order: String::new(), graph, unrounded }])
    }

    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        let ran = self.ran(inputs, seed)?;
        let outputs = self.model.executable.plan.outputs.iter();
        Ok(outputs.map(|&number| (self.value(number).name.clone(), self.tensor(number, &ran))).collect())
    }

    /// The first step whose result is no value of the model, of those that are to be one.
    fn culprit(
        &self,
        inputs: &FieldValues,
        seed: u64,
        _wrong: (&str, usize),
        is_known: &dyn Fn(Element) -> bool,
    ) -> Result<Option<Culprit>, TargetError> {
        let ran = self.ran(inputs, seed)?;
        let wrong = |step: &Step| {
            let elements = self.tensor(step.result, &ran).elements;
            let (place, &value) = elements.iter().enumerate().find(|(_, value)| !is_known(**value))?;
            let layer = Some(step.name.clone());
            let (address, memory) = (place as u64, self.value(step.result).name.clone());
            Some(Culprit { instruction: None, layer, memory, address, lane: 0, value })
        };
        let steps = self.model.executable.plan.steps.iter();
        Ok(steps.filter(|step| self.is_of_graph(step.result)).find_map(wrong))
    }
}
