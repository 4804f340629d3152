//! Conversion of Python's arguments for models and compilations to the facade's types.

use std::collections::BTreeMap;

use npukit::costs::{Costs, HostRates, Technology};
use npukit::{Calibration, Context, ModelOptions, Preprocess, RescaleMode, Source, quantize_method};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{self, Named};
use crate::errors::raised;

/// Arguments of `npukit.load`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    batch: Option<usize>,
    sizes: BTreeMap<String, usize>,
    shapes: BTreeMap<String, Vec<usize>>,
    values: BTreeMap<String, String>,
    outputs: Vec<String>,
    resize_half_pixel: Option<bool>,
    unlimited: bool,
}

/// Preprocessing of sample values.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Values {
    scale: Option<f64>,
    mean: Vec<f64>,
    std: Vec<f64>,
    resize: Option<(usize, usize)>,
    crop: bool,
    samples: Option<usize>,
}

/// Choice of number formats.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Numbers<'py> {
    calibrate: Vec<Named<'py>>,
    preprocess: Values,
    rescale: Option<String>,
    quantize: Option<String>,
}

/// Arguments of `Model.compile`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Compilation<'py> {
    target: String,
    options: BTreeMap<String, String>,
    numbers: Numbers<'py>,
}

/// Costs beyond the accelerator's cycles.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CostArguments {
    /// Nanoseconds per element and bytes per second.
    host: Option<(f64, f64)>,
    technology: Option<String>,
}

impl From<Reading> for ModelOptions {
    fn from(reading: Reading) -> Self {
        let Reading { batch, sizes, shapes, values, outputs, resize_half_pixel, unlimited } = reading;
        Self { batch, sizes, input_shapes: shapes, values, outputs, resize_half_pixel, unlimited }
    }
}

impl From<Values> for Preprocess {
    fn from(Values { scale, mean, std, resize, crop, samples }: Values) -> Self {
        Self { scale, mean, std, resize, crop, samples, ..Self::default() }
    }
}

impl Numbers<'_> {
    /// Returns the samples, and the settings for choosing scales.
    pub fn calibration(self) -> PyResult<Calibration> {
        let mode = match self.rescale.as_deref() {
            None | Some("auto") => RescaleMode::Auto,
            Some("always") => RescaleMode::Always,
            Some("never") => RescaleMode::Never,
            Some(other) => return Err(unknown("rescale", other, "auto, always, never")),
        };
        let method = self.quantize.as_deref().map(|name| {
            let legal = "min-max, least-squares, percentile=P of 50 to 100";
            quantize_method(name).ok_or_else(|| unknown("quantize", name, legal))
        });
        let inputs = arrays::inputs(&self.calibrate)?;
        let (preprocess, method) = (self.preprocess.into(), method.transpose()?);
        Ok(Calibration { inputs, preprocess, mode, method, ..Calibration::default() })
    }
}

impl CostArguments {
    /// Returns the assumed speed of the host, and the table of energies, which may be a file.
    pub fn costs(&self, py: Python<'_>, context: Context<'_>) -> PyResult<Costs> {
        let host = self.host.map(|(ns_per_element, bytes_per_second)| {
            let found = format!("({ns_per_element}, {bytes_per_second})");
            let legal = "(nanoseconds per element of at least 0, bytes per second above 0)";
            HostRates::new(ns_per_element, bytes_per_second).ok_or_else(|| unknown("host", &found, legal))
        });
        let technology = self.technology.as_deref().map(|name| Technology::load(name, context));
        let technology = technology.transpose().map_err(|error| raised(py, &error))?;
        Ok(Costs { host: host.transpose()?, technology })
    }
}

impl Compilation<'_> {
    /// Returns the settings of the model at `path`, for the given target.
    pub fn source(self, path: &str, model: &ModelOptions) -> PyResult<Source> {
        let (options, model, calibration) = (self.options, model.clone(), self.numbers.calibration()?);
        Ok(Source { options, model, calibration, ..Source::model(path, self.target) })
    }
}

/// Error for an argument with an invalid value.
pub fn unknown(argument: &str, found: &str, legal: &str) -> PyErr {
    PyValueError::new_err(format!("{argument} is {found:?}; legal: {legal}"))
}
