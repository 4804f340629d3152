//! ONNX files to graphs: [`read`].
//!
//! A file is decoded by [`proto`], its nodes are put in order (`order`), and each is translated
//! by the handler of its operator, one file in `ops/` per operator. The graph's builder computes at
//! once what depends on constants only: the shape arithmetic that exporters leave in a model is
//! gone when the import ends. Every defect of a model is
//! collected into one [`ImportError`].

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
mod quantised;
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

/// Oldest and newest file format read. Version 3 came with opset numbers.
const IR_VERSIONS: (i64, i64) = (3, 14);

/// Oldest and newest operator set read. Opset 7 brought NumPy broadcasting.
const OPSETS: (i64, i64) = (7, 28);

/// The operator set whose attributes and operands [`translate`] takes.
const TRANSLATED: i64 = 23;

/// The graph of an ONNX file. `name` is what the graph is called (the file's stem, say).
///
/// Inputs and outputs keep the names, shapes and order of the model. Image operators are NHWC
/// with HWIO weights, between Transpose nodes that graph passes cancel.
///
/// Any bytes are safe to pass: time and memory stay in proportion to them.
///
/// # Errors
///
/// [`ImportError`]: bytes that are not a model, a version that is not read, options that name nothing, open
/// sizes, and all problems of the nodes at once.
pub fn read(bytes: &[u8], name: &str, options: &Options) -> Result<Imported, ImportError> {
    read_with_files(bytes, name, options, &|_, _| Err("no files beside the model are given".to_owned()))
}

/// As [`read`], of a model some of whose elements are in files beside it, which `files` gives;
/// memory then also stays in proportion to those.
///
/// # Errors
///
/// Those of [`read`]; a file that `files` does not give is a problem of the nodes that need it.
pub fn read_with_files(
    bytes: &[u8],
    name: &str,
    options: &Options,
    files: &ReadRange<'_>,
) -> Result<Imported, ImportError> {
    let model = decode(bytes)?;
    let opset = check_versions(&model)?;
    // Default: a field that the message leaves out is empty, says protobuf; `Nothing` is refused later.
    let scope = Scope::new(model.graph.unwrap_or_default());
    let (external, functions) = (External::new(files), Functions::new(model.functions));
    let file =
        File { opset, options, external: &external, functions: &functions, inputs: &scope.proto.input };
    importer::import(&scope, name, file, bytes.len())
}

/// The results of the standard's operator `op`, called `name` in the graph, for a format that has the same one: as many as
/// `results` says.
pub(crate) fn translate(
    builder: &mut Builder,
    (op, name, results): (&str, &str, usize),
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
    let files: &ReadRange<'_> = &|_, _| Err("no files beside the model are given".to_owned());
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

/// Names of the operators that can be imported, in alphabetical order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    ops::names()
}

/// Where text is in a model, by the numbers of `proto`.
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
        Ok(()) => Err(not_onnx(0, "it holds no graph".to_owned())),
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

/// Checks the versions and gives that of the standard's operators.
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
