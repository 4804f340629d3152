//! Models: from a file to the imported graph, and to the graph that is compiled.

pub(crate) mod compile_job;
pub(crate) mod confined;
pub(crate) mod hashing_reader;
pub(crate) mod language;
pub(crate) mod problem_groups;
pub(crate) mod program;
pub(crate) mod remarks;
pub(crate) mod source;
pub(crate) mod source_map;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use npukit_graph::quantize::{lift, lift_saturating};
use npukit_graph::{Graph, ValueId, pass};
use npukit_import::{Foreign, Format, ImportError, Imported, Options, Remark, State};
use npukit_target::{Compiled, ModelReading, Phase, Port, ReadError, Reader, TargetError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::inputs::{self, InputFile};
use crate::model::remarks::Remarks;
use crate::run::eval_limits;
use crate::targets::{artifact_extensions, has_extension, is_artifact};

/// Options for reading a model. Artifacts contain them, without `unlimited`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// Batch size if the model leaves it open; `None` for 1, with a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Sizes of open dimensions, by the name of the dimension.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, usize>,
    /// Shapes of inputs by name, instead of the model's shapes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub input_shapes: BTreeMap<String, Vec<usize>>,
    /// Inputs to replace by constants: name, and the number for all elements.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Names of the values to return; empty for the model's own outputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Reads Resize at opset 10 with half-pixel centers (true) or, according to the standard,
    /// asymmetric (false). `None` for asymmetric with a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize_half_pixel: Option<bool>,
    /// Whether to compute constants that take far more memory than the model's size suggests.
    #[serde(skip)]
    pub unlimited: bool,
}

impl ModelOptions {
    /// Returns the options for an artifact.
    pub(crate) fn recorded(&self) -> ModelReading {
        match serde_json::to_value(self) {
            Ok(Value::Object(options)) => options,
            // Names, numbers and lists always serialize, as an object.
            _ => ModelReading::new(),
        }
    }

    /// Returns the options for reading the model of an artifact: the artifact's, where these are
    /// the defaults.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Target`] for options that this version does not know.
    pub(crate) fn for_artifact(&self, artifact: &dyn Compiled) -> Result<Self, Error> {
        let mut options = artifact.info().reading.clone();
        options.extend(self.recorded());
        let read = serde_json::from_value::<Self>(options.into()).map_err(|error| {
            TargetError::failed(format!("the artifact's options for reading its model: {error}"))
        });
        Ok(Self { unlimited: self.unlimited, ..read? })
    }

    /// Returns the options that differ from the defaults, as on the command line.
    pub(crate) fn as_options(&self) -> Vec<String> {
        let mut options: Vec<String> =
            self.batch.map(|batch| format!("--batch {batch}")).into_iter().collect();
        options.extend(self.sizes.iter().map(|(name, size)| format!("--dim {name}={size}")));
        options.extend(self.input_shapes.iter().map(|(name, shape)| {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("--input-shape {name}={}", sizes.join(","))
        }));
        options.extend(self.values.iter().map(|(name, number)| format!("--const {name}={number}")));
        options.extend(self.outputs.iter().map(|name| format!("--outputs {name}")));
        options.extend(
            self.resize_half_pixel.map(|is_half| {
                format!("--resize-mode {}", if is_half { "half-pixel" } else { "asymmetric" })
            }),
        );
        options.extend(self.unlimited.then(|| "--no-limit".to_owned()));
        options
    }
}

/// Model that was read.
#[derive(Clone)]
pub(crate) struct Model {
    /// File name, without the folder.
    pub file_name: String,
    /// Graph as imported, which the float evaluator computes.
    pub graph: Graph,
    /// Simplified graph, which is compiled.
    pub simplified: Graph,
    /// Notes and warnings about reading it.
    pub remarks: Remarks,
    /// Batch size, if the options give one and the inputs have a batch.
    pub batch: Option<usize>,
    /// Inputs that became constants, because the model has a default for them and no sample was
    /// given.
    pub defaults: Vec<String>,
    /// Inputs with initial values in the file, and the outputs that feed them.
    pub states: Vec<State>,
    /// Whether the file alone, without options and samples, gives this graph.
    pub is_as_in_file: bool,
}

impl Model {
    /// Removes conversions through integers from the compiled graph, for an instance with its own
    /// number format. Their saturation is kept.
    pub(crate) fn lift_saturating(&mut self) -> Result<(), Error> {
        lift_saturating(&mut self.simplified).map_err(|error| simplification(&self.file_name, error))
    }

    /// Removes conversions through integers from the compiled graph, for an instance that chooses
    /// its own integers.
    pub(crate) fn lift(&mut self) -> Result<(), Error> {
        lift(&mut self.simplified).map_err(|error| simplification(&self.file_name, error))
    }
}

fn simplification(path: &str, error: pass::PassError) -> Error {
    Error::Simplify { path: path.to_owned(), source: error.into() }
}

/// Reads the model at `path`. Open sizes that the options do not give come from the arrays of
/// `samples`. An input with a default value remains an input if `samples` has an array of its name;
/// otherwise it becomes a constant.
pub(crate) fn load(
    path: &str,
    options: &ModelOptions,
    samples: &[InputFile],
    reader: &dyn Reader,
) -> Result<Model, Error> {
    let phase = Phase::begin("read model");
    let bytes = reader.read(path).map_err(|error| unreadable(path, error, reader))?;
    drop(phase);
    let mut like = Like::default();
    let mut read = parse_with(path, &bytes, options, &like, reader);
    if samples.is_empty() {
        return read;
    }
    // An array with the name of a default replaces it.
    let may_replace = match &read {
        Ok(model) => !model.defaults.is_empty(),
        Err(Error::OpenDimensions { inputs, .. }) => inputs::shapes(samples, inputs, reader).is_err(),
        Err(_) => false,
    };
    if may_replace {
        like.given = inputs::names(samples, reader)?;
        let replaces = |model: &Model| model.defaults.iter().any(|name| like.given.contains(name));
        if read.as_ref().map_or(true, replaces) {
            read = parse_with(path, &bytes, options, &like, reader);
        }
    }
    if let Err(Error::OpenDimensions { inputs, .. }) = &read {
        like.shapes = inputs::shapes(samples, inputs, reader)?;
        read = parse_with(path, &bytes, options, &like, reader);
    }
    read
}

/// Information from samples about a model's inputs.
#[derive(Default)]
struct Like {
    /// Shapes by input.
    shapes: BTreeMap<String, Vec<usize>>,
    /// Names of all inputs that have samples.
    given: BTreeSet<String>,
}

/// Parses the model in `bytes`; `path` is its name. External files are read from the same folder.
pub(crate) fn parse(
    path: &str,
    bytes: &[u8],
    options: &ModelOptions,
    reader: &dyn Reader,
) -> Result<Model, Error> {
    parse_with(path, bytes, options, &Like::default(), reader)
}

/// Like [`parse`], with information from samples.
fn parse_with(
    path: &str,
    bytes: &[u8],
    options: &ModelOptions,
    like: &Like,
    reader: &dyn Reader,
) -> Result<Model, Error> {
    if let Some(kind) = Foreign::of(path, bytes) {
        return Err(foreign(path, kind, path));
    }
    let format = Format::of(path, bytes).ok_or_else(|| unknown(path))?;
    let file_name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    // Standard input, `-`, has no file name.
    let file_name = file_name
        .strip_prefix('-')
        .filter(|end| end.is_empty() || end.starts_with('.'))
        .map_or_else(|| file_name.to_owned(), |end| format!("stdin{end}"));
    let stem = file_name.strip_suffix(&format!(".{}", format.extension())).unwrap_or(&file_name);
    let unlimited = options.unlimited;
    let changes = ModelOptions { resize_half_pixel: None, ..options.clone() };
    let is_as_in_file = changes == ModelOptions::default() && like.shapes.is_empty() && like.given.is_empty();
    let options = Options {
        batch: options.batch,
        samples: like.shapes.clone(),
        given: like.given.clone(),
        sizes: options.sizes.clone(),
        shapes: options.input_shapes.clone(),
        values: options.values.clone(),
        outputs: options.outputs.clone(),
        resize_half_pixel: options.resize_half_pixel,
    };
    let file_bytes = AtomicU64::new(bytes.len() as u64);
    let beside = |location: &str, range: Range<u64>| {
        let part = reader.beside(path, location).and_then(|file| reader.read_range(&file, range));
        let part = part.map_err(|error| error.to_string())?;
        file_bytes.fetch_add(part.bytes.len() as u64, Ordering::Relaxed);
        Ok(npukit_import::onnx::Part { bytes: part.bytes, file_bytes: part.file_bytes })
    };
    let phase = Phase::begin("import");
    let imported = npukit_import::read(bytes, stem, format, &options, &beside);
    let Imported { graph, remarks, defaults, states } =
        imported.map_err(|error| import_error(path, error))?;
    drop(phase);
    if !unlimited {
        eval_limits::check_constants(stem, &graph, file_bytes.into_inner())?;
    }
    let simplified = optimized(&graph, path)?;
    let is_unused = remarks.iter().any(|remark| matches!(remark, Remark::UnusedBatch { .. }));
    let batch = options.batch.filter(|_| !is_unused);
    let remarks = Remarks::of_model(&remarks);
    Ok(Model { file_name, graph, simplified, remarks, batch, defaults, states, is_as_in_file })
}

/// Returns the graph after all passes; `path` is the model's path.
fn optimized(graph: &Graph, path: &str) -> Result<Graph, Error> {
    let _phase = Phase::begin("optimize graph");
    let mut simplified = graph.clone();
    pass::simplify(&mut simplified).map_err(|error| simplification(path, error))?;
    tracing::info!(path, nodes = graph.nodes.len(), left = simplified.nodes.len(), "graph optimized");
    Ok(simplified)
}

fn import_error(path: &str, error: ImportError) -> Error {
    let path = path.to_owned();
    match error {
        ImportError::OpenDimensions { inputs } => Error::OpenDimensions { path, inputs },
        source => Error::Import { path, source: source.into() },
    }
}

/// Returns the error for an unreadable model at `path`: an unknown file type, or a folder.
fn unreadable(path: &str, error: ReadError, reader: &dyn Reader) -> Error {
    let inside = Foreign::file_of_folder(path);
    let found = reader.read(&inside).ok().and_then(|bytes| Foreign::of(&inside, &bytes));
    if let Some(kind) = found {
        return foreign(path, kind, &inside);
    }
    if is_known(path) { error.into() } else { unknown(path) }
}

/// Whether a path has the extension of a model, supported or not.
pub(crate) fn is_known(path: &str) -> bool {
    has_model_extension(path) || Foreign::of_ending(path).is_some()
}

/// Whether a path has the extension of a supported model, in any case.
pub fn has_model_extension(path: &str) -> bool {
    Format::ALL.iter().any(|format| has_extension(path, format.extension()))
}

/// Whether a file is a model by its content, supported or not.
pub(crate) fn is_model(path: &str, bytes: &[u8]) -> bool {
    Format::of(path, bytes).is_some() || Foreign::of(path, bytes).is_some()
}

/// Returns the error for an unsupported model at `path`, whose file is `file`, with advice.
fn foreign(path: &str, kind: &Foreign, file: &str) -> Error {
    let (path, what) = (path.to_owned(), kind.what);
    match kind.export(file) {
        Some(export) => Error::ForeignModel { path, what, export },
        None => Error::NotModel { path, what, advice: kind.advice() },
    }
}

/// Returns the error for a file that is neither a model nor an artifact.
pub(crate) fn unknown(path: &str) -> Error {
    if is_artifact(path) {
        let advice = "give the model that it was compiled from: `npu verify MODEL --artifact FILE` proves it, `npu run FILE --model MODEL` compares it with float";
        return Error::NotModel { path: path.to_owned(), what: "an artifact", advice };
    }
    Error::UnknownFile { path: path.to_owned(), artifacts: artifact_extensions() }
}

/// Returns the inputs of a graph.
pub(crate) fn ports(graph: &Graph) -> Vec<Port> {
    graph.inputs.iter().map(|&id| port(graph, id)).collect()
}

/// Returns the outputs of a graph.
pub(crate) fn output_ports(graph: &Graph) -> Vec<Port> {
    graph.outputs.iter().map(|&id| port(graph, id)).collect()
}

fn port(graph: &Graph, id: ValueId) -> Port {
    let value = graph.value(id);
    Port { name: value.name.clone(), shape: value.info.shape.clone(), vectors: None, element: None }
}
