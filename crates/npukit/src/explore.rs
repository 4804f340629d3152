//! Many machines for one network or several: [`Exploration`] makes the points of a [`Space`], each a program with its
//! cycles, its error and its area, and finds those that no other beats.
//!
//! | module | has |
//! |---|---|
//! | `space` | the file that says what may be chosen |
//! | `condition` | what a point must be, as `bram <= 140 and argmax_agree >= 0.99` |
//! | `point` | a machine and what came of it |
//! | `front` | the points that no other beats, and those that cannot |
//! | `halving` | rounds that compile the first layers, and keep the better half |
//! | `table` | points as CSV |
//! | `scatter` | points as a picture |
//! | `journal` | points as lines of a file, of which an exploration goes on |

mod condition;
mod error;
mod front;
mod halving;
mod journal;
mod point;
mod scatter;
mod space;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use npukit_target::{Area, Phase, Survey, TargetError, leaves};
use rayon::prelude::*;
use serde_json::Value;

use crate::Context;
use crate::compare::comparison::compare;
use crate::error::Error;
use crate::inputs::{self, InputFile, Preprocess, Sample, wanted};
use crate::model::origin::CompiledModel;
use crate::model::source::Source;
use crate::model::{self, Model, ModelOptions};
use crate::numbers::rescale::Calibration;
use crate::run::batch::{float, machine};
use crate::run::speed::{batch, samples_per_second};
use crate::run::stack::Stack;
use crate::targets::resolve;
pub use condition::{Condition, ConditionError};
pub use error::{JournalError, SpaceError};
use front::Front;
use halving::{Beginning, beginnings};
pub use halving::{Halved, Round};
pub use journal::Journal;
pub use point::{METRICS, Metric, ModelPoint, Planned, Point};
pub(crate) use scatter::scatter;
pub use space::{Choice, Space};
pub(crate) use table::csv;

/// What to explore.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The models: a point is a machine for all of them.
    pub models: Vec<String>,
    /// How they are read.
    pub model: ModelOptions,
    /// What may be chosen.
    pub space: Space,
    /// Samples by which numeric ranges are chosen.
    pub calibration: Calibration,
    /// Samples on which every program runs, beside float; its error is not known without.
    pub inputs: Vec<InputFile>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// So many points, chosen by the seed, instead of all.
    pub sample: Option<usize>,
    /// What the choice follows from.
    pub seed: u64,
    /// Compiles points too of which a bound tells that others beat them.
    pub exhaustive: bool,
    /// Compiles the first layers for all points, and more of them for the better half, before it compiles all for what is left.
    pub halve: bool,
}

impl Request {
    /// The model at `path` for a machine.
    pub(crate) fn source(&self, path: &str, planned: &Planned) -> Source {
        Source {
            options: planned.options.clone(),
            model: self.model.clone(),
            calibration: self.calibration.clone(),
            ..Source::model(path, &planned.target)
        }
    }
}

/// A network that is read once for all points.
#[derive(Clone)]
struct Prepared {
    path: String,
    model: Model,
    samples: Vec<Sample>,
    /// What it gives for the samples in float.
    reference: Vec<Stack>,
    /// Whether its programs are only compared with each other: then the first that fits does.
    draft: bool,
}

/// An exploration: its networks, and the space.
pub struct Exploration {
    request: Request,
    networks: Vec<Prepared>,
    /// The first layers of them, by rounds; none where all points are compiled whole.
    beginnings: Vec<Beginning>,
}

/// What came of the points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explored {
    /// Every point that was compiled, in the order of the space.
    pub points: Vec<Point>,
    /// Those of which a bound tells that another one beats them.
    pub pruned: Vec<Point>,
    /// What came of their first layers, where these were compiled before.
    pub halved: Halved,
    /// Places of the points that were known before.
    pub old: BTreeSet<u64>,
}

impl Exploration {
    /// Reads the networks, and evaluates them in float where there are samples.
    ///
    /// # Errors
    ///
    /// Those of [`Source::graph`] for the models, and what inputs lack; [`Error::Space`] for a space that is empty.
    pub fn new(request: Request, context: Context<'_>) -> Result<Self, Error> {
        let networks = request.models.iter().map(|path| prepare(path, &request, context));
        let networks: Vec<Prepared> = networks.collect::<Result<_, _>>()?;
        let beginnings = if request.halve { beginnings(&networks)? } else { Vec::new() };
        Ok(Self { request, networks, beginnings })
    }

    /// What may be chosen.
    pub fn space(&self) -> &Space {
        &self.request.space
    }

    /// The machines that the space has: those that its conditions on parameters admit, or a sample of them.
    ///
    /// # Errors
    ///
    /// [`Error::Space`] when no machine is left, with the condition after which none is.
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

    /// The machine at a place of the space; none where its parameters are not as the conditions say.
    ///
    /// # Errors
    ///
    /// A value that cannot follow the name of a target.
    pub fn planned(&self, index: u64, context: Context<'_>) -> Result<Option<Planned>, Error> {
        let planned = self.request.space.point(index)?;
        let known = parameters(&planned, context);
        let may_be = self.request.space.conditions.iter().all(|condition| may_hold(condition, &known));
        Ok(may_be.then_some(planned))
    }

    /// Figures of the objectives, of which less is better; none where one is not known.
    pub fn figures(&self, point: &Point) -> Option<Vec<f64>> {
        Front::new(&self.request.space).figures(point)
    }

    /// Compiles, times and runs all of `plan` that is not `known` yet, over the host's cores; `done` gets each point as
    /// it comes, those of rounds of halving among them.
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
            // What may be best comes first.
            // Default: those without a bound come last.
            let bound = |point: &Point| point.bound_milliseconds.unwrap_or(f64::INFINITY);
            left.sort_by(|(_, a), (_, b)| bound(a).total_cmp(&bound(b)));
        }
        let (mut pruned, mut front) = (Vec::new(), Front::new(&self.request.space));
        found.values().for_each(|point| front.add(point));
        let wave = WAVE * rayon::current_num_threads().max(1);
        let mut left = left.into_iter().peekable();
        while left.peek().is_some() {
            let mut some = Vec::with_capacity(wave);
            for (planned, mut point) in left.by_ref() {
                point.beaten_by = if prunes { front.beats(&point) } else { None };
                if point.beaten_by.is_some() {
                    phase.advance();
                    pruned.push(point);
                } else {
                    some.push(planned);
                }
                if some.len() == wave {
                    break;
                }
            }
            let points: Vec<Point> = some
                .into_par_iter()
                .map(|planned| {
                    let point = self.evaluate(planned, context);
                    done(&point);
                    phase.advance();
                    point
                })
                .collect();
            points.iter().for_each(|point| front.add(point));
            found.extend(points.into_iter().map(|point| (point.index, point)));
        }
        pruned.sort_by_key(|point| point.index);
        let points = self.marked(found.into_values().collect());
        Explored { points, pruned, halved, old }
    }

    /// The points with those marked that no other beats.
    pub fn marked(&self, mut points: Vec<Point>) -> Vec<Point> {
        points.sort_by_key(|point| point.index);
        let mut front = Front::new(&self.request.space);
        points.iter().for_each(|point| front.add(point));
        points.iter_mut().for_each(|point| point.pareto = front.has(point));
        points
    }

    /// What a machine is at least, before anything is compiled for it.
    fn bound(&self, planned: &Planned, point: &mut Point, context: Context<'_>) {
        let Ok(instance) = resolve(&planned.target, context.reader) else { return };
        point.area.clone_from(&instance.info().area);
        let (Some(peak), Some(mhz)) = (instance.info().macs_per_cycle, instance.info().clock_mhz) else {
            return;
        };
        let cycles = self.networks.iter().map(|network| {
            let source = self.request.source(&network.path, planned);
            let survey: Survey = source.of_model(network.model.clone(), context).ok()?.survey().ok()?;
            Some((survey.macs?.saturating_sub(survey.host_macs) as f64 / peak).ceil())
        });
        let cycles: Option<f64> = cycles.sum();
        point.bound_milliseconds = cycles.map(|cycles| cycles / (1e3 * mhz));
    }

    /// Compiles the networks for a machine, times the programs and runs them on the samples. Why there is no program is
    /// the point's `error`.
    pub fn evaluate(&self, planned: &Planned, context: Context<'_>) -> Point {
        self.evaluate_on(&self.networks, planned, context)
    }

    /// The same of these networks.
    fn evaluate_on(&self, networks: &[Prepared], planned: &Planned, context: Context<'_>) -> Point {
        let mut point = Point::new(planned);
        match resolve(&planned.target, context.reader) {
            Ok(instance) => point.area.clone_from(&instance.info().area),
            Err(error) => return Point { error: Some(told(&error)), ..point },
        }
        for network in networks {
            match self.measured(network, planned, context) {
                Ok(model) => point.models.push(model),
                Err(error) => return Point { error: Some(told(&error)), models: Vec::new(), ..point },
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
        let pace = match compiled.pace() {
            Ok(pace) => Some(pace),
            // A target without a clock has no cycles.
            Err(TargetError::Unsupported { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        drop(phase);
        let comparison = if network.samples.is_empty() {
            None
        } else {
            Some(compare(&machine(&*compiled, &network.samples)?.0, &network.reference))
        };
        let milliseconds = pace.and_then(|pace| pace.milliseconds);
        let batch = batch(&compiled.inputs(), origin.model.batch);
        Ok(ModelPoint {
            model: network.path.clone(),
            name: program.name,
            layers: program.layers.len(),
            instructions: program.instructions,
            cycles: pace.and_then(|pace| pace.cycles),
            milliseconds,
            frames_per_second: samples_per_second(milliseconds, batch),
            utilisation: pace.and_then(|pace| pace.utilisation),
            relative_error: comparison.and_then(|found| found.relative_error),
            snr_db: comparison.and_then(|found| found.snr_db),
            argmax_agree: comparison.and_then(|found| found.argmax_agree),
        })
    }
}

/// Points that are compiled before it is looked again which need not be, for each core.
const WAVE: usize = 4;

/// A network as all points see it.
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

/// What a model gives for samples in float; nothing without samples.
fn reference(model: &Model, samples: &[Sample]) -> Result<Vec<Stack>, Error> {
    if samples.is_empty() { Ok(Vec::new()) } else { float(&model.graph, samples) }
}

/// What is known of a machine before it is compiled for, by name.
type Known = BTreeMap<String, Value>;

/// What is known of a machine by its parameters: those of the space, and those of the instance; none of what is no machine.
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

/// Whether a condition may hold of a machine: what is not known of it is not told by its parameters.
fn may_hold(condition: &Condition, known: &Known) -> bool {
    condition.holds(&|name| lookup(known, name)) != Some(false)
}

/// What is called `name`, which may be the end of a full name.
fn lookup(known: &Known, name: &str) -> Option<Value> {
    let is_end = |full: &str| full.strip_suffix(name).is_some_and(|path| path.ends_with('.'));
    known.get(name).or_else(|| known.iter().find(|(full, _)| is_end(full)).map(|(_, value)| value)).cloned()
}

/// An error with its causes, in a line.
fn told(error: &Error) -> String {
    let diagnostics = error.diagnostics();
    let more = diagnostics.len().saturating_sub(1);
    let first = diagnostics.first().map_or_else(|| error.to_string(), |first| first.message.clone());
    if more == 0 { first } else { format!("{first} (and {more} more)") }
}
