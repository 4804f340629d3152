//! [`Speed`]: what cycles are at the board's clock.

use npukit_target::{Compiled, Phase, TargetError, TimeOptions, TimeReport};
use serde::Serialize;

/// The time of a sample at the board's clock; empty where no clock is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Speed {
    /// Of a sample, by the cost model that the time report leads with.
    pub latency_ms: Option<f64>,
    /// Samples a second, one after the other.
    pub frames_per_second: Option<f64>,
    /// The board's clock.
    pub clock_mhz: Option<f64>,
    /// Where the clock is from.
    pub clock_source: Option<String>,
}

impl Speed {
    /// That of a program.
    pub fn of(time: &TimeReport) -> Self {
        Self {
            latency_ms: time.milliseconds,
            frames_per_second: frames_per_second(time.milliseconds),
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

/// Samples a second at so many milliseconds each; none of a program that takes no time.
pub(crate) fn frames_per_second(latency_ms: Option<f64>) -> Option<f64> {
    latency_ms.filter(|&ms| ms > 0.0).map(|ms| 1e3 / ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_a_clock_and_cycles() {
        let rate =
            |milliseconds| Speed::of(&TimeReport { milliseconds, ..TimeReport::default() }).frames_per_second;
        assert_eq!(rate(Some(0.25)), Some(4000.0));
        assert_eq!((rate(Some(0.0)), rate(None)), (None, None));
    }
}
