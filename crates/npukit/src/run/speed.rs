//! [`Speed`]: what cycles are at the board's clock.

use npukit_target::{Compiled, Phase, Port, TargetError, TimeOptions, TimeReport};
use serde::Serialize;

/// The time of a run at the board's clock; empty where no clock is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Speed {
    /// Of a run, by the cost model that the time report leads with.
    pub latency_ms: Option<f64>,
    /// Samples a second, one run after the other; runs a second where `batch` is not known.
    pub frames_per_second: Option<f64>,
    /// Samples that a run takes: the batch of the program. None where inputs may have one that nobody stated.
    pub batch: Option<usize>,
    /// The board's clock.
    pub clock_mhz: Option<f64>,
    /// Where the clock is from.
    pub clock_source: Option<String>,
}

impl Speed {
    /// That of a program with a batch, as far as it is known.
    pub(crate) fn of(time: &TimeReport, batch: Option<usize>) -> Self {
        Self {
            latency_ms: time.milliseconds,
            frames_per_second: samples_per_second(time.milliseconds, batch),
            batch,
            clock_mhz: time.clock_mhz,
            clock_source: time.clock_source.clone(),
        }
    }
}

/// The time of a program.
pub(crate) fn timed(compiled: &dyn Compiled, options: &TimeOptions) -> Result<TimeReport, TargetError> {
    let _phase = Phase::begin("clock");
    let time = compiled.time(options)?;
    tracing::info!(cycles = time.cycles.get(&time.model), model = time.model, "program timed");
    Ok(time)
}

/// The batch of a program with these inputs: the one that is `stated`; 1 where no input begins with another size. Of
/// other programs nobody knows: the first axis of an input may be a sequence.
pub(crate) fn batch(inputs: &[Port], stated: Option<usize>) -> Option<usize> {
    let is_one = |port: &Port| port.shape.len() < 2 || port.shape.first() == Some(&1);
    stated.or_else(|| inputs.iter().all(is_one).then_some(1))
}

/// Samples a second at so many milliseconds a run, which takes a batch of them.
pub(crate) fn samples_per_second(latency_ms: Option<f64>, batch: Option<usize>) -> Option<f64> {
    // Default: of what has no batch that is known, a run is counted as one.
    frames_per_second(latency_ms).map(|runs| runs * batch.unwrap_or(1) as f64)
}

/// Runs a second at so many milliseconds each; none of a program that takes no time.
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
