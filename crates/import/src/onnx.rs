//! Import of ONNX files: [`read`].
//!
//! A file is decoded by [`proto`]. Its nodes are sorted (`order`), and each is translated by the
//! handler of its operator; `ops/` has one file per operator. The graph builder folds operations on
//! constants, so the shape arithmetic that exporters leave in a model is gone after the import. All
//! defects of a model are collected into one [`ImportError`].

mod attributes;
mod boxes;
mod call;
mod channels;
mod context;
mod control;
mod external;
mod functions;
mod image;
mod importer;
mod interface;
mod ops;
mod pool;
pub mod proto;
mod quantized;
mod scope;
mod sequences;
mod tensor;
mod volume;

use npukit_graph::ValueId;
use prost::Message;

use crate::builder::Builder;
pub use crate::error::{ImportError, NodeProblem, Reason};
use crate::format::Format;
use crate::locate::{Kind, Schema, locate};
pub use crate::options::Options;
pub use crate::remark::{Imported, Remark};
pub use crate::sidecar_files::{Part, ReadRange};
use crate::{builder, error, order, protobuf_fields};
pub(crate) use attributes::Given;
use context::{Context, File};
use external::External;
use functions::Functions;
use proto::{ModelProto, NodeProto};
use scope::Scope;

/// Oldest and newest supported IR version. Version 3 introduced opset numbers.
const IR_VERSIONS: (i64, i64) = (3, 14);

/// Oldest and newest supported opset. Opset 7 introduced NumPy broadcasting.
const OPSETS: (i64, i64) = (7, 28);

/// Opset whose attributes and operands [`translate`] takes.
const TRANSLATED: i64 = 23;

/// Imports an ONNX file. `name` becomes the name of the graph, for example the stem of the file.
///
/// Inputs and outputs keep the names, shapes and order of the model. Image operators become NHWC
/// operators with HWIO weights, between Transpose nodes that graph passes cancel.
///
/// Any bytes are safe to pass: time and memory are proportional to their number.
///
/// # Errors
///
/// [`ImportError`] if the bytes are not a model, a version is not supported, a name in the options
/// does not exist, sizes are open, or nodes cannot be imported. All problems of the nodes are
/// reported together.
pub fn read(bytes: &[u8], name: &str, options: &Options) -> Result<Imported, ImportError> {
    read_with_files(bytes, name, options, &|_, _| Err("files next to the model are not available".to_owned()))
}

/// Like [`read`], for a model that stores elements in files next to it. `files` reads those files;
/// memory is then proportional to their size too.
///
/// # Errors
///
/// The errors of [`read`]. A file that `files` cannot read is a problem of the nodes that need it.
pub fn read_with_files(
    bytes: &[u8],
    name: &str,
    options: &Options,
    files: &ReadRange<'_>,
) -> Result<Imported, ImportError> {
    let model = decode(bytes)?;
    let opset = check_versions(&model)?;
    // Default: protobuf defines an omitted field as empty; `Nothing` is refused later.
    let scope = Scope::new(model.graph.unwrap_or_default());
    let (external, functions) = (External::new(files), Functions::new(model.functions));
    let file =
        File { opset, options, external: &external, functions: &functions, inputs: &scope.proto.input };
    importer::import(&scope, name, file, bytes.len())
}

/// Adds the results of the standard operator `op`, called `name` in the graph, for a format that
/// has an equal operator. `results` is the number of results.
pub(crate) fn translate(
    builder: &mut Builder,
    op: &str,
    name: &str,
    results: usize,
    attributes: &[(&str, Given)],
    operands: Vec<Option<ValueId>>,
) -> Result<Vec<ValueId>, Reason> {
    let node = NodeProto {
        name: name.to_owned(),
        op_type: op.to_owned(),
        output: (0..results).map(|index| index.to_string()).collect(),
        attribute: attributes.iter().map(|(name, given)| given.attribute(name)).collect(),
        ..NodeProto::default()
    };
    let handler = ops::handler(&node).ok_or_else(|| Reason::Operator { operator: op.to_owned() })?;
    let (options, functions) = (Options::default(), Functions::new(Vec::new()));
    let files: &ReadRange<'_> = &|_, _| Err("files next to the model are not available".to_owned());
    let external = External::new(files);
    let file = File {
        opset: TRANSLATED,
        options: &options,
        external: &external,
        functions: &functions,
        inputs: &[],
    };
    let mut remarks = Vec::new();
    let mut context = Context::new(builder, &mut remarks, &node, name.to_owned(), operands, file)?;
    let given = handler(&mut context)?;
    context.finish()?;
    Ok(given)
}

/// Names of the supported operators, in alphabetical order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    ops::names()
}

/// Text fields of a model, by the numbers of `proto`.
static MODEL: Schema =
    Schema { fields: &[(7, "", Kind::Message(&GRAPH)), (8, "opset", Kind::Message(&OPSET))], name: None };
static GRAPH: Schema = Schema {
    fields: &[
        (1, "node", Kind::Message(&NODE)),
        (2, "the name", Kind::Text),
        (5, "initializer", Kind::Message(&TENSOR)),
        (11, "input", Kind::Message(&NAMED)),
        (12, "output", Kind::Message(&NAMED)),
    ],
    name: None,
};
static NODE: Schema = Schema {
    fields: &[
        (1, "an operand's name", Kind::Text),
        (2, "a result's name", Kind::Text),
        (3, "the name", Kind::Text),
        (4, "the operator", Kind::Text),
        (5, "attribute", Kind::Message(&NAMED)),
        (7, "the domain", Kind::Text),
    ],
    name: Some(3),
};
static TENSOR: Schema = Schema { fields: &[(8, "the name", Kind::Text)], name: Some(8) };
static NAMED: Schema = Schema { fields: &[(1, "the name", Kind::Text)], name: Some(1) };
static OPSET: Schema = Schema { fields: &[(1, "the domain", Kind::Text)], name: Some(1) };

fn decode(bytes: &[u8]) -> Result<ModelProto, ImportError> {
    protobuf_fields::check(bytes, Format::Onnx)?;
    let mut rest = bytes;
    let mut model = ModelProto::default();
    match model.merge(&mut rest) {
        Ok(()) if model.graph.is_some() => Ok(model),
        Ok(()) => Err(not_onnx(0, "it does not hold a graph".to_owned())),
        Err(error) => {
            let found = locate(bytes, &MODEL);
            let (offset, reason) = found.unwrap_or_else(|| (bytes.len() - rest.len(), error.to_string()));
            Err(not_onnx(offset, reason))
        }
    }
}

fn not_onnx(offset: usize, reason: String) -> ImportError {
    ImportError::NotModel { format: Format::Onnx, offset, reason }
}

/// Checks the versions and returns the opset of the standard operators.
fn check_versions(model: &ModelProto) -> Result<i64, ImportError> {
    let ((oldest, newest), found) = (IR_VERSIONS, model.ir_version);
    if !(oldest..=newest).contains(&found) {
        return Err(ImportError::IrVersion { found, oldest, newest });
    }
    let standard = |domain: &str| domain.is_empty() || domain == "ai.onnx";
    let opset = model.opset_import.iter().find(|opset| standard(&opset.domain));
    let ((oldest, newest), found) = (OPSETS, opset.ok_or(ImportError::NoOpset)?.version);
    if (oldest..=newest).contains(&found) {
        Ok(found)
    } else {
        Err(ImportError::Opset { found, oldest, newest })
    }
}
