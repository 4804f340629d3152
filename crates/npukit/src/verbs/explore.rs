//! `npu explore`: compiles one or several networks for many instances, and finds the Pareto front.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use npukit_base::suggestion;
use npukit_import::llm::Layout;
use npukit_target::ArtifactFile;
use serde::Serialize;

use super::report::json;
use crate::Context;
use crate::costs::Costs;
use crate::error::Error;
use crate::explore::{
    Condition, Exploration, Explored, Halved, Journal, METRICS, Metric, Planned, Point, Round, SpaceError,
    csv, is_drawable, scatter,
};
pub use crate::explore::{Request, Space, with_targets};
use crate::model::language::{HEAD, config, place};
use crate::numbers::rescale::Calibration;
use crate::targets::resolve;
use crate::verbs::compile::compile;

/// Report of an exploration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Paths of the models.
    pub models: Vec<String>,
    /// Objectives, such as `minimize milliseconds`.
    pub objectives: Vec<String>,
    /// Every point that was compiled, in the order of the space.
    pub points: Vec<Point>,
    /// Number of points skipped because a lower bound shows that they are dominated.
    pub pruned: usize,
    /// Skipped points, with the lower bound and the point that dominates it.
    pub pruned_points: Vec<Point>,
    /// Number of Pareto-optimal points that another, nearly equal point represents.
    pub merged: usize,
    /// Rounds that compiled only the first layers of the models.
    pub rounds: Vec<Round>,
    /// Number of points dropped after one of these rounds. A point of the front may be among them.
    pub dropped: usize,
    /// Dropped points, with the figures of the round.
    pub dropped_points: Vec<Point>,
    /// Number of points taken from an earlier run.
    pub resumed: usize,
    /// Number of layers compiled in this run, over all programs and rounds.
    pub layers: usize,
    /// Number of layers compiled per second in this run.
    pub layers_per_second: f64,
    /// Place of the best point by the requested objective, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<u64>,
    /// Figure or parameter by which plots color the points, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color_by: Option<String>,
    /// Figure or parameter by which plots label the Pareto-optimal points, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_by: Option<String>,
    /// Files written.
    pub artifacts: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Time of this run in seconds.
    pub seconds: f64,
}

/// Points of an earlier run, and a callback for new points.
pub struct Resume<'a> {
    /// Points that an earlier run found.
    pub known: Vec<Point>,
    /// Called with each point as it is ready.
    pub done: &'a (dyn Fn(&Point) + Sync),
}

/// Returns the inputs that determine the points, each with its name. A file of an exploration is
/// checked against them.
///
/// # Errors
///
/// Returns [`Error::Read`] for a file that cannot be read.
pub fn inputs(request: &Request, space: &str, context: Context<'_>) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut inputs = vec![("the space".to_owned(), space.as_bytes().to_vec())];
    for path in &request.models {
        let bytes = match place(path, context.reader) {
            Some((folder, Layout::Folder)) => context.reader.read(&config(&folder))?,
            Some((file, Layout::Gguf)) => context.reader.read_range(&file, HEAD)?.bytes,
            None => context.reader.read(path)?,
        };
        inputs.push((path.clone(), bytes));
    }
    for file in request.inputs.iter().chain(&request.calibration.inputs) {
        let bytes = match &file.array {
            Some(array) => array.reals().into_iter().flat_map(f64::to_le_bytes).collect(),
            // A folder of samples is identified by its name.
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
    // Default: files of earlier versions have no context.
    let context = request.context.map_or_else(String::new, |tokens| format!(" {tokens}"));
    let costs = &request.costs;
    let costs = if *costs == Costs::default() { String::new() } else { format!(" {costs:?}") };
    inputs.push(("the options".to_owned(), (facts + &context + &costs).into_bytes()));
    Ok(inputs)
}

/// Parses the file at `path`, with the contents `bytes`, that an exploration of these inputs wrote.
///
/// # Errors
///
/// Returns [`Error::Journal`] for another file, and for a damaged one.
pub fn journal(path: &str, bytes: &[u8], inputs: &[(String, Vec<u8>)]) -> Result<Journal, Error> {
    Journal::read(bytes, inputs).map_err(|source| Error::Journal { path: path.to_owned(), source })
}

/// Explores the space.
///
/// # Errors
///
/// Fails as [`Exploration::new`] and [`Exploration::plan`] do. Invalid instances and models that do
/// not fit are points with an `error`.
pub fn explore(request: &Request, resume: Resume<'_>, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let exploration = Exploration::new(request.clone(), context)?;
    let plan = exploration.plan(context)?;
    let known = known(resume.known, &plan);
    let explored = exploration.evaluate_all(&plan, known, context, resume.done);
    Ok(Report::of(request, explored, start.elapsed()))
}

/// Returns the points that are in the plan.
pub fn known(points: Vec<Point>, plan: &[Planned]) -> Vec<Point> {
    let places: BTreeSet<u64> = plan.iter().map(|planned| planned.index).collect();
    points.into_iter().filter(|point| places.contains(&point.index)).collect()
}

fn objectives(space: &Space) -> Vec<String> {
    let text = |metric: Metric| {
        let verb = if metric.more_is_better { "maximize" } else { "minimize" };
        format!("{verb} {}", metric.name)
    };
    space.objectives.iter().map(|objective| text(objective.metric)).collect()
}

/// Warns of points without a program, and of objectives that no point has.
fn warnings(points: &[Point], space: &Space) -> Vec<String> {
    let errors: Vec<&str> = points.iter().filter_map(|point| point.error.as_deref()).collect();
    let (count, all) = (errors.len(), points.len());
    let unmade = errors
        .first()
        .map(|first| format!("{count} of {all} points have no program; the first error is: {first}"));
    let is_unknown =
        |metric: &Metric| count < all && points.iter().all(|point| point.metric(*metric).is_none());
    let objectives = space.objectives.iter().map(|objective| objective.metric);
    let unknown = objectives.filter(is_unknown).map(|metric| {
        let name = metric.name;
        format!("`{name}` is unknown for all points, so no point is on the front: errors need samples, area a target that reports it, `joules` --technology and `total_milliseconds` --host")
    });
    unmade.into_iter().chain(unknown).collect()
}

impl Report {
    /// Creates the report of an exploration that took this time.
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
            merged: points.iter().filter(|point| point.merged_into.is_some()).count(),
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
            color_by: None,
            label_by: None,
            artifacts: Vec::new(),
            seconds,
        }
    }

    /// Returns all points as CSV, one per line: the chosen values and the figures.
    pub fn csv(&self) -> String {
        csv(&self.points)
    }

    /// Returns all points as JSON, one per line.
    pub fn lines(&self) -> String {
        let line = |point: &Point| {
            serde_json::to_string(point).expect("names, numbers, texts and lists always serialize") + "\n"
        };
        self.points.iter().map(line).collect()
    }

    /// Returns an HTML page to select among the points.
    pub fn page(&self) -> String {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let title = format!("exploration of {}", self.models.join(", "));
        let mut exploration = json(self);
        // The time is left out: it differs between runs.
        if let Some(fields) = exploration.as_object_mut() {
            fields.remove("layers_per_second");
        }
        let (runs, exploration) = (Vec::new(), Some(exploration));
        npukit_report::Report { version, title, runs, exploration }.page()
    }

    /// Returns the report with the figures or parameters that color and label the points of plots.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Space`] for a name that no point has.
    pub fn drawn_by(self, color_by: Option<String>, label_by: Option<String>) -> Result<Self, Error> {
        let full = |name: String| Metric::headed(&name).map_or(name, |metric| metric.name.to_owned());
        let (color_by, label_by) = (color_by.map(full), label_by.map(full));
        for (key, name) in [("--color-by", &color_by), ("--label-by", &label_by)] {
            let Some(name) = name.as_ref().filter(|name| !is_drawable(&self.points, name)) else { continue };
            let chosen = self.points.iter().flat_map(|point| point.parameters.keys()).map(String::as_str);
            let meant = suggestion(name, chosen.chain(METRICS.iter().map(|metric| metric.name)));
            let reason = format!("no point has a figure or a parameter `{name}`{meant}");
            return Err(SpaceError::Key { key: key.to_owned(), reason }.into());
        }
        Ok(Self { color_by, label_by, ..self })
    }

    /// Returns a scatter plot of the points by the first two objectives.
    pub fn svg(&self, space: &Space) -> String {
        scatter(&self.points, space, &self.models, self.color_by.as_deref(), self.label_by.as_deref())
    }

    /// Returns the best point by a figure, among the feasible points that meet `condition`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoBest`] for an unknown figure, and if no point is left.
    pub fn best_by(&self, objective: &str, condition: Option<&Condition>) -> Result<&Point, Error> {
        let none = |reason: String| Error::NoBest { objective: objective.to_owned(), reason };
        let metric = Metric::headed(objective).ok_or_else(|| {
            let known = METRICS.map(|metric| metric.name).join(", ");
            none(format!("the figure is unknown; known figures: {known}"))
        })?;
        for name in condition.iter().flat_map(|condition| condition.names()) {
            let is_chosen = |point: &Point| point.named(name).is_some();
            if Metric::named(name).is_none() && !self.points.iter().any(is_chosen) {
                return Err(none(format!("`{name}` is neither a figure nor a parameter of the space")));
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
        best.ok_or_else(|| none("no point has this figure and meets all conditions".to_owned()))
    }
}

/// Returns the files of a point: the configuration of its instance, and the programs of its models.
/// Language models have one for each position, which are left out.
///
/// # Errors
///
/// Fails as [`compile`] does.
pub fn files(request: &Request, point: &Point, context: Context<'_>) -> Result<Vec<ArtifactFile>, Error> {
    let planned = request.space.point(point.index)?;
    let instance = resolve(&planned.target, context.reader)?;
    let mut files = Vec::new();
    if let Some(text) = instance.info().config_text.clone() {
        let target = crate::targets::target(planned.target.split(':').next().unwrap_or_default())?;
        // Default: a target whose instances have files has an extension for them.
        let ending = target.config_extensions.first().copied().unwrap_or("txt");
        files.push(ArtifactFile { name: format!("best.{ending}"), bytes: text.into_bytes() });
    }
    for path in request.models.iter().filter(|path| place(path, context.reader).is_none()) {
        files.extend(compile(&request.source(path, &planned), context)?.1);
    }
    Ok(files)
}
