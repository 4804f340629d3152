//! Computes the time and the saturation risk for a [`Verdict`].

use npukit_base::{counted, plural};
use npukit_target::{Compiled, Saturation, Saturations, TargetError, TimeOptions};

use crate::model::compile_job::CompileJob;
use crate::numbers::weights::{Weight, non_finite_constants};
use crate::report::verdict::{Risk, SaturationRisk, Verdict};
use crate::run::latency::{Speed, batch, timed};
use crate::targets::cost_model_name;

impl Verdict {
    /// Adds the time of the program, whose batch may be `stated`. Also returns the reason if the
    /// time is unknown.
    pub(crate) fn timed(self, compiled: &dyn Compiled, stated: Option<usize>) -> (Self, Option<String>) {
        match timed(compiled, &TimeOptions::default()) {
            Ok(time) => {
                let cycles = time.cycles.get(&time.clock).copied();
                let speed = Speed::of(&time, batch(&compiled.inputs(), stated));
                let cost_model = Some(cost_model_name(&compiled.report().target, &time.clock));
                (Self { cycles, speed, cost_model, ..self }, None)
            }
            Err(TargetError::Unsupported { .. }) => (self, None),
            Err(error) => (self, Some(format!("the program's time is unknown: {error}"))),
        }
    }
}

impl SaturationRisk {
    /// Judges the risk by the weights, by the constants that saturated during compilation, and by
    /// the values that saturated on the samples.
    pub(crate) fn of(
        origin: &CompileJob,
        weights: &[Weight],
        constants: Option<u64>,
        samples: usize,
        found: Option<&Saturations>,
    ) -> Self {
        let of_model: u64 = weights.iter().map(|weight| weight.saturated).sum();
        // A program may have biases in another format than its weights.
        let (saturated_weights, what) = match constants {
            Some(constants @ 1..) if of_model == 0 => (constants, "constant"),
            _ => (of_model, "weight"),
        };
        let no_numbers = non_finite_constants(&origin.model.graph).0;
        let saturated_values = found.map(Saturations::total);
        let bad_weights = saturated_weights + no_numbers;
        let risk = match (origin.instance.info().saturates, bad_weights, saturated_values) {
            (false, ..) => Risk::None,
            (_, 0, None) => Risk::Unknown,
            (_, 0, Some(0)) => Risk::Low,
            _ => Risk::High,
        };
        let reason = match risk {
            Risk::None => "the machine computes in floating point, which does not saturate".to_owned(),
            _ => {
                format!(
                    "{}; {}",
                    of_weights(saturated_weights, no_numbers, what),
                    of_values(samples, found, origin.generated.as_deref())
                )
            }
        };
        Self { risk, reason, saturated_weights, samples, saturated_values }
    }
}

/// Describes the weights; `what` is "constant" or "weight".
fn of_weights(saturated: u64, no_numbers: u64, what: &str) -> String {
    let verb = |count, one: &str, more: &str| if count == 1 { one.to_owned() } else { more.to_owned() };
    let saturate = format!("{} {}", counted(saturated, what), verb(saturated, "saturates", "saturate"));
    let are = format!("{} {} NaN or infinite", counted(no_numbers, "weight"), verb(no_numbers, "is", "are"));
    match (saturated, no_numbers) {
        (0, 0) => "all weights fit".to_owned(),
        (_, 0) => saturate,
        (0, _) => are,
        _ => format!("{are}, {saturate}"),
    }
}

/// Describes the values on samples, or else on generated inputs.
fn of_values(samples: usize, found: Option<&Saturations>, generated: Option<&str>) -> String {
    let Some(found) = found else {
        let checked = match generated {
            Some(ranges) => format!("activations checked in float on generated inputs ({ranges})"),
            None => "activations not checked".to_owned(),
        };
        return format!("{checked}: give typical inputs with `--calibrate`");
    };
    let samples = format!("{samples} {}", plural(samples as u64, "sample"));
    match found.total() {
        0 => format!("no value saturated on {samples}"),
        count => format!("{count} {} saturated on {samples}{}", plural(count, "value"), worst(found)),
    }
}

/// The layer in which most results saturated.
pub(crate) fn worst(found: &Saturations) -> String {
    let worst = found.layers.iter().max_by_key(|layer| layer.count);
    worst.map_or_else(String::new, |Saturation { layer, count }| format!(", most in `{layer}` ({count})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_count() {
        let layer = |layer: &str, count| Saturation { layer: layer.to_owned(), count };
        let layers = vec![layer("a", 1), layer("b", 4)];
        let found = Saturations { inputs: 1, results: 5, layers };
        assert_eq!(of_values(3, Some(&found), None), "6 values saturated on 3 samples, most in `b` (4)");
        assert_eq!(of_values(1, Some(&Saturations::default()), None), "no value saturated on 1 sample");
        assert_eq!(of_weights(1, 0, "weight"), "1 weight saturates");
        assert_eq!(of_weights(2, 0, "constant"), "2 constants saturate");
        assert_eq!(of_weights(0, 2, "weight"), "2 weights are NaN or infinite");
        assert_eq!(of_weights(3, 1, "weight"), "1 weight is NaN or infinite, 3 weights saturate");
    }
}
