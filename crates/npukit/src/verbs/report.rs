//! `npu report`: all that is known of a program, as one page for a browser.

mod network;

use npukit_report::{Distribution, Format, Gathering, Run, Timeline, document_of};
use npukit_target::{Instance, Phase, TargetError, TimeOptions, TimeReport, record};
use serde::Serialize;
use serde_json::Value;

pub use npukit_report::Report;
use npukit_report::figure::{roofline, timeline};

use super::{check, compile, run, time};
use crate::Context;
use crate::compare::layer_compare;
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess};
use crate::model::origin::Origin;
use crate::model::program::Program;
use crate::model::source::{Input, Source};
use crate::report::verdict::SaturationRisk;

/// What to report of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The model or the artifact.
    pub source: Source,
    /// Samples to run: without them nothing is said of values.
    pub inputs: Vec<InputFile>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// Options of timing, beside those of the source.
    pub time: time::Request,
    /// A page, or what `npu report --json` has printed, to stand beside this one.
    pub against: Option<String>,
}

/// What is known of a run, and whether it is a success.
pub struct Reported {
    /// What the page shows.
    pub report: Report,
    /// Figures for papers: file name and SVG.
    pub figures: Vec<(&'static str, String)>,
    /// What its user should know of, and what a model lacks that the target does not take.
    pub warnings: Vec<String>,
    /// Whether there is a program.
    pub success: bool,
}

/// Compiles, times and, with samples, runs.
///
/// A model that the target does not take has a report of why.
///
/// # Errors
///
/// Those of [`compile`](super::compile::compile), [`time`](super::time::time) and [`run`](super::run::run); but for
/// [`Error::Refused`]. [`Error::NotReport`] for another file to be held against.
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

/// As [`report`], of the program that `request.source` has become; `compiled` is what its compilation reported, as JSON.
///
/// # Errors
///
/// Those of [`report`], but for what has become of the source.
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
    let figures = figures(&time.time, timeline.as_ref(), &time.name);
    let mut warnings: Vec<String> = time.warnings.clone();
    warnings.extend(ran.iter().flat_map(|run| &run.warnings).cloned());
    warnings.dedup();
    let run = found(program, &time, ran.as_ref(), request)?;
    let run = Run { compile: compiled, timeline, timeline_missing, ..run };
    Ok(Reported { figures, warnings, success: true, ..Reported::new(run, other) })
}

impl Reported {
    /// A run, beside the other one if there is one.
    fn new(mut run: Run, other: Option<Value>) -> Self {
        let mut title = format!("{} on {}", run.model, run.target);
        if let Some(label) = other.as_ref().and_then(|other| other.get("label")).and_then(Value::as_str) {
            title += &format!(", beside {label}");
            if label == run.label {
                run.label += ", new";
            }
        }
        let runs = std::iter::once(json(&run)).chain(other).collect();
        let report = Report { version: run.version, title, runs, exploration: None };
        Self { report, figures: Vec::new(), warnings: Vec::new(), success: false }
    }
}

/// The run of a report that was made before, to be held against.
fn other(request: &Request, context: Context<'_>) -> Result<Option<Value>, Error> {
    let Some(path) = &request.against else { return Ok(None) };
    let no_report = |reason: &str| Error::NotReport { path: path.clone(), reason: reason.to_owned() };
    let bytes = context.reader.read(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| no_report("it is no text"))?;
    let document = document_of(text).ok_or_else(|| {
        no_report("it is neither a page of `npu report` nor what `npu report --json` prints")
    })?;
    let run = document.get("runs").and_then(|runs| runs.get(0)).cloned();
    run.map(Some).ok_or_else(|| no_report("it is of an exploration, which has no run"))
}

/// What a verb would print, but for how long it took: a page of the same is the same.
pub(super) fn json(report: &impl Serialize) -> Value {
    // Reports are maps of strings to numbers, texts and lists: they always serialise.
    let mut json = serde_json::to_value(report).unwrap_or_else(|error| {
        debug_assert!(false, "{error}");
        Value::Null
    });
    json.as_object_mut().map(|fields| fields.remove("seconds"));
    json
}

/// What every run says of itself.
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
        // Default: the instance of an artifact is not at hand.
        parameters: instance.map(|instance| instance.info().parameters.clone()).unwrap_or_default(),
        area: instance.and_then(|instance| instance.info().area.clone()),
        format,
        ..Run::default()
    }
}

/// Of a model that the target does not take.
fn refused(request: &Request, report: &check::Report, context: Context<'_>) -> Result<Run, Error> {
    let instance = request.source.instance(context.reader)?;
    let run = about(request, Some(&*instance), instance.info().name.clone());
    let timeline_missing = Some("the target does not take the model: there is no program".to_owned());
    Ok(Run { check: Some(json(report)), timeline_missing, ..run })
}

/// What is known of a program beside its timeline.
fn found(
    program: &Program,
    time: &time::Report,
    ran: Option<&run::Report>,
    request: &Request,
) -> Result<Run, Error> {
    let origin = program.origin.as_ref();
    let instance = origin.map(|origin| &*origin.instance);
    let memories = {
        let _phase = Phase::begin("map memories");
        program.compiled().memory_maps(&time.time)
    };
    let graph = origin.map(|origin| network::network(origin, program.compiled(), &time.time)).transpose()?;
    let layers = ran.and_then(|run| run.layer_compare.as_ref());
    Ok(Run {
        check: origin.map(|origin| checked(origin, program)).transpose()?.as_ref().map(json),
        distributions: layers.map_or_else(Vec::new, |layers| distributions(layers, instance)),
        run: ran.map(json),
        time: Some(json(time)),
        memories,
        // Default: of an artifact the network is not known.
        graph: graph.unwrap_or_default(),
        ..about(request, instance, time.target.clone())
    })
}

/// The program, and what its compilation says when it is compiled here.
fn program(request: &Request, context: Context<'_>) -> Result<(Program, Option<compile::Report>), Error> {
    let Request { source, inputs, .. } = request;
    if !matches!(source.input(context)?, Input::Model) {
        return Ok((source.program_for(inputs, context)?, None));
    }
    let request = compile::Request { source: source.clone(), ..compile::Request::default() };
    let compile::Made { report, program, .. } = compile::compile_for(&request, inputs, context)?;
    Ok((program, Some(report)))
}

/// What the samples give, each layer beside float where there is a model.
fn ran(program: &Program, request: &Request, context: Context<'_>) -> Result<run::Report, Error> {
    let request = run::Request {
        source: request.source.clone(),
        inputs: request.inputs.clone(),
        preprocess: request.preprocess.clone(),
        compare: program.origin.is_some(),
        meaning: request.time.meaning,
        ..run::Request::default()
    };
    Ok(run::run_program(program, &request, context)?.0)
}

fn checked(origin: &Origin, program: &Program) -> Result<check::Report, Error> {
    let weights = origin.altered_weights()?;
    let risk = SaturationRisk::of(origin, &weights, program.report().saturated_constants, 0, None);
    Ok(check::of_compiled(origin, program.compiled(), risk, &weights, origin.remarks().notes))
}

/// What each unit does when, or why that is not known.
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

fn figures(time: &TimeReport, units: Option<&Timeline>, name: &str) -> Vec<(&'static str, String)> {
    let units = units.and_then(|units| timeline(units, name));
    let all = [("roofline.svg", roofline(time, name)), ("timeline.svg", units)];
    all.into_iter().filter_map(|(file, svg)| Some((file, svg?))).collect()
}

/// How large the results of each layer are that is in memory as it is.
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
