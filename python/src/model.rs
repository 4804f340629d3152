//! [`Model`]: a network, from a file or from bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit::verbs::{check, compile, eval, trace};
use npukit::{ModelOptions, Source};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{self, Named};
use crate::context::{Files, NamedFiles};
use crate::program::{Program, plain};
use crate::source::{Compilation, Reading, Values};
use crate::work::run;

/// Name and shape of an input or output.
pub type Port = (String, Vec<usize>);

/// A network.
#[pyclass(frozen, module = "npukit._npukit")]
pub struct Model {
    path: String,
    held: NamedFiles,
    options: ModelOptions,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

#[pymethods]
impl Model {
    /// Reads the model at `path`. Files in `held` take precedence over the disk.
    #[new]
    fn new(
        py: Python<'_>,
        path: String,
        held: BTreeMap<String, Vec<u8>>,
        reading: Reading,
    ) -> PyResult<Self> {
        let (held, options) = (Arc::new(held), ModelOptions::from(reading));
        let source = Source { path: path.clone(), model: options.clone(), ..Source::default() };
        let files = Files(Arc::clone(&held));
        let (inputs, outputs) = run(py, None, move || {
            let ports = source.ports(files.context())?;
            Ok((plain(ports.inputs), plain(ports.outputs)))
        })?;
        Ok(Self { path, held, options, inputs, outputs })
    }

    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    #[getter]
    fn inputs(&self) -> Vec<Port> {
        self.inputs.clone()
    }

    #[getter]
    fn outputs(&self) -> Vec<Port> {
        self.outputs.clone()
    }

    /// Returns the report of `npu check`, or of `npu check --compile` if `whole`.
    fn check(
        &self,
        py: Python<'_>,
        compilation: Compilation<'_>,
        whole: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let source = compilation.source(&self.path, &self.options)?;
        let files = self.files();
        run(py, progress, move || {
            let check = if whole { check::check_program } else { check::check };
            Ok(crate::verbs::json(&check(&source, files.context())?))
        })
    }

    /// Compiles the model. Returns the program with the report of `npu compile`; the program is
    /// also proved if requested.
    fn compile(
        &self,
        py: Python<'_>,
        compilation: Compilation<'_>,
        verify: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Program> {
        let source = compilation.source(&self.path, &self.options)?;
        let held = Arc::clone(&self.held);
        run(py, progress, move || {
            let request = compile::Request { source, verify, ..compile::Request::default() };
            let made = compile::compile_program(&request, Files(Arc::clone(&held)).context())?;
            Ok(Program::of_model(request.source, held, made))
        })
    }

    /// Returns the compiler's result after `stage`, as text.
    fn emit(&self, py: Python<'_>, compilation: Compilation<'_>, stage: String) -> PyResult<String> {
        let source = compilation.source(&self.path, &self.options)?;
        let files = self.files();
        run(py, None, move || compile::emit(&source, &stage, files.context()))
    }

    /// Returns the report of `npu eval`, and the outputs.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<Named<'py>>,
        preprocess: Values,
        unlimited: bool,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(String, Bound<'py, PyDict>)> {
        let (inputs, preprocess) = (arrays::inputs(&arrays)?, preprocess.into());
        let (path, model) = (self.path.clone(), self.options.clone());
        let request =
            eval::Request { path, model, inputs, preprocess, unlimited, ..eval::Request::default() };
        let files = self.files();
        let (report, tensors) = run(py, progress, move || {
            let (report, outputs) = eval::eval_outputs(&request, files.context())?;
            Ok((crate::verbs::json(&report), outputs.tensors()?))
        })?;
        Ok((report, arrays::outputs(py, tensors)?))
    }

    /// Returns the report of `npu trace` in float, and its `.npz`.
    fn trace<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<Named<'py>>,
        preprocess: Values,
        unlimited: bool,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let request = trace::Request {
            source: self.source(),
            inputs: arrays::inputs(&arrays)?,
            preprocess: preprocess.into(),
            unlimited,
            ..trace::Request::default()
        };
        traced(py, request, self.files(), progress)
    }
}

/// Returns the report of `npu trace`, and its `.npz`.
pub fn traced<'py>(
    py: Python<'py>,
    request: trace::Request,
    files: Files,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let (report, archive) = run(py, progress, move || {
        let mut archive = Vec::new();
        let report = trace::trace(&request, &mut archive, files.context())?;
        Ok((crate::verbs::json(&report), archive))
    })?;
    Ok((report, PyBytes::new(py, &archive)))
}

impl Model {
    /// Settings of the model, without a target.
    pub fn source(&self) -> Source {
        Source { path: self.path.clone(), model: self.options.clone(), ..Source::default() }
    }

    /// Files that Python holds for the model.
    pub fn held(&self) -> &NamedFiles {
        &self.held
    }

    fn files(&self) -> Files {
        Files(Arc::clone(&self.held))
    }
}
