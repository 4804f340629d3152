//! Model files to graphs: [`read`] any of them, [`onnx::read`] and [`tensorflow::read`] one kind; [`decoder`] reads
//! language models that are described in words.
//!
//! What the formats share is here: [`Options`], [`ImportError`], the builder of the graph (which
//! computes at once what depends on constants only), the order of nodes, checks of shapes and of
//! a file's outermost frame. A folder for each format holds its messages and operators.

mod beside;
mod builder;
pub mod decoder;
mod einsum;
mod elements;
mod equation;
mod error;
mod format;
mod frame;
mod function;
mod node;
pub mod onnx;
mod options;
mod order;
mod padding;
mod range;
mod shape;
mod slice;
pub mod tensorflow;

use npukit_graph::Graph;

pub use error::{ImportError, NodeProblem, Reason};
pub use format::Format;
pub use options::Options;

/// The graph of a file of `format`. `name` is what the graph is called (the file's stem, say).
///
/// Errors: those of [`onnx::read`] and [`tensorflow::read`].
pub fn read(bytes: &[u8], name: &str, format: Format, options: &Options) -> Result<Graph, ImportError> {
    match format {
        Format::Onnx => onnx::read(bytes, name, options),
        Format::TensorFlow => tensorflow::read(bytes, name, options),
    }
}

/// As [`read`], of a model that may have files beside it, as [`onnx::read_with_files`].
pub fn read_with_files(
    bytes: &[u8],
    name: &str,
    format: Format,
    options: &Options,
    files: &onnx::ReadFile<'_>,
) -> Result<Graph, ImportError> {
    match format {
        Format::Onnx => onnx::read_with_files(bytes, name, options, files),
        Format::TensorFlow => tensorflow::read(bytes, name, options),
    }
}
