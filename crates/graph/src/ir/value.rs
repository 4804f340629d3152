//! [`Value`]s of a graph and their ids, and the ids of nodes.

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor};

/// Identifies a value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// Identifies a node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Shape and element type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// Size of each axis, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub element: ElementType,
}

/// A tensor that flows through the graph.
#[derive(Clone, Debug)]
pub struct Value {
    /// Name in the model, unique in the graph.
    pub name: String,
    /// Shape and element type.
    pub info: ValueInfo,
    /// Elements of a constant; `None` for a value known only at run time.
    pub constant: Option<Arc<Tensor>>,
}
