//! Design space exploration. [`Exploration`] makes the points of a [`Space`], each a program with
//! its cycles, error and area, and finds the Pareto front.
//!
//! | module | contents |
//! |---|---|
//! | `space` | file with the choices for each parameter |
//! | `condition` | conditions on a point, such as `bram <= 140 and argmax_agree >= 0.99` |
//! | `point` | instance and its figures |
//! | `front` | Pareto-optimal points, and points that cannot be |
//! | `language` | language models, timed from their shapes |
//! | `halving` | rounds that compile the first layers and keep the better half |
//! | `table` | points as CSV |
//! | `scatter` | points as a scatter plot |
//! | `merge` | marks of the front, with points that are nearly equal merged |
//! | `journal` | points as lines of a file from which an exploration resumes |

mod condition;
mod error;
mod front;
mod halving;
mod journal;
mod language;
mod merge;
mod point;
mod scatter;
mod space;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use npukit_target::{Area, CompileEstimate, Pace, Phase, TargetError, TimeOptions, leaves};
use rayon::prelude::*;
use serde_json::Value;

use crate::Context;
use crate::compare::comparison::compare;
use crate::costs::{Costs, HostTime};
use crate::error::Error;
use crate::inputs::{self, InputFile, Preprocess, Sample, wanted};
use crate::model::compile_job::CompiledModel;
use crate::model::language::place;
use crate::model::source::Source;
use crate::model::{self, Model, ModelOptions};
use crate::numbers::rescale::Calibration;
use crate::run::batch::{float, machine};
use crate::run::latency::{batch, samples_per_second};
use crate::run::stack::Stack;
use crate::targets::resolve;
pub use condition::{Condition, ConditionError};
pub use error::{JournalError, SpaceError};
use front::Front;
use halving::{Beginning, beginnings};
pub use halving::{Halved, Round};
pub use journal::Journal;
use language::LanguageNetwork;
pub use point::{METRICS, Metric, ModelPoint, Planned, Point, heading};
pub(crate) use scatter::{is_drawable, scatter};
pub use space::{Choice, Space, with_targets};
pub(crate) use table::csv;

/// Parameters of an exploration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Paths of the models; a point is one instance for all of them.
    pub models: Vec<String>,
    /// Options for reading the models.
    pub model: ModelOptions,
    /// Choices for each parameter.
    pub space: Space,
    /// Samples by which numeric ranges are chosen.
    pub calibration: Calibration,
    /// Samples on which every program runs and is compared with the float reference. Without
    /// samples, the error of a point is unknown.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the samples' values.
    pub preprocess: Preprocess,
    /// Number of tokens of a language model's text; `None` for 2048.
    pub context: Option<usize>,
    /// Number of points to choose at random; `None` for all points.
    pub sample: Option<usize>,
    /// Random seed of the choice.
    pub seed: u64,
    /// Share of each objective within which a point counts as equal to a Pareto-optimal one, at
    /// least 0 and below 1; the smallest machine represents them. `None` merges no points.
    pub epsilon: Option<f64>,
    /// Whether to compile points that a lower bound shows to be dominated.
    pub exhaustive: bool,
    /// Whether to compile only the first layers at first, and more of them for the better half,
    /// before the remaining points are compiled whole.
    pub halve: bool,
    /// Costs beyond the accelerator's cycles: time of the host, and energy.
    pub costs: Costs,
}

impl Request {
    /// Returns the model at `path` with the options of an instance.
    pub(crate) fn source(&self, path: &str, planned: &Planned) -> Source {
        Source {
            options: planned.options.clone(),
            model: self.model.clone(),
            calibration: self.calibration.clone(),
            ..Source::model(path, &planned.target)
        }
    }
}

/// Network that is read once for all points.
#[derive(Clone)]
struct Prepared {
    path: String,
    model: Model,
    samples: Vec<Sample>,
    /// Outputs of the float reference for the samples.
    reference: Vec<Stack>,
    /// Whether its programs are only compared with each other, so that the first tiling that fits
    /// is good enough.
    draft: bool,
}

/// Exploration of a space for one or several networks.
pub struct Exploration {
    request: Request,
    networks: Vec<Prepared>,
    languages: Vec<LanguageNetwork>,
    /// First layers of the networks, one entry per round; empty if all points are compiled whole.
    beginnings: Vec<Beginning>,
}

/// Result of an exploration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explored {
    /// Every point that was compiled, in the order of the space.
    pub points: Vec<Point>,
    /// Points skipped because a lower bound shows that they are dominated.
    pub pruned: Vec<Point>,
    /// Result of the rounds that compiled the first layers, if there were any.
    pub halved: Halved,
    /// Places in the space of the points that were known before.
    pub old: BTreeSet<u64>,
}

impl Exploration {
    /// Reads the networks, and evaluates them in float if there are samples.
    ///
    /// # Errors
    ///
    /// Fails as [`Source::graph`] does for the models, if an input is missing, and with
    /// [`Error::Space`] if the space is empty or `epsilon` is out of range.
    pub fn new(request: Request, context: Context<'_>) -> Result<Self, Error> {
        if let Some(epsilon) = request.epsilon.filter(|epsilon| !(0.0..1.0).contains(epsilon)) {
            let reason = format!("{epsilon} is not a share of at least 0 and below 1");
            return Err(SpaceError::Key { key: "epsilon".to_owned(), reason }.into());
        }
        let (mut networks, mut languages) = (Vec::new(), Vec::new());
        for path in &request.models {
            match place(path, context.reader) {
                Some((folder, layout)) => {
                    languages.push(LanguageNetwork::read(path, (&folder, layout), &request, context)?);
                }
                None => networks.push(prepare(path, &request, context)?),
            }
        }
        if let (Some(_), []) = (request.context, &languages[..]) {
            let (path, option) = (request.models.join(", "), "--context".to_owned());
            return Err(Error::Inapplicable { path, option, found: "not a language model" });
        }
        let beginnings = if request.halve { beginnings(&networks)? } else { Vec::new() };
        Ok(Self { request, networks, languages, beginnings })
    }

    /// Returns the space of choices.
    pub fn space(&self) -> &Space {
        &self.request.space
    }

    /// Returns the instances of the space that meet the conditions on parameters, or a sample of
    /// them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Space`] if no instance is left, with the condition that excluded the last
    /// one.
    pub fn plan(&self, context: Context<'_>) -> Result<Vec<Planned>, Error> {
        let _phase = Phase::begin("plan points");
        let space = &self.request.space;
        let all = space.points(self.request.sample, self.request.seed)?;
        let points = all.len();
        let known: Vec<Known> = all.par_iter().map(|point| parameters(point, context)).collect();
        space.check_names(&known)?;
        let mut left: Vec<(Planned, Known)> = all.into_iter().zip(known).collect();
        for condition in &space.conditions {
            let before = left.len();
            left.retain(|(_, known)| may_hold(condition, known));
            if left.is_empty() && before > 0 {
                return Err(SpaceError::Empty { condition: condition.to_string(), points }.into());
            }
        }
        Ok(left.into_iter().map(|(planned, _)| planned).collect())
    }

    /// Returns the instance at a place of the space, or `None` if its parameters do not meet the
    /// conditions.
    ///
    /// # Errors
    ///
    /// Fails if a value cannot be part of the name of an instance.
    pub fn planned(&self, index: u64, context: Context<'_>) -> Result<Option<Planned>, Error> {
        let planned = self.request.space.point(index)?;
        let known = parameters(&planned, context);
        let may_be = self.request.space.conditions.iter().all(|condition| may_hold(condition, &known));
        Ok(may_be.then_some(planned))
    }

    /// Returns the figures of the objectives (less is better), or `None` if one is unknown.
    pub fn figures(&self, point: &Point) -> Option<Vec<f64>> {
        Front::new(&self.request.space).figures(point)
    }

    /// Compiles, times and runs all instances of `plan` that are not in `known` yet, on all cores
    /// of the host. `done` is called with each point as it is ready, including the points of
    /// halving rounds.
    pub fn evaluate_all(
        &self,
        plan: &[Planned],
        known: Vec<Point>,
        context: Context<'_>,
        done: &(dyn Fn(&Point) + Sync),
    ) -> Explored {
        let (parts, known): (Vec<Point>, Vec<Point>) =
            known.into_iter().partition(|point| point.part.is_some());
        let (plan, halved) = self.halve(plan, &parts, context, done);
        let phase = Phase::counting("explore", plan.len());
        let mut found: BTreeMap<u64, Point> = known.into_iter().map(|point| (point.index, point)).collect();
        let old: BTreeSet<u64> = found.keys().copied().collect();
        let mut left: Vec<(&Planned, Point)> = plan
            .iter()
            .filter(|planned| !found.contains_key(&planned.index))
            .map(|planned| (*planned, Point::new(planned)))
            .collect();
        phase.reach(plan.len() - left.len());
        let prunes = !self.request.exhaustive
            && self.request.space.objectives.iter().all(|one| one.metric.is_bounded());
        if prunes {
            left.par_iter_mut().for_each(|(planned, point)| self.bound(planned, point, context));
            // Starts with the most promising points. Default: points without a lower bound come
            // last.
            let bound = |point: &Point| point.bound_milliseconds.unwrap_or(f64::INFINITY);
            left.sort_by(|(_, a), (_, b)| bound(a).total_cmp(&bound(b)));
        }
        let (mut pruned, mut front) = (Vec::new(), Front::new(&self.request.space));
        let epsilon = self.request.epsilon.unwrap_or(0.0); // Default: an exact front.
        found.values().for_each(|point| front.add(point));
        let evaluated = |planned: &Planned| {
            let point = self.evaluate(planned, context);
            done(&point);
            phase.advance();
            point
        };
        let mut left = left.into_iter().peekable();
        while left.peek().is_some() {
            let beaten = pruned.len();
            let some = wave(left.by_ref(), prunes.then_some((&front, epsilon)), &mut pruned);
            pruned[beaten..].iter().for_each(|_| phase.advance());
            let points: Vec<Point> = some.into_par_iter().map(evaluated).collect();
            points.iter().for_each(|point| front.add(point));
            found.extend(points.into_iter().map(|point| (point.index, point)));
        }
        pruned.sort_by_key(|point| point.index);
        let points = self.marked(found.into_values().collect());
        Explored { points, pruned, halved, old }
    }

    /// Returns the points with the Pareto-optimal ones marked.
    pub fn marked(&self, mut points: Vec<Point>) -> Vec<Point> {
        points.sort_by_key(|point| point.index);
        merge::mark(&mut points, &self.request.space, self.request.epsilon);
        points
    }

    /// Fills in the lower bounds of an instance, before anything is compiled for it.
    fn bound(&self, planned: &Planned, point: &mut Point, context: Context<'_>) {
        let Ok(instance) = resolve(&planned.target, context.reader) else { return };
        point.area.clone_from(&instance.info().area);
        let (Some(peak), Some(mhz)) = (instance.info().macs_per_cycle, instance.info().clock_mhz) else {
            return;
        };
        let cycles = self.networks.iter().map(|network| {
            let source = self.request.source(&network.path, planned);
            let estimate: CompileEstimate =
                source.of_model(network.model.clone(), context).ok()?.estimate().ok()?;
            Some((estimate.macs?.saturating_sub(estimate.host_macs) as f64 / peak).ceil())
        });
        // The products of a language model are not counted before it is timed.
        let cycles: Option<f64> = if self.languages.is_empty() { cycles.sum() } else { None };
        point.bound_milliseconds = cycles.map(|cycles| cycles / (1e3 * mhz));
    }

    /// Compiles the networks for an instance, times the programs and runs them on the samples. If
    /// without a program, the reason is the point's `error`.
    pub fn evaluate(&self, planned: &Planned, context: Context<'_>) -> Point {
        self.evaluate_on(&self.networks, &self.languages, planned, context)
    }

    /// Like `evaluate`, but only for the given networks.
    fn evaluate_on(
        &self,
        networks: &[Prepared],
        languages: &[LanguageNetwork],
        planned: &Planned,
        context: Context<'_>,
    ) -> Point {
        let mut point = Point::new(planned);
        let instance = match resolve(&planned.target, context.reader) {
            Ok(instance) => instance,
            Err(error) => return Point { error: Some(message(&error)), ..point },
        };
        point.area.clone_from(&instance.info().area);
        let graphs = networks.iter().map(|network| self.measured(network, planned, context));
        let texts = languages.iter().map(|language| language.measured(&self.request, planned, &*instance));
        for found in graphs.chain(texts) {
            match found {
                Ok(model) => point.models.push(model),
                Err(error) => return Point { error: Some(message(&error)), models: Vec::new(), ..point },
            }
        }
        point.sum_up();
        let known = parameters(planned, context);
        let value = |name: &str| point.named(name).or_else(|| lookup(&known, name));
        point.feasible = self.request.space.conditions.iter().all(|one| one.holds(&value) == Some(true));
        point
    }

    fn measured(
        &self,
        network: &Prepared,
        planned: &Planned,
        context: Context<'_>,
    ) -> Result<ModelPoint, Error> {
        let source = self.request.source(&network.path, planned);
        let mut origin = source.of_model(network.model.clone(), context)?;
        origin.options.draft = network.draft;
        let quantized = source.quantize(origin, context)?;
        let CompiledModel { origin, program: compiled } = source.calibrate(quantized, context)?;
        let program = compiled.report();
        let phase = Phase::begin("clock");
        let costs = &self.request.costs;
        let counts_activity = costs.technology.is_some();
        let options = TimeOptions { is_brief: true, counts_activity, ..TimeOptions::default() };
        let time = match compiled.time(&options) {
            Ok(time) => Some(time),
            // A target without a clock has no cycles.
            Err(TargetError::Unsupported { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        drop(phase);
        let pace = time.as_ref().map(Pace::of);
        let comparison = if network.samples.is_empty() {
            None
        } else {
            Some(compare(&machine(&*compiled, &network.samples)?.0, &network.reference))
        };
        let milliseconds = pace.and_then(|pace| pace.milliseconds);
        let batch = batch(&compiled.inputs(), origin.model.batch);
        let with_host = costs.host.map(|rates| HostTime::of(rates, compiled.info(), milliseconds, batch));
        let energy = time.as_ref().and_then(|time| costs.energy(time));
        Ok(ModelPoint {
            model: network.path.clone(),
            name: program.name,
            layers: program.layers.len(),
            instructions: program.instructions,
            cycles: pace.and_then(|pace| pace.cycles),
            milliseconds,
            frames_per_second: samples_per_second(milliseconds, batch),
            utilization: pace.and_then(|pace| pace.utilization),
            relative_error: comparison.and_then(|found| found.relative_error),
            snr_db: comparison.and_then(|found| found.snr_db),
            argmax_agree: comparison.and_then(|found| found.argmax_agree),
            total_milliseconds: with_host.and_then(|host| host.latency_ms),
            joules: energy.and_then(|energy| energy.total.joules),
        })
    }
}

/// Number of points per core that are compiled between two checks whether further points are still
/// needed.
const WAVE: usize = 4;

/// Returns the next points to compile, as many as one wave has. Points that a point of `front`
/// beats go to `pruned`.
fn wave<'a>(
    left: impl Iterator<Item = (&'a Planned, Point)>,
    front: Option<(&Front<'_>, f64)>,
    pruned: &mut Vec<Point>,
) -> Vec<&'a Planned> {
    let is_needed = |(planned, mut point): (&'a Planned, Point)| {
        point.beaten_by = front.and_then(|(front, epsilon)| front.beats(&point, epsilon));
        if point.beaten_by.is_none() {
            return Some(planned);
        }
        pruned.push(point);
        None
    };
    left.filter_map(is_needed).take(WAVE * rayon::current_num_threads().max(1)).collect()
}

/// Reads a network and evaluates it in float.
fn prepare(path: &str, request: &Request, context: Context<'_>) -> Result<Prepared, Error> {
    let samples = if request.inputs.is_empty() { &request.calibration.inputs } else { &request.inputs };
    let model = model::load(path, &request.model, samples, context.reader)?;
    let samples = if request.inputs.is_empty() {
        Vec::new()
    } else {
        let inputs = wanted::of_model(&model);
        inputs::samples(&request.inputs, &inputs, &request.preprocess, context.reader, None)?.samples
    };
    let reference = reference(&model, &samples)?;
    Ok(Prepared { path: path.to_owned(), model, samples, reference, draft: false })
}

/// Returns the outputs of the float reference for samples; empty without samples.
fn reference(model: &Model, samples: &[Sample]) -> Result<Vec<Stack>, Error> {
    if samples.is_empty() { Ok(Vec::new()) } else { float(&model.graph, samples) }
}

/// Known parameters and figures of an instance, by name.
type Known = BTreeMap<String, Value>;

/// Returns the known parameters of an instance: parameters of the space and of the instance. Empty
/// if the instance is invalid.
fn parameters(planned: &Planned, context: Context<'_>) -> Known {
    let mut known = Known::new();
    if let Ok(instance) = resolve(&planned.target, context.reader) {
        let tree = &instance.info().parameters;
        known.extend(leaves(tree).into_iter().map(|(name, value)| (name, value.clone())));
        known.extend(instance.info().area.iter().flat_map(Area::values));
    }
    known.extend(planned.parameters.clone());
    known
}

/// Whether a condition may hold for an instance. It may if it depends on anything that the
/// parameters do not determine.
fn may_hold(condition: &Condition, known: &Known) -> bool {
    condition.holds(&|name| lookup(known, name)) != Some(false)
}

/// Returns the value called `name`, which may be the last part of a full name.
fn lookup(known: &Known, name: &str) -> Option<Value> {
    let is_end = |full: &str| full.strip_suffix(name).is_some_and(|path| path.ends_with('.'));
    known.get(name).or_else(|| known.iter().find(|(full, _)| is_end(full)).map(|(_, value)| value)).cloned()
}

/// Formats an error with its causes on one line.
fn message(error: &Error) -> String {
    let diagnostics = error.diagnostics();
    let more = diagnostics.len().saturating_sub(1);
    let first = diagnostics.first().map_or_else(|| error.to_string(), |first| first.message.clone());
    if more == 0 { first } else { format!("{first} (and {more} more)") }
}
