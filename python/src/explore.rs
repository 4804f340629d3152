//! [`Exploration`]: many machines for networks, all at once or point by point.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use npukit::Error;
use npukit::explore::{Explored, Journal, Planned, Point};
use npukit::verbs::explore::{Report, Request, Space, files, inputs, journal, known};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;

use crate::arrays::{self, Named};
use crate::context::{Files, Held};
use crate::errors::raised;
use crate::source::{Numbers, Reading};
use crate::verbs::json;
use crate::work::run;

/// What is explored: the arguments of `npukit.explore`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Exploring<'py> {
    models: Vec<String>,
    reading: Reading,
    space: String,
    samples: Vec<Named<'py>>,
    numbers: Numbers<'py>,
    sample: Option<usize>,
    seed: u64,
    exhaustive: bool,
    halve: bool,
}

/// An exploration.
#[pyclass(frozen, module = "npukit._npukit")]
pub struct Exploration(Arc<Inner>);

struct Inner {
    exploration: npukit::explore::Exploration,
    request: Request,
    space: String,
    held: Held,
    /// Of the points that `evaluate_all` has found since somebody asked.
    found: Mutex<Vec<Point>>,
}

#[pymethods]
impl Exploration {
    /// Reads the networks; files of `held` are taken from there, all others from the disk.
    #[new]
    fn new(py: Python<'_>, exploring: Exploring<'_>, held: BTreeMap<String, Vec<u8>>) -> PyResult<Self> {
        let Exploring { models, reading, space, samples, numbers, sample, seed, exhaustive, halve } =
            exploring;
        let parsed = Space::from_toml(&space).map_err(|error| raised(py, &Error::from(error)))?;
        let calibration = numbers.calibration()?;
        let request = Request {
            models,
            model: reading.into(),
            space: parsed,
            preprocess: calibration.preprocess.clone(),
            calibration,
            inputs: arrays::inputs(&samples)?,
            sample,
            seed,
            exhaustive,
            halve,
        };
        let held = Arc::new(held);
        let inner = run(py, None, move || {
            let files = Files(Arc::clone(&held));
            let exploration = npukit::explore::Exploration::new(request.clone(), files.context())?;
            Ok(Inner { exploration, request, space, held, found: Mutex::default() })
        })?;
        Ok(Self(Arc::new(inner)))
    }

    /// The machines of the space, as JSON.
    fn plan(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = Arc::clone(&self.0);
        let plan = run(py, None, move || inner.exploration.plan(inner.files().context()))?;
        Ok(plan.iter().map(json).collect())
    }

    /// What a point is chosen by, what changes last first: names, and how many values they have.
    fn choices(&self) -> Vec<(String, usize)> {
        self.0.request.space.choices()
    }

    /// The machine at a place of the space; none where its parameters are not as the conditions say.
    fn planned(&self, py: Python<'_>, index: u64) -> PyResult<Option<String>> {
        let planned = self.0.exploration.planned(index, self.0.files().context());
        Ok(planned.map_err(|error| raised(py, &error))?.as_ref().map(json))
    }

    /// Figures of the objectives, of which less is better; none where one is not known.
    fn figures(&self, point: &str) -> PyResult<Option<Vec<f64>>> {
        Ok(self.0.exploration.figures(&parsed::<Point>(point)?))
    }

    /// What came of a machine of the plan.
    fn evaluate(&self, py: Python<'_>, planned: &str) -> PyResult<String> {
        let (inner, planned) = (Arc::clone(&self.0), parsed::<Planned>(planned)?);
        run(py, None, move || Ok(json(&inner.exploration.evaluate(&planned, inner.files().context()))))
    }

    /// The report of all machines but those that are known; `found` gives what is found meanwhile.
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

    /// Points that `evaluate_all` has found since the last call.
    fn found(&self) -> Vec<String> {
        let found = std::mem::take(&mut *self.0.found.lock().unwrap_or_else(PoisonError::into_inner));
        found.iter().map(json).collect()
    }

    /// The report of points that were found one by one; `resumed` of them in an earlier run.
    fn finish(&self, points: Vec<String>, resumed: Vec<u64>, seconds: f64) -> PyResult<String> {
        let points = points.iter().map(|text| parsed(text)).collect::<PyResult<Vec<Point>>>()?;
        let (points, old) = (self.0.exploration.marked(points), resumed.into_iter().collect());
        let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Ok(json(&Report::of(&self.0.request, Explored { points, old, ..Explored::default() }, took)))
    }

    /// The points of a file of this exploration, the bytes of it that are whole, and what it begins with.
    fn journal(&self, py: Python<'_>, path: &str, content: &[u8]) -> PyResult<(Vec<String>, usize, String)> {
        let inner = &self.0;
        let read = || {
            let inputs = inputs(&inner.request, &inner.space, inner.files().context())?;
            let Journal { points, bytes } = journal(path, content, &inputs)?;
            Ok((points.iter().map(json).collect(), bytes, Journal::header(&inputs)))
        };
        read().map_err(|error: Error| raised(py, &error))
    }

    /// The line of a point in such a file.
    fn line(&self, point: &str) -> PyResult<String> {
        Ok(Journal::line(&parsed::<Point>(point)?))
    }

    /// The configuration of the machine of a point, and the programs of its models.
    fn files<'py>(&self, py: Python<'py>, point: &str) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let (inner, point) = (Arc::clone(&self.0), parsed::<Point>(point)?);
        let made = run(py, None, move || files(&inner.request, &point, inner.files().context()))?;
        Ok(made.into_iter().map(|file| (file.name, PyBytes::new(py, &file.bytes))).collect())
    }

    /// All points as CSV.
    fn csv(&self, points: Vec<String>) -> PyResult<String> {
        self.report(points).map(|report| report.csv())
    }

    /// A page for a browser, to choose among the points.
    fn page(&self, points: Vec<String>) -> PyResult<String> {
        self.report(points).map(|report| report.page())
    }

    /// A picture of the points by the first two objectives.
    fn svg(&self, points: Vec<String>) -> PyResult<String> {
        self.report(points).map(|report| report.svg(&self.0.request.space))
    }

    /// The point that is the best by a figure and holds a condition.
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
    /// A report of points that are finished.
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

/// What Python hands back.
fn parsed<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}
