//! `npu run`: runs a program over samples, bit-exactly; a model is also compared with float.

mod asm_run;
mod float_reference;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::time::Instant;

use npukit_graph::Graph;
use npukit_target::{
    CompileEstimate, Compiled, HazardMode, HostStepReport, RunOptions, RunResult, Saturation, Saturations,
    TargetError, TimeOptions, UninitMemory,
};
use serde::Serialize;

use crate::Context;
use crate::compare::device_dump;
use crate::compare::layer_compare::{self, Requested, Run, compare_layers};
use crate::compare::shape_source::ShapeSource;
use crate::error::Error;
use crate::inputs::{self, InputFile, Preprocess, Sample, Samples, wanted};
use crate::model;
use crate::model::compile_job::CompileJob;
use crate::model::program::Program;
use crate::model::remarks::Remarks;
use crate::model::source::Source;
use crate::numbers::accuracy::{self, Labels};
use crate::numbers::doubt;
use crate::numbers::max_error::MaxError;
use crate::numbers::non_finite::NonFinite;
use crate::numbers::quantize;
use crate::numbers::underflow;
use crate::report::comparison::Comparison;
use crate::report::coverage::Coverage;
use crate::report::rescale::Report as RescalingReport;
use crate::run::batch::{in_model_shape, machine_by, machine_calls};
use crate::run::latency::{Speed, batch, segment_of, timed};
use crate::run::samples::{DumpedTensor, OutputReport, Outputs, reports};
use crate::run::stack::Stack;
use crate::run::stateful::{Stateful, States};
use crate::run::waves::Waves;
use crate::targets::is_artifact;
use float_reference::FloatReference;

pub(crate) use asm_run::asm_machine;
pub use asm_run::{AsmReport, AsmRunFiles, AsmRunOptions, Expectations, FailedExpectation, run_asm};

/// Parameters of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Program to run.
    pub source: Source,
    /// Inputs of the program.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the inputs.
    pub preprocess: Preprocess,
    /// Whether samples are calls with a state.
    pub stateful: Stateful,
    /// Model that an artifact was compiled from; its names and shapes are used for inputs and
    /// outputs, and the outputs are compared with it in float.
    pub model: Option<String>,
    /// Whether to return the machine's integers instead of real values.
    pub raw: bool,
    /// Whether to compare every layer with float.
    pub compare: bool,
    /// Outputs that a driver read from a board, `[NAME=]FILE`, to compare bit for bit.
    pub board: Option<String>,
    /// Whether to return every tensor.
    pub dump: bool,
    /// How hazards are handled: as the hardware does, or sequentially.
    pub meaning: HazardMode,
    /// Largest accepted difference from float.
    pub max_error: Option<MaxError>,
    /// Whether unreliable outputs make the run fail: inputs saturate, or the error is too large.
    pub strict: bool,
    /// Whether reading unwritten memory is a fault.
    pub check: bool,
    /// Accuracy to measure, if any.
    pub accuracy: Option<accuracy::Options>,
    /// Future path of the waveforms, if requested.
    pub waves: Option<String>,
    /// Options for assembly programs.
    pub asm_options: AsmRunOptions,
}

impl Request {
    /// Refuses options that need a model or an artifact.
    fn check(&self) -> Result<(), Error> {
        if self.asm_options != AsmRunOptions::default() {
            return Err(Error::OnlyAssembly { path: self.source.path.clone() });
        }
        if self.model.is_some() && !is_artifact(&self.source.path) {
            return Err(Error::NeedlessModel { path: self.source.path.clone() });
        }
        let (unused, advice) = match (self.requested() != Requested::default(), self.max_error) {
            (true, _) => ("`--compare` or `--dump`", COMPARING),
            (_, Some(_)) if self.model.is_none() => ("`--max-error` without `--model`", LIMITING),
            _ if self.strict => ("`--strict`", LIMITING),
            _ => return Ok(()),
        };
        if is_artifact(&self.source.path) {
            let (path, option) = (self.source.path.clone(), unused.to_owned());
            return Err(Error::NeedlessOption { path, option, advice });
        }
        Ok(())
    }

    /// Records the waveforms of the program, if requested.
    fn waves(&self, compiled: &dyn Compiled) -> Result<Option<Waves>, Error> {
        self.waves.as_deref().map(|path| Waves::of(compiled, self.meaning, path)).transpose()
    }

    fn requested(&self) -> Requested {
        Requested { compare: self.compare, dump: self.dump }
    }

    /// Runs a sample. An artifact runs on memory with random contents, like on a board; its first
    /// sample runs twice in a row, and first with unwritten reads as faults. A program with such
    /// reads is reported in `unwritten`, and then runs anyway.
    fn run_sample(
        &self,
        compiled: &dyn Compiled,
        place: usize,
        sample: &Sample,
        unwritten: &OnceLock<TargetError>,
    ) -> Result<RunResult, TargetError> {
        let is_artifact = is_artifact(&self.source.path);
        let unset = match (self.check, is_artifact) {
            (true, _) => UninitMemory::Poison,
            (false, true) => UninitMemory::Garbage(GARBAGE),
            (false, false) => UninitMemory::Zero,
        };
        let times = if is_artifact && place == 0 { TWICE } else { NonZeroU32::MIN };
        let options = RunOptions { meaning: self.meaning, unset, times, ..RunOptions::default() };
        if is_artifact && place == 0 && !self.check {
            match compiled.run_with(sample, &RunOptions { unset: UninitMemory::Poison, ..options }) {
                Err(error) => unwritten.get_or_init(|| error),
                ran => return ran,
            };
        }
        compiled.run_with(sample, &options)
    }
}

/// Advice on comparing layers of an artifact.
const COMPARING: &str = "`npu run MODEL --target TARGET --compare` compares every layer; `--model MODEL` compares the outputs of an artifact with float, and `--compare=FILE` with data from a board";
/// Advice on limiting the error of an artifact.
const LIMITING: &str =
    "`--max-error` limits the difference from the model that it was compiled from: add `--model MODEL`";
/// Seed of the memory contents before an artifact runs.
const GARBAGE: u64 = 0x6E70_756B;
const TWICE: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// Report of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Choices of the compiler; empty for artifacts.
    pub choices: BTreeMap<String, String>,
    /// Number of samples run.
    pub samples: usize,
    /// Time of a run on the machine, at the board's clock.
    #[serde(flatten)]
    pub speed: Speed,
    /// Outputs over all samples.
    pub outputs: Vec<OutputReport>,
    /// Difference from the float reference; only for models, and artifacts with their model.
    #[serde(flatten)]
    pub comparison: Option<Comparison>,
    /// Accuracy, if labels were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<accuracy::Report>,
    /// Number of inputs and results that saturated, over all samples.
    pub saturations: u64,
    /// Number of inputs that saturated.
    pub saturated_inputs: u64,
    /// Number of results that saturated, by layer.
    pub saturations_by_layer: Vec<Saturation>,
    /// Counts of NaN and infinity.
    pub non_finite: NonFinite,
    /// Values that the number format rounds to zero; only for models on targets with a fixed-point
    /// format.
    pub underflow: Option<underflow::Report>,
    /// Result of the calibration, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaling: Option<RescalingReport>,
    /// Result of the quantization, for integer-only targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization: Option<quantize::Report>,
    /// Comparison of every layer with float, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_compare: Option<layer_compare::Report>,
    /// Tensors in the dump, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dump: Vec<DumpedTensor>,
    /// Share of the model that the accelerator computes.
    #[serde(flatten)]
    pub on_chip: Coverage,
    /// Steps that the host runs.
    pub host_steps: Vec<HostStepReport>,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Reasons why the run failed, one sentence each: exceeded limits, and comparisons with NaN or
    /// infinity.
    pub failures: Vec<String>,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Files {
    /// Contents of the `.npz` file of the outputs.
    pub outputs: Vec<u8>,
    /// Contents of the `.npz` file of every tensor, if requested. `machine/NAME` is the value
    /// `NAME` of the compiled graph on the machine. With a comparison, `float/NAME` is the value in
    /// the whole network in float, and `layer/NAME` the result of its layer in float on the
    /// machine's operands. All are in the model's scale.
    pub dump: Option<Vec<u8>>,
    /// Waveforms, if requested.
    pub waves: Option<Waves>,
}

/// Runs all samples; also returns the files.
///
/// # Errors
///
/// Fails as [`compile`](super::compile::compile) does for a model. Returns:
///
/// - [`Error::Target`] for an artifact that cannot be loaded, and if the machine faults,
/// - [`Error::NeedlessTarget`] and [`Error::NeedlessOption`] for options that only apply to models,
/// - [`Error::UnknownInput`], [`Error::Array`], [`Error::Media`], [`Error::Preprocess`] and
///   [`Error::Port`] for inputs,
/// - [`Error::State`] if no output can feed an input,
/// - [`Error::Eval`] if the float evaluator fails.
pub fn run(request: &Request, context: Context<'_>) -> Result<(Report, Files), Error> {
    let start = Instant::now();
    request.check()?;
    let measured = request.accuracy.as_ref();
    let labels = measured.map(|options| Labels::read(&options.labels, context.reader)).transpose()?;
    let labels = labels.map(|labels| labels.first(request.preprocess.samples));
    let source = request.source.without(request.model.as_ref());
    let program = source.program_for(&request.inputs, context)?;
    let (mut report, outputs) = ran(&program, request, labels, context)?;
    let is_compared = request.model.is_some() || request.board.is_some();
    if is_artifact(&request.source.path) && !is_compared {
        report.notes.push("not compared with float: --model names the model for it".to_owned());
    }
    report.seconds = start.elapsed().as_secs_f64();
    let waves = request.waves(&*program.compiled)?;
    Ok((report, Files { outputs: outputs.npz(request.raw)?, dump: outputs.dump, waves }))
}

/// Like [`run`], for the program that `request.source` was compiled to.
///
/// # Errors
///
/// Fails as [`run`] does, except for errors of the source.
pub fn run_program(
    program: &Program,
    request: &Request,
    context: Context<'_>,
) -> Result<(Report, Outputs), Error> {
    request.check()?;
    let measured = request.accuracy.as_ref();
    let labels = measured.map(|options| Labels::read(&options.labels, context.reader)).transpose()?;
    let labels = labels.map(|labels| labels.first(request.preprocess.samples));
    ran(program, request, labels, context)
}

fn ran(
    Program { compiled, origin, .. }: &Program,
    request: &Request,
    labels: Option<Labels>,
    context: Context<'_>,
) -> Result<(Report, Outputs), Error> {
    let start = Instant::now();
    let outcome = Outcome::of(request, &**compiled, origin.as_ref(), context)?;
    let of_board = |file: &String| device_dump::compare(file, &outcome.stacks, context.reader);
    // Default: nothing to compare without a dump of a board.
    let board = request.board.as_ref().map(of_board).transpose()?.unwrap_or_default();
    let mut reference = match origin {
        Some(origin) => outcome.reference(origin)?,
        None => outcome.beside_model()?,
    };
    let accuracy = labels
        .as_ref()
        .zip(request.accuracy.as_ref())
        .map(|(labels, options)| labels.judge(options, &outcome.stacks, Some(&reference.outputs)));
    let accuracy = accuracy.transpose()?;
    let dump = reference.dump.as_mut().map(|dump| std::mem::take(&mut dump.npz));
    let (mut report, stacks) = outcome.report(origin.as_ref(), reference, accuracy, start);
    if origin.is_none() {
        report.speed.segment_of = segment_of(&request.source.path, &report.name, context.reader);
    }
    report.notes.extend(board.notes);
    report.failures.extend(board.failures);
    Ok((report, Outputs { stacks, dump }))
}

/// Whether the tensors of a sample have the shapes of the graph's inputs.
fn have_shapes(sample: &Sample, graph: &Graph) -> bool {
    graph.inputs.iter().all(|&id| {
        let name = &graph.value(id).name;
        sample.iter().any(|(other, tensor)| other == name && tensor.shape() == graph.shape(id))
    })
}

/// Returns the warning for a program that faults only if reading unwritten memory is a fault.
fn unwritten_message(error: &TargetError) -> String {
    let chain = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let mut messages: Vec<String> = chain.map(ToString::to_string).collect();
    // A transparent error repeats the message of its cause.
    messages.dedup();
    let error = messages.join(": ");
    format!(
        "the program reads memory that was never written, and that has arbitrary contents on a board: {error}; `--check` stops there"
    )
}

/// Results of all samples on the machine.
struct Outcome<'a> {
    request: &'a Request,
    compiled: &'a dyn Compiled,
    samples: Vec<Sample>,
    /// Notes on how the inputs were read.
    notes: Vec<String>,
    /// Warning if the program reads unwritten memory.
    unwritten: Option<String>,
    stacks: Vec<Stack>,
    saturations: Saturations,
    /// Model of an artifact, and the samples in its shapes; unless samples are calls with a state.
    beside: Option<(Graph, Vec<Sample>)>,
}

impl<'a> Outcome<'a> {
    fn of(
        request: &'a Request,
        compiled: &'a dyn Compiled,
        origin: Option<&CompileJob>,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
        let shapes = request.model.as_ref().map(|path| {
            let options = request.source.model.for_artifact(compiled)?;
            let model = model::load(path, &options, &request.inputs, context.reader)?;
            ShapeSource::new(compiled, &model, path).map(|shapes| (shapes, model.graph))
        });
        let (shapes, graph) = shapes.transpose()?.unzip();
        let inputs = match &shapes {
            Some(shapes) => shapes.inputs(),
            None => wanted::of_program(compiled, origin.map(|origin| &origin.model)),
        };
        let stateful = match origin {
            Some(origin) => request.stateful.with_states(&origin.model.states),
            None => request.stateful.clone(),
        };
        let states = States::of(&stateful, &compiled.inputs(), &compiled.outputs())?;
        let (files, preprocess, states) = (&request.inputs, &request.preprocess, states.as_ref());
        let text = Some(&read_text as &inputs::ReadText<'_>);
        let Samples { mut samples, mut notes } =
            inputs::samples_of_calls(files, &inputs, preprocess, context.reader, text, states)?;
        let fit = |graph: &Graph| states.is_none() && samples.iter().all(|sample| have_shapes(sample, graph));
        let beside = graph.filter(fit).map(|graph| (graph, samples.clone()));
        if let Some(shapes) = &shapes {
            notes.splice(0..0, shapes.notes());
            samples = samples.into_iter().map(|sample| shapes.packed(sample)).collect();
        }
        let unwritten = OnceLock::new();
        let run = |place, sample: &Sample| request.run_sample(compiled, place, sample, &unwritten);
        let (stacks, saturations) = match states {
            Some(states) => machine_calls(compiled, &mut samples, states, run)?,
            None => machine_by(compiled, &samples, run)?,
        };
        let unwritten = unwritten.into_inner().map(|error| unwritten_message(&error));
        let stacks = if let Some(shapes) = &shapes { shapes.unpacked(stacks) } else { stacks };
        Ok(Self { request, compiled, samples, notes, unwritten, stacks, saturations, beside })
    }

    /// Compares an artifact with its model in float, if the model is given.
    fn beside_model(&self) -> Result<FloatReference, Error> {
        let mut reference = FloatReference::of(&self.samples, &self.stacks);
        if let Some((graph, samples)) = &self.beside {
            reference.compare_artifact(graph, samples, &self.stacks)?;
        }
        Ok(reference)
    }

    /// Compares with the model in float, including the requested details of its layers.
    fn reference(&self, origin: &CompileJob) -> Result<FloatReference, Error> {
        let (compiled, mut reference) = (self.compiled, FloatReference::of(&self.samples, &self.stacks));
        let model_samples = in_model_shape(compiled, &self.samples);
        let comparison = reference.compare(origin, compiled, &model_samples, &self.stacks)?;
        let requested = self.request.requested();
        if requested != Requested::default() {
            let run = Run {
                origin,
                compiled,
                samples: &self.samples,
                model_samples: &model_samples,
                stacks: &self.stacks,
                comparison,
                saturations: &self.saturations,
            };
            (reference.layer_compare, reference.dump) = compare_layers(&run, requested)?;
        }
        Ok(reference)
    }

    /// Returns the time of a run, or the reason why it is unknown; neither for a target without a
    /// clock.
    fn speed(&self, stated: Option<usize>) -> (Speed, Option<String>) {
        let options = TimeOptions { meaning: self.request.meaning, ..TimeOptions::default() };
        match timed(self.compiled, &options) {
            Ok(time) => (Speed::of(&time, batch(&self.compiled.inputs(), stated)), None),
            Err(TargetError::Unsupported { .. }) => (Speed::default(), None),
            Err(error) => (Speed::default(), Some(format!("the program's time is unknown: {error}"))),
        }
    }

    /// Returns the remarks of the run, with the warnings `message`, and the reasons why it failed.
    fn judged(
        &mut self,
        origin: Option<&CompileJob>,
        reference: &FloatReference,
        accuracy: Option<&accuracy::Report>,
        message: Vec<String>,
    ) -> (Remarks, Vec<String>) {
        // Default: an artifact without a model has no remarks.
        let remarks = origin.map(CompileJob::remarks).unwrap_or_default();
        let mut remarks = remarks.with_notes(std::mem::take(&mut self.notes));
        remarks.warnings.extend(message);
        remarks.warnings.extend(self.unwritten.take());
        remarks.warnings.extend(reference.warnings(self.request, origin, &self.saturations));
        let mut failures = reference.failures(self.request.max_error);
        let minimum = self.request.accuracy.as_ref().and_then(|options| options.minimum);
        failures.extend(accuracy.and_then(|report| report.failure(minimum)));
        let doubt = origin.zip(reference.comparison.as_ref());
        let doubt =
            doubt.and_then(|(origin, found)| doubt::doubt(origin, &self.saturations, found, &self.samples));
        if doubt.is_none() {
            let question = origin.and_then(|origin| doubt::unscaled(origin, &self.samples));
            let is_squashed = reference.squashed.is_some();
            let place = if is_squashed { &mut remarks.warnings } else { &mut remarks.notes };
            place.extend(question);
        }
        if origin.is_none() {
            remarks.warnings.extend(doubt::of_artifact(self.compiled, &self.saturations, &self.samples));
        }
        let is_strict = self.request.strict || self.request.max_error.is_some() || minimum.is_some();
        if is_strict {
            failures.extend(doubt);
        } else if !origin.is_some_and(|origin| reference.suggests_calibration(origin, &self.saturations)) {
            remarks.warnings.extend(doubt);
        }
        (remarks, failures)
    }

    fn report(
        mut self,
        origin: Option<&CompileJob>,
        reference: FloatReference,
        accuracy: Option<accuracy::Report>,
        start: Instant,
    ) -> (Report, Vec<Stack>) {
        let program = self.compiled.report();
        let (speed, untimed) = self.speed(origin.and_then(|origin| origin.model.batch));
        let on_chip = Coverage::of(&CompileEstimate::of(self.compiled));
        let mut messages: Vec<String> = on_chip.warning().into_iter().collect();
        // Warnings of an artifact were reported when it was compiled.
        messages.extend(origin.iter().flat_map(|_| program.warnings.iter().cloned()));
        messages.extend(untimed);
        let (remarks, failures) = self.judged(origin, &reference, accuracy.as_ref(), messages);
        let Remarks { notes, warnings } = remarks;
        let found = origin.map(|origin| (origin.rescaling.clone(), origin.quantization.clone()));
        // Default: an artifact was rescaled and quantized, if at all, when it was compiled.
        let (rescaling, quantization) = found.unwrap_or_default();
        let report = Report {
            name: program.name,
            target: program.target,
            choices: program.choices,
            samples: self.samples.len(),
            speed,
            outputs: reports(&self.stacks),
            comparison: reference.comparison,
            accuracy,
            saturations: self.saturations.total(),
            saturated_inputs: self.saturations.inputs,
            saturations_by_layer: self.saturations.layers,
            non_finite: reference.non_finite,
            underflow: reference.underflow,
            rescaling,
            quantization,
            layer_compare: reference.layer_compare,
            // Default: no tensors if no dump was requested.
            dump: reference.dump.map(|dump| dump.tensors).unwrap_or_default(),
            on_chip,
            host_steps: program.host_steps,
            notes,
            warnings,
            failures,
            seconds: start.elapsed().as_secs_f64(),
        };
        (report, self.stacks)
    }
}
