//! `npu time`: how long a program takes, and where the time goes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use npukit_target::{Compiled, InstructionTime, Meaning, ProgramReport, Stage, TimeOptions, TimeReport};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::options;
use crate::remarks::Remarks;
use crate::source::Source;

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
    /// File name extension of the trace, without the dot: that of a format of the target's own tools, if it
    /// has one of that name.
    pub trace_extension: Option<String>,
}

/// Where to write what is too long for a report.
#[derive(Default)]
pub struct Sinks<'a> {
    /// Takes what each unit does when: a Chrome trace, or what [`Request::trace_extension`] names.
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
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Cycles, time and layers.
    #[serde(flatten)]
    pub time: TimeReport,
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
/// Those of [`compile`](super::compile::compile) for a model, [`Error::Target`] for an artifact that cannot
/// be loaded; [`Error::NeedlessTarget`] and [`Error::NeedlessOption`] for options that are for models;
/// [`Error::Target`] for options or sinks that the target does not have; [`Error::Write`] when a sink does
/// not take what is written.
pub fn time_with(request: &Request, sinks: Sinks<'_>, context: Context<'_>) -> Result<Report, Error> {
    let stage = if sinks.samples.is_some() { Stage::Samples } else { Stage::Time };
    let (source, options) = options::for_time(&request.source, &request.options, stage)?;
    let program = source.program(context)?;
    let compiled = program.compiled();
    let options = TimeOptions { options, meaning: request.meaning };
    let mut time = match &request.from_samples {
        Some(path) => compiled.time_samples(path, &context.reader.read(path)?, &options)?,
        None => compiled.time(&options)?,
    };
    if let Some(out) = sinks.trace {
        match &request.trace_extension {
            Some(extension) => compiled.trace_as(extension, &options, out)?,
            None => compiled.trace(&options, out)?,
        }
    }
    if let Some(out) = sinks.cycles {
        compiled.cycles(&options, out)?;
    }
    if let Some(out) = sinks.samples {
        compiled.samples(&options, out)?;
    }
    if let Some(out) = sinks.instructions {
        write_instructions(&time, out).map_err(Error::Write)?;
    }
    let Remarks { notes, mut warnings } = program.remarks();
    time.notes.splice(0..0, notes);
    let quantisation = program.origin.iter().filter_map(|origin| origin.quantisation.as_ref());
    warnings.extend(quantisation.flat_map(|report| report.warnings.iter().cloned()));
    Ok(Report { warnings, ..Report::new(compiled, time) })
}

impl Report {
    /// Of a program and its time.
    pub(crate) fn new(compiled: &dyn Compiled, time: TimeReport) -> Self {
        let ProgramReport { name, target, instructions, macs, .. } = compiled.report();
        Self { name, target, instructions, macs, warnings: Vec::new(), time }
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

/// A field of a CSV file, in quotes where it needs them.
fn quoted(text: &str) -> String {
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
