//! The artifact of a segmented model: a JSON manifest, the constants of the host steps as an
//! `.npz`, and the files of every segment as the target's drivers load them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use npukit_graph::{Graph, Node, Op, Operator, Value, ValueId, ValueInfo, Work};
use npukit_numeric::npy::{NpyArray, read_npz, write_npz};
use npukit_numeric::{ElementType, Tensor};
use serde::{Deserialize, Serialize};

use super::program::{End, Part, SegmentedProgram};
use super::{ManifestError, SegmentError};
use crate::config::compile_options::ModelReading;
use crate::contract::convert::to_element;
use crate::contract::program::Compiled;
use crate::diagnosis::ErrorLocation;
use crate::error::TargetError;
use crate::files::parts::ArtifactFile;
use crate::files::parts::{Checked, Parts};
use crate::files::read::{Reader, sibling};
use crate::files::seal::Seal;

/// File name extension of manifests, without the first dot.
pub const EXTENSION: &str = "segments.json";
/// The format that is written, and the only one that is read.
const FORMAT: &str = "npukit.segments.1";
/// Maximum bytes of the results of a host part. A small file could otherwise request any amount of
/// memory.
const MAX_BYTES: u64 = 4 << 30;

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: String,
    /// Digest of this file.
    digest: Seal,
    name: String,
    target: String,
    /// Multiply-accumulates of the model; the machine's share follows.
    macs: u64,
    macs_on_chip: u64,
    inputs: Vec<ValueRecord>,
    outputs: Vec<ValueRecord>,
    /// Options with which the model was read.
    #[serde(default, skip_serializing_if = "ModelReading::is_empty")]
    reading: ModelReading,
    /// Parts in execution order.
    parts: Vec<WrittenPart>,
    /// File of the host's constants, if there are any.
    constants: Option<String>,
    sha256: Parts,
}

/// A value of the model.
#[derive(Serialize, Deserialize)]
struct ValueRecord {
    name: String,
    shape: Vec<usize>,
    element: ElementType,
    /// Name in the file of constants, if the value is a constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    constant: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "lowercase")]
enum WrittenPart {
    Chip {
        /// The file that drivers load.
        manifest: String,
        inputs: Vec<String>,
        outputs: Vec<String>,
    },
    Host {
        inputs: Vec<String>,
        outputs: Vec<String>,
        nodes: Vec<WrittenNode>,
        /// All values that the nodes read and produce.
        values: Vec<ValueRecord>,
    },
}

#[derive(Serialize, Deserialize)]
struct WrittenNode {
    name: String,
    /// Name of the operator, as in ONNX.
    kind: String,
    /// The operator with its attributes.
    op: Op,
    inputs: Vec<String>,
    outputs: Vec<String>,
    reason: String,
}

/// Returns the files of a program, the manifest first.
pub(super) fn write(program: &SegmentedProgram) -> Result<Vec<ArtifactFile>, TargetError> {
    let (mut files, mut parts, mut constants) = (Vec::new(), Vec::new(), Constants::default());
    for part in &program.parts {
        parts.push(match part {
            Part::Chip(compiled) => chip(&**compiled, &mut files)?,
            Part::Host(graph) => host(program, graph, &mut constants)?,
        });
    }
    let file = format!("{}.segments.npz", program.name);
    let constants = constants.file(file)?;
    let name = constants.as_ref().map(|file| file.name.clone());
    files.extend(constants);
    let end = |end: &End| ValueRecord::of(&end.name, &end.info, None);
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        digest: Seal::default(),
        name: program.name.clone(),
        target: program.target.clone(),
        macs: program.macs,
        macs_on_chip: program.macs.saturating_sub(program.info().host_macs),
        inputs: program.inputs.iter().map(end).collect(),
        outputs: program.outputs.iter().map(end).collect(),
        reading: program.reading.clone(),
        parts,
        constants: name,
        sha256: Parts::of(&files),
    };
    let text = serde_json::to_string_pretty(&manifest).map_err(TargetError::failed)? + "\n";
    let bytes = Seal::default().put(&text).into_bytes();
    files.insert(0, ArtifactFile { name: format!("{}.{EXTENSION}", program.name), bytes });
    Ok(files)
}

fn chip(compiled: &dyn Compiled, files: &mut Vec<ArtifactFile>) -> Result<WrittenPart, TargetError> {
    let of_segment = compiled.files()?;
    let manifest = of_segment.first().map(|file| file.name.clone());
    let manifest = manifest.ok_or_else(|| compiled.info().unsupported("compile of a segment"))?;
    for file in of_segment {
        // Segments may share a file, such as the header of their instance.
        if !files.contains(&file) {
            files.push(file);
        }
    }
    let names = |ports: Vec<crate::contract::port::Port>| ports.into_iter().map(|port| port.name).collect();
    Ok(WrittenPart::Chip { manifest, inputs: names(compiled.inputs()), outputs: names(compiled.outputs()) })
}

fn host(
    program: &SegmentedProgram,
    graph: &Graph,
    constants: &mut Constants,
) -> Result<WrittenPart, TargetError> {
    let names = |ids: &[ValueId]| ids.iter().map(|&id| graph.value(id).name.clone()).collect::<Vec<_>>();
    let node = |node: &Node| {
        // Attributes that JSON cannot represent would be read back differently. The comparison is
        // by text because NaN is not equal to itself.
        let written = serde_json::to_value(&node.op).map_err(TargetError::failed)?;
        let again = serde_json::from_value::<Op>(written.clone()).and_then(serde_json::to_value);
        if again.ok() != Some(written) {
            let (name, op) = (node.name.clone(), node.op.name());
            return Err(TargetError::failed(SegmentError::Attributes { name, op }));
        }
        Ok(WrittenNode {
            name: node.name.clone(),
            kind: node.op.name().to_owned(),
            op: node.op.clone(),
            inputs: names(&node.inputs),
            outputs: names(&node.outputs),
            reason: program.reason(node).to_owned(),
        })
    };
    let value = |value: &Value| {
        let constant = value.constant.as_deref().map(|tensor| constants.add(tensor));
        ValueRecord::of(&value.name, &value.info, constant)
    };
    Ok(WrittenPart::Host {
        inputs: names(&graph.inputs),
        outputs: names(&graph.outputs),
        nodes: graph.nodes.iter().map(node).collect::<Result<_, _>>()?,
        values: graph.values.iter().map(value).collect(),
    })
}

/// Constants of all host steps.
#[derive(Default)]
struct Constants(Vec<Tensor>);

impl Constants {
    /// Adds a constant and returns its name in the file.
    fn add(&mut self, tensor: &Tensor) -> String {
        self.0.push(tensor.clone());
        format!("c{}", self.0.len() - 1)
    }

    fn file(self, name: String) -> Result<Option<ArtifactFile>, TargetError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let names: Vec<String> = (0..self.0.len()).map(|index| format!("c{index}")).collect();
        let arrays: Vec<_> =
            names.iter().map(String::as_str).zip(self.0.iter().map(NpyArray::from)).collect();
        let bytes = write_npz(&arrays).map_err(TargetError::failed)?;
        Ok(Some(ArtifactFile { name, bytes }))
    }
}

impl ValueRecord {
    fn of(name: &str, info: &ValueInfo, constant: Option<String>) -> Self {
        Self { name: name.to_owned(), shape: info.shape.clone(), element: info.element, constant }
    }
}

impl From<ValueRecord> for End {
    fn from(written: ValueRecord) -> Self {
        Self { name: written.name, info: ValueInfo { shape: written.shape, element: written.element } }
    }
}

/// Returns the target and instance of the manifest at `path`.
///
/// # Errors
///
/// A file that cannot be read or is not a manifest.
pub fn segments_target(path: &str, files: &dyn Reader) -> Result<String, TargetError> {
    Ok(read(path, files)?.target)
}

/// Loads the artifact of a segment from the manifest at a path.
pub type Load<'a> = &'a dyn Fn(&str, &dyn Reader) -> Result<Box<dyn Compiled>, TargetError>;

/// Loads the program of the manifest at `path`; `load` loads each segment.
///
/// # Errors
///
/// Files that cannot be read, are invalid or from another compilation; errors of `load`.
pub fn load_segments(
    path: &str,
    files: &dyn Reader,
    load: Load<'_>,
) -> Result<Box<dyn Compiled>, TargetError> {
    let manifest = read(path, files)?;
    let files = Checked { files, manifest: path, parts: &manifest.sha256 };
    let beside = |name: &str| sibling(path, name).map_err(TargetError::failed);
    let mut constants = HashMap::new();
    if let Some(name) = &manifest.constants {
        let bytes = files.read(&beside(name)?).map_err(TargetError::failed)?;
        constants.extend(read_npz(name, &bytes).map_err(TargetError::failed)?);
    }
    let (mut parts, mut reasons) = (Vec::new(), BTreeMap::new());
    for part in manifest.parts {
        parts.push(match part {
            WrittenPart::Chip { manifest, .. } => Part::Chip(load(&beside(&manifest)?, &files)?),
            WrittenPart::Host { inputs, outputs, nodes, values } => {
                reasons.extend(nodes.iter().map(|node| (node.name.clone(), node.reason.clone())));
                let graph = graph(values, nodes, [inputs, outputs], &constants);
                Part::Host(Box::new(graph.map_err(|reason| wrong(path, reason))?))
            }
        });
    }
    Ok(Box::new(SegmentedProgram {
        name: manifest.name,
        target: manifest.target,
        inputs: manifest.inputs.into_iter().map(End::from).collect(),
        outputs: manifest.outputs.into_iter().map(End::from).collect(),
        parts,
        reasons,
        macs: manifest.macs,
        reading: manifest.reading,
        known: HashSet::new(),
        info: OnceLock::new(),
    }))
}

fn read(path: &str, files: &dyn Reader) -> Result<Manifest, TargetError> {
    let bytes = files.read(path).map_err(TargetError::failed)?;
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| {
        let message = error.to_string();
        let (file, place) = (path.to_owned(), Box::new(ErrorLocation::in_message(&message)));
        TargetError::failed(ManifestError { file, reason: message, place })
    })?;
    if manifest.format != FORMAT {
        let reason = format!("`format` is `{}`, but this npukit reads `{FORMAT}`", manifest.format);
        return Err(wrong(path, reason));
    }
    manifest.digest.check(path, &bytes).map_err(TargetError::failed)?;
    Ok(manifest)
}

fn wrong(file: &str, reason: String) -> TargetError {
    TargetError::failed(ManifestError { file: file.to_owned(), reason, place: Box::default() })
}

/// Returns the graph of a host part; the error describes its fault.
fn graph(
    values: Vec<ValueRecord>,
    nodes: Vec<WrittenNode>,
    [inputs, outputs]: [Vec<String>; 2],
    constants: &HashMap<String, Tensor>,
) -> Result<Graph, String> {
    let mut graph = Graph::default();
    let mut ids = HashMap::new();
    for ValueRecord { name, shape, element, constant } in values {
        let tensor = constant.map(|member| {
            let tensor = constants.get(&member).ok_or_else(|| format!("unknown constant `{member}`"))?;
            to_element(&name, tensor, element).map_err(|error| error.to_string())
        });
        let constant = tensor.transpose()?.map(std::sync::Arc::new);
        let value = Value { name: name.clone(), info: ValueInfo { shape, element }, constant };
        ids.insert(name, graph.add_value(value));
    }
    let id = |name: &String| ids.get(name).copied().ok_or_else(|| format!("unknown value `{name}`"));
    let all = |names: &[String]| names.iter().map(id).collect::<Result<Vec<_>, _>>();
    for WrittenNode { name, op, inputs, outputs, .. } in nodes {
        graph.nodes.push(Node { name, op, inputs: all(&inputs)?, outputs: all(&outputs)? });
    }
    (graph.inputs, graph.outputs) = (all(&inputs)?, all(&outputs)?);
    graph.validate().map_err(|error| error.to_string())?;
    let bytes = Work::of(&graph).peak_bytes;
    if bytes > MAX_BYTES {
        return Err(format!("the results of a host step take {bytes} bytes, but the maximum is {MAX_BYTES}"));
    }
    Ok(graph)
}
