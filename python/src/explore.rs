//! [`Exploration`]: explores many instances for networks, all together or point by point.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use npukit::Error;
use npukit::explore::{Explored, Journal, Planned, Point};
use npukit::verbs::explore::{Report, Request, Space, files, inputs, journal, known, with_targets};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;

use crate::arrays::{self, Named};
use crate::context::{Files, NamedFiles};
use crate::errors::raised;
use crate::source::{CostArguments, Numbers, Reading};
use crate::verbs::json;
use crate::work::run;

/// Arguments of `npukit.explore`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Exploring<'py> {
    models: Vec<String>,
    reading: Reading,
    space: String,
    targets: Vec<String>,
    samples: Vec<Named<'py>>,
    numbers: Numbers<'py>,
    sample: Option<usize>,
    seed: u64,
    epsilon: Option<f64>,
    exhaustive: bool,
    halve: bool,
    costs: CostArguments,
}

/// An exploration of a design space.
#[pyclass(frozen, module = "npukit._npukit")]
pub struct Exploration(Arc<Inner>);

struct Inner {
    exploration: npukit::explore::Exploration,
    request: Request,
    space: String,
    held: NamedFiles,
    /// Points that `evaluate_all` has finished since the last call of `found`.
    found: Mutex<Vec<Point>>,
}

#[pymethods]
impl Exploration {
    /// Reads the networks. Files in `held` take precedence over the disk.
    #[new]
    fn new(py: Python<'_>, exploring: Exploring<'_>, held: BTreeMap<String, Vec<u8>>) -> PyResult<Self> {
        let Exploring { models, reading, samples, numbers, sample, seed, epsilon, exhaustive, .. } =
            exploring;
        let held = Arc::new(held);
        let costs = exploring.costs.costs(py, Files(Arc::clone(&held)).context())?;
        let space = with_targets(&exploring.space, &exploring.targets);
        let space = space.map_err(|error| raised(py, &Error::from(error)))?;
        let parsed = Space::from_toml(&space).map_err(|error| raised(py, &Error::from(error)))?;
        let calibration = numbers.calibration()?;
        let request = Request {
            models,
            model: reading.into(),
            space: parsed,
            preprocess: calibration.preprocess.clone(),
            calibration,
            inputs: arrays::inputs(&samples)?,
            context: None,
            sample,
            seed,
            epsilon,
            exhaustive,
            halve: exploring.halve,
            costs,
        };
        let inner = run(py, None, move || {
            let files = Files(Arc::clone(&held));
            let exploration = npukit::explore::Exploration::new(request.clone(), files.context())?;
            Ok(Inner { exploration, request, space, held, found: Mutex::default() })
        })?;
        Ok(Self(Arc::new(inner)))
    }

    /// Instances of the space, as JSON.
    fn plan(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = Arc::clone(&self.0);
        let plan = run(py, None, move || inner.exploration.plan(inner.files().context()))?;
        Ok(plan.iter().map(json).collect())
    }

    /// Parameters that select a point, slowest changing first: names and numbers of values.
    fn choices(&self) -> Vec<(String, usize)> {
        self.0.request.space.choices()
    }

    /// Returns the instance at an index of the space, or `None` if its parameters violate the
    /// conditions.
    fn planned(&self, py: Python<'_>, index: u64) -> PyResult<Option<String>> {
        let planned = self.0.exploration.planned(index, self.0.files().context());
        Ok(planned.map_err(|error| raised(py, &error))?.as_ref().map(json))
    }

    /// Values of the objectives, all to be minimized. `None` if one is unknown.
    fn figures(&self, point: &str) -> PyResult<Option<Vec<f64>>> {
        Ok(self.0.exploration.figures(&parsed::<Point>(point)?))
    }

    /// Evaluates an instance of the plan.
    fn evaluate(&self, py: Python<'_>, planned: &str) -> PyResult<String> {
        let (inner, planned) = (Arc::clone(&self.0), parsed::<Planned>(planned)?);
        run(py, None, move || Ok(json(&inner.exploration.evaluate(&planned, inner.files().context()))))
    }

    /// Evaluates all instances except known ones and returns the report. `found` returns finished
    /// points meanwhile.
    fn evaluate_all(
        &self,
        py: Python<'_>,
        known_points: Vec<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let inner = Arc::clone(&self.0);
        let points = known_points.iter().map(|text| parsed(text)).collect::<PyResult<Vec<Point>>>()?;
        run(py, progress, move || {
            let (begin, context) = (Instant::now(), inner.files());
            let plan = inner.exploration.plan(context.context())?;
            let points = known(points, &plan);
            let done = |point: &Point| {
                inner.found.lock().unwrap_or_else(PoisonError::into_inner).push(point.clone());
            };
            let explored = inner.exploration.evaluate_all(&plan, points, context.context(), &done);
            Ok(json(&Report::of(&inner.request, explored, begin.elapsed())))
        })
    }

    /// Returns the points that `evaluate_all` has finished since the last call.
    fn found(&self) -> Vec<String> {
        let found = std::mem::take(&mut *self.0.found.lock().unwrap_or_else(PoisonError::into_inner));
        found.iter().map(json).collect()
    }

    /// Returns the report of points that were evaluated one by one; `resumed` of them in an earlier
    /// run.
    fn finish(&self, points: Vec<String>, resumed: Vec<u64>, seconds: f64) -> PyResult<String> {
        let points = points.iter().map(|text| parsed(text)).collect::<PyResult<Vec<Point>>>()?;
        let (points, old) = (self.0.exploration.marked(points), resumed.into_iter().collect());
        let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Ok(json(&Report::of(&self.0.request, Explored { points, old, ..Explored::default() }, took)))
    }

    /// Returns the points in a file of this exploration, the number of complete bytes in it, and
    /// its first line.
    fn journal(&self, py: Python<'_>, path: &str, content: &[u8]) -> PyResult<(Vec<String>, usize, String)> {
        let inner = &self.0;
        let read = || {
            let inputs = inputs(&inner.request, &inner.space, inner.files().context())?;
            let Journal { points, bytes } = journal(path, content, &inputs)?;
            Ok((points.iter().map(json).collect(), bytes, Journal::header(&inputs)))
        };
        read().map_err(|error: Error| raised(py, &error))
    }

    /// Returns the line of a point in such a file.
    fn line(&self, point: &str) -> PyResult<String> {
        Ok(Journal::line(&parsed::<Point>(point)?))
    }

    /// Returns the configuration of a point's instance, and the programs of its models.
    fn files<'py>(&self, py: Python<'py>, point: &str) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let (inner, point) = (Arc::clone(&self.0), parsed::<Point>(point)?);
        let made = run(py, None, move || files(&inner.request, &point, inner.files().context()))?;
        Ok(made.into_iter().map(|file| (file.name, PyBytes::new(py, &file.bytes))).collect())
    }

    /// Returns all points as CSV.
    fn csv(&self, points: Vec<String>) -> PyResult<String> {
        self.report(points).map(|report| report.csv())
    }

    /// Returns an HTML page for selecting points, colored and labeled by figures or parameters.
    fn page(
        &self,
        py: Python<'_>,
        points: Vec<String>,
        color_by: Option<String>,
        label_by: Option<String>,
    ) -> PyResult<String> {
        self.drawn(py, points, color_by, label_by).map(|report| report.page())
    }

    /// Returns a plot of the points by the first two objectives, as SVG.
    fn svg(
        &self,
        py: Python<'_>,
        points: Vec<String>,
        color_by: Option<String>,
        label_by: Option<String>,
    ) -> PyResult<String> {
        self.drawn(py, points, color_by, label_by).map(|report| report.svg(&self.0.request.space))
    }

    /// Returns the best point by a figure that satisfies a condition.
    fn best(
        &self,
        py: Python<'_>,
        points: Vec<String>,
        figure: &str,
        condition: Option<&str>,
    ) -> PyResult<String> {
        let report = self.report(points)?;
        let condition = condition.map(npukit::explore::Condition::parse).transpose();
        let best = condition
            .map_err(|error| Error::from(npukit::explore::SpaceError::from(error)))
            .and_then(|condition| report.best_by(figure, condition.as_ref()).map(json));
        best.map_err(|error| raised(py, &error))
    }
}

impl Exploration {
    /// Makes the report of finished points, with the names that color and label them.
    fn drawn(
        &self,
        py: Python<'_>,
        points: Vec<String>,
        color_by: Option<String>,
        label_by: Option<String>,
    ) -> PyResult<Report> {
        self.report(points)?.drawn_by(color_by, label_by).map_err(|error| raised(py, &error))
    }

    /// Makes the report of finished points.
    fn report(&self, points: Vec<String>) -> PyResult<Report> {
        let points = points.iter().map(|text| parsed(text)).collect::<PyResult<Vec<Point>>>()?;
        let explored = Explored { points, ..Explored::default() };
        Ok(Report::of(&self.0.request, explored, Duration::ZERO))
    }
}

impl Inner {
    fn files(&self) -> Files {
        Files(Arc::clone(&self.held))
    }
}

/// Parses JSON that Python returns.
fn parsed<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}
