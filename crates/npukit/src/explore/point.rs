//! [`Point`]: an instance and its figures, with the keys of `npu explore --json`.

use std::collections::BTreeMap;

use npukit_target::Area;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Instance chosen from the space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Place in the space, from 0.
    pub index: u64,
    /// Name of the instance, as for `--target`.
    pub target: String,
    /// Values chosen from the space, by name.
    pub parameters: BTreeMap<String, Value>,
    /// Options of the target, by name.
    pub options: BTreeMap<String, String>,
}

/// Instance and its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Point {
    /// Place in the space, from 0.
    pub index: u64,
    /// Name of the instance, as for `--target`.
    pub target: String,
    /// Values chosen from the space, by name.
    pub parameters: BTreeMap<String, Value>,
    /// Cycles of one run of all models, one after the other.
    pub cycles: Option<u64>,
    /// Time of one run of all models in milliseconds, at the instance's clock.
    pub milliseconds: Option<f64>,
    /// Runs of all models per second.
    pub frames_per_second: Option<f64>,
    /// Number of instructions of all programs.
    pub instructions: Option<usize>,
    /// Largest difference from float, relative to the range of the output; the largest of all
    /// models.
    pub relative_error: Option<f64>,
    /// Signal-to-noise ratio in decibels; the lowest of all models.
    pub snr_db: Option<f64>,
    /// Share of samples whose argmax agrees with float; the lowest of all models.
    pub argmax_agree: Option<f64>,
    /// Time of one run of all models in milliseconds, with the host's estimated time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_milliseconds: Option<f64>,
    /// Energy of one run of all models in joules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules: Option<f64>,
    /// FPGA resources of the instance.
    pub area: Option<Area>,
    /// Whether all conditions hold.
    pub feasible: bool,
    /// Whether the point is Pareto-optimal: no other point is as good in every objective and better
    /// in one. If points were merged, whether it represents Pareto-optimal points.
    pub pareto: bool,
    /// Place of the point that represents this Pareto-optimal one, if points that are nearly equal
    /// were merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<u64>,
    /// Figures by model.
    pub models: Vec<ModelPoint>,
    /// Reason why compiling or running it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Lower bound in milliseconds for any program on this instance: all multipliers busy in every
    /// cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_milliseconds: Option<f64>,
    /// Share of the models' MACs that the figures cover; `None` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<f64>,
    /// Place of a point that is already better than this point's lower bound and area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beaten_by: Option<u64>,
}

/// Figures of a model on an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ModelPoint {
    /// Path of the model.
    pub model: String,
    /// Name of the artifact.
    pub name: String,
    /// Number of layers compiled.
    pub layers: usize,
    /// Number of instructions.
    pub instructions: usize,
    /// Cycles by the cost model that time reports use first.
    pub cycles: Option<u64>,
    /// Time in milliseconds at the instance's clock.
    pub milliseconds: Option<f64>,
    /// Number of samples per second.
    pub frames_per_second: Option<f64>,
    /// Share of the multipliers' capacity that the model's MACs used, from 0 to 1.
    pub utilization: Option<f64>,
    /// Largest difference from float, relative to the range of the output.
    pub relative_error: Option<f64>,
    /// Signal-to-noise ratio in decibels.
    pub snr_db: Option<f64>,
    /// Share of samples whose argmax agrees with float.
    pub argmax_agree: Option<f64>,
    /// Time in milliseconds with the host's estimated time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_milliseconds: Option<f64>,
    /// Energy of a run in joules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules: Option<f64>,
}

impl ModelPoint {
    /// Returns a figure, or `None` if it is unknown or is not a figure of a model.
    pub fn metric(&self, name: &str) -> Option<f64> {
        match name {
            "milliseconds" => self.milliseconds,
            "cycles" => self.cycles.map(|cycles| cycles as f64),
            "frames_per_second" => self.frames_per_second,
            "instructions" => Some(self.instructions as f64),
            "utilization" => self.utilization,
            "relative_error" => self.relative_error,
            "snr_db" => self.snr_db,
            "argmax_agree" => self.argmax_agree,
            _ => None,
        }
    }
}

/// Kind of figure of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name, as in a point.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// Whether a larger value is better.
    pub more_is_better: bool,
}

/// Every figure that may be an objective.
pub const METRICS: [Metric; 13] = [
    Metric { name: "milliseconds", aliases: &["latency", "latency_ms", "ms"], more_is_better: false },
    Metric { name: "cycles", aliases: &[], more_is_better: false },
    Metric { name: "frames_per_second", aliases: &["throughput", "fps"], more_is_better: true },
    Metric { name: "instructions", aliases: &[], more_is_better: false },
    Metric { name: "relative_error", aliases: &["error"], more_is_better: false },
    Metric { name: "snr_db", aliases: &[], more_is_better: true },
    Metric { name: "argmax_agree", aliases: &["accuracy"], more_is_better: true },
    Metric { name: "total_milliseconds", aliases: &["total_latency"], more_is_better: false },
    Metric { name: "joules", aliases: &["energy"], more_is_better: false },
    Metric { name: "dsp", aliases: &[], more_is_better: false },
    Metric { name: "bram", aliases: &[], more_is_better: false },
    Metric { name: "uram", aliases: &[], more_is_better: false },
    Metric { name: "lut", aliases: &[], more_is_better: false },
];

/// Returns the heading of a figure in tables.
pub fn heading(name: &str) -> &str {
    match name {
        "milliseconds" => "ms",
        "total_milliseconds" => "ms with host",
        "joules" => "mJ",
        "frames_per_second" => "frames/s",
        "relative_error" => "error",
        "snr_db" => "SNR, dB",
        "argmax_agree" => "agree",
        "dsp" => "DSP",
        "bram" => "BRAM",
        "uram" => "URAM",
        "lut" => "LUT",
        other => other,
    }
}

impl Metric {
    /// Finds the metric with this name or alias.
    pub fn named(name: &str) -> Option<Self> {
        METRICS.into_iter().find(|metric| metric.name == name || metric.aliases.contains(&name))
    }

    /// Finds the metric with this name, alias or heading of a table. A heading is only enough to
    /// order points: the unit of the figure is that of the name.
    pub fn headed(text: &str) -> Option<Self> {
        let is_headed = |metric: &Self| heading(metric.name).eq_ignore_ascii_case(text);
        Self::named(text).or_else(|| METRICS.into_iter().find(is_headed))
    }

    /// Whether a lower bound is known before compiling: from the MACs for time, from the parameters
    /// for area.
    pub(super) fn is_bounded(self) -> bool {
        matches!(self.name, "milliseconds" | "dsp" | "bram" | "uram" | "lut")
    }
}

impl Point {
    /// Creates a point without any figures.
    pub(super) fn new(planned: &Planned) -> Self {
        let Planned { index, target, parameters, .. } = planned.clone();
        Self { index, target, parameters, ..Self::default() }
    }

    /// Computes the figures of all models together.
    pub(super) fn sum_up(&mut self) {
        let models = &self.models;
        self.cycles = models.iter().map(|model| model.cycles).sum();
        self.milliseconds = models.iter().map(|model| model.milliseconds).sum();
        self.total_milliseconds = models.iter().map(|model| model.total_milliseconds).sum();
        self.joules = models.iter().map(|model| model.joules).sum();
        self.instructions = Some(models.iter().map(|model| model.instructions).sum());
        self.frames_per_second = match models.as_slice() {
            [model] => model.frames_per_second,
            _ => self.milliseconds.filter(|ms| *ms > 0.0).map(|ms| 1e3 / ms),
        };
        let of = |figure: fn(&ModelPoint) -> Option<f64>, worse: fn(f64, f64) -> f64| {
            models.iter().map(figure).reduce(|a, b| Some(worse(a?, b?))).flatten()
        };
        self.relative_error = of(|model| model.relative_error, f64::max);
        self.snr_db = of(|model| model.snr_db, f64::min);
        self.argmax_agree = of(|model| model.argmax_agree, f64::min);
    }

    /// Returns a figure, or `None` if it is unknown.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        match metric.name {
            "milliseconds" => self.milliseconds,
            "cycles" => self.cycles.map(|cycles| cycles as f64),
            "frames_per_second" => self.frames_per_second,
            "instructions" => self.instructions.map(|count| count as f64),
            "relative_error" => self.relative_error,
            "snr_db" => self.snr_db,
            "argmax_agree" => self.argmax_agree,
            "total_milliseconds" => self.total_milliseconds,
            "joules" => self.joules,
            name => self.area.as_ref()?.value(name),
        }
    }

    /// Returns the figure or parameter called `name`, as in conditions.
    pub fn named(&self, name: &str) -> Option<Value> {
        if let Some(metric) = Metric::named(name) {
            return self.metric(metric).and_then(serde_json::Number::from_f64).map(Value::Number);
        }
        super::lookup(&self.parameters, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_the_headings_of_tables() {
        for metric in METRICS {
            let found = Metric::headed(heading(metric.name)).map(|found| found.name);
            assert_eq!(found, Some(metric.name));
        }
        let named = |text| Metric::headed(text).map(|metric| metric.name);
        assert_eq!(
            [named("ms"), named("bram"), named("mj")],
            [Some("milliseconds"), Some("bram"), Some("joules")]
        );
        assert_eq!(named("weight"), None);
        // Conditions need the unit of the name.
        assert_eq!(Metric::named("mJ"), None);
    }
}
