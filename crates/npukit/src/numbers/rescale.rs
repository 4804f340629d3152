//! Powers of two between layers, chosen on samples: `--calibrate` and `--rescale`.
//!
//! [`choose`] compiles the model with and without them, runs both on the samples, and keeps the program that
//! saturates less and is not further from float, or is a good deal nearer. What to try follows from ranges in
//! float; at most [`MAX_TRIED`] programs are compiled and run, so that a calibration takes no more than ten
//! times as long as a run.
//!
//! | module | is |
//! |---|---|
//! | `remaining` | where the chosen program still saturates, and why |
//! | `stated` | scales by the ranges that a model states, without samples |

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

/// Whether to rescale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Where it removes saturation on the samples and brings the outputs no further from float, or brings them a good
    /// deal nearer.
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
    /// Typical inputs. Without them the scales come from the model's own ranges, else from [`Self::own`], else from
    /// made-up inputs.
    pub inputs: Vec<InputFile>,
    /// Inputs of the run itself, for a model that neither `inputs` nor ranges of its own scale.
    pub own: Option<OwnInputs>,
    /// Ranges of the model's inputs, for made-up inputs.
    pub ranges: Vec<GivenRange>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// Whether to rescale.
    pub mode: Mode,
    /// How to quantise, for targets that take integers only; the nearest to float on the samples when not given.
    pub method: Option<Method>,
}

/// Inputs of a run, of which the first 32 samples choose scales where nothing else does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnInputs {
    /// The files.
    pub files: Vec<InputFile>,
    /// Preprocessing of their values.
    pub preprocess: Preprocess,
}

/// Samples of a run that choose scales, at most.
pub const OWN_SAMPLES: usize = 32;

impl Calibration {
    /// Whether the caller asks for anything: inputs of the run itself are no request.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self { own: self.own.clone(), ..Self::default() }
    }

    /// Whether values are to be changed, and there are none.
    pub(crate) fn prepares_nothing(&self) -> bool {
        self.inputs.is_empty() && !self.preprocess.is_nothing()
    }
}

/// How many times the ranges seen are to fit, one after the other: a quarter more, for inputs that go further than the
/// samples; then more and more while something saturates or it gets better: sums may be larger on their way than at
/// their end, and larger exponents leave more bits to the weights that follow.
const MARGINS: [f64; 5] = [1.25, 2.5, 5.0, 20.0, 80.0];
/// Up to here each margin is twice the one before.
const FINE: f64 = 5.0;
/// The next margin for a filled program that saturates.
const WIDER: f64 = 4.0;
/// Programs in which what is small takes more bits, weights take bits of their operands, or channels are made alike.
const MAX_FILLED: usize = 5;
/// Programs that are tried at most: one for each margin, and those that fill the format.
const MAX_TRIED: usize = MARGINS.len() + MAX_FILLED;
/// Exponents of values by name; 0 where there is none.
pub(crate) type Exponents = BTreeMap<String, i32>;

/// The exponent of a value.
pub(crate) fn exponent(exponents: &Exponents, name: &str) -> i32 {
    // Default: a value without an exponent is stored as it is.
    exponents.get(name).copied().unwrap_or(0)
}

/// A program for a rescaled graph.
pub(crate) struct Chosen {
    pub graph: Graph,
    pub exponents: Exponents,
    /// Those of inputs and outputs.
    pub scales: Scales,
    pub compiled: Box<dyn Compiled>,
}

/// A model on an instance, and samples to judge by.
pub(crate) struct Trial<'a> {
    pub instance: &'a dyn Instance,
    pub model: &'a Model,
    pub options: &'a CompileOptions,
    pub samples: &'a [Sample],
}

/// Tries rescalings of the model, whose program without one is `plain`.
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
        (Mode::Always, _) => (true, "it was asked for".to_owned()),
        (_, true) => (true, gain(&best.outcome.measured, &before.measured).to_owned()),
        (_, false) => (false, "it does not saturate less, or is further from float".to_owned()),
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
        "it saturates less, and is no further from float"
    } else {
        "what was rounded away takes more bits, and it is nearer to float"
    }
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan {
    margin: f64,
    /// Whether what is small takes more bits, too.
    fill: bool,
    /// Whether operands of products lend bits to the weights.
    balance: bool,
    /// Whether channels are made alike first.
    equalised: bool,
}

impl Plan {
    /// Scales of this margin, and nothing else.
    const fn plain(margin: f64) -> Self {
        Self { margin, fill: false, balance: false, equalised: false }
    }
}

/// How a program did, and where it saturates.
struct Outcome {
    measured: Measured,
    saturations: Saturations,
}

/// A rescaled program and how it did.
struct Candidate {
    chosen: Chosen,
    plan: Plan,
    outcome: Outcome,
}

/// A graph and how large its values become.
struct Ranged {
    graph: Graph,
    ranges: Ranges,
}

/// A trial under way.
struct Search<'a> {
    trial: &'a Trial<'a>,
    reference: Vec<Stack>,
    /// The model's options, with what the compiler chose once.
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

    /// Runs a program on the samples.
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

    /// Puts the best program into `best`; gives the reason when there is none.
    fn best(
        &self,
        before: &Measured,
        mode: Mode,
        best: &mut Option<Candidate>,
        tried: &mut usize,
    ) -> Result<String, Error> {
        let format = self.trial.instance.info().number_format;
        let Some((largest, step)) = format.and_then(|format| Some((format.largest(), format.step()?))) else {
            return Ok("the target's numbers have no fixed range".to_owned());
        };
        let functions = self.trial.instance.info().scaling.functions;
        let addends = self.trial.instance.info().scaling.addends_of_means;
        let ports = self.trial.instance.info().scaling.ports;
        let limits = |plan: Plan| {
            let Plan { margin, fill, balance, .. } = plan;
            Limits { largest, step, margin, fill, functions, balance, ports, addends }
        };
        let mut reason = "no scale of its layers makes more of the network fit".to_owned();
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
            // What is still poor wants more bits, not room.
            let go_on = got_better && !(mode == Mode::Auto && poor(best));
            if unfit(best) == 0 && !go_on && (best.is_some() || mode == Mode::Auto) {
                break;
            }
            attempt(Plan::plain(margin), &self.ranged, best)?;
        }
        // Margins far apart: half of one may do, too.
        if let Some(margin) = best.as_ref().map(|best| best.plan.margin).filter(|margin| *margin > FINE) {
            attempt(Plan::plain(margin / 2.0), &self.ranged, best)?;
        }
        if mode == Mode::Auto && poor(best) {
            let margin = best.as_ref().map_or(MARGINS[0], |best| best.plan.margin);
            let mut filled = Plan { fill: true, ..Plan::plain(margin) };
            attempt(filled, &self.ranged, best)?;
            // Where nothing was good, the least saturation says little of how much room there should be.
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

    /// The program for a plan; none when nothing needs a scale or it is that of `last`, a reason when it does not
    /// compile.
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

    /// The graph with scales within these limits.
    fn rescaled(&self, ranged: &Ranged, limits: &Limits) -> Result<Option<Rescaled>, Error> {
        let Ranged { graph, ranges } = ranged;
        let of_host = self.trial.instance.nodes_of_host(graph)?;
        let is_host = |node: &Node| of_host.contains(&node.name);
        rescale_beside(graph, ranges, limits, &is_host).map_err(|error| self.failed(error))
    }

    /// The program of a rescaled graph, with what the compiler chose for the model where that does.
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

    /// Where a program of a graph saturates, and why.
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

/// Layers with an exponent other than 0.
fn layer_exponents(compiled: &dyn Compiled, exponents: &Exponents) -> Vec<LayerExponent> {
    let exponent = |layer: &npukit_target::Layer| {
        let found = layer.results.iter().find_map(|name| exponents.get(name));
        found.map(|&exponent| LayerExponent { layer: layer.name.clone(), exponent })
    };
    compiled.info().layers.iter().filter_map(exponent).collect()
}
