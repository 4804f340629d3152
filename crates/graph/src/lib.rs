//! The model IR: a graph of operators over tensors whose shapes are known.
//!
//! Activations of image operators are NHWC, convolution weights HWIO. Importers build a
//! [`Graph`] with [`Graph::add_node`], which infers the shapes; the passes of [`pass`] rewrite
//! it; [`evaluate`] computes it in `f32`. An operator is one file in `op/`, a pass one in `pass/`.
//!
//! ```
//! use npukit_graph::{Graph, ValueInfo, evaluate, op::Relu, pass::simplify};
//! use npukit_numeric::{ElementType, Tensor};
//!
//! let mut graph = Graph::default();
//! let x = graph.add_input("x", ValueInfo { shape: vec![2], element: ElementType::F32 });
//! graph.outputs = graph.add_node("relu", Relu.into(), vec![x], &["y"])?;
//! simplify(&mut graph)?;
//! let input = Tensor::from_f32(vec![2], vec![-1.0, 1.0]).expect("two elements");
//! assert_eq!(evaluate(&graph, &[input])?[0].as_f32(), Some(&[0.0, 1.0][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod classes;
pub mod decoder;
pub mod eval;
pub mod field;
mod graph;
mod integer_forms;
mod intervals;
mod ir;
pub mod language;
mod macs;
mod names;
mod observe;
pub mod op;
mod part;
pub mod pass;
mod print;
mod product;
mod qdq_scales;
pub mod quantize;
pub mod rescale;
mod rounding;
pub mod shape;
mod special;
mod stated;
mod work;

pub use eval::{evaluate, evaluate_all, evaluate_with};
pub use graph::GraphError;
pub use integer_forms::integer_forms;
pub use intervals::intervals;
pub use ir::{Graph, Node, NodeId, Value, ValueId, ValueInfo};
pub use names::Names;
pub use observe::{Observations, Statistic};
pub use op::{EvalError, Op, OpError, Operator};
pub use pass::Affine;
pub use qdq_scales::QdqScales;
pub use rounding::rounding_bounds;
pub use work::{Work, bytes_of_constants};
