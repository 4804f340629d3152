//! Models: a file to the graph as imported, and to the graph that is compiled.

use std::collections::BTreeMap;

use npukit_graph::{Graph, pass};
use npukit_import::onnx;
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

/// Whether `path` is a model's.
pub(crate) fn is_model(path: &str) -> bool {
    has_extension(path, "onnx")
}

/// Reads the model at `path`.
pub(crate) fn load(path: &str, options: &ModelOptions, reader: &dyn Reader) -> Result<Model, Error> {
    if !is_model(path) {
        return Err(Error::UnknownFile { path: path.to_owned(), artifacts: artifact_extensions() });
    }
    parse(path, &reader.read(path)?, options)
}

/// The model in `bytes`; `path` names it.
pub(crate) fn parse(path: &str, bytes: &[u8], options: &ModelOptions) -> Result<Model, Error> {
    let file_name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let stem = file_name.strip_suffix(".onnx").unwrap_or(&file_name);
    let options = onnx::Options {
        dimension: options.batch,
        shapes: options.input_shapes.clone(),
        outputs: options.outputs.clone(),
        resize_half_pixel: options.resize_half_pixel,
    };
    let graph = onnx::read(bytes, stem, &options)
        .map_err(|source| Error::Import { path: path.to_owned(), source: source.into() })?;
    let mut simplified = graph.clone();
    pass::simplify(&mut simplified)
        .map_err(|source| Error::Simplify { path: path.to_owned(), source: source.into() })?;
    Ok(Model { file_name, graph, simplified })
}

/// The inputs of a graph.
pub(crate) fn ports(graph: &Graph) -> Vec<Port> {
    let port = |id| {
        let value = graph.value(id);
        Port { name: value.name.clone(), shape: value.info.shape.clone(), vectors: None }
    };
    graph.inputs.iter().map(|&id| port(id)).collect()
}
