//! Models: a file to the graph as imported, and to the graph that is compiled.

pub(crate) mod confined;
pub(crate) mod groups;
pub(crate) mod hashed;
pub(crate) mod origin;
pub(crate) mod program;
pub(crate) mod remarks;
pub(crate) mod source;
pub(crate) mod source_map;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use npukit_graph::quantise::{lift, lift_saturating};
use npukit_graph::{Graph, ValueId, pass};
use npukit_import::{Foreign, Format, ImportError, Imported, Options, Remark, State};
use npukit_target::{Phase, Port, ReadError, Reader};

use crate::error::Error;
use crate::inputs::{self, InputFile};
use crate::model::remarks::Remarks;
use crate::run::eval_limits;
use crate::targets::{artifact_extensions, has_extension};

/// How a model is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// Size of the batch where the model leaves it open; 1, with a note, when none.
    pub batch: Option<usize>,
    /// Sizes of dimensions the model leaves open and gives a name, by that name.
    pub sizes: BTreeMap<String, usize>,
    /// Shapes of inputs by name, instead of the model's.
    pub input_shapes: BTreeMap<String, Vec<usize>>,
    /// Inputs by name that are constants instead: the number that all of their elements are.
    pub values: BTreeMap<String, String>,
    /// Names of the values wanted; empty for the model's own outputs.
    pub outputs: Vec<String>,
    /// Reads Resize at opset 10 with half-pixel centres or, as the standard says, asymmetric; the
    /// latter, with a warning, when none.
    pub resize_half_pixel: Option<bool>,
    /// Computes constants that take far more memory than the size of the model suggests, too.
    pub unlimited: bool,
}

impl ModelOptions {
    /// As options of the command: those that are not as without any.
    pub(crate) fn told(&self) -> Vec<String> {
        let mut told: Vec<String> = self.batch.map(|batch| format!("--batch {batch}")).into_iter().collect();
        told.extend(self.sizes.iter().map(|(name, size)| format!("--dim {name}={size}")));
        told.extend(self.input_shapes.iter().map(|(name, shape)| {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("--input-shape {name}={}", sizes.join(","))
        }));
        told.extend(self.values.iter().map(|(name, number)| format!("--set {name}={number}")));
        told.extend(self.outputs.iter().map(|name| format!("--outputs {name}")));
        told.extend(
            self.resize_half_pixel
                .map(|is_half| format!("--resize {}", if is_half { "half-pixel" } else { "asymmetric" })),
        );
        told.extend(self.unlimited.then(|| "--no-limit".to_owned()));
        told
    }
}

/// A model.
#[derive(Clone)]
pub(crate) struct Model {
    /// File name, without folder.
    pub file_name: String,
    /// As imported: what the float evaluator computes.
    pub graph: Graph,
    /// Simplified: what is compiled.
    pub simplified: Graph,
    /// What there is to say of how it was read.
    pub remarks: Remarks,
    /// Size of its batch, where the options say one and the inputs have it.
    pub batch: Option<usize>,
    /// Inputs that are constants, because the model has a default for them and no sample was given.
    pub defaults: Vec<String>,
    /// Inputs that begin with what the file says, and the outputs that feed them.
    pub states: Vec<State>,
}

impl Model {
    /// Takes passages through integers out of what is compiled, for an instance that has a format of its own: what they cut
    /// off is cut off.
    pub(crate) fn lift_saturating(&mut self) -> Result<(), Error> {
        lift_saturating(&mut self.simplified).map_err(|error| simplification(&self.file_name, error))
    }

    /// Takes passages through integers out of what is compiled, for an instance that chooses them.
    pub(crate) fn lift(&mut self) -> Result<(), Error> {
        lift(&mut self.simplified).map_err(|error| simplification(&self.file_name, error))
    }
}

fn simplification(path: &str, error: pass::PassError) -> Error {
    Error::Simplify { path: path.to_owned(), source: error.into() }
}

/// Reads the model at `path`. What it leaves open of its inputs' shapes, and the options do not say, is as in the
/// arrays of `samples`; an input with a default is an input where they have an array of its name, else a constant.
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
    // An array of the name of a default takes its place.
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

/// What samples say of a model's inputs.
#[derive(Default)]
struct Like {
    /// Their shapes, by input.
    shapes: BTreeMap<String, Vec<usize>>,
    /// The names of all of them.
    given: BTreeSet<String>,
}

/// The model in `bytes`; `path` names it. Files that it names are beside it.
pub(crate) fn parse(
    path: &str,
    bytes: &[u8],
    options: &ModelOptions,
    reader: &dyn Reader,
) -> Result<Model, Error> {
    parse_with(path, bytes, options, &Like::default(), reader)
}

/// As [`parse`], with what samples say.
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
    // What a reader gives for `-` has no name.
    let file_name = file_name
        .strip_prefix('-')
        .filter(|end| end.is_empty() || end.starts_with('.'))
        .map_or_else(|| file_name.to_owned(), |end| format!("stdin{end}"));
    let stem = file_name.strip_suffix(&format!(".{}", format.extension())).unwrap_or(&file_name);
    let unlimited = options.unlimited;
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
    let simplified = optimised(&graph, path)?;
    let is_unused = remarks.iter().any(|remark| matches!(remark, Remark::UnusedBatch { .. }));
    let batch = options.batch.filter(|_| !is_unused);
    let remarks = Remarks::of_model(&remarks);
    Ok(Model { file_name, graph, simplified, remarks, batch, defaults, states })
}

/// The graph after all passes; `path` is the model's.
fn optimised(graph: &Graph, path: &str) -> Result<Graph, Error> {
    let _phase = Phase::begin("optimise graph");
    let mut simplified = graph.clone();
    pass::simplify(&mut simplified).map_err(|error| simplification(path, error))?;
    tracing::info!(path, nodes = graph.nodes.len(), left = simplified.nodes.len(), "graph optimised");
    Ok(simplified)
}

fn import_error(path: &str, error: ImportError) -> Error {
    let path = path.to_owned();
    match error {
        ImportError::OpenDimensions { inputs } => Error::OpenDimensions { path, inputs },
        source => Error::Import { path, source: source.into() },
    }
}

/// Why the model at `path` cannot be read: it is of no kind that is known by its name, or it is a folder.
fn unreadable(path: &str, error: ReadError, reader: &dyn Reader) -> Error {
    let inside = Foreign::file_of_folder(path);
    let found = reader.read(&inside).ok().and_then(|bytes| Foreign::of(&inside, &bytes));
    if let Some(kind) = found {
        return foreign(path, kind, &inside);
    }
    if is_known(path) { error.into() } else { unknown(path) }
}

/// Whether a path ends as models do, ours or others.
pub(crate) fn is_known(path: &str) -> bool {
    let is_ours = Format::ALL.iter().any(|format| has_extension(path, format.extension()));
    is_ours || Foreign::of_ending(path).is_some()
}

/// Whether a file is a model by its content, one that we do not read among them.
pub(crate) fn is_model(path: &str, bytes: &[u8]) -> bool {
    Format::of(path, bytes).is_some() || Foreign::of(path, bytes).is_some()
}

/// What to do about the model at `path`, which is the file `file`.
fn foreign(path: &str, kind: &Foreign, file: &str) -> Error {
    let (path, what) = (path.to_owned(), kind.what);
    match kind.export(file) {
        Some(export) => Error::ForeignModel { path, what, export },
        None => Error::NotModel { path, what, advice: kind.advice() },
    }
}

/// The file is neither a model nor an artifact.
pub(crate) fn unknown(path: &str) -> Error {
    Error::UnknownFile { path: path.to_owned(), artifacts: artifact_extensions() }
}

/// The inputs of a graph.
pub(crate) fn ports(graph: &Graph) -> Vec<Port> {
    graph.inputs.iter().map(|&id| port(graph, id)).collect()
}

/// The outputs of a graph.
pub(crate) fn output_ports(graph: &Graph) -> Vec<Port> {
    graph.outputs.iter().map(|&id| port(graph, id)).collect()
}

fn port(graph: &Graph, id: ValueId) -> Port {
    let value = graph.value(id);
    Port { name: value.name.clone(), shape: value.info.shape.clone(), vectors: None, element: None }
}
