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
use npukit_graph::quantise::Method;
use npukit_graph::rescale::{Limits, Ranges, Rescaled, Scales, equalise, rescale_beside};
use npukit_graph::{Graph, Node};
use npukit_target::{CompileOptions, Compiled, GraphForm, Instance, Phase, Saturations, TargetError};

use crate::compare::comparison::compare;
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess, Sample};
use crate::model::Model;
use crate::numbers::assumed::GivenRange;
use crate::numbers::quantise::observe;
use crate::report::rescale::{LayerExponent, Measured, Remaining, Report};
use crate::run::batch::{float, machine};
use crate::run::stack::Stack;
pub(crate) use stated::as_stated;

/// When to rescale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// If it removes saturation on the samples without a larger error, or makes the error much
    /// smaller.
    #[default]
    Auto,
    /// If any value or constant does not fit.
    Always,
    /// Never.
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
    let mut report = Report {
        applied: false,
        reason: "nothing saturates".to_owned(),
        samples: trial.samples.len(),
        margin: None,
        layers: Vec::new(),
        before: before.measured,
        after: None,
        equalised: false,
        balanced: false,
        tried: 0,
        remaining: Vec::new(),
    };
    let found = if mode == Mode::Auto && before.measured.unfit() == 0 && !before.measured.is_poor() {
        None
    } else {
        let mut best = None;
        let reason = search.best(&before.measured, mode, &mut best, &mut report.tried)?;
        report.reason = reason;
        best
    };
    let none = (Exponents::new(), Scales::new());
    let Some(best) = found else {
        report.remaining =
            search.remaining(&before.saturations, plain, &trial.model.simplified, (&none.0, &none.1));
        return Ok((None, report));
    };
    let gains = best.outcome.measured.is_gain_over(&before.measured);
    (report.applied, report.reason) = match (mode, gains) {
        (Mode::Always, _) => (true, "it was requested".to_owned()),
        (_, true) => (true, gain(&best.outcome.measured, &before.measured).to_owned()),
        (_, false) => (false, "nothing improved: saturation is not lower, or the error is larger".to_owned()),
    };
    let Plan { margin, equalised, balance, .. } = best.plan;
    (report.margin, report.after) = (Some(margin), Some(best.outcome.measured));
    (report.equalised, report.balanced) = (equalised, balance);
    report.layers = layer_exponents(&*best.chosen.compiled, &best.chosen.exponents);
    report.remaining = if report.applied {
        let Chosen { graph, exponents, scales, compiled } = &best.chosen;
        search.remaining(&best.outcome.saturations, &**compiled, graph, (exponents, scales))
    } else {
        search.remaining(&before.saturations, plain, &trial.model.simplified, (&none.0, &none.1))
    };
    if !report.applied {
        return Ok((None, report));
    }
    let compiled = search.program(&best.chosen.graph, &best.chosen.scales, false)?;
    Ok((Some(Chosen { compiled, ..best.chosen }), report))
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
    equalised: bool,
}

impl Plan {
    /// Plan with scales for this margin, and nothing else.
    const fn plain(margin: f64) -> Self {
        Self { margin, fill: false, balance: false, equalised: false }
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
        let apart = trial.instance.prepare(&trial.model.simplified, trial.options, GraphForm::Apart)?;
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

    /// Stores the best program in `best`, or returns the reason why no program was stored.
    fn best(
        &self,
        before: &Measured,
        mode: Mode,
        best: &mut Option<Candidate>,
        tried: &mut usize,
    ) -> Result<String, Error> {
        let format = self.trial.instance.info().number_format;
        let Some((largest, step)) = format.and_then(|format| Some((format.largest(), format.step()?))) else {
            return Ok("the target's number format has no fixed range".to_owned());
        };
        let functions = self.trial.instance.info().scaling.functions;
        let addends = self.trial.instance.info().scaling.addends_of_means;
        let ports = self.trial.instance.info().scaling.ports;
        let limits = |plan: Plan| {
            let Plan { margin, fill, balance, .. } = plan;
            Limits { largest, step, margin, fill, functions, balance, ports, addends }
        };
        let mut reason = "no scale of the layers makes more values fit".to_owned();
        let mut last = None;
        let mut attempt = |plan: Plan, ranged: &Ranged, best: &mut Option<Candidate>| -> Result<(), Error> {
            if *tried == MAX_TRIED {
                return Ok(());
            }
            match self.candidate(plan, ranged, &limits(plan), &mut last)? {
                Ok(Some(new)) => {
                    *tried += 1;
                    if best
                        .as_ref()
                        .is_none_or(|best| new.outcome.measured.is_better_than(&best.outcome.measured))
                    {
                        *best = Some(new);
                    }
                }
                Ok(None) => {}
                Err(why) => reason = why,
            }
            Ok(())
        };
        let unfit =
            |best: &Option<Candidate>| best.as_ref().map_or(before, |best| &best.outcome.measured).unfit();
        let poor =
            |best: &Option<Candidate>| best.as_ref().map_or(before, |best| &best.outcome.measured).is_poor();
        for (place, &margin) in MARGINS.iter().enumerate() {
            let last = place.checked_sub(1).map(|place| MARGINS[place]);
            let got_better = best.as_ref().is_some_and(|best| Some(best.plan.margin) == last);
            // A result that is still poor needs more bits, not more headroom.
            let go_on = got_better && !(mode == Mode::Auto && poor(best));
            if unfit(best) == 0 && !go_on && (best.is_some() || mode == Mode::Auto) {
                break;
            }
            attempt(Plan::plain(margin), &self.ranged, best)?;
        }
        // Large margins are far apart: half of one may be enough.
        if let Some(margin) = best.as_ref().map(|best| best.plan.margin).filter(|margin| *margin > FINE) {
            attempt(Plan::plain(margin / 2.0), &self.ranged, best)?;
        }
        if mode == Mode::Auto && poor(best) {
            let margin = best.as_ref().map_or(MARGINS[0], |best| best.plan.margin);
            let mut filled = Plan { fill: true, ..Plan::plain(margin) };
            attempt(filled, &self.ranged, best)?;
            // If nothing was good, the least saturation does not determine the headroom.
            if margin > MARGINS[0] && poor(best) {
                let narrow = Plan { margin: MARGINS[0], ..filled };
                attempt(narrow, &self.ranged, best)?;
                if best.as_ref().is_some_and(|best| best.plan == narrow) {
                    filled = narrow;
                }
            }
            let is_best =
                |best: &Option<Candidate>, plan: Plan| best.as_ref().is_some_and(|best| best.plan == plan);
            let mut balanced = Plan { balance: true, ..filled };
            while poor(best) {
                attempt(balanced, &self.ranged, best)?;
                if !is_best(best, balanced) {
                    break;
                }
                balanced.margin *= WIDER;
            }
            let near = best.as_ref().map_or(filled, |best| best.plan);
            let even =
                equalise(&self.ranged.graph).map_err(|error| self.failed(error))?.filter(|_| poor(best));
            if let Some(even) = even.map(|even| Ranged::new(even, self.trial.samples)).transpose()? {
                attempt(Plan { fill: true, equalised: true, ..near }, &even, best)?;
            }
            if unfit(best) > before.unfit() {
                attempt(Plan { margin: filled.margin * WIDER, ..filled }, &self.ranged, best)?;
            }
        }
        Ok(reason)
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
        if last.replace((plan.equalised, exponents.clone())) == Some((plan.equalised, exponents.clone())) {
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
        (exponents, scales): (&Exponents, &Scales),
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
