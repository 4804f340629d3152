//! `npu eval`: runs a model through the float evaluator only.

use std::io::Write;
use std::time::Instant;

use npukit_graph::{Graph, integer_forms};
use serde::Serialize;

use crate::Context;
use crate::compare::traced::Given;
use crate::error::Error;
use crate::inputs::{self, InputFile, Preprocess, Samples, wanted};
use crate::model::{self, Model, ModelOptions};
use crate::numbers::accuracy::{self, Labels};
use crate::numbers::non_finite::NonFinite;
use crate::numbers::weights;
use crate::run::batch::{float, float_calls};
use crate::run::eval_limits;
use crate::run::samples::{DumpedTensor, OutputReport, Outputs, reports};
use crate::run::stateful::{Stateful, States};
use crate::verbs::trace::{TracedTensor, trace_model};

/// Parameters of an evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Path of the `.onnx`, `.pb` or `.tflite` file.
    pub path: String,
    /// Options for reading the model.
    pub model: ModelOptions,
    /// Inputs of the model.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the inputs.
    pub preprocess: Preprocess,
    /// Whether samples are calls with a state.
    pub stateful: Stateful,
    /// Whether to evaluate a model that takes far more time or memory than its size suggests.
    pub unlimited: bool,
    /// Accuracy to measure, if any.
    pub accuracy: Option<accuracy::Options>,
}

/// Report of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the model.
    pub name: String,
    /// Number of samples evaluated.
    pub samples: usize,
    /// Outputs over all samples.
    pub outputs: Vec<OutputReport>,
    /// Accuracy, if labels were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<accuracy::Report>,
    /// Counts of NaN and infinity.
    pub non_finite: NonFinite,
    /// Tensors in the dump, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dump: Vec<DumpedTensor>,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Reasons why the evaluation failed, one sentence each.
    pub failures: Vec<String>,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Evaluates all samples; also returns the `.npz` file of the outputs.
///
/// # Errors
///
/// - [`Error::Read`], [`Error::UnknownFile`], [`Error::Import`] and [`Error::OpenDimensions`] for
///   the model,
/// - [`Error::Operations`] and [`Error::Memory`] if it takes more than the limit for its size,
/// - [`Error::UnknownInput`], [`Error::Array`], [`Error::Media`], [`Error::Preprocess`] and
///   [`Error::Port`] for inputs,
/// - [`Error::State`] if no output can feed an input,
/// - [`Error::Eval`] if an operator fails.
pub fn eval(request: &Request, context: Context<'_>) -> Result<(Report, Vec<u8>), Error> {
    let (report, outputs) = eval_outputs(request, context)?;
    Ok((report, outputs.npz(false)?))
}

/// Like [`eval`]; also writes an `.npz` file of every tensor to `dump`, as
/// [`trace`](super::trace::trace) does, and returns the list of tensors.
///
/// # Errors
///
/// Fails as [`eval`] does, and with [`Error::Write`] if writing to `dump` fails.
pub fn eval_and_dump(
    request: &Request,
    dump: &mut dyn Write,
    context: Context<'_>,
) -> Result<(Report, Vec<u8>, Vec<TracedTensor>), Error> {
    let start = Instant::now();
    let model = loaded(request, context)?;
    let given = Given { inputs: &request.inputs, preprocess: &request.preprocess };
    let tensors = trace_model(&model, given, dump, context)?;
    let (mut report, outputs) = eval_model(&model, request, start, context)?;
    report.dump = tensors.iter().cloned().map(DumpedTensor::from).collect();
    Ok((report, outputs.npz(false)?, tensors))
}

/// Like [`eval`], but returns the outputs as tensors.
///
/// # Errors
///
/// Fails as [`eval`] does.
pub fn eval_outputs(request: &Request, context: Context<'_>) -> Result<(Report, Outputs), Error> {
    let start = Instant::now();
    eval_model(&loaded(request, context)?, request, start, context)
}

fn loaded(request: &Request, context: Context<'_>) -> Result<Model, Error> {
    let model = model::load(&request.path, &request.model, &request.inputs, context.reader)?;
    if !request.unlimited {
        eval_limits::check(&model.graph.name, &model.graph)?;
    }
    Ok(model)
}

fn eval_model(
    model: &Model,
    request: &Request,
    start: Instant,
    context: Context<'_>,
) -> Result<(Report, Outputs), Error> {
    let measured = request.accuracy.as_ref();
    let labels = measured.map(|options| Labels::read(&options.labels, context.reader)).transpose()?;
    let labels = labels.map(|labels| labels.first(request.preprocess.samples));
    let (inputs, preprocess) = (wanted::of_model(model), &request.preprocess);
    let stateful = request.stateful.with_states(&model.states);
    let states = States::of(&stateful, &model::ports(&model.graph), &model::output_ports(&model.graph))?;
    let (files, states) = (&request.inputs, states.as_ref());
    let Samples { samples, notes: found } =
        inputs::samples_of_calls(files, &inputs, preprocess, context.reader, None, states)?;
    let graph = with_integers(model);
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
        dump: Vec::new(),
        notes: model.remarks.clone().with_notes(found).notes,
        warnings,
        failures,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((report, Outputs { stacks, dump: None }))
}

/// Returns the model with its quantized operators (also those given as several nodes)
/// evaluated on integers.
fn with_integers(model: &Model) -> Graph {
    let mut graph = model.graph.clone();
    integer_forms(&mut graph);
    graph
}
