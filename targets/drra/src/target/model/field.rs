//! A model's plan over a prime field, which `npu verify` compares with the model.

mod culprit;
mod images;

use std::collections::HashMap;
use std::sync::OnceLock;

use npukit_graph::Graph;
use npukit_graph::field::{FieldTensor, Images};
use npukit_numeric::Element;
use npukit_target::{Culprit, Expected, FieldProgram, FieldValues, Reference, References, TargetError};

use crate::config::revision::Revision;
use crate::lower::prepare;
use crate::lower::rounded::rounded;
use crate::lower::tape::Tapes;
use crate::machine::exec::field::FieldWord;
use crate::program::artifact::Model;
use crate::program::driver::{Runner, SampleRun};
use crate::program::plan::{Plan, Value};
use images::FabricImages;

/// Model with the revision that computes it.
pub(super) struct ModelField<'a> {
    model: &'a Model,
    revision: Revision,
    images: FabricImages,
    tapes: OnceLock<Tapes>,
}

/// Mismatch between a model and a plan.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unfit(String);

fn unfit(message: String) -> TargetError {
    TargetError::failed(Unfit(message))
}

impl<'a> ModelField<'a> {
    pub fn new(model: &'a Model, revision: Revision) -> Self {
        let has_extremes = model.executable.fabric.options.extensions;
        Self { model, revision, images: FabricImages { has_extremes }, tapes: OnceLock::new() }
    }

    fn value(&self, number: usize) -> &Value {
        &self.model.executable.plan.values[number]
    }

    /// Returns the words of an input: integers with its fraction length.
    fn words(&self, number: usize, inputs: &FieldValues) -> Result<Vec<FieldWord>, TargetError> {
        let value = self.value(number);
        let named = inputs.iter().find(|(name, _)| *name == value.name);
        let (_, tensor) = named.ok_or_else(|| unfit(format!("the model has no input `{}`", value.name)))?;
        if tensor.shape != value.shape {
            let message = format!(
                "input `{}` has shape {:?} in the model and {:?} in the plan",
                value.name, tensor.shape, value.shape
            );
            return Err(unfit(message));
        }
        let word = |element: &Element| FieldWord::any(element.scaled(value.fraction));
        Ok(tensor.elements.iter().map(word).collect())
    }

    fn ran(&self, inputs: &FieldValues, seed: u64) -> Result<SampleRun<FieldWord>, TargetError> {
        let executable = &self.model.executable;
        let words = executable.plan.inputs.iter().map(|&number| self.words(number, inputs));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let tapes = match self.tapes.get() {
            Some(tapes) => tapes,
            None => {
                let tapes = Tapes::record(executable, self.revision).map_err(TargetError::failed)?;
                self.tapes.get_or_init(|| tapes)
            }
        };
        Runner::with(executable, Box::new(tapes.player(seed))).run(&words).map_err(TargetError::failed)
    }

    /// Returns the real numbers of a value, as field elements.
    fn tensor(&self, number: usize, ran: &SampleRun<FieldWord>) -> FieldTensor {
        let value = self.value(number);
        let element = |word: &FieldWord| word.element.scaled(-value.fraction);
        FieldTensor { shape: value.shape.clone(), elements: ran.values[number].iter().map(element).collect() }
    }

    /// Returns the model as the compiler lowers it, with rounded constants.
    fn reference(&self, graph: &Graph) -> Result<Reference, TargetError> {
        let executable = &self.model.executable;
        let (unrounded, fractions) = planned(&executable.plan, graph)?;
        let graph = rounded(&executable.fabric, &unrounded, fractions).map_err(TargetError::Refused)?;
        Ok(Reference { order: String::new(), graph, unrounded, approximated: Vec::new(), parts: Vec::new() })
    }
}

/// Returns the graph of a plan, and the fraction length of each of its values. The graph is the
/// prepared model, or the model itself if it was prepared before. Preparing twice may fold the
/// results of the first time.
fn planned(plan: &Plan, graph: &Graph) -> Result<(Graph, Vec<i32>), TargetError> {
    let prepared = prepare(graph).map_err(TargetError::failed)?;
    match fractions(plan, &prepared) {
        Ok(found) => Ok((prepared, found)),
        Err(error) => fractions(plan, graph).map(|found| (graph.clone(), found)).map_err(|_| error),
    }
}

/// Returns the fraction length in the plan of each value of the model. The plan may have further
/// values: the plan of a segment has the whole model's fraction lengths.
fn fractions(plan: &Plan, graph: &Graph) -> Result<Vec<i32>, TargetError> {
    let planned = plan.values.iter().take(plan.of_graph());
    let planned: HashMap<&str, &Value> = planned.map(|value| (value.name.as_str(), value)).collect();
    let fraction = |own: &npukit_graph::Value| match planned.get(own.name.as_str()) {
        Some(planned) if planned.shape == own.info.shape => Ok(planned.fraction),
        Some(planned) => Err(unfit(format!(
            "value `{}` has shape {:?} in the model and {:?} in the plan",
            own.name, own.info.shape, planned.shape
        ))),
        None => Err(unfit(format!("value `{}` of the model is missing in the plan", own.name))),
    };
    graph.values.iter().map(fraction).collect()
}

impl FieldProgram for ModelField<'_> {
    fn images(&self, _part: usize) -> &dyn Images {
        &self.images
    }

    fn references<'b>(&'b self, graph: &'b Graph) -> References<'b> {
        Box::new(std::iter::once_with(|| self.reference(graph)))
    }

    fn assumptions(&self, _graph: &Graph) -> Vec<String> {
        let plan = &self.model.executable.plan;
        let limiting = plan.steps.iter().filter(|step| step.saturates).count();
        let mut stated = vec![
            "constants are rounded with the fraction lengths of the plan, and changed by the same code as in \
             lowering"
                .to_owned(),
            "buffers are filled and read between kernel calls, which run one after the other".to_owned(),
        ];
        if limiting > 0 && !self.images.has_extremes {
            stated.push(format!(
                "words keep a spare bit, so that the sums by which {} limit saturate only at the limit",
                npukit_base::counted(limiting as u64, "step")
            ));
        }
        if plan.steps.iter().any(|step| step.op == "Sqrt") {
            let root = "a root is the result of the steps of Newton's method that lowering takes from its guess; its error is \
                        not bounded";
            stated.push(root.to_owned());
        }
        stated
    }

    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError> {
        let ran = self.ran(inputs, seed)?;
        let outputs = self.model.executable.plan.outputs.iter();
        Ok(outputs.map(|&number| (self.value(number).name.clone(), self.tensor(number, &ran))).collect())
    }

    /// Returns the first step with a result that differs from the model's value.
    fn culprit(
        &self,
        inputs: &FieldValues,
        seed: u64,
        _wrong: (&str, usize),
        expected: &dyn Expected,
    ) -> Result<Option<Culprit>, TargetError> {
        let ran = self.ran(inputs, seed)?;
        let own = self.model.executable.plan.of_graph();
        let steps = self.model.executable.plan.steps.iter().enumerate();
        let found = steps.filter(|(_, step)| step.result < own).find_map(|(number, step)| {
            let elements = self.tensor(step.result, &ran).elements;
            let place = elements.iter().position(|&element| !expected.is_known(element))?;
            Some((number, place, elements[place]))
        });
        Ok(found.map(|(step, place, value)| culprit::written(&self.model.executable, step, place, value)))
    }
}
