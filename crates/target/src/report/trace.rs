//! [`write_trace`]: what each unit of a program does when, as a file.

use std::io::Write;

use npukit_trace::{
    About, Chrome, Counts, FST_EXTENSION, Fst, PERFETTO_EXTENSIONS, Perfetto, Recorder, Sink,
};
use serde::Serialize;

use crate::contract::program::Compiled;
use crate::error::TargetError;
use crate::report::breakdown::OUTSIDE;
use crate::report::time::{TimeOptions, TimeReport};

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// JSON, which Perfetto and `chrome://tracing` read.
    Chrome,
    /// Perfetto's protobuf.
    Perfetto,
    /// Waveforms, which GTKWave and Surfer read.
    Fst,
}

impl TraceFormat {
    /// That of files whose names end in `extension`, without the dot: JSON, unless it is one of another.
    pub fn of_extension(extension: &str) -> Self {
        match extension {
            FST_EXTENSION => Self::Fst,
            _ if PERFETTO_EXTENSIONS.contains(&extension) => Self::Perfetto,
            _ => Self::Chrome,
        }
    }
}

/// How much a trace has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TraceReport {
    /// Tracks, counters among them.
    pub tracks: usize,
    /// Slices of work and of layers.
    pub slices: u64,
    /// Slices of waits.
    pub waits: u64,
    /// Values of counters.
    pub counter_values: u64,
    /// Arrows from a load to its first use.
    pub flows: u64,
    /// The layers it has; none for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<String>>,
}

/// The layers that events of a program can be of, by their place: its own, and what is outside of all.
fn layers(compiled: &(impl Compiled + ?Sized)) -> Vec<String> {
    let mut layers = compiled.info().report.layers.clone();
    if !layers.is_empty() {
        layers.push(OUTSIDE.to_owned());
    }
    layers
}

/// Writes what each unit of a program does when, as a Chrome trace.
///
/// # Errors
///
/// Those of [`Compiled::time`] and [`Compiled::record`]; what `out` refuses.
pub fn chrome_trace(
    compiled: &(impl Compiled + ?Sized),
    options: &TimeOptions,
    out: &mut dyn Write,
) -> Result<(), TargetError> {
    let time = compiled.time(options)?;
    write_trace(compiled, options, &time, TraceFormat::Chrome, None, out).map(|_| ())
}

/// Writes what each unit of a program does when, whose `time` was reported with the same options. `chosen` says by
/// layer whether its events are written; none for all, and for those of no layer.
///
/// # Errors
///
/// Those of [`Compiled::record`]; what `out` refuses.
pub fn write_trace(
    compiled: &(impl Compiled + ?Sized),
    options: &TimeOptions,
    time: &TimeReport,
    format: TraceFormat,
    chosen: Option<Vec<bool>>,
    out: &mut dyn Write,
) -> Result<TraceReport, TargetError> {
    let names = chosen.as_ref().map(|chosen| {
        let layers = layers(compiled);
        let shown = layers.iter().zip(chosen).filter(|(_, shown)| **shown);
        shown.map(|(name, _)| name.clone()).collect()
    });
    let (_, counts) = match format {
        TraceFormat::Chrome => record(compiled, options, time, chosen, Chrome::new(out)),
        TraceFormat::Perfetto => record(compiled, options, time, chosen, Perfetto::new(out)),
        TraceFormat::Fst => record(compiled, options, time, chosen, Fst::new(out)),
    }?;
    let Counts { tracks, slices, waits, values, flows } = counts;
    Ok(TraceReport { tracks, slices, waits, counter_values: values, flows, layers: names })
}

/// Tells `sink` what each unit of a program does when, as [`write_trace`] does, and gives the cycles of the whole.
///
/// # Errors
///
/// Those of [`Compiled::record`]; what the sink refuses.
pub fn record<'a>(
    compiled: &(impl Compiled + ?Sized),
    options: &TimeOptions,
    time: &TimeReport,
    chosen: Option<Vec<bool>>,
    sink: impl Sink + 'a,
) -> Result<(u64, Counts), TargetError> {
    let about = About {
        program: compiled.info().report.name.clone(),
        clock_mhz: time.clock_mhz,
        // Default: a program without cycles has windows of any width.
        cycles: time.cycles.values().copied().max().unwrap_or(0),
        layers: layers(compiled),
    };
    let mut recorder = Recorder::new(sink, about, chosen);
    let cycles = compiled.record(options, &mut recorder)?;
    Ok((cycles, recorder.finish(cycles).map_err(TargetError::failed)?))
}
