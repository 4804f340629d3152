//! Import of TensorFlow Lite files (`.tflite`): [`read`].
//!
//! `flatbuffer` reads tables, `model` reads the fields of the format. Most operators equal
//! TensorFlow's: a row of `ops/tensorflow.rs` names the TensorFlow operator, and its handler in
//! `tensorflow/ops` translates it. The others have one file each in `ops/`. An operator on
//! quantized integers becomes the operator on real numbers: DequantizeLinear is put before it and
//! QuantizeLinear after it, with the scales of the tensors. Some of TensorFlow Lite's own kernels
//! round differently and differ by a few steps: the head of `ops.rs` lists them.
//!
//! `control` handles operators that hold graphs; `variables` handles state that runs keep for the
//! next run.

mod calls;
mod context;
mod control;
mod flatbuffer;
mod frame;
mod importer;
mod interface;
mod model;
mod names;
mod ops;
mod sparse;
mod states;
mod tensors;
mod variables;

use crate::error::ImportError;
use crate::format::Format;
pub use crate::options::Options;
use crate::remark::Imported;
use flatbuffer::Damage;
use model::Model;

/// Imports a TensorFlow Lite file. `name` becomes the name of the graph, for example the stem of
/// the file.
///
/// Inputs and outputs have the names of their tensors; the outputs option may name any tensors.
///
/// Any bytes are safe to pass: time and memory are proportional to their number.
///
/// # Errors
///
/// [`ImportError`] if the bytes are not a model, a name in the options does not exist (dimensions
/// have no names here), sizes are open, or operators cannot be imported. All problems of the
/// operators are reported together.
pub fn read(bytes: &[u8], name: &str, options: &Options) -> Result<Imported, ImportError> {
    if let Some(name) = options.sizes.keys().next() {
        let available = Vec::new();
        return Err(ImportError::UnknownName { kind: "dimension", name: name.clone(), available });
    }
    let refused = |Damage { offset, reason }| ImportError::NotModel {
        format: Format::TensorFlowLite,
        offset,
        reason: reason.to_owned(),
    };
    let model = Model::read(bytes).map_err(refused)?;
    importer::import(&model, name, options, bytes.len())
}

/// Whether bytes begin like a TensorFlow Lite file.
pub(crate) fn is_model(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(model::IDENTIFIER)
}

/// Names of the supported operators, in alphabetical order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    ops::names()
}
