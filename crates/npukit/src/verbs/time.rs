//! `npu time`: how long a program takes, and where the time goes.

mod layers;

use std::collections::BTreeMap;
use std::io::{self, Write};

use npukit_target::{
    Compiled, HostStepReport, InstructionTime, Meaning, Phase, ProgramReport, Stage, Survey, TimeForm,
    TimeOptions, TimeReport, TraceFormat, TraceReport, write_trace,
};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::model::program::Program;
use crate::model::remarks::Remarks;
use crate::model::source::Source;
use crate::options;
use crate::report::on_chip::OnChip;
use crate::run::speed::{Speed, batch, timed};
use crate::targets::cost_model_name;

/// What to time, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The program. Options of timing may stand among its own.
    pub source: Source,
    /// The target's own options of timing, by name.
    pub options: BTreeMap<String, String>,
    /// A file of what the hardware's sampling unit gave, to report instead of what we compute.
    pub from_samples: Option<String>,
    /// What counts where hardware computes something else than the instructions say.
    pub meaning: Meaning,
    /// File name extension of the trace, without the dot: that of Perfetto's protobuf, or of a format of the
    /// target's own tools; otherwise it is JSON.
    pub trace_extension: Option<String>,
    /// The layers of which the trace tells: a name, a pattern with `*`, or the first and the last one as `A..B`. None
    /// for the whole program.
    pub trace_range: Option<String>,
}

/// Where to write what is too long for a report.
#[derive(Default)]
pub struct Sinks<'a> {
    /// Takes what each unit does when: JSON, or what [`Request::trace_extension`] names.
    pub trace: Option<&'a mut dyn Write>,
    /// Takes what every part of the machine does in each cycle, as text.
    pub cycles: Option<&'a mut dyn Write>,
    /// Takes what the hardware's sampling unit would give.
    pub samples: Option<&'a mut dyn Write>,
    /// Takes the cycles of each instruction, as CSV.
    pub instructions: Option<&'a mut dyn Write>,
}

/// How long a program takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Instructions.
    pub instructions: usize,
    /// Multiply-accumulates of the model; none when the artifact does not say.
    pub macs: Option<u64>,
    /// Time of a run at the board's clock; none when the clock is not known.
    pub latency_ms: Option<f64>,
    /// Samples a second, one run after the other; none when the clock is not known. Runs a second where `batch` is not
    /// known.
    pub frames_per_second: Option<f64>,
    /// Samples that a run takes: the batch of the program. None where inputs may have one that nobody stated.
    pub batch: Option<usize>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// How much of the model the chip does.
    #[serde(flatten)]
    pub on_chip: OnChip,
    /// Steps left to the host, which are not timed.
    pub host_steps: Vec<HostStepReport>,
    /// What people call the cost model whose key among the cycles is `model`.
    pub cost_model: String,
    /// Cycles, time and layers.
    #[serde(flatten)]
    pub time: TimeReport,
    /// What was written of the trace, if one was asked for in a format that all targets have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceReport>,
}

/// Times a program, on its board and by the hardware's cycles.
///
/// # Errors
///
/// Those of [`time_with`].
pub fn time(source: &Source, context: Context<'_>) -> Result<Report, Error> {
    let request = Request { source: source.clone(), ..Request::default() };
    time_with(&request, Sinks::default(), context)
}

/// Times a program as asked, and fills what is to be filled.
///
/// # Errors
///
/// Those of [`compile`](super::compile::compile) for a model, [`Error::UnknownName`] and [`Error::TraceRange`] for
/// layers that the program does not have, [`Error::Target`] for an artifact that cannot
/// be loaded; [`Error::NeedlessTarget`] and [`Error::NeedlessOption`] for options that are for models;
/// [`Error::Target`] for options or sinks that the target does not have; [`Error::Write`] when a sink does
/// not take what is written.
pub fn time_with(request: &Request, sinks: Sinks<'_>, context: Context<'_>) -> Result<Report, Error> {
    let (source, options) = options_of(request, &sinks, context)?;
    report(&source.program(context)?, options, request, sinks, context)
}

/// As [`time_with`], of the program that `request.source` has become.
///
/// # Errors
///
/// Those of [`time_with`], but for what has become of the source.
pub fn time_program(
    program: &Program,
    request: &Request,
    sinks: Sinks<'_>,
    context: Context<'_>,
) -> Result<Report, Error> {
    let (_, options) = options_of(request, &sinks, context)?;
    report(program, options, request, sinks, context)
}

/// The source with the options of its compilation, and those of timing.
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
    let options = TimeOptions { options, meaning: request.meaning, ..TimeOptions::default() };
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
        // What its files lack, and its compilation warned of.
        warnings.extend(compiled.report().warnings);
    }
    time.notes.splice(0..0, notes);
    Ok(Report { warnings, trace, ..Report::new(compiled, batch, time) })
}

/// Writes the trace; what it has is none in a format of the target's own tools.
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
    let forms = compiled.info().time_forms.iter().copied();
    let mut own = forms.filter_map(|form| if let TimeForm::Trace(own) = form { Some(own) } else { None });
    if let Some(extension) = own.find(|own| Some(*own) == extension) {
        if let Some(range) = range {
            let reason = format!("a trace whose name ends in .{extension} has no layers to choose from");
            return Err(Error::TraceRange { range: range.to_owned(), reason });
        }
        compiled.write_time(TimeForm::Trace(extension), options, out)?;
        return Ok(None);
    }
    let chosen = range.map(|range| layers::chosen(range, &compiled.report().layers)).transpose()?;
    let format = extension.map_or(TraceFormat::Chrome, TraceFormat::of_extension);
    Ok(Some(write_trace(compiled, options, time, format, chosen, out)?))
}

impl Report {
    /// The time of a run at the board's clock, with where that is from.
    pub fn speed(&self) -> Speed {
        Speed::of(&self.time, self.batch)
    }

    /// Of a program and its time.
    pub(crate) fn new(compiled: &dyn Compiled, batch: Option<usize>, time: TimeReport) -> Self {
        let ProgramReport { name, target, instructions, macs, host_steps, .. } = compiled.report();
        let Speed { latency_ms, frames_per_second, .. } = Speed::of(&time, batch);
        let (warnings, cost_model) = (Vec::new(), cost_model_name(&target, &time.model));
        Self {
            name,
            target,
            instructions,
            macs,
            latency_ms,
            frames_per_second,
            batch,
            warnings,
            on_chip: OnChip::of(&Survey::of(compiled)),
            host_steps,
            cost_model,
            time,
            trace: None,
        }
    }
}

/// A line for each instruction: its index, layer, kind and cycles.
fn write_instructions(time: &TimeReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "instruction,layer,kind,cycles")?;
    for (index, &InstructionTime { layer, kind, cycles }) in time.instructions.iter().enumerate() {
        let layer = layer.and_then(|place| time.layers.get(place)).map_or("", |layer| &layer.name);
        let kind = time.kinds.get(kind).map_or("", |kind| &kind.kind);
        writeln!(out, "{index},{},{kind},{cycles}", quoted(layer))?;
    }
    Ok(())
}

/// A field of a CSV file, in quotes where it needs them (RFC 4180).
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
