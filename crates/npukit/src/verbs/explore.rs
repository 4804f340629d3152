//! `npu explore`: many machines for a network or several, and those that no other beats.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use npukit_target::ArtifactFile;
use serde::Serialize;

use super::report::json;
use crate::Context;
use crate::error::Error;
use crate::explore::{
    Condition, Exploration, Explored, Halved, Journal, Metric, Planned, Point, Round, csv, scatter,
};
pub use crate::explore::{Request, Space};
use crate::numbers::rescale::Calibration;
use crate::targets::resolve;
use crate::verbs::compile::compile;

/// What came of an exploration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The models.
    pub models: Vec<String>,
    /// What is to be best, as `minimise milliseconds`.
    pub objectives: Vec<String>,
    /// Every point that was compiled, in the order of the space.
    pub points: Vec<Point>,
    /// How many need not be compiled: another point is better than a bound of theirs.
    pub pruned: usize,
    /// These points, with the bound and the point that beats it.
    pub pruned_points: Vec<Point>,
    /// Rounds that compiled only the first layers of the models.
    pub rounds: Vec<Round>,
    /// How many were left behind after one of these rounds. Nothing proves that no point of the front is among them.
    pub dropped: usize,
    /// These points, with the figures of the round.
    pub dropped_points: Vec<Point>,
    /// Points taken from an earlier run.
    pub resumed: usize,
    /// Layers compiled in this run, those of all programs and rounds.
    pub layers: usize,
    /// The same by the seconds of this run.
    pub layers_per_second: f64,
    /// The best point by what was asked for, where something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<u64>,
    /// Files written.
    pub artifacts: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Of this run.
    pub seconds: f64,
}

/// What an exploration goes on from, and takes its points.
pub struct Resume<'a> {
    /// What an earlier run has found.
    pub known: Vec<Point>,
    /// Takes each point as it comes.
    pub done: &'a (dyn Fn(&Point) + Sync),
}

/// The inputs that the points follow from, each with its name: what a file of an exploration is checked by.
///
/// # Errors
///
/// [`Error::Read`] for what cannot be read.
pub fn inputs(request: &Request, space: &str, context: Context<'_>) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut inputs = vec![("the space".to_owned(), space.as_bytes().to_vec())];
    for path in &request.models {
        inputs.push((path.clone(), context.reader.read(path)?));
    }
    for file in request.inputs.iter().chain(&request.calibration.inputs) {
        let bytes = match &file.array {
            Some(array) => array.reals().into_iter().flat_map(f64::to_le_bytes).collect(),
            // A folder of samples is known by its name.
            None => match context.reader.read(&file.path) {
                Err(_) if context.reader.list(&file.path).is_ok() => file.path.clone().into_bytes(),
                read => read?,
            },
        };
        inputs.push((file.path.clone(), bytes));
    }
    let Calibration { preprocess, mode, method, .. } = &request.calibration;
    let calibration = (preprocess, mode, method);
    let facts = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        request.model, calibration, request.preprocess, request.sample, request.seed
    );
    inputs.push(("the options".to_owned(), facts.into_bytes()));
    Ok(inputs)
}

/// What an exploration of these inputs has written to the file at `path`, whose content is `bytes`.
///
/// # Errors
///
/// [`Error::Journal`] for a file of something else, and one that is damaged.
pub fn journal(path: &str, bytes: &[u8], inputs: &[(String, Vec<u8>)]) -> Result<Journal, Error> {
    Journal::read(bytes, inputs).map_err(|source| Error::Journal { path: path.to_owned(), source })
}

/// Explores.
///
/// # Errors
///
/// Those of [`Exploration::new`] and [`Exploration::plan`]. Machines that are none and models that do not fit are points
/// with an `error`.
pub fn explore(request: &Request, resume: Resume<'_>, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let exploration = Exploration::new(request.clone(), context)?;
    let plan = exploration.plan(context)?;
    let known = known(resume.known, &plan);
    let explored = exploration.evaluate_all(&plan, known, context, resume.done);
    Ok(Report::of(request, explored, start.elapsed()))
}

/// Those of the points that are in the plan.
pub fn known(points: Vec<Point>, plan: &[Planned]) -> Vec<Point> {
    let places: BTreeSet<u64> = plan.iter().map(|planned| planned.index).collect();
    points.into_iter().filter(|point| places.contains(&point.index)).collect()
}

fn objectives(space: &Space) -> Vec<String> {
    let text = |metric: Metric| {
        let verb = if metric.more_is_better { "maximise" } else { "minimise" };
        format!("{verb} {}", metric.name)
    };
    space.objectives.iter().map(|objective| text(objective.metric)).collect()
}

/// That points have no program, and objectives that no point has.
fn warnings(points: &[Point], space: &Space) -> Vec<String> {
    let errors: Vec<&str> = points.iter().filter_map(|point| point.error.as_deref()).collect();
    let (count, all) = (errors.len(), points.len());
    let unmade =
        errors.first().map(|first| format!("{count} of {all} points have no program, as with: {first}"));
    let is_unknown =
        |metric: &Metric| count < all && points.iter().all(|point| point.metric(*metric).is_none());
    let objectives = space.objectives.iter().map(|objective| objective.metric);
    let unknown = objectives.filter(is_unknown).map(|metric| {
        let name = metric.name;
        format!("`{name}` is not known of any point, and no point is on the front: errors need samples, area a target that tells it")
    });
    unmade.into_iter().chain(unknown).collect()
}

impl Report {
    /// What came of an exploration that took so long.
    pub fn of(request: &Request, explored: Explored, took: Duration) -> Self {
        let Explored { points, pruned, halved: Halved { rounds, dropped }, old } = explored;
        let new = points.iter().filter(|point| !old.contains(&point.index));
        let layers: usize = new.flat_map(|point| &point.models).map(|model| model.layers).sum();
        let layers = layers + rounds.iter().map(|round| round.layers).sum::<usize>();
        let seconds = took.as_secs_f64();
        Self {
            models: request.models.clone(),
            objectives: objectives(&request.space),
            warnings: warnings(&points, &request.space),
            points,
            pruned: pruned.len(),
            pruned_points: pruned,
            rounds,
            dropped: dropped.len(),
            dropped_points: dropped,
            resumed: old.len(),
            layers,
            layers_per_second: layers as f64 / seconds,
            best: None,
            artifacts: Vec::new(),
            seconds,
        }
    }

    /// All points as CSV, a line each: what was chosen, what came of it.
    pub fn csv(&self) -> String {
        csv(&self.points)
    }

    /// All points as JSON, a line each.
    pub fn lines(&self) -> String {
        let line = |point: &Point| {
            serde_json::to_string(point).expect("names, numbers, texts and lists always serialise") + "\n"
        };
        self.points.iter().map(line).collect()
    }

    /// A page for a browser, to choose among the points.
    pub fn page(&self) -> String {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let title = format!("exploration of {}", self.models.join(", "));
        let mut exploration = json(self);
        // It goes by the seconds, which are not told either.
        if let Some(fields) = exploration.as_object_mut() {
            fields.remove("layers_per_second");
        }
        let (runs, exploration) = (Vec::new(), Some(exploration));
        npukit_report::Report { version, title, runs, exploration }.page()
    }

    /// A picture of the points by the first two objectives.
    pub fn svg(&self, space: &Space) -> String {
        scatter(&self.points, space)
    }

    /// The best point by a figure, among those that are feasible and for which `condition` holds.
    ///
    /// # Errors
    ///
    /// [`Error::NoBest`] for a figure that does not exist, and where no point is left.
    pub fn best_by(&self, objective: &str, condition: Option<&Condition>) -> Result<&Point, Error> {
        let none = |reason: String| Error::NoBest { objective: objective.to_owned(), reason };
        let metric = Metric::named(objective).ok_or_else(|| {
            let known = crate::explore::METRICS.map(|metric| metric.name).join(", ");
            none(format!("there is no such figure; there are {known}"))
        })?;
        for name in condition.iter().flat_map(|condition| condition.names()) {
            let is_chosen = |point: &Point| point.named(name).is_some();
            if Metric::named(name).is_none() && !self.points.iter().any(is_chosen) {
                return Err(none(format!("`{name}` is neither a figure nor chosen by the space")));
            }
        }
        let holds = |point: &&Point| {
            let is_so = |condition: &Condition| condition.holds(&|name| point.named(name)) == Some(true);
            point.feasible && condition.is_none_or(is_so)
        };
        let figure = |point: &Point| {
            let value = point.metric(metric)?;
            Some(if metric.more_is_better { -value } else { value })
        };
        let known = self.points.iter().filter(holds).filter_map(|point| Some((point, figure(point)?)));
        let best = known.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(point, _)| point);
        best.ok_or_else(|| none("no point has this figure and holds all conditions".to_owned()))
    }
}

/// The files of a point: the configuration of its machine, and the programs of its models.
///
/// # Errors
///
/// Those of [`compile`].
pub fn files(request: &Request, point: &Point, context: Context<'_>) -> Result<Vec<ArtifactFile>, Error> {
    let planned = request.space.point(point.index)?;
    let instance = resolve(&planned.target, context.reader)?;
    let mut files = Vec::new();
    if let Some(text) = instance.info().config_text.clone() {
        let target = crate::targets::target(planned.target.split(':').next().unwrap_or_default())?;
        // Default: a target whose instances have files has an ending for them.
        let ending = target.config_extensions.first().copied().unwrap_or("txt");
        files.push(ArtifactFile { name: format!("best.{ending}"), bytes: text.into_bytes() });
    }
    for path in &request.models {
        files.extend(compile(&request.source(path, &planned), context)?.1);
    }
    Ok(files)
}
