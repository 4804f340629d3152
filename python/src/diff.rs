//! [`diff`]: compares two sides of one network, tensor by tensor.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit::Source;
use npukit::verbs::diff::values::{Request, diff_values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{self, Named};
use crate::context::{Files, NamedFiles, together};
use crate::model::Model;
use crate::program::Program;
use crate::source::Values;
use crate::verbs::json;
use crate::work::run;

/// A side of a comparison.
#[derive(FromPyObject)]
pub enum Side<'py> {
    /// A model computed in float.
    Model(Bound<'py, Model>),
    /// A program run on its machine.
    Program(Bound<'py, Program>),
    /// A side in the notation of the command.
    Named(String),
}

/// Arguments of `npukit.diff`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Differing<'py> {
    before: Side<'py>,
    after: Side<'py>,
    model: Option<Bound<'py, Model>>,
    program: Option<Side<'py>>,
    inputs: Vec<Named<'py>>,
    preprocess: Values,
    threshold: Option<f64>,
    held: BTreeMap<String, Vec<u8>>,
}

/// Settings shared by both sides.
struct Gathered {
    held: NamedFiles,
    /// Settings for reading and compiling models, from the first side that has them.
    source: Option<Source>,
}

/// Returns the report of `npu diff` for values.
#[pyfunction]
pub fn diff(
    py: Python<'_>,
    differing: Differing<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let mut gathered = Gathered { held: Arc::new(differing.held), source: None };
    let before = gathered.named(&differing.before)?;
    let after = gathered.named(&differing.after)?;
    let program = differing.program.as_ref().map(|side| gathered.named(side)).transpose()?;
    let model = differing.model.as_ref().map(|model| gathered.model(model.get())).transpose()?;
    let inputs = arrays::inputs(&differing.inputs)?;
    // Default: neither side is a model or a compiled program.
    let source = gathered.source.unwrap_or_default();
    let (preprocess, threshold) = (differing.preprocess.into(), differing.threshold);
    let request = Request { before, after, source, model, program, inputs, preprocess, threshold };
    let files = Files(gathered.held);
    run(py, progress, move || Ok(json(&diff_values(&request, files.context())?)))
}

impl Gathered {
    /// Returns the notation of a side on the command line.
    fn named(&mut self, side: &Side<'_>) -> PyResult<String> {
        match side {
            Side::Named(name) => Ok(name.clone()),
            Side::Model(model) => self.model(model.get()),
            Side::Program(program) => self.program(program.get()),
        }
    }

    fn model(&mut self, model: &Model) -> PyResult<String> {
        self.held = together(&self.held, model.held())?;
        let source = model.source();
        let path = source.path.clone();
        self.takes(source)?;
        Ok(path)
    }

    fn program(&mut self, program: &Program) -> PyResult<String> {
        self.held = together(&self.held, program.held())?;
        let source = program.source().clone();
        let path = source.path.clone();
        let Some(target) = source.target.clone() else { return Ok(path) };
        self.takes(source)?;
        Ok(format!("{path}@{target}"))
    }

    /// Takes over the settings of a side. A float model is not compiled, so only its reading
    /// settings matter.
    fn takes(&mut self, source: Source) -> PyResult<()> {
        let source = Source { path: String::new(), ..source };
        let Some(known) = &mut self.source else {
            self.source = Some(source);
            return Ok(());
        };
        let is_compiled = |source: &Source| source.target.is_some();
        let is_same = match (is_compiled(known), is_compiled(&source)) {
            (true, true) => {
                Source { target: None, ..known.clone() } == Source { target: None, ..source.clone() }
            }
            _ => known.model == source.model,
        };
        if !is_same {
            let message = "both sides must be read and compiled with the same settings; save one program, and compare the result of `read`";
            return Err(PyValueError::new_err(message));
        }
        if !is_compiled(known) {
            *known = source;
        }
        Ok(())
    }
}
