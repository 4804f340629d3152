//! Verbs that need neither a model nor a program. They return reports as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit::verbs::{self, disasm, list};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::context::Files;
use crate::errors::raised;

/// Converts a report to JSON.
pub fn json(report: &impl Serialize) -> String {
    // The command also prints `Value`s, in which all numbers have double precision. Reports are
    // maps of strings to numbers, texts and lists, so serialization cannot fail.
    serde_json::to_value(report).unwrap_or_default().to_string()
}

/// Returns the report of `npu targets`.
#[pyfunction]
pub fn targets() -> String {
    json(&list::list())
}

/// Returns the notation and the name of the instance `spec` with these parameters.
#[pyfunction]
pub fn resolve(py: Python<'_>, spec: &str, settings: Vec<(String, String)>) -> PyResult<(String, String)> {
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let spec = npukit::target_with(spec, &settings).map_err(|error| raised(py, &error))?;
    let instance = npukit::resolve(&spec, &Files::of_disk()).map_err(|error| raised(py, &error))?;
    let name = instance.info().name.clone();
    Ok((spec, name))
}

/// Returns the parameters of the instance `spec`, by full name.
#[pyfunction]
pub fn parameters(py: Python<'_>, spec: &str) -> PyResult<String> {
    let found = list::parameters_of(spec, Files::of_disk().context());
    Ok(json(&found.map_err(|error| raised(py, &error))?))
}

/// Returns the report of `npu isa`.
#[pyfunction]
pub fn isa(py: Python<'_>, target: &str, instruction: Option<&str>) -> PyResult<String> {
    let page = verbs::isa::isa(target, instruction, Files::of_disk().context());
    Ok(json(&page.map_err(|error| raised(py, &error))?.json))
}

/// Returns the report of `npu asm`, and the words.
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

/// Returns the report of `npu disasm`.
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

/// Returns the list of reference networks.
#[pyfunction]
pub fn zoo_list() -> String {
    json(&verbs::zoo::list())
}

/// Returns the report of `npu zoo` for a network, and its ONNX file.
#[pyfunction]
pub fn zoo<'py>(py: Python<'py>, name: &str, seed: u64) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let (report, bytes) = verbs::zoo::zoo(name, seed).map_err(|error| raised(py, &error))?;
    Ok((json(&report), PyBytes::new(py, &bytes)))
}

/// Version of npukit.
#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
