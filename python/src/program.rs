//! [`Program`]: a compiled model, or the program of an artifact.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit::verbs::compile::Compilation;
use npukit::verbs::{lint, report, run as run_verb, time, trace, verify};
use npukit::{ArtifactFile, HazardMode, MaxError, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{self, Named};
use crate::context::{Files, NamedFiles, together};
use crate::model::{Model, Port, traced};
use crate::source::{CostArguments, Values, unknown};
use crate::verbs::json;
use crate::work::run;

/// A program of an accelerator.
#[pyclass(frozen, module = "npukit._npukit")]
pub struct Program(Arc<Inner>);

struct Inner {
    source: Source,
    held: NamedFiles,
    program: npukit::Program,
    /// Report of the compilation, or content of the artifact's manifest.
    report: String,
    /// Files of the compilation; `None` for an artifact.
    files: Option<Vec<ArtifactFile>>,
}

/// Arguments of `Program.run`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Running<'py> {
    inputs: Vec<Named<'py>>,
    preprocess: Values,
    stateful: bool,
    integers: bool,
    compare: bool,
    max_error: Option<String>,
    meaning: Option<String>,
    check_memory: bool,
    labels: Option<Named<'py>>,
}

/// Arguments of `Program.page`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Paging<'py> {
    inputs: Vec<Named<'py>>,
    preprocess: Values,
    labels: Option<Named<'py>>,
    against: Option<String>,
    costs: CostArguments,
}

/// Arguments of `Program.verify`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Proving<'py> {
    model: Option<Bound<'py, Model>>,
    seeds: Vec<u64>,
    certificate: Option<String>,
}

impl Program {
    /// Creates a program that was compiled from `source`.
    pub fn of_model(source: Source, held: NamedFiles, made: Compilation) -> Self {
        let Compilation { report, files, program, .. } = made;
        Self(Arc::new(Inner { source, held, program, report: json(&report), files: Some(files) }))
    }
}

/// Reads the program of the artifact at `path`. Entries of `files` take precedence over the disk.
#[pyfunction]
pub fn read(
    py: Python<'_>,
    path: String,
    files: BTreeMap<String, Vec<u8>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Program> {
    let (source, held) = (Source::artifact(path), Arc::new(files));
    run(py, progress, move || {
        let program = source.program(Files(Arc::clone(&held)).context())?;
        let report = json(&program.report());
        Ok(Program(Arc::new(Inner { source, held, program, report, files: None })))
    })
}

#[pymethods]
impl Program {
    /// Report of `npu compile`; for an artifact, the content of its manifest.
    #[getter]
    fn report(&self) -> &str {
        &self.0.report
    }

    #[getter]
    fn target(&self) -> String {
        self.0.program.report().target
    }

    #[getter]
    fn inputs(&self) -> Vec<Port> {
        plain(self.0.program.inputs())
    }

    #[getter]
    fn outputs(&self) -> Vec<Port> {
        plain(self.0.program.outputs())
    }

    /// Files that drivers load, the manifest first.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let inner = Arc::clone(&self.0);
        let given = |files: &[ArtifactFile]| -> Vec<(String, Bound<'py, PyBytes>)> {
            files.iter().map(|file| (file.name.clone(), PyBytes::new(py, &file.bytes))).collect()
        };
        match &self.0.files {
            Some(files) => Ok(given(files)),
            None => Ok(given(&run(py, None, move || inner.program.files())?)),
        }
    }

    /// Returns the report of `npu run`, and the outputs.
    fn run<'py>(
        &self,
        py: Python<'py>,
        running: Running<'py>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(String, Bound<'py, PyDict>)> {
        let integers = running.integers;
        let request = self.request(running)?;
        let inner = Arc::clone(&self.0);
        let (report, tensors) = run(py, progress, move || {
            let context = Files(Arc::clone(&inner.held));
            let (report, outputs) = run_verb::run_program(&inner.program, &request, context.context())?;
            let tensors = if integers { outputs.integers() } else { outputs.tensors() };
            Ok((json(&report), tensors?))
        })?;
        Ok((report, arrays::outputs(py, tensors)?))
    }

    /// Returns the report of `npu time`.
    fn time(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        meaning: Option<String>,
        costs: CostArguments,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let inner = Arc::clone(&self.0);
        let (meaning, source) = (meaning_of(meaning.as_deref())?, inner.source.clone());
        let costs = costs.costs(py, Files(Arc::clone(&inner.held)).context())?;
        let request = time::Request { source, options, meaning, costs, ..time::Request::default() };
        run(py, progress, move || {
            let context = Files(Arc::clone(&inner.held));
            let report =
                time::time_program(&inner.program, &request, time::Sinks::default(), context.context())?;
            Ok(json(&report))
        })
    }

    /// Returns the page of `npu report`, with results if there are inputs, and their accuracy if
    /// there are labels. `against` is a page or a JSON document of another program.
    fn page(
        &self,
        py: Python<'_>,
        paging: Paging<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let Paging { inputs, preprocess, labels, against, costs } = paging;
        let inner = Arc::clone(&self.0);
        let source = inner.source.clone();
        let costs = costs.costs(py, Files(Arc::clone(&inner.held)).context())?;
        let request = report::Request {
            time: time::Request { source: source.clone(), costs, ..time::Request::default() },
            source,
            inputs: arrays::inputs(&inputs)?,
            preprocess: preprocess.into(),
            accuracy: arrays::labels(labels.as_ref())?,
            against,
        };
        run(py, progress, move || {
            let context = Files(Arc::clone(&inner.held));
            // The manifest of an artifact is not the report of a compilation.
            let compiled = inner.files.as_ref().and_then(|_| serde_json::from_str(&inner.report).ok());
            let reported = report::report_program(&inner.program, compiled, &request, context.context())?;
            Ok(reported.report.page())
        })
    }

    /// Returns the report of `npu verify`, compared with the original model. An artifact is
    /// compared with `model`.
    fn verify(
        &self,
        py: Python<'_>,
        proving: Proving<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let Proving { model, seeds, certificate } = proving;
        let (source, held, artifact) = match (&model, self.is_compiled()) {
            (None, true) => (self.0.source.clone(), Arc::clone(&self.0.held), None),
            (Some(model), false) => {
                let held = together(model.get().held(), &self.0.held)?;
                (model.get().source(), held, Some(self.0.source.path.clone()))
            }
            (Some(_), true) => return Err(needless_model()),
            (None, false) => {
                return Err(PyValueError::new_err("an artifact is proved against its model: pass `model`"));
            }
        };
        let inner = Arc::clone(&self.0);
        run(py, progress, move || {
            if artifact.is_none() && certificate.is_none() {
                // The program exists, so it is not compiled again.
                return Ok(json(&verify::verify_program(&inner.program, &seeds)?));
            }
            let request = verify::Request { source, artifact, seeds, certificate, bounds: None };
            Ok(json(&verify::verify(&request, Files(held).context())?))
        })
    }

    /// Returns the report of `npu trace`, and its `.npz`.
    fn trace<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Named<'py>>,
        preprocess: Values,
        model: Option<Bound<'py, Model>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let (mut source, mut held) = (self.0.source.clone(), Arc::clone(&self.0.held));
        let of = match &model {
            Some(_) if self.is_compiled() => return Err(needless_model()),
            Some(model) => {
                held = together(model.get().held(), &held)?;
                let Source { path, model, .. } = model.get().source();
                source.model = model;
                Some(path)
            }
            None => None,
        };
        let inputs = arrays::inputs(&inputs)?;
        let preprocess = preprocess.into();
        let request = trace::Request { source, model: of, inputs, preprocess, unlimited: false };
        traced(py, request, Files(held), progress)
    }

    /// Returns the report of `npu lint`.
    fn lint(&self, py: Python<'_>) -> PyResult<String> {
        let inner = Arc::clone(&self.0);
        run(py, None, move || Ok(json(&lint::lint_program(&inner.program)?)))
    }
}

fn needless_model() -> PyErr {
    PyValueError::new_err("a compiled program has its model: pass `model` for an artifact only")
}

impl Program {
    /// Whether it was compiled here, and not read.
    pub fn is_compiled(&self) -> bool {
        self.0.files.is_some()
    }

    /// Settings from which it was made.
    pub fn source(&self) -> &Source {
        &self.0.source
    }

    /// Files that Python holds for it.
    pub fn held(&self) -> &NamedFiles {
        &self.0.held
    }

    fn request(&self, running: Running<'_>) -> PyResult<run_verb::Request> {
        let max_error = running.max_error.as_deref().map(|text| {
            MaxError::parse(text)
                .ok_or_else(|| unknown("max_error", text, "numbers of at least 0, or text such as 5%"))
        });
        Ok(run_verb::Request {
            source: self.0.source.clone(),
            inputs: arrays::inputs(&running.inputs)?,
            preprocess: running.preprocess.into(),
            stateful: npukit::Stateful { enabled: running.stateful, ..npukit::Stateful::default() },
            raw: running.integers,
            compare: running.compare,
            meaning: meaning_of(running.meaning.as_deref())?,
            max_error: max_error.transpose()?,
            check: running.check_memory,
            accuracy: arrays::labels(running.labels.as_ref())?,
            ..run_verb::Request::default()
        })
    }
}

fn meaning_of(name: Option<&str>) -> PyResult<HazardMode> {
    match name {
        None | Some("agreed") => Ok(HazardMode::Agreed),
        Some("sequential") => Ok(HazardMode::Sequential),
        Some("hardware") => Ok(HazardMode::Hardware),
        Some(other) => Err(unknown("meaning", other, "agreed, sequential, hardware")),
    }
}

/// Names and shapes of ports.
pub fn plain(ports: Vec<npukit::Port>) -> Vec<Port> {
    ports.into_iter().map(|port| (port.name, port.shape)).collect()
}
