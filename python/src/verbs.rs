//! Verbs that need neither a model nor a program: their reports, as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit::verbs::{self, disasm, list};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::context::Files;
use crate::errors::raised;

/// A report as JSON.
pub fn json(report: &impl Serialize) -> String {
    // Through the values that the command prints, in which all numbers are of double precision. Reports are maps of
    // strings to numbers, texts and lists: they always serialise.
    serde_json::to_value(report).unwrap_or_default().to_string()
}

/// The report of `npu targets`.
#[pyfunction]
pub fn targets() -> String {
    json(&list::list())
}

/// The instance `spec` with these parameters, as a user names it, and its own name.
#[pyfunction]
pub fn resolve(py: Python<'_>, spec: &str, settings: Vec<(String, String)>) -> PyResult<(String, String)> {
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let spec = npukit::target_with(spec, &settings).map_err(|error| raised(py, &error))?;
    let instance = npukit::resolve(&spec, &Files::of_disk()).map_err(|error| raised(py, &error))?;
    let name = instance.info().name.clone();
    Ok((spec, name))
}

/// What may be set of the instance `spec`, by its full name.
#[pyfunction]
pub fn parameters(py: Python<'_>, spec: &str) -> PyResult<String> {
    let found = list::parameters_of(spec, Files::of_disk().context());
    Ok(json(&found.map_err(|error| raised(py, &error))?))
}

/// The report of `npu isa`.
#[pyfunction]
pub fn isa(py: Python<'_>, target: &str, instruction: Option<&str>) -> PyResult<String> {
    let page = verbs::isa::isa(target, instruction, Files::of_disk().context());
    Ok(json(&page.map_err(|error| raised(py, &error))?.json))
}

/// The report of `npu asm`, and the words.
#[pyfunction]
pub fn assemble<'py>(
    py: Python<'py>,
    text: Vec<u8>,
    name: String,
    target: &str,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let files = Files(Arc::new(BTreeMap::from([(name.clone(), text)])));
    let assembled = verbs::asm::asm(&name, target, files.context());
    let (report, words) = assembled.map_err(|error| raised(py, &error))?;
    Ok((json(&report), PyBytes::new(py, &words)))
}

/// The report of `npu disasm`.
#[pyfunction]
pub fn disassemble(
    py: Python<'_>,
    words: Vec<u8>,
    name: String,
    target: String,
    form: Option<String>,
    plain: bool,
) -> PyResult<String> {
    let files = Files(Arc::new(BTreeMap::from([(name.clone(), words)])));
    let request = disasm::Request { path: name, target: Some(target), form, plain };
    let listing = disasm::disasm(&request, files.context());
    Ok(json(&listing.map_err(|error| raised(py, &error))?))
}

/// The reference networks.
#[pyfunction]
pub fn zoo_list() -> String {
    json(&verbs::zoo::list())
}

/// The report of `npu zoo` for a network, and its ONNX file.
#[pyfunction]
pub fn zoo<'py>(py: Python<'py>, name: &str, seed: u64) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let (report, bytes) = verbs::zoo::zoo(name, seed).map_err(|error| raised(py, &error))?;
    Ok((json(&report), PyBytes::new(py, &bytes)))
}

/// The version of npukit.
#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
