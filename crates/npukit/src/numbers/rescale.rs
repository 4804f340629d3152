//! Scaling by powers of two between layers, chosen on samples: `--calibrate` and `--rescale`.
//!
//! The function [`choose`] compiles the model with and without scales, and runs both on the
//! samples. It keeps the program that saturates less without a larger error, or whose error is much
//! smaller. Ranges in float determine what is tried. At most [`MAX_TRIED`] programs are compiled
//! and run, so that a calibration takes at most ten times as long as a run.
//!
//! | module | contents |
//! |---|---|
//! | `remaining` | where the chosen program still saturates, and why |
//! | `stated` | scales from the ranges in a model, without samples |

mod remaining;
mod stated;

use std::collections::BTreeMap;

use npukit_graph::pass::PassError;
use npukit_graph::quantize::Method;
use npukit_graph::rescale::{Limits, Ranges, Rescaled, Scales, equalize, rescale_beside};
use npukit_graph::{Graph, Node};
use npukit_target::{CompileOptions, Compiled, GraphForm, Instance, Phase, Saturations, TargetError};

use crate::compare::comparison::compare;
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess, Sample};
use crate::model::Model;
use crate::numbers::assumed::GivenRange;
use crate::numbers::quantize::observe;
use crate::report::rescale::{LayerExponent, Measured, Remaining, Report};
use crate::run::batch::{float, machine};
use crate::run::stack::Stack;
pub(crate) use stated::as_stated;

/// When to rescale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Rescale if it removes saturation on the samples without a larger error, or makes the error
    /// much smaller.
    #[default]
    Auto,
    /// Rescale if any value or constant does not fit.
    Always,
    /// Never rescale.
    Never,
}

/// Samples from which ranges are taken, and how to use them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Typical inputs. Without them, scales come from the ranges in the model, otherwise from
    /// [`Self::own`], otherwise from generated inputs.
    pub inputs: Vec<InputFile>,
    /// Inputs of the run itself, used if there are neither `inputs` nor ranges in the model.
    pub own: Option<OwnInputs>,
    /// Ranges of the model's inputs, for generated inputs.
    pub ranges: Vec<GivenRange>,
    /// Preprocessing of the samples' values.
    pub preprocess: Preprocess,
    /// When to rescale.
    pub mode: Mode,
    /// Quantization method for integer-only targets; `None` to choose by the error on the samples.
    pub method: Option<Method>,
}

/// Inputs of a run. Its first 32 samples choose scales if nothing better is available.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnInputs {
    /// Files of the inputs.
    pub files: Vec<InputFile>,
    /// Preprocessing of their values.
    pub preprocess: Preprocess,
}

/// Maximum number of samples of a run that choose scales.
pub const OWN_SAMPLES: usize = 32;

impl Calibration {
    /// Whether the caller requested nothing; inputs of the run itself are not a request.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self { own: self.own.clone(), ..Self::default() }
    }

    /// Whether preprocessing was requested without any samples.
    pub(crate) fn prepares_nothing(&self) -> bool {
        self.inputs.is_empty() && !self.preprocess.is_nothing()
    }
}

/// Factors by which the observed ranges must fit, tried in order. The first is a quarter larger,
/// for inputs beyond the samples. Larger ones are tried while something saturates or the result
/// improves: intermediate sums may exceed their results, and larger exponents leave more bits to
/// the following weights.
const MARGINS: [f64; 5] = [1.25, 2.5, 5.0, 20.0, 80.0];
/// Up to this margin, each one is twice the previous one.
const FINE: f64 = 5.0;
/// Factor to the next margin for a filled program that saturates.
const WIDER: f64 = 4.0;
/// Maximum number of programs with filled formats, balanced weights or equalized channels.
const MAX_FILLED: usize = 5;
/// Maximum number of programs tried: one per margin, plus the filled ones.
const MAX_TRIED: usize = MARGINS.len() + MAX_FILLED;
/// Exponents of values by name; 0 if missing.
pub(crate) type Exponents = BTreeMap<String, i32>;

/// Returns the exponent of a value.
pub(crate) fn exponent(exponents: &Exponents, name: &str) -> i32 {
    // Default: a value without an exponent is stored unscaled.
    exponents.get(name).copied().unwrap_or(0)
}

/// Program for a rescaled graph.
pub(crate) struct Chosen {
    pub graph: Graph,
    pub exponents: Exponents,
    /// Exponents of inputs and outputs.
    pub scales: Scales,
    pub compiled: Box<dyn Compiled>,
}

/// Model on an instance, and samples to judge by.
pub(crate) struct Trial<'a> {
    pub instance: &'a dyn Instance,
    pub model: &'a Model,
    pub options: &'a CompileOptions,
    pub samples: &'a [Sample],
}

/// Tries rescalings of the model, whose program without rescaling is `plain`.
pub(crate) fn choose(
    trial: &Trial<'_>,
    plain: &dyn Compiled,
    mode: Mode,
) -> Result<(Option<Chosen>, Report), Error> {
    let _phase = Phase::begin("calibrate");
    let search = Search::new(trial, plain)?;
    let before = search.measure(plain)?;
    let mut report = not_applied(trial.samples.len(), before.measured);
    let mut found = None;
    if mode != Mode::Auto || before.measured.unfit() > 0 || before.measured.is_poor() {
        let attempts = search.attempts(&before.measured, mode)?;
        (found, report.reason, report.tried) = (attempts.best, attempts.reason, attempts.tried);
    }
    let unscaled = || {
        let (exponents, scales) = (Exponents::new(), Scales::new());
        search.remaining(&before.saturations, plain, &trial.model.simplified, &exponents, &scales)
    };
    let Some(best) = found else {
        report.remaining = unscaled();
        return Ok((None, report));
    };
    let gains = best.outcome.measured.is_gain_over(&before.measured);
    (report.applied, report.reason) = match (mode, gains) {
        (Mode::Always, _) => (true, "it was requested".to_owned()),
        (_, true) => (true, gain(&best.outcome.measured, &before.measured).to_owned()),
        (_, false) => (false, "nothing improved: saturation is not lower, or the error is larger".to_owned()),
    };
    let Plan { margin, equalized, balance, .. } = best.plan;
    (report.margin, report.after) = (Some(margin), Some(best.outcome.measured));
    (report.equalized, report.balanced) = (equalized, balance);
    report.layers = layer_exponents(&*best.chosen.compiled, &best.chosen.exponents);
    report.remaining = if report.applied {
        let Chosen { graph, exponents, scales, compiled } = &best.chosen;
        search.remaining(&best.outcome.saturations, &**compiled, graph, exponents, scales)
    } else {
        unscaled()
    };
    if !report.applied {
        return Ok((None, report));
    }
    let compiled = search.program(&best.chosen.graph, &best.chosen.scales, false)?;
    Ok((Some(Chosen { compiled, ..best.chosen }), report))
}

/// Returns the report if no rescaling is tried.
fn not_applied(samples: usize, before: Measured) -> Report {
    Report {
        applied: false,
        reason: "nothing saturates".to_owned(),
        samples,
        margin: None,
        layers: Vec::new(),
        before,
        after: None,
        equalized: false,
        balanced: false,
        tried: 0,
        remaining: Vec::new(),
    }
}

fn gain(new: &Measured, before: &Measured) -> &'static str {
    if new.unfit() < before.unfit() {
        "saturation is lower, and the error is not larger"
    } else {
        "small values get more bits, and the error is smaller"
    }
}

/// Rescaling to try.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan {
    margin: f64,
    /// Whether to scale small values up to fill the format.
    fill: bool,
    /// Whether operands of products lend bits to the weights.
    balance: bool,
    /// Whether to equalize channels first.
    equalized: bool,
}

impl Plan {
    /// Plan with scales for this margin, and nothing else.
    const fn plain(margin: f64) -> Self {
        Self { margin, fill: false, balance: false, equalized: false }
    }
}

/// Errors of a program, and where it saturates.
struct Outcome {
    measured: Measured,
    saturations: Saturations,
}

/// Rescaled program and its errors.
struct Candidate {
    chosen: Chosen,
    plan: Plan,
    outcome: Outcome,
}

/// Graph and the ranges of its values.
struct Ranged {
    graph: Graph,
    ranges: Ranges,
}

/// Plans that a search has tried, and the best program so far.
struct Attempts<'s> {
    search: &'s Search<'s>,
    /// Errors without rescaling.
    before: &'s Measured,
    mode: Mode,
    best: Option<Candidate>,
    /// Exponents of the last plan, and whether it equalized channels.
    last: Option<(bool, Vec<(String, i32)>)>,
    /// Reason why no program was found.
    reason: String,
    /// Number of programs that were measured.
    tried: usize,
}

impl Attempts<'_> {
    /// Tries a plan, unless too many were tried.
    fn attempt(&mut self, plan: Plan, ranged: &Ranged) -> Result<(), Error> {
        let info = self.search.trial.instance.info();
        let format = info.number_format.and_then(|format| Some((format.largest(), format.step()?)));
        let (Some((largest, step)), true) = (format, self.tried < MAX_TRIED) else { return Ok(()) };
        let Plan { margin, fill, balance, .. } = plan;
        let (functions, ports) = (info.scaling.functions, info.scaling.ports);
        let addends = info.scaling.max_mean_terms;
        let limits = Limits { largest, step, margin, fill, functions, balance, ports, addends };
        match self.search.candidate(plan, ranged, &limits, &mut self.last)? {
            Ok(Some(new)) => {
                self.tried += 1;
                let measured = &new.outcome.measured;
                if self.best.as_ref().is_none_or(|best| measured.is_better_than(&best.outcome.measured)) {
                    self.best = Some(new);
                }
            }
            Ok(None) => {}
            Err(why) => self.reason = why,
        }
        Ok(())
    }

    /// Returns the errors of the best program, which may be the one without rescaling.
    fn measured(&self) -> &Measured {
        self.best.as_ref().map_or(self.before, |best| &best.outcome.measured)
    }

    /// Tries more and more headroom.
    fn margins(&mut self) -> Result<(), Error> {
        let ranged = &self.search.ranged;
        for (place, &margin) in MARGINS.iter().enumerate() {
            let last = place.checked_sub(1).map(|place| MARGINS[place]);
            let got_better = self.best.as_ref().is_some_and(|best| Some(best.plan.margin) == last);
            // A result that is still poor needs more bits, not more headroom.
            let go_on = got_better && !(self.mode == Mode::Auto && self.measured().is_poor());
            let is_enough = self.best.is_some() || self.mode == Mode::Auto;
            if self.measured().unfit() == 0 && !go_on && is_enough {
                break;
            }
            self.attempt(Plan::plain(margin), ranged)?;
        }
        // Large margins are far apart: half of one may be enough.
        if let Some(margin) = self.best.as_ref().map(|best| best.plan.margin).filter(|margin| *margin > FINE)
        {
            self.attempt(Plan::plain(margin / 2.0), ranged)?;
        }
        Ok(())
    }

    /// Tries to fill the format; returns the plan for it.
    fn filled(&mut self) -> Result<Plan, Error> {
        let ranged = &self.search.ranged;
        let margin = self.best.as_ref().map_or(MARGINS[0], |best| best.plan.margin);
        let filled = Plan { fill: true, ..Plan::plain(margin) };
        self.attempt(filled, ranged)?;
        // If nothing was good, the least saturation does not determine the headroom.
        if margin > MARGINS[0] && self.measured().is_poor() {
            let narrow = Plan { margin: MARGINS[0], ..filled };
            self.attempt(narrow, ranged)?;
            if self.is_best(narrow) {
                return Ok(narrow);
            }
        }
        Ok(filled)
    }

    /// Lends bits of operands to weights, with more headroom as long as that helps.
    fn balanced(&mut self, filled: Plan) -> Result<(), Error> {
        let mut balanced = Plan { balance: true, ..filled };
        while self.measured().is_poor() {
            self.attempt(balanced, &self.search.ranged)?;
            if !self.is_best(balanced) {
                break;
            }
            balanced.margin *= WIDER;
        }
        Ok(())
    }

    /// Equalizes channels if the results are still poor.
    fn equalized(&mut self, filled: Plan) -> Result<(), Error> {
        let search = self.search;
        let near = self.best.as_ref().map_or(filled, |best| best.plan);
        let even = equalize(&search.ranged.graph).map_err(|error| search.failed(error))?;
        let even = even.filter(|_| self.measured().is_poor());
        if let Some(even) = even.map(|even| Ranged::new(even, search.trial.samples)).transpose()? {
            self.attempt(Plan { fill: true, equalized: true, ..near }, &even)?;
        }
        Ok(())
    }

    fn is_best(&self, plan: Plan) -> bool {
        self.best.as_ref().is_some_and(|best| best.plan == plan)
    }
}

/// Search for the best rescaling.
struct Search<'a> {
    trial: &'a Trial<'a>,
    reference: Vec<Stack>,
    /// Options of the model, with the choices of the first compilation.
    options: CompileOptions,
    ranged: Ranged,
}

impl<'a> Search<'a> {
    fn new(trial: &'a Trial<'a>, plain: &dyn Compiled) -> Result<Self, Error> {
        let mut reference = float(&trial.model.graph, trial.samples)?;
        let order: Vec<String> = plain.outputs().into_iter().map(|port| port.name).collect();
        reference.sort_by_key(|stack| order.iter().position(|name| *name == stack.name));
        let mut options = trial.options.clone();
        options.options.extend(plain.report().choices);
        let apart = trial.instance.prepare(&trial.model.simplified, trial.options, GraphForm::Decomposed)?;
        let ranged = Ranged::new(apart, trial.samples)?;
        Ok(Self { trial, reference, options, ranged })
    }

    /// Runs a program on the samples and measures its errors.
    fn measure(&self, compiled: &dyn Compiled) -> Result<Outcome, Error> {
        let (stacks, saturations) = machine(compiled, self.trial.samples)?;
        let measured = Measured {
            saturations: saturations.results,
            saturated_inputs: saturations.inputs,
            saturated_constants: compiled.report().saturated_constants,
            comparison: compare(&stacks, &self.reference),
        };
        let Measured { saturations: unfit, comparison, .. } = measured;
        tracing::info!(saturations = unfit, rms_error = comparison.rms_error, "scales tried");
        Ok(Outcome { measured, saturations })
    }

    /// Tries plans, from the simplest on, until the results are good.
    fn attempts<'s>(&'s self, before: &'s Measured, mode: Mode) -> Result<Attempts<'s>, Error> {
        let info = self.trial.instance.info();
        let mut attempts = Attempts {
            search: self,
            before,
            mode,
            best: None,
            last: None,
            reason: "no scale of the layers makes more values fit".to_owned(),
            tried: 0,
        };
        if info.number_format.and_then(|format| format.step()).is_none() {
            attempts.reason = "the target's number format has no fixed range".to_owned();
            return Ok(attempts);
        }
        attempts.margins()?;
        if mode == Mode::Auto && attempts.measured().is_poor() {
            let filled = attempts.filled()?;
            attempts.balanced(filled)?;
            attempts.equalized(filled)?;
            if attempts.measured().unfit() > before.unfit() {
                attempts.attempt(Plan { margin: filled.margin * WIDER, ..filled }, &self.ranged)?;
            }
        }
        Ok(attempts)
    }

    /// Returns the program for a plan. `None` if nothing needs a scale, or if it equals `last`; a
    /// reason if it does not compile.
    fn candidate(
        &self,
        plan: Plan,
        ranged: &Ranged,
        limits: &Limits,
        last: &mut Option<(bool, Vec<(String, i32)>)>,
    ) -> Result<Result<Option<Candidate>, String>, Error> {
        let rescaled = self.rescaled(ranged, limits)?;
        let Some(Rescaled { graph, exponents, scales }) = rescaled else { return Ok(Ok(None)) };
        if last.replace((plan.equalized, exponents.clone())) == Some((plan.equalized, exponents.clone())) {
            return Ok(Ok(None));
        }
        let compiled = match self.program(&graph, &scales, true) {
            Ok(compiled) => compiled,
            Err(error) => return Ok(Err(format!("the rescaled network does not compile: {error}"))),
        };
        let outcome = self.measure(&*compiled)?;
        let chosen = Chosen { graph, exponents: exponents.into_iter().collect(), scales, compiled };
        Ok(Ok(Some(Candidate { chosen, plan, outcome })))
    }

    /// Returns the graph with scales within these limits.
    fn rescaled(&self, ranged: &Ranged, limits: &Limits) -> Result<Option<Rescaled>, Error> {
        let Ranged { graph, ranges } = ranged;
        let of_host = self.trial.instance.nodes_of_host(graph)?;
        let is_host = |node: &Node| of_host.contains(&node.name);
        rescale_beside(graph, ranges, limits, &is_host).map_err(|error| self.failed(error))
    }

    /// Compiles a rescaled graph, with the choices of the first compilation if they still work.
    fn program(&self, graph: &Graph, scales: &Scales, draft: bool) -> Result<Box<dyn Compiled>, TargetError> {
        let _phase = Phase::begin("compile");
        let compile = |options: &CompileOptions| {
            let options = CompileOptions { draft, scales: scales.clone(), ..options.clone() };
            self.trial.instance.compile(graph, &options)
        };
        compile(&self.options).or_else(|_| compile(self.trial.options))
    }

    fn failed(&self, source: PassError) -> Error {
        Error::Simplify { path: self.trial.model.file_name.clone(), source: source.into() }
    }

    /// Returns where a program of a graph saturates, and why.
    fn remaining(
        &self,
        saturations: &Saturations,
        compiled: &dyn Compiled,
        graph: &Graph,
        exponents: &Exponents,
        scales: &Scales,
    ) -> Vec<Remaining> {
        let largest =
            self.trial.instance.info().number_format.map_or(f64::INFINITY, |format| format.largest());
        let Ranged { graph: original, ranges } = &self.ranged;
        let look = remaining::Look { graph, exponents, scales, original, ranges, largest };
        let mut remaining = look.inputs(saturations.inputs);
        remaining.extend(look.at(&saturations.layers, &compiled.info().layers));
        remaining
    }
}

impl Ranged {
    fn new(graph: Graph, samples: &[Sample]) -> Result<Self, Error> {
        let ranges = observe(&graph, samples, || Ranges::new(&graph))?;
        Ok(Self { graph, ranges })
    }
}

/// Returns the layers with a nonzero exponent.
fn layer_exponents(compiled: &dyn Compiled, exponents: &Exponents) -> Vec<LayerExponent> {
    let exponent = |layer: &npukit_target::Layer| {
        let found = layer.results.iter().find_map(|name| exponents.get(name));
        found.map(|&exponent| LayerExponent { layer: layer.name.clone(), exponent })
    };
    compiled.info().layers.iter().filter_map(exponent).collect()
}
