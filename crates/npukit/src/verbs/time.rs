//! `npu time`: how long a program takes, and where the time is spent.

pub(crate) mod language;
mod layers;

use std::collections::BTreeMap;
use std::io::{self, Write};

use npukit_target::{
    CompileEstimate, Compiled, HazardMode, HostStepReport, InstructionTime, Phase, ProgramReport, Stage,
    TimeForm, TimeOptions, TimeReport, TraceFormat, TraceReport, write_trace,
};
use serde::Serialize;

use crate::Context;
use crate::costs::{Costs, Energy, HostTime};
use crate::error::Error;
use crate::model::program::Program;
use crate::model::remarks::Remarks;
use crate::model::source::Source;
use crate::options;
use crate::report::coverage::Coverage;
use crate::run::latency::{Speed, batch, segment_of, timed};
use crate::targets::cost_model_name;

pub use language::{LanguageReport, LanguageRequest, language};

/// Parameters of a time report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Program to time; its options may include options of timing.
    pub source: Source,
    /// Options of the target for timing, by name.
    pub options: BTreeMap<String, String>,
    /// File of samples from the hardware's sampling unit, to report instead of a simulation.
    pub from_samples: Option<String>,
    /// How hazards are handled: as the hardware does, or sequentially.
    pub meaning: HazardMode,
    /// File name extension of the trace, without the dot: one of [`TraceFormat::EXTENSIONS`], or of
    /// a format of the target's own tools. `None` for JSON.
    pub trace_extension: Option<String>,
    /// Layers in the trace: a name, a pattern with `*`, or the first and the last one as `A..B`.
    /// `None` for the whole program.
    pub trace_range: Option<String>,
    /// Costs beyond the accelerator's cycles to report.
    pub costs: Costs,
}

/// Destinations of data that is too long for a report.
#[derive(Default)]
pub struct Sinks<'a> {
    /// Receives the activity of each unit over time, as JSON or in the format that
    /// [`Request::trace_extension`] names.
    pub trace: Option<&'a mut dyn Write>,
    /// Receives the activity of every part of the machine in each cycle, as text.
    pub cycles: Option<&'a mut dyn Write>,
    /// Receives the output of a simulated sampling unit.
    pub samples: Option<&'a mut dyn Write>,
    /// Receives the cycles of each instruction, as CSV.
    pub instructions: Option<&'a mut dyn Write>,
}

/// Time report of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Number of instructions.
    pub instructions: usize,
    /// Multiply-accumulates of the model; `None` if the artifact does not record them.
    pub macs: Option<u64>,
    /// Time of a run in milliseconds at the board's clock; `None` if the clock is unknown.
    pub latency_ms: Option<f64>,
    /// Samples per second, one run after the other; runs per second if `batch` is unknown. `None`
    /// if the clock is unknown.
    pub frames_per_second: Option<f64>,
    /// Number of samples per run: the batch of the program. `None` if inputs may have an
    /// unspecified batch.
    pub batch: Option<usize>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Share of the model that the accelerator computes.
    #[serde(flatten)]
    pub on_chip: Coverage,
    /// Steps that run on the host. `latency_ms` does not include their time.
    pub host_steps: Vec<HostStepReport>,
    /// Estimated time of the host, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostTime>,
    /// Energy, if a technology was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// Display name of the cost model whose key is `clock`.
    pub cost_model: String,
    /// Cycles, time and layers.
    #[serde(flatten)]
    pub time: TimeReport,
    /// Manifest of the program that has this one as a segment; `None` for a whole program.
    #[serde(skip)]
    pub segment_of: Option<String>,
    /// Contents of the trace, if one was requested in a format that all targets support.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceReport>,
}

/// Times a program at its board's clock, by the cycle-accurate cost model if there is one.
///
/// # Errors
///
/// Fails as [`time_with`] does.
pub fn time(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    let request = Request { source: source.clone(), ..Request::default() };
    time_with(&request, Sinks::default(), context)
}

/// Times a program with options, and writes the requested data to `sinks`.
///
/// # Errors
///
/// Fails as [`compile`](super::compile::compile) does for a model. Returns:
///
/// - [`Error::UnknownName`] and [`Error::TraceRange`] for unknown layers,
/// - [`Error::TraceExtension`] for an unknown extension of the trace,
/// - [`Error::Target`] for an artifact that cannot be loaded, and for options or sinks that the
///   target does not support,
/// - [`Error::NeedlessTarget`] and [`Error::NeedlessOption`] for options that only apply to models,
/// - [`Error::Write`] if writing to a sink fails.
pub fn time_with(request: &Request, sinks: Sinks<'_>, context: Context<'_>) -> Result<Report, Error> {
    let (source, options) = options_of(request, &sinks, context)?;
    report(&source.program(context)?, options, request, sinks, context)
}

/// Like [`time_with`], for the program that `request.source` was compiled to.
///
/// # Errors
///
/// Fails as [`time_with`] does, except for errors of the source.
pub fn time_program(
    program: &Program,
    request: &Request,
    sinks: Sinks<'_>,
    context: Context<'_>,
) -> Result<Report, Error> {
    let (_, options) = options_of(request, &sinks, context)?;
    report(program, options, request, sinks, context)
}

/// Separates the options of compilation and of timing.
fn options_of(
    request: &Request,
    sinks: &Sinks<'_>,
    context: Context<'_>,
) -> Result<(Source, BTreeMap<String, String>), Error> {
    let stage = if sinks.samples.is_some() { Stage::Samples } else { Stage::Time };
    options::for_time(&request.source, &request.options, stage, context)
}

fn report(
    program: &Program,
    options: BTreeMap<String, String>,
    request: &Request,
    sinks: Sinks<'_>,
    context: Context<'_>,
) -> Result<Report, Error> {
    let compiled = program.compiled();
    let options = TimeOptions {
        options,
        meaning: request.meaning,
        counts_activity: request.costs.technology.is_some(),
        ..TimeOptions::default()
    };
    check_extension(request, compiled)?;
    let mut time = match &request.from_samples {
        Some(path) => compiled.time_samples(path, &context.reader.read(path)?, &options)?,
        None => timed(compiled, &options)?,
    };
    let trace = sinks.trace.map(|out| trace(request, compiled, &options, &time, out)).transpose()?.flatten();
    if let Some(out) = sinks.cycles {
        let _phase = Phase::begin("write cycles");
        compiled.write_time(TimeForm::Cycles, &options, out)?;
    }
    if let Some(out) = sinks.samples {
        let _phase = Phase::begin("write samples");
        compiled.write_time(TimeForm::Samples, &options, out)?;
    }
    if let Some(out) = sinks.instructions {
        let _phase = Phase::begin("write instructions");
        write_instructions(&time, out).map_err(Error::Write)?;
    }
    let batch = batch(&program.inputs(), program.origin.as_ref().and_then(|origin| origin.model.batch));
    let Remarks { notes, mut warnings } = program.remarks();
    if program.origin.is_none() {
        // Warnings about missing data in its files, and of its compilation.
        warnings.extend(compiled.report().warnings);
    }
    time.notes.splice(0..0, notes);
    let host = request.costs.host.map(|rates| HostTime::of(rates, compiled.info(), time.milliseconds, batch));
    let energy = request.costs.energy(&time);
    let whole = || segment_of(&request.source.path, &compiled.report().name, context.reader);
    let segment_of = program.origin.is_none().then(whole).flatten();
    Ok(Report { warnings, trace, host, energy, segment_of, ..Report::new(compiled, batch, time) })
}

/// Returns the extensions of traces in the formats of the target's own tools.
fn own_extensions(compiled: &dyn Compiled) -> impl Iterator<Item = &'static str> {
    let forms = compiled.info().time_forms.iter().copied();
    forms.filter_map(|form| if let TimeForm::Trace(own) = form { Some(own) } else { None })
}

/// Refuses a trace with an unknown extension.
fn check_extension(request: &Request, compiled: &dyn Compiled) -> Result<(), Error> {
    let Some(extension) = request.trace_extension.as_deref() else { return Ok(()) };
    let all = || TraceFormat::EXTENSIONS.into_iter().chain(own_extensions(compiled));
    if all().any(|legal| legal == extension) {
        return Ok(());
    }
    let legal: Vec<String> = all().map(|legal| format!(".{legal}")).collect();
    Err(Error::TraceExtension { extension: extension.to_owned(), legal: legal.join(", ") })
}

/// Writes the trace; returns `None` as its description for a format of the target's own tools.
fn trace(
    request: &Request,
    compiled: &dyn Compiled,
    options: &TimeOptions,
    time: &TimeReport,
    out: &mut dyn Write,
) -> Result<Option<TraceReport>, Error> {
    let _phase = Phase::begin("write trace");
    let extension = request.trace_extension.as_deref();
    let range = request.trace_range.as_deref();
    if let Some(extension) = own_extensions(compiled).find(|own| Some(*own) == extension) {
        if let Some(range) = range {
            let reason = format!("a trace with the extension .{extension} cannot be limited to layers");
            return Err(Error::TraceRange { range: range.to_owned(), reason });
        }
        compiled.write_time(TimeForm::Trace(extension), options, out)?;
        return Ok(None);
    }
    let chosen = range.map(|range| layers::chosen(range, &compiled.report().layers)).transpose()?;
    // Default: JSON without an extension.
    let format = extension.and_then(TraceFormat::of_extension).unwrap_or(TraceFormat::Chrome);
    Ok(Some(write_trace(compiled, options, time, format, chosen, out)?))
}

impl Report {
    /// Returns the time of a run at the board's clock, and the source of the clock figure.
    pub fn speed(&self) -> Speed {
        Speed { segment_of: self.segment_of.clone(), ..Speed::of(&self.time, self.batch) }
    }

    /// Creates the report of a program and its time.
    pub(crate) fn new(compiled: &dyn Compiled, batch: Option<usize>, time: TimeReport) -> Self {
        let ProgramReport { name, target, instructions, macs, host_steps, .. } = compiled.report();
        let Speed { latency_ms, frames_per_second, .. } = Speed::of(&time, batch);
        let (warnings, cost_model) = (Vec::new(), cost_model_name(&target, &time.clock));
        Self {
            name,
            target,
            instructions,
            macs,
            latency_ms,
            frames_per_second,
            batch,
            warnings,
            on_chip: Coverage::of(&CompileEstimate::of(compiled)),
            host_steps,
            host: None,
            energy: None,
            cost_model,
            time,
            segment_of: None,
            trace: None,
        }
    }
}

/// Writes one line per instruction: its index, layer, kind and cycles.
fn write_instructions(time: &TimeReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "instruction,layer,kind,cycles")?;
    for (index, &InstructionTime { layer, kind, cycles }) in time.instructions.iter().enumerate() {
        let layer = layer.and_then(|place| time.layers.get(place)).map_or("", |layer| &layer.name);
        let kind = time.kinds.get(kind).map_or("", |kind| &kind.kind);
        writeln!(out, "{index},{},{kind},{cycles}", quoted(layer))?;
    }
    Ok(())
}

/// Formats a field of a CSV file, in quotes if necessary (RFC 4180).
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must() {
        assert_eq!(quoted("conv+relu"), "conv+relu");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
