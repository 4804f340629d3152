//! Models: a file to the graph as imported, and to the graph that is compiled.

use std::collections::BTreeMap;

use npukit_graph::{Graph, pass};
use npukit_import::{Format, Options};
use npukit_target::{Port, Reader};

use crate::error::Error;
use crate::targets::{artifact_extensions, has_extension};

/// How a model is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOptions {
    /// Size of dimensions the model leaves open.
    pub batch: usize,
    /// Shapes of inputs by name, instead of the model's.
    pub input_shapes: BTreeMap<String, Vec<usize>>,
    /// Names of the values wanted; empty for the model's own outputs.
    pub outputs: Vec<String>,
    /// Reads Resize at opset 10 with half-pixel centres.
    pub resize_half_pixel: bool,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self { batch: 1, input_shapes: BTreeMap::new(), outputs: Vec::new(), resize_half_pixel: false }
    }
}

/// A model.
pub(crate) struct Model {
    /// File name, without folder.
    pub file_name: String,
    /// As imported: what the float evaluator computes.
    pub graph: Graph,
    /// Simplified: what is compiled.
    pub simplified: Graph,
}

/// Reads the model at `path`.
pub(crate) fn load(path: &str, options: &ModelOptions, reader: &dyn Reader) -> Result<Model, Error> {
    let is_known = Format::ALL.iter().any(|format| has_extension(path, format.extension()));
    match reader.read(path) {
        Ok(bytes) => parse(path, &bytes, options),
        Err(error) if is_known => Err(error.into()),
        Err(_) => Err(unknown(path)),
    }
}

/// The model in `bytes`; `path` names it.
pub(crate) fn parse(path: &str, bytes: &[u8], options: &ModelOptions) -> Result<Model, Error> {
    let format = Format::of(path, bytes).ok_or_else(|| unknown(path))?;
    let file_name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let stem = file_name.strip_suffix(&format!(".{}", format.extension())).unwrap_or(&file_name);
    let options = Options {
        dimension: options.batch,
        shapes: options.input_shapes.clone(),
        outputs: options.outputs.clone(),
        resize_half_pixel: options.resize_half_pixel,
    };
    let graph = npukit_import::read(bytes, stem, format, &options)
        .map_err(|source| Error::Import { path: path.to_owned(), source: source.into() })?;
    let mut simplified = graph.clone();
    pass::simplify(&mut simplified)
        .map_err(|source| Error::Simplify { path: path.to_owned(), source: source.into() })?;
    Ok(Model { file_name, graph, simplified })
}

fn unknown(path: &str) -> Error {
    Error::UnknownFile { path: path.to_owned(), artifacts: artifact_extensions() }
}

/// The inputs of a graph.
pub(crate) fn ports(graph: &Graph) -> Vec<Port> {
    let port = |id| {
        let value = graph.value(id);
        Port { name: value.name.clone(), shape: value.info.shape.clone(), vectors: None }
    };
    graph.inputs.iter().map(|&id| port(id)).collect()
}
