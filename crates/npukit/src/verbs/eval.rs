//! `npu eval`: a model through the float evaluator alone.

use std::time::Instant;

use npukit_graph::{Graph, integer_forms};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::inputs::{self, InputFile, Preprocess, Samples, wanted};
use crate::model::{self, Model, ModelOptions};
use crate::numbers::accuracy::{self, Labels};
use crate::numbers::finite::NonFinite;
use crate::numbers::weights;
use crate::run::batch::{float, float_calls};
use crate::run::eval_limits;
use crate::run::samples::{OutputReport, Outputs, reports};
use crate::run::stateful::{Stateful, States};

/// What to evaluate, on what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The `.onnx`, `.pb` or `.tflite` file.
    pub path: String,
    /// How it is read.
    pub model: ModelOptions,
    /// Its inputs.
    pub inputs: Vec<InputFile>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// Whether samples are calls that hand on a state.
    pub stateful: Stateful,
    /// Evaluates a model that takes far more time or memory than its size suggests, too.
    pub unlimited: bool,
    /// Measures accuracy.
    pub accuracy: Option<accuracy::Options>,
}

/// What was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the model.
    pub name: String,
    /// Samples evaluated.
    pub samples: usize,
    /// Outputs over all samples.
    pub outputs: Vec<OutputReport>,
    /// Labels found, when there are labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<accuracy::Report>,
    /// NaN and infinity.
    pub non_finite: NonFinite,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Why the evaluation is not a success, a sentence each.
    pub failures: Vec<String>,
    /// Of everything.
    pub seconds: f64,
}

/// Evaluates all samples; also gives the `.npz` of the outputs.
///
/// # Errors
///
/// [`Error::Read`], [`Error::UnknownFile`], [`Error::Import`] and [`Error::OpenDimensions`] for the model;
/// [`Error::Operations`] and [`Error::Memory`] when it takes more than fits its size;
/// [`Error::UnknownInput`], [`Error::Array`], [`Error::Media`], [`Error::Preprocess`] and [`Error::Port`] for inputs;
/// [`Error::State`] for calls that hand on nothing; [`Error::Eval`] when an operator fails.
pub fn eval(request: &Request, context: Context<'_>) -> Result<(Report, Vec<u8>), Error> {
    let (report, outputs) = eval_outputs(request, context)?;
    Ok((report, outputs.npz(false)?))
}

/// As [`eval`], with the outputs as they are.
///
/// # Errors
///
/// Those of [`eval`].
pub fn eval_outputs(request: &Request, context: Context<'_>) -> Result<(Report, Outputs), Error> {
    let start = Instant::now();
    let model = model::load(&request.path, &request.model, &request.inputs, context.reader)?;
    if !request.unlimited {
        eval_limits::check(&model.graph.name, &model.graph)?;
    }
    let measured = request.accuracy.as_ref();
    let labels = measured.map(|options| Labels::read(&options.labels, context.reader)).transpose()?;
    let (inputs, preprocess) = (wanted::of_model(&model), &request.preprocess);
    let stateful = request.stateful.with_states(&model.states);
    let states = States::of(&stateful, &model::ports(&model.graph), &model::output_ports(&model.graph))?;
    let (files, states) = (&request.inputs, states.as_ref());
    let Samples { samples, notes: found } =
        inputs::samples_of_calls(files, &inputs, preprocess, context.reader, None, states)?;
    let graph = with_integers(&model);
    let stacks = match states {
        Some(states) => float_calls(&graph, &samples, states)?,
        None => float(&graph, &samples)?,
    };
    let accuracy = labels.as_ref().zip(measured);
    let accuracy = accuracy.map(|(labels, options)| labels.judge(options, &stacks, None)).transpose()?;
    let minimum = measured.and_then(|options| options.minimum);
    let failures = accuracy.iter().filter_map(|report| report.failure(minimum)).collect();
    let mut non_finite = NonFinite::of(&samples, &stacks);
    let (constants, sentences) = weights::non_finite_constants(&model.graph);
    non_finite.constants = constants;
    let doubtful = non_finite.warnings().into_iter().chain(sentences);
    let warnings = model.remarks.warnings.iter().cloned().chain(doubtful).collect();
    let report = Report {
        name: model.graph.name.clone(),
        samples: samples.len(),
        outputs: reports(&stacks),
        accuracy,
        non_finite,
        notes: model.remarks.with_notes(found).notes,
        warnings,
        failures,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((report, Outputs { stacks, dump: None }))
}

/// The model with the operators between integers that it has, or has in parts: computed on the integers.
fn with_integers(model: &Model) -> Graph {
    let mut graph = model.graph.clone();
    integer_forms(&mut graph);
    graph
}
