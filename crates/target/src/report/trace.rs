//! [`write_trace`]: a file with the activity of each unit over time.

use std::io::Write;

use npukit_trace::{
    About, Chrome, Counts, FST_EXTENSION, Fst, PERFETTO_EXTENSIONS, Perfetto, Recorder, Sink,
};
use serde::Serialize;

use crate::contract::program::Compiled;
use crate::error::TargetError;
use crate::report::breakdown::OUTSIDE;
use crate::report::time::{TimeOptions, TimeReport};

/// Extension of Chrome's format.
const JSON_EXTENSION: &str = "json";

/// File format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// JSON, for Perfetto and `chrome://tracing`.
    Chrome,
    /// Perfetto's protobuf format.
    Perfetto,
    /// Waveforms, for GTKWave and Surfer.
    Fst,
}

impl TraceFormat {
    /// Extensions of files in all formats, without the dot.
    pub const EXTENSIONS: [&str; 4] =
        [PERFETTO_EXTENSIONS[0], PERFETTO_EXTENSIONS[1], FST_EXTENSION, JSON_EXTENSION];

    /// Returns the format for one of [`Self::EXTENSIONS`]; `None` for other extensions.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            FST_EXTENSION => Some(Self::Fst),
            JSON_EXTENSION => Some(Self::Chrome),
            _ => PERFETTO_EXTENSIONS.contains(&extension).then_some(Self::Perfetto),
        }
    }
}

/// Size of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TraceReport {
    /// Number of tracks, including counters.
    pub tracks: usize,
    /// Number of slices of work and of layers.
    pub slices: u64,
    /// Number of slices of waits.
    pub waits: u64,
    /// Number of counter values.
    pub counter_values: u64,
    /// Number of arrows from a load to its first use.
    pub flows: u64,
    /// Names of the layers in the trace; null for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<String>>,
}

/// Returns the names of the layers by index, followed by the name for events outside all layers.
fn layers(compiled: &(impl Compiled + ?Sized)) -> Vec<String> {
    let mut layers = compiled.info().report.layers.clone();
    if !layers.is_empty() {
        layers.push(OUTSIDE.to_owned());
    }
    layers
}

/// Writes the activity of each unit as a Chrome trace.
///
/// # Errors
///
/// The errors of [`Compiled::time`] and [`Compiled::record`]; write errors of `out`.
pub fn chrome_trace(
    compiled: &(impl Compiled + ?Sized),
    options: &TimeOptions,
    out: &mut dyn Write,
) -> Result<(), TargetError> {
    let time = compiled.time(options)?;
    write_trace(compiled, options, &time, TraceFormat::Chrome, None, out).map(|_| ())
}

/// Writes the activity of each unit; `time` is the program's report with the same options. `chosen`
/// specifies by layer whether its events are written; `None` writes all, including those outside
/// layers.
///
/// # Errors
///
/// The errors of [`Compiled::record`]; write errors of `out`.
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

/// Sends the activity of each unit to `sink`, as [`write_trace`] does; returns the total number of
/// cycles.
///
/// # Errors
///
/// The errors of [`Compiled::record`] and of the sink.
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
        // Default: for a program without cycles any window width will do.
        cycles: time.cycles.values().copied().max().unwrap_or(0),
        layers: layers(compiled),
    };
    let mut recorder = Recorder::new(sink, about, chosen);
    let cycles = compiled.record(options, &mut recorder)?;
    Ok((cycles, recorder.finish(cycles).map_err(TargetError::failed)?))
}
