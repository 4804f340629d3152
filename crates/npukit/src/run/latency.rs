//! [`Speed`]: converts cycles to time at the board's clock.

use npukit_target::{
    Compiled, Phase, Port, Reader, SEGMENTS_EXTENSION, TargetError, TimeOptions, TimeReport,
};
use serde::Serialize;

/// Time of a run at the board's clock; empty if the clock is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Speed {
    /// Time of a run in milliseconds, by the cost model that the time report uses first.
    pub latency_ms: Option<f64>,
    /// Samples per second, one run after the other; runs per second if `batch` is unknown.
    pub frames_per_second: Option<f64>,
    /// Number of samples per run: the batch of the program. `None` if inputs may have an
    /// unspecified batch.
    pub batch: Option<usize>,
    /// Clock of the board in MHz.
    pub clock_mhz: Option<f64>,
    /// Source of the clock figure.
    pub clock_source: Option<String>,
    /// Manifest of the program that has this one as a segment; `None` for a whole program.
    #[serde(skip)]
    pub segment_of: Option<String>,
}

impl Speed {
    /// Returns the speed of a program with a batch, as far as it is known.
    pub(crate) fn of(time: &TimeReport, batch: Option<usize>) -> Self {
        Self {
            latency_ms: time.milliseconds,
            frames_per_second: samples_per_second(time.milliseconds, batch),
            batch,
            clock_mhz: time.clock_mhz,
            clock_source: time.clock_source.clone(),
            segment_of: None,
        }
    }
}

/// Returns the file name of the manifest of the program that has the artifact at `path`, a program
/// called `name`, as a segment, if it is in the same folder.
pub(crate) fn segment_of(path: &str, name: &str, reader: &dyn Reader) -> Option<String> {
    let (stem, rest) = name.rsplit_once("_seg")?;
    let end = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let manifest = format!("{stem}{end}.{SEGMENTS_EXTENSION}");
    let place = reader.beside(path, &manifest).ok()?;
    let bytes = reader.read(&place).ok().filter(|_| end.len() < rest.len())?;
    String::from_utf8_lossy(&bytes).contains(&format!("\"{name}.")).then_some(manifest)
}

/// Computes the time of a program.
pub(crate) fn timed(compiled: &dyn Compiled, options: &TimeOptions) -> Result<TimeReport, TargetError> {
    let _phase = Phase::begin("clock");
    let time = compiled.time(options)?;
    tracing::info!(cycles = time.cycles.get(&time.clock), model = time.clock, "program timed");
    Ok(time)
}

/// Returns the batch of a program with these inputs: the `stated` one, or 1 if no input begins with
/// another size. Otherwise it is unknown, because the first axis may be a sequence.
pub(crate) fn batch(inputs: &[Port], stated: Option<usize>) -> Option<usize> {
    let is_one = |port: &Port| port.shape.len() < 2 || port.shape.first() == Some(&1);
    stated.or_else(|| inputs.iter().all(is_one).then_some(1))
}

/// Returns samples per second for runs of `latency_ms` milliseconds and `batch` samples.
pub(crate) fn samples_per_second(latency_ms: Option<f64>, batch: Option<usize>) -> Option<f64> {
    // Default: if the batch is unknown, a run is treated as one sample.
    frames_per_second(latency_ms).map(|runs| runs * batch.unwrap_or(1) as f64)
}

/// Returns runs per second for `latency_ms` milliseconds per run; `None` for a program that takes
/// no time.
pub(crate) fn frames_per_second(latency_ms: Option<f64>) -> Option<f64> {
    latency_ms.filter(|&ms| ms > 0.0).map(|ms| 1e3 / ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_of(milliseconds: Option<f64>, batch: Option<usize>) -> Option<f64> {
        Speed::of(&TimeReport { milliseconds, ..TimeReport::default() }, batch).frames_per_second
    }

    #[test]
    fn a_batch_is_so_many_frames() {
        assert_eq!(rate_of(Some(0.25), Some(3)), Some(12_000.0));
        assert_eq!(rate_of(Some(0.25), None), Some(4000.0));
        let port = |shape: &[usize]| Port {
            name: "x".to_owned(),
            shape: shape.to_vec(),
            vectors: None,
            element: None,
        };
        let [one, three, flat] = [port(&[1, 8]), port(&[3, 8]), port(&[8])];
        assert_eq!(batch(&[one.clone(), flat], None), Some(1));
        assert_eq!((batch(&[one, three.clone()], None), batch(&[three], Some(3))), (None, Some(3)));
    }

    #[test]
    fn a_rate_needs_a_clock_and_cycles() {
        let rate = |milliseconds| rate_of(milliseconds, Some(1));
        assert_eq!(rate(Some(0.25)), Some(4000.0));
        assert_eq!((rate(Some(0.0)), rate(None)), (None, None));
    }
}
