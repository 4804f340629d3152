//! Model files to graphs: [`read`] any of them, [`onnx::read`], [`tensorflow::read`] and [`tflite::read`] one kind; [`decoder`] reads
//! language models that are described in words.
//!
//! What the formats share is here: [`Options`], [`ImportError`], the builder of the graph (which
//! computes at once what depends on constants only), the order of nodes, checks of shapes and of
//! a file's outermost frame. A folder for each format holds its messages and operators.

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
mod shape;
mod sidecar_files;
mod slice;
pub mod tensorflow;
pub mod tflite;

pub use dimension::{Dimension, OpenInput, open_dimensions};
pub use error::{ImportError, NodeProblem, Reason};
pub use foreign::Foreign;
pub use format::Format;
pub use options::Options;
pub use remark::{Imported, Remark, State};

/// The graph of a file of `format`. `name` is what the graph is called (the file's stem, say); `files` gives what is
/// beside the model, as for [`onnx::read_with_files`].
///
/// An output that the model names several times is one.
///
/// # Errors
///
/// Those of [`onnx::read`], [`tensorflow::read`] and [`tflite::read`].
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
