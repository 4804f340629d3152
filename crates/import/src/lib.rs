//! Model files to graphs: ONNX today, [`onnx::read`].
//!
//! What the formats share is here: [`Options`], [`ImportError`], the builder of the graph (which
//! computes at once what depends on constants only), the order of nodes, checks of shapes and of
//! a file's outermost frame. A folder for each format holds its messages and operators.

mod builder;
mod error;
mod format;
mod frame;
mod node;
pub mod onnx;
mod options;
mod order;
mod shape;

pub use error::{ImportError, NodeProblem, Reason};
pub use format::Format;
pub use options::Options;
