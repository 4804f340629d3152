//! Import of model files. [`read`] reads any format; [`onnx::read`], [`tensorflow::read`] and
//! [`tflite::read`] read one format. [`decoder`] reads language models described by a TOML file,
//! [`llm`] language models as their authors publish them.
//!
//! This module holds the parts that the formats share: [`Options`], [`ImportError`], the graph
//! builder (which folds operations on constants), the order of nodes, and checks of shapes and of a
//! file's outermost frame. Each format has a folder with its messages and operators.

mod builder;
mod composed;
mod condition;
mod content;
pub mod decoder;
mod dimension;
mod einsum;
mod elements;
mod equation;
mod error;
mod foreign;
mod format;
mod function;
mod given;
pub mod llm;
mod locate;
mod node;
pub mod onnx;
mod open;
mod options;
mod order;
mod padding;
mod protobuf_fields;
mod range;
mod remark;
mod safetensors;
mod shape;
mod sidecar_files;
mod slice;
pub mod tensorflow;
pub mod tflite;
mod unique;

pub use dimension::{Dimension, OpenInput, open_dimensions};
pub use error::{ImportError, NodeProblem, Reason};
pub use foreign::Foreign;
pub use format::Format;
pub use options::Options;
pub use remark::{Imported, Remark, State};

/// Imports a file of `format`. `name` becomes the name of the graph, for example the stem of the
/// file. `files` reads the files next to the model, as for [`onnx::read_with_files`].
///
/// Repeated outputs of the model are merged into one.
///
/// # Errors
///
/// The errors of [`onnx::read`], [`tensorflow::read`] and [`tflite::read`].
pub fn read(
    bytes: &[u8],
    name: &str,
    format: Format,
    options: &Options,
    files: &onnx::ReadRange<'_>,
) -> Result<Imported, ImportError> {
    let imported = match format {
        Format::Onnx => onnx::read_with_files(bytes, name, options, files),
        Format::TensorFlow => tensorflow::read(bytes, name, options),
        Format::TensorFlowLite => tflite::read(bytes, name, options),
    };
    imported.map(Imported::with_outputs_once)
}
