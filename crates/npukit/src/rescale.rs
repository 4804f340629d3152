//! Powers of two between layers, chosen on samples: `--calibrate` and `--rescale`.
//!
//! [`choose`] compiles the model with and without them, runs both on the samples, and keeps the
//! program that saturates less and is not further from float.

use std::collections::BTreeMap;

use npukit_graph::Graph;
use npukit_graph::pass::PassError;
use npukit_graph::quantise::Method;
use npukit_graph::rescale::{Limits, Ranges, Rescaled, rescale};
use npukit_target::{CompileOptions, Compiled, Instance};
use serde::Serialize;

use crate::Progress;
use crate::error::Error;
use crate::inputs::{InputFile, Sample};
use crate::model::Model;
use crate::quantise::observe;
use crate::samples::{Comparison, Stack, compare};
use crate::verbs::run::{float, machine};

/// Whether to rescale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Where it removes saturation on the samples, and brings the outputs no further from float.
    #[default]
    Auto,
    /// Wherever a value or constant does not fit.
    Always,
    /// Not at all.
    Never,
}

/// Samples from which ranges are taken, and what to do with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Typical inputs; without them nothing is rescaled, and quantisation uses made-up ones.
    pub inputs: Vec<InputFile>,
    /// Whether to rescale.
    pub mode: Mode,
    /// How to quantise, for targets that take integers only; least squares when not given.
    pub method: Option<Method>,
}

/// How a program did on the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Results that did not fit the number format.
    pub saturations: u64,
    /// Constants that did not; none when the target does not say.
    pub saturated_constants: Option<u64>,
    /// Against the float evaluator.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Measured {
    /// Everything inside the network that did not fit.
    fn unfit(&self) -> u64 {
        self.saturations + self.saturated_constants.unwrap_or(0)
    }

    fn is_better_than(&self, other: &Self) -> bool {
        let rms = |measured: &Self| measured.comparison.rms_error;
        self.unfit() < other.unfit() || (self.unfit() == other.unfit() && rms(self) < rms(other))
    }
}

/// A layer whose results are stored divided by a power of two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerExponent {
    /// The layer.
    pub layer: String,
    /// What it holds is `value / 2^exponent`.
    pub exponent: i32,
}

/// What came of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Whether the program is a rescaled one.
    pub applied: bool,
    /// Why, in a sentence.
    pub reason: String,
    /// Samples looked at.
    pub samples: usize,
    /// How many times the ranges seen were made to fit; none when nothing was tried.
    pub margin: Option<f64>,
    /// Layers whose exponent is not 0.
    pub layers: Vec<LayerExponent>,
    /// The program without rescaling, on the samples.
    pub before: Measured,
    /// The best one with it; none when there is none.
    pub after: Option<Measured>,
}

/// Ranges seen are taken a quarter larger, for inputs that go further than the samples; then twice that
/// and so on while it gets better: sums may be larger on their way than at their end, and larger exponents
/// leave more bits to the weights that follow.
const FIRST_MARGIN: f64 = 1.25;
/// The most that is tried.
const LAST_MARGIN: f64 = FIRST_MARGIN * 128.0;

/// Exponents of values by name; 0 where there is none.
pub(crate) type Exponents = BTreeMap<String, i32>;

/// A program for a rescaled graph.
pub(crate) struct Chosen {
    pub graph: Graph,
    pub exponents: Exponents,
    pub compiled: Box<dyn Compiled>,
}

/// A model on an instance, and samples to judge by.
pub(crate) struct Trial<'a> {
    pub instance: &'a dyn Instance,
    pub model: &'a Model,
    pub options: &'a CompileOptions,
    pub samples: &'a [Sample],
    pub progress: &'a Progress<'a>,
}

/// Tries rescalings of the model, whose program without one is `plain`.
pub(crate) fn choose(
    trial: &Trial<'_>,
    plain: &dyn Compiled,
    mode: Mode,
) -> Result<(Option<Chosen>, Report), Error> {
    let reference = float(&trial.model.graph, trial.samples, &|_, _| ())?;
    let before = trial.measure(plain, &reference)?;
    let report = |applied, reason: &str| Report {
        applied,
        reason: reason.to_owned(),
        samples: trial.samples.len(),
        margin: None,
        layers: Vec::new(),
        before,
        after: None,
    };
    if mode == Mode::Auto && before.unfit() == 0 {
        return Ok((None, report(false, "nothing saturates")));
    }
    let best = match trial.best(&reference)? {
        Ok(best) => best,
        Err(reason) => return Ok((None, report(false, &reason))),
    };
    let gains = best.measured.unfit() < before.unfit()
        && best.measured.comparison.rms_error <= before.comparison.rms_error;
    let (applied, reason) = match (mode, gains) {
        (Mode::Always, _) => (true, "it was asked for"),
        (_, true) => (true, "it saturates less, and is no further from float"),
        (_, false) => (false, "it does not saturate less, or is further from float"),
    };
    let layers = layer_exponents(&*best.chosen.compiled, &best.chosen.exponents);
    let after = Some(best.measured);
    let report = Report { margin: Some(best.margin), layers, after, ..report(applied, reason) };
    Ok((applied.then_some(best.chosen), report))
}

/// A rescaled program and how it did.
struct Candidate {
    chosen: Chosen,
    margin: f64,
    measured: Measured,
}

impl Trial<'_> {
    fn measure(&self, compiled: &dyn Compiled, reference: &[Stack]) -> Result<Measured, Error> {
        let (stacks, saturations) = machine(compiled, self.samples, self.progress)?;
        let mut reference = reference.to_vec();
        let order: Vec<&str> = stacks.iter().map(|stack| stack.name.as_str()).collect();
        reference.sort_by_key(|stack| order.iter().position(|name| *name == stack.name));
        Ok(Measured {
            saturations: saturations.results,
            saturated_constants: compiled.report().saturated_constants,
            comparison: compare(&stacks, &reference),
        })
    }

    /// The best of all margins; a reason when there is none.
    fn best(&self, reference: &[Stack]) -> Result<Result<Candidate, String>, Error> {
        let format = self.instance.number_format();
        let Some((format, step)) = format.and_then(|format| Some((format, format.step()?))) else {
            return Ok(Err("the target's numbers have no fixed range".to_owned()));
        };
        let graph = &self.model.simplified;
        let ranges = observe(graph, self.samples, || Ranges::new(graph))?;
        let mut best: Option<Candidate> = None;
        let mut reason = "no scale of its layers makes more of the network fit".to_owned();
        let mut margin = FIRST_MARGIN;
        while margin <= LAST_MARGIN {
            let limits = Limits { largest: format.largest(), step, margin, fill: false };
            match self.candidate(&ranges, &limits, reference)? {
                Ok(new) if best.as_ref().is_none_or(|best| new.measured.is_better_than(&best.measured)) => {
                    best = Some(new);
                }
                Ok(_) if best.as_ref().is_some_and(|best| best.measured.unfit() == 0) => break,
                Ok(_) => {}
                Err(why) => reason = why.unwrap_or(reason),
            }
            margin *= 2.0;
        }
        Ok(best.ok_or(reason))
    }

    /// The program for one margin; none when nothing needs a scale, a reason when it does not compile.
    fn candidate(
        &self,
        ranges: &Ranges,
        limits: &Limits,
        reference: &[Stack],
    ) -> Result<Result<Candidate, Option<String>>, Error> {
        let failed =
            |source: PassError| Error::Simplify { path: self.model.file_name.clone(), source: source.into() };
        let rescaled = rescale(&self.model.simplified, ranges, limits).map_err(failed)?;
        let Some(Rescaled { graph, exponents }) = rescaled else { return Ok(Err(None)) };
        let compiled = match self.instance.compile(&graph, self.options) {
            Ok(compiled) => compiled,
            Err(error) => return Ok(Err(Some(format!("the rescaled network does not compile: {error}")))),
        };
        let measured = self.measure(&*compiled, reference)?;
        let chosen = Chosen { graph, exponents: exponents.into_iter().collect(), compiled };
        Ok(Ok(Candidate { chosen, margin: limits.margin, measured }))
    }
}

/// Layers with an exponent other than 0.
fn layer_exponents(compiled: &dyn Compiled, exponents: &Exponents) -> Vec<LayerExponent> {
    let exponent = |layer: npukit_target::Layer| {
        let found = layer.results.iter().find_map(|name| exponents.get(name));
        found.map(|&exponent| LayerExponent { layer: layer.name.clone(), exponent })
    };
    compiled.layers().into_iter().filter_map(exponent).collect()
}
