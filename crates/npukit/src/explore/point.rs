//! [`Point`]: a machine and what came of it, with the keys of `npu explore --json`.

use std::collections::BTreeMap;

use npukit_target::Area;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A machine of the space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Its place in the space, from 0.
    pub index: u64,
    /// What names it, as in `--target`.
    pub target: String,
    /// What was chosen of the space, by name.
    pub parameters: BTreeMap<String, Value>,
    /// The target's own options.
    pub options: BTreeMap<String, String>,
}

/// A machine and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Point {
    /// Its place in the space, from 0.
    pub index: u64,
    /// What names the machine, as in `--target`.
    pub target: String,
    /// What was chosen of the space, by name.
    pub parameters: BTreeMap<String, Value>,
    /// Of a run of all models, one after the other.
    pub cycles: Option<u64>,
    /// The same at the clock of the machine.
    pub milliseconds: Option<f64>,
    /// Runs of all models a second.
    pub frames_per_second: Option<f64>,
    /// Instructions of all programs.
    pub instructions: Option<usize>,
    /// Largest difference to float by the range of the output; of several models the largest.
    pub relative_error: Option<f64>,
    /// The least signal to noise of a model, in decibels.
    pub snr_db: Option<f64>,
    /// The least share of samples whose largest class is that of float.
    pub argmax_agree: Option<f64>,
    /// What the machine takes of an FPGA.
    pub area: Option<Area>,
    /// Whether all conditions hold.
    pub feasible: bool,
    /// Whether no other point is as good in every objective and better in one.
    pub pareto: bool,
    /// By model.
    pub models: Vec<ModelPoint>,
    /// Why there is no program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Milliseconds that no program for it goes below: all multipliers at work in every cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_milliseconds: Option<f64>,
    /// The share of the models' products that its figures are of, where that is not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<f64>,
    /// A point that is better by this bound and by its area already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beaten_by: Option<u64>,
}

/// A model on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ModelPoint {
    /// Its file.
    pub model: String,
    /// Name of the artifact.
    pub name: String,
    /// Layers compiled.
    pub layers: usize,
    /// Instructions.
    pub instructions: usize,
    /// By the cost model that a time report leads with.
    pub cycles: Option<u64>,
    /// At the clock of the machine.
    pub milliseconds: Option<f64>,
    /// Samples a second.
    pub frames_per_second: Option<f64>,
    /// Share of the multipliers that did the model's work.
    pub utilisation: Option<f64>,
    /// Largest difference to float by the range of the output.
    pub relative_error: Option<f64>,
    /// Signal to noise, in decibels.
    pub snr_db: Option<f64>,
    /// Share of samples whose largest class is that of float.
    pub argmax_agree: Option<f64>,
}

/// A figure of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, as in a point.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Whether more is better.
    pub more_is_better: bool,
}

/// Every figure that may be an objective.
pub const METRICS: [Metric; 11] = [
    Metric { name: "milliseconds", aliases: &["latency", "latency_ms"], more_is_better: false },
    Metric { name: "cycles", aliases: &[], more_is_better: false },
    Metric { name: "frames_per_second", aliases: &["throughput", "fps"], more_is_better: true },
    Metric { name: "instructions", aliases: &[], more_is_better: false },
    Metric { name: "relative_error", aliases: &["error"], more_is_better: false },
    Metric { name: "snr_db", aliases: &[], more_is_better: true },
    Metric { name: "argmax_agree", aliases: &["accuracy"], more_is_better: true },
    Metric { name: "dsp", aliases: &[], more_is_better: false },
    Metric { name: "bram", aliases: &[], more_is_better: false },
    Metric { name: "uram", aliases: &[], more_is_better: false },
    Metric { name: "lut", aliases: &[], more_is_better: false },
];

impl Metric {
    /// The metric of a name or an alias.
    pub fn named(name: &str) -> Option<Self> {
        METRICS.into_iter().find(|metric| metric.name == name || metric.aliases.contains(&name))
    }

    /// Whether something is known of it before anything is compiled: of time a bound, the area by the parameters.
    pub(super) fn is_bounded(self) -> bool {
        matches!(self.name, "milliseconds" | "dsp" | "bram" | "uram" | "lut")
    }
}

impl Point {
    /// A machine of which nothing is known yet.
    pub(super) fn new(planned: &Planned) -> Self {
        let Planned { index, target, parameters, .. } = planned.clone();
        Self { index, target, parameters, ..Self::default() }
    }

    /// What all models are together.
    pub(super) fn sum_up(&mut self) {
        let models = &self.models;
        self.cycles = models.iter().map(|model| model.cycles).sum();
        self.milliseconds = models.iter().map(|model| model.milliseconds).sum();
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

    /// A figure of it; none where it is not known.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        match metric.name {
            "milliseconds" => self.milliseconds,
            "cycles" => self.cycles.map(|cycles| cycles as f64),
            "frames_per_second" => self.frames_per_second,
            "instructions" => self.instructions.map(|count| count as f64),
            "relative_error" => self.relative_error,
            "snr_db" => self.snr_db,
            "argmax_agree" => self.argmax_agree,
            name => self.area.as_ref()?.value(name),
        }
    }

    /// The figure or parameter called `name`, as conditions name it.
    pub fn named(&self, name: &str) -> Option<Value> {
        if let Some(metric) = Metric::named(name) {
            return self.metric(metric).and_then(serde_json::Number::from_f64).map(Value::Number);
        }
        super::lookup(&self.parameters, name)
    }
}
