//! Exceptions: conversion of [`npukit::Error`] to a class of `npukit.errors`.

use npukit::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Returns the exception for `error`.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let made = made(py, error);
    made.unwrap_or_else(|fault| {
        let error = PyRuntimeError::new_err(error.to_string());
        error.set_cause(py, Some(fault));
        error
    })
}

fn made(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let module = || py.import("npukit.errors")?.getattr("made").map(Bound::unbind);
    let make = MAKE.get_or_try_init(py, module)?;
    let exception = make.bind(py).call1((error.kind().name(), error.json().to_string()))?;
    Ok(PyErr::from_value(exception))
}
