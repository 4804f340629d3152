//! TensorFlow Lite files (`.tflite`) to graphs: [`read`].
//!
//! `flatbuffer` reads tables, `model` the fields of the format's. Operators are TensorFlow's in most cases: a row of
//! `ops/tensorflow.rs` says which, and the handler of `tensorflow/ops` translates it; the others have a file each in
//! `ops/`. An operator on integers that stand for real numbers is the operator between those: DequantizeLinear is put
//! before it and QuantizeLinear behind it, with the scales of the tensors. TensorFlow Lite's own kernels differ from that
//! by steps where they have rounding of their own: the head of `ops.rs` says which.
//!
//! Operators that hold graphs are the business of `control`, what runs keep from one to the next that of `variables`.

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

/// The graph of a TensorFlow Lite file. `name` is what the graph is called (the file's stem, say).
///
/// Inputs and outputs are called as their tensors are; the outputs option names any tensors.
///
/// Any bytes are safe to pass: time and memory stay in proportion to them.
///
/// # Errors
///
/// [`ImportError`]: bytes that are not a model, options that name nothing (no size has a name here), open sizes, and all
/// problems of the operators at once.
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

/// Whether bytes begin as a TensorFlow Lite file does.
pub(crate) fn is_model(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(model::IDENTIFIER)
}

/// Names of the operators that can be imported, in alphabetical order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    ops::names()
}
