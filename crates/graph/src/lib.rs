//! The model IR: a graph of operators over tensors whose shapes are known.
//!
//! Activations of image operators are NHWC, convolution weights HWIO. Importers build a
//! [`Graph`] with [`Graph::add_node`], which infers the shapes; passes rewrite it; the
//! evaluator computes it in `f32`.

mod ir;
pub mod op;
mod product;
pub mod shape;

pub use ir::{Graph, Node, NodeId, Value, ValueId, ValueInfo};
pub use op::{Op, OpError, Operator};
