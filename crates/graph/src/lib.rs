//! The model IR: a graph of operators over tensors whose shapes are known.
//!
//! Activations of image operators are NHWC, convolution weights HWIO. Importers build a
//! [`Graph`] with [`Graph::add_node`], which infers the shapes; passes rewrite it; the
//! evaluator computes it in `f32`.

pub mod eval;
mod graph;
mod ir;
mod macs;
pub mod op;
pub mod pass;
mod print;
mod product;
pub mod shape;

pub use eval::{EvalError, evaluate, evaluate_all, evaluate_with};
pub use graph::GraphError;
pub use ir::{Graph, Node, NodeId, Value, ValueId, ValueInfo};
pub use op::{Op, OpError, Operator};
