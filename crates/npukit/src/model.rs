//! Models: a file to the graph as imported, and to the graph that is compiled.

use std::collections::BTreeMap;

use npukit_graph::quantise::lift;
use npukit_graph::{Graph, pass};
use npukit_import::{Format, Options};
use npukit_target::{Port, Reader, folder};

use crate::error::Error;
use crate::targets::{artifact_extensions, has_extension};

/// How a model is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOptions {
    /// Size of dimensions the model leaves open.
    pub batch: usize,
    /// Sizes of dimensions the model leaves open and gives a name, by that name.
    pub sizes: BTreeMap<String, usize>,
    /// Shapes of inputs by name, instead of the model's.
    pub input_shapes: BTreeMap<String, Vec<usize>>,
    /// Names of the values wanted; empty for the model's own outputs.
    pub outputs: Vec<String>,
    /// Reads Resize at opset 10 with half-pixel centres.
    pub resize_half_pixel: bool,
}

impl Default for ModelOptions {
    fn default() -> Self {
        let (sizes, input_shapes) = (BTreeMap::new(), BTreeMap::new());
        Self { batch: 1, sizes, input_shapes, outputs: Vec::new(), resize_half_pixel: false }
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

impl Model {
    /// Takes passages through integers out of what is compiled, for an instance that chooses them.
    pub(crate) fn lift(&mut self) -> Result<(), Error> {
        lift(&mut self.simplified).map_err(|error| simplification(&self.file_name, error))
    }
}

fn simplification(path: &str, error: pass::PassError) -> Error {
    Error::Simplify { path: path.to_owned(), source: error.into() }
}

/// Reads the model at `path`.
pub(crate) fn load(path: &str, options: &ModelOptions, reader: &dyn Reader) -> Result<Model, Error> {
    let is_known = Format::ALL.iter().any(|format| has_extension(path, format.extension()));
    match reader.read(path) {
        Ok(bytes) => parse(path, &bytes, options, reader),
        Err(error) if is_known => Err(error.into()),
        Err(_) => Err(unknown(path)),
    }
}

/// The model in `bytes`; `path` names it. Files that it names are beside it.
pub(crate) fn parse(
    path: &str,
    bytes: &[u8],
    options: &ModelOptions,
    reader: &dyn Reader,
) -> Result<Model, Error> {
    let format = Format::of(path, bytes).ok_or_else(|| unknown(path))?;
    let file_name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let stem = file_name.strip_suffix(&format!(".{}", format.extension())).unwrap_or(&file_name);
    let options = Options {
        dimension: options.batch,
        sizes: options.sizes.clone(),
        shapes: options.input_shapes.clone(),
        outputs: options.outputs.clone(),
        resize_half_pixel: options.resize_half_pixel,
    };
    let beside = |location: &str| {
        reader.read(&format!("{}{location}", folder(path))).map_err(|error| error.to_string())
    };
    let graph = npukit_import::read_with_files(bytes, stem, format, &options, &beside)
        .map_err(|source| Error::Import { path: path.to_owned(), source: source.into() })?;
    let mut simplified = graph.clone();
    pass::simplify(&mut simplified).map_err(|error| simplification(path, error))?;
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
