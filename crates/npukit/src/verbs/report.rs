//! `npu report`: a page for a browser with everything known about a program.

mod network;

use npukit_base::{counted, distinct};
use npukit_report::{Distribution, Format, Gathering, Run, Timeline, document_of};
use npukit_target::{Instance, Phase, Saturations, TargetError, TimeOptions, TimeReport, record};
use serde::Serialize;
use serde_json::Value;

pub use npukit_report::Report;
use npukit_report::figure::{self, LayerEnergy, breakdown, roofline, timeline};

use super::{check, compile, run, time};
use crate::Context;
use crate::compare::layer_compare;
use crate::costs::{Energy, EnergyParts};
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess};
use crate::model::compile_job::CompileJob;
use crate::model::program::Program;
use crate::model::source::{Input, Source};
use crate::numbers::accuracy;
use crate::report::verdict::SaturationRisk;
use crate::run::batch::machine;

/// Parameters of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Model or artifact.
    pub source: Source,
    /// Samples to run; without them, the report has no values.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the samples.
    pub preprocess: Preprocess,
    /// Measurement of accuracy on labeled samples, if requested; it needs samples.
    pub accuracy: Option<accuracy::Options>,
    /// Options of timing, in addition to the source's options.
    pub time: time::Request,
    /// Page, or output of `npu report --json`, to compare with.
    pub against: Option<String>,
}

/// Report, and whether it was successful.
pub struct Reported {
    /// Contents of the page.
    pub report: Report,
    /// Figures for papers, as file name and SVG text.
    pub figures: Vec<(&'static str, String)>,
    /// Warnings for the user, and problems of an unsupported model.
    pub warnings: Vec<String>,
    /// Description of the steps that the program went through, without a period.
    pub program: String,
    /// Whether a program was compiled.
    pub success: bool,
}

/// Compiles, times and, if there are samples, runs the model. For a refused model, the report lists
/// the reasons.
///
/// # Errors
///
/// Fails as [`compile`](super::compile::compile), [`time`](super::time::time) and
/// [`run`](super::run::run) do, except for [`Error::Refused`]. Returns [`Error::NotReport`] if the
/// other file is not a report.
pub fn report(request: &Request, context: Context<'_>) -> Result<Reported, Error> {
    match program(request, context) {
        Err(Error::Refused { report }) => {
            let run = refused(request, &report, context)?;
            Ok(Reported::new(run, other(request, context)?))
        }
        made => {
            let (program, compiled) = made?;
            report_program(&program, compiled.as_ref().map(json), request, context)
        }
    }
}

/// Like [`report`], for the program that `request.source` was compiled to. `compiled` is the report
/// of its compilation, as JSON.
///
/// # Errors
///
/// Fails as [`report`] does, except for errors of the source.
pub fn report_program(
    program: &Program,
    compiled: Option<Value>,
    request: &Request,
    context: Context<'_>,
) -> Result<Reported, Error> {
    let other = other(request, context)?;
    let time = time::time_program(program, &request.time, time::Sinks::default(), context)?;
    let ran = (!request.inputs.is_empty()).then(|| ran(program, request, context)).transpose()?;
    let (timeline, timeline_missing) = gathered(program, request, &time.time)?;
    let figures = figures(&time, timeline.as_ref());
    let warnings = distinct(time.warnings.iter().chain(ran.iter().flat_map(|run| &run.warnings)));
    let run = found(program, &time, ran.as_ref(), request, context)?;
    let compile = match (&ran, &program.origin) {
        (Some(_), Some(origin)) => compiled.map(|compiled| without_assumption(compiled, origin)),
        _ => compiled,
    };
    let run = Run { compile, timeline, timeline_missing, ..run };
    let program = done(program, ran.as_ref());
    Ok(Reported { figures, warnings, program, success: true, ..Reported::new(run, other) })
}

impl Reported {
    /// Creates the report of a run, next to the other one if there is one.
    fn new(mut run: Run, other: Option<Value>) -> Self {
        let mut title = format!("{} on {}", run.model, run.target);
        if let Some(label) = other.as_ref().and_then(|other| other.get("label")).and_then(Value::as_str) {
            title += &format!(", next to {label}");
            if label == run.label {
                run.label += ", new";
            }
        }
        let runs = std::iter::once(json(&run)).chain(other).collect();
        let report = Report { version: run.version, title, runs, exploration: None };
        let program = "the target does not support the model".to_owned();
        Self { report, figures: Vec::new(), warnings: Vec::new(), program, success: false }
    }
}

/// Describes what was done with a program.
fn done(program: &Program, ran: Option<&run::Report>) -> String {
    let made = if program.origin.is_some() { "compiled and timed" } else { "timed" };
    let Some(run) = ran else { return made.to_owned() };
    let samples = counted(run.samples as u64, "sample");
    if run.comparison.is_some() {
        format!("{made}, run on {samples} and compared with float")
    } else {
        format!("{made}, run on {samples}; not compared with float, as the model is not given")
    }
}

/// Removes the note on the assumed range of values from the report of a compilation: samples that
/// were run show their range.
fn without_assumption(mut compiled: Value, origin: &CompileJob) -> Value {
    let assumption = origin.assumed_range();
    if let Some(notes) = compiled.get_mut("notes").and_then(Value::as_array_mut) {
        notes.retain(|note| note.as_str() != assumption.as_deref());
    }
    compiled
}

/// Reads the run of the report to compare with.
fn other(request: &Request, context: Context<'_>) -> Result<Option<Value>, Error> {
    let Some(path) = &request.against else { return Ok(None) };
    let no_report = |reason: &str| Error::NotReport { path: path.clone(), reason: reason.to_owned() };
    let bytes = context.reader.read(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| no_report("it is not text"))?;
    let document = document_of(text).ok_or_else(|| {
        no_report("it is neither a page of `npu report` nor what `npu report --json` prints")
    })?;
    let run = document.get("runs").and_then(|runs| runs.get(0)).cloned();
    run.map(Some).ok_or_else(|| no_report("it belongs to an exploration, which has no run"))
}

/// Returns the JSON of a verb without its run time, so that equal runs give equal pages.
pub(super) fn json(report: &impl Serialize) -> Value {
    // Reports are maps of strings to numbers, texts and lists, so they always serialize.
    let mut json = serde_json::to_value(report).unwrap_or_else(|error| {
        debug_assert!(false, "{error}");
        Value::Null
    });
    json.as_object_mut().map(|fields| fields.remove("seconds"));
    json
}

/// Returns the part of the report that every run has.
fn about(request: &Request, instance: Option<&dyn Instance>, target: String) -> Run {
    let format = instance.and_then(|instance| instance.info().number_format);
    let format = format.map(|format| Format {
        name: format.to_string(),
        step: format.step(),
        largest: format.largest(),
    });
    Run {
        label: target.clone(),
        model: request.source.path.clone(),
        target,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        // Default: the instance of an artifact is not available.
        parameters: instance.map(|instance| instance.info().parameters.clone()).unwrap_or_default(),
        area: instance.and_then(|instance| instance.info().area.clone()),
        format,
        ..Run::default()
    }
}

/// Creates the run of a refused model.
fn refused(request: &Request, report: &check::Report, context: Context<'_>) -> Result<Run, Error> {
    let instance = request.source.instance(context.reader)?;
    let run = about(request, Some(&*instance), instance.info().name.clone());
    let timeline_missing = Some("the target does not support the model, so there is no program".to_owned());
    Ok(Run { check: Some(json(report)), timeline_missing, ..run })
}

/// Creates the run of a program, without its timeline.
fn found(
    program: &Program,
    time: &time::Report,
    ran: Option<&run::Report>,
    request: &Request,
    context: Context<'_>,
) -> Result<Run, Error> {
    let origin = program.origin.as_ref();
    let instance = origin.map(|origin| &*origin.instance);
    let memories = {
        let _phase = Phase::begin("map memories");
        program.compiled().memory_maps(&time.time)
    };
    let graph = origin.map(|origin| network::network(origin, program.compiled(), &time.time)).transpose()?;
    let layers = ran.and_then(|run| run.layer_compare.as_ref());
    let check = origin.map(|origin| {
        let measured = measured(origin, program, ran, request, context)?;
        checked(origin, program, measured)
    });
    Ok(Run {
        check: check.transpose()?.as_ref().map(json),
        distributions: layers.map_or_else(Vec::new, |layers| distributions(layers, instance)),
        run: ran.map(json),
        time: Some(json(time)),
        memories,
        // Default: the network of an artifact is unknown.
        graph: graph.unwrap_or_default(),
        ..about(request, instance, time.target.clone())
    })
}

/// Returns the program, and the report of its compilation if it is compiled here.
fn program(request: &Request, context: Context<'_>) -> Result<(Program, Option<compile::Report>), Error> {
    let Request { source, inputs, .. } = request;
    if !matches!(source.input(context)?, Input::Model) {
        return Ok((source.program_for(inputs, context)?, None));
    }
    let request = compile::Request { source: source.clone(), ..compile::Request::default() };
    let compile::Compilation { report, program, .. } = compile::compile_for(&request, inputs, context)?;
    Ok((program, Some(report)))
}

/// Runs the samples; compares each layer with float if there is a model.
fn ran(program: &Program, request: &Request, context: Context<'_>) -> Result<run::Report, Error> {
    let request = run::Request {
        source: request.source.clone(),
        inputs: request.inputs.clone(),
        preprocess: request.preprocess.clone(),
        compare: program.origin.is_some(),
        meaning: request.time.meaning,
        accuracy: request.accuracy.clone(),
        ..run::Request::default()
    };
    Ok(run::run_program(program, &request, context)?.0)
}

/// Number of samples, and the values that saturated on them; `None` without samples.
type Measured = (usize, Option<Saturations>);

/// Returns what saturated on the samples of the run, or on the calibration samples without a run.
fn measured(
    origin: &CompileJob,
    program: &Program,
    ran: Option<&run::Report>,
    request: &Request,
    context: Context<'_>,
) -> Result<Measured, Error> {
    if let Some(run) = ran {
        let (inputs, layers) = (run.saturated_inputs, run.saturations_by_layer.clone());
        return Ok((run.samples, Some(Saturations { inputs, results: run.saturations - inputs, layers })));
    }
    let samples = request.source.calibration_samples(&origin.model, context)?.samples;
    let found = (!samples.is_empty()).then(|| machine(program.compiled(), &samples)).transpose()?;
    Ok((samples.len(), found.map(|(_, saturations)| saturations)))
}

fn checked(origin: &CompileJob, program: &Program, measured: Measured) -> Result<check::Report, Error> {
    let weights = origin.altered_weights()?;
    let constants = program.report().saturated_constants;
    let (samples, found) = measured;
    let risk = SaturationRisk::of(origin, &weights, constants, samples, found.as_ref());
    Ok(check::of_compiled(origin, program.compiled(), risk, &weights, origin.remarks().notes))
}

/// Returns the activity of each unit over time, or the reason why it is unknown.
fn gathered(
    program: &Program,
    request: &Request,
    time: &TimeReport,
) -> Result<(Option<Timeline>, Option<String>), Error> {
    let _phase = Phase::begin("gather the timeline");
    let gathering = Gathering::default();
    let options = TimeOptions {
        options: request.time.options.clone(),
        meaning: request.time.meaning,
        ..TimeOptions::default()
    };
    match record(program.compiled(), &options, time, None, gathering.clone()) {
        Ok((cycles, _)) => Ok((Some(gathering.timeline(cycles)), None)),
        Err(error @ TargetError::Unsupported { .. }) => Ok((None, Some(error.to_string()))),
        Err(error) => Err(error.into()),
    }
}

fn figures(report: &time::Report, units: Option<&Timeline>) -> Vec<(&'static str, String)> {
    let (time, name) = (&report.time, &report.name);
    let causes = units.and_then(|units| breakdown(time, units, name));
    let energy = report.energy.as_ref().and_then(|found| energy(found, name));
    let units = units.and_then(|units| timeline(units, name));
    let all = [
        ("roofline.svg", roofline(time, name)),
        ("breakdown.svg", causes),
        ("energy.svg", energy),
        ("timeline.svg", units),
    ];
    all.into_iter().filter_map(|(file, svg)| Some((file, svg?))).collect()
}

/// Draws the energy of each layer; `None` if a part of it is unknown.
fn energy(found: &Energy, name: &str) -> Option<String> {
    let parts: Vec<&str> =
        std::iter::once("MACs").chain(found.total.memories.keys().map(String::as_str)).collect();
    let layer = |layer: &EnergyParts| {
        let joules = std::iter::once(layer.macs).chain(layer.memories.values().copied());
        Some(LayerEnergy { name: layer.name.clone(), joules: joules.collect::<Option<_>>()? })
    };
    let layers: Vec<LayerEnergy> = found.layers.iter().map(layer).collect::<Option<_>>()?;
    figure::energy(&parts, &layers, name)
}

/// Returns the distribution of each layer's results that are in memory unchanged.
fn distributions(layers: &layer_compare::Report, instance: Option<&dyn Instance>) -> Vec<Distribution> {
    let format = instance.and_then(|instance| instance.info().number_format);
    let one = |(layer, found): (usize, &layer_compare::LayerError)| {
        let [chip, float] = found.magnitudes.as_ref()?;
        let (low, on_chip, in_float) = chip.common(float);
        let scale = f64::from(found.exponent).exp2();
        Some(Distribution {
            layer,
            name: found.name.clone(),
            low,
            chip: on_chip,
            float: in_float,
            chip_zeros: chip.zeros,
            float_zeros: float.zeros,
            step: format.and_then(|format| format.step()).map(|step| step * scale),
            largest: format.map(|format| format.largest() * scale),
        })
    };
    layers.layers.iter().enumerate().filter_map(one).collect()
}
